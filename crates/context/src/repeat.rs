//! Launches of a [tape](crate::tape) again, in a process that the program's own code never ran in.
//!
//! The kernels' code is not on the tape: it comes from the program's file, which the caller has read. A launch of anything else is refused.

use crate::arena::Arena;
use crate::call::Call;
use crate::context::Context;
use crate::memory::{Block, Kind};
use crate::module::Image;
use crate::operation::Request;
use crate::options::{Instead, Options};
use crate::record::{Record, Recorder};
use crate::taped::Taped;
use report::Sources;
use simt::Device;
use simt::memory::GLOBAL_BASE;
use simt::transfer::{Layout, Misfit, Page};
use std::collections::{BTreeMap, HashMap};

/// A launch that can't be run again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its code is not the program's.
    #[error("it launches `{kernel}`, which is not in the program's file")]
    Stranger {
        /// The kernel.
        kernel: String,
    },
    /// What is said of the memory can't be.
    #[error("the memory of launch {number} can't be made again: {misfit}")]
    Memory {
        /// The launch.
        number: u64,
        /// Why.
        misfit: Misfit,
    },
    /// What is said of it can't be.
    #[error("what is said of launch {number} can't be")]
    Nonsense {
        /// The launch.
        number: u64,
    },
}

/// Runs launches again, one after the other.
#[derive(Debug)]
pub struct Repeater {
    context: Context,
    texts: HashMap<String, String>,
    modules: HashMap<Vec<String>, usize>,
    layout: Layout,
    pages: HashMap<u64, Page>,
    most: u64,
}

impl Repeater {
    /// With the texts that the program's file holds. Lines are quoted from `sources` alone.
    pub fn new(options: Options, texts: Vec<String>, sources: Sources) -> Repeater {
        let most = options.memory;
        let options = Options {
            host: false,
            tape: false,
            ..options
        };
        let device = Device::new(most);
        let recorder = Recorder::kept();
        Repeater {
            context: Context::on(options, recorder, Arena::nowhere(), device, sources),
            texts: texts
                .into_iter()
                .map(|text| (Instead::name(&text), text))
                .collect(),
            modules: HashMap::new(),
            layout: Layout::default(),
            pages: HashMap::new(),
            most,
        }
    }

    /// Runs a launch again, and the launches that its kernel asks for.
    ///
    /// # Errors
    ///
    /// [`Refusal`]
    pub fn launch(&mut self, taped: &Taped) -> Result<(), Refusal> {
        let number = taped.name.number;
        let nonsense = Refusal::Nonsense { number };
        if let Some(layout) = &taped.layout {
            self.layout = layout.clone();
            self.context.memory.blocks = blocks(layout, taped);
        }
        for (page, packed) in &taped.pages {
            let content = packed.page().ok_or(nonsense.clone())?;
            self.pages.insert(*page, content);
        }
        let module = self.module(taped)?;
        self.remember(taped, module)?;
        let kernel = self.context.kernel(module, &taped.entry);
        let kernel = kernel.map_err(|_| nonsense.clone())?;
        for variable in &kernel.program.globals {
            let device = &self.context.memory.device;
            let at = device.variable_of(kernel.program.module, &variable.name);
            let whole = at.is_none_or(|at| device.read(at, variable.bytes).is_ok());
            if !whole {
                return Err(nonsense);
            }
        }
        let request = Request {
            kernel,
            grid: taped.name.grid,
            block: taped.name.block,
            shared: taped.shared,
            params: taped.params().ok_or(nonsense.clone())?,
            cooperative: taped.cooperative,
            programmatic: false,
            cluster: taped.cluster,
            stream: 0,
        };
        self.context.findings.sticky = None;
        self.context.streams.elsewhere = Some(taped.name.stream.chars().take(60).collect());
        self.context.launches.count = number.saturating_sub(1);
        let opted = u32::try_from(taped.shared).map_err(|_| nonsense.clone())?;
        let allowed = self.context.opt_in(&request.kernel, opted);
        allowed.map_err(|_| nonsense.clone())?;
        let call = || taped.call.clone();
        let launched = self.context.launch(&request, call);
        self.context.findings.output.clear();
        launched.map_err(|_| nonsense)
    }

    /// What launches showed.
    pub fn finish(mut self) -> Vec<Record> {
        self.context.findings.tell(true);
        self.context.findings.recorder.take()
    }

    /// The launch's module, of the program's own texts.
    fn module(&mut self, taped: &Taped) -> Result<usize, Refusal> {
        let stranger = || Refusal::Stranger {
            kernel: taped.name.kernel.chars().take(200).collect(),
        };
        if taped.texts.is_empty() {
            return Err(stranger());
        }
        if let Some(module) = self.modules.get(&taped.texts) {
            return Ok(*module);
        }
        let texts: Option<Vec<String>> = taped
            .texts
            .iter()
            .map(|name| self.texts.get(name).cloned())
            .collect();
        let image = Image::Texts(texts.ok_or_else(stranger)?);
        let module = self.context.modules.add("the program", image);
        self.modules.insert(taped.texts.clone(), module);
        // Its variables are where they were: nothing is allocated for them.
        let mut doubt = Vec::new();
        let loaded = self.context.modules.all[module].load(&self.context.options, &mut doubt);
        loaded.map_err(|_| stranger())?;
        Ok(module)
    }

    /// Makes the memory what it was before the launch.
    fn remember(&mut self, taped: &Taped, module: usize) -> Result<(), Refusal> {
        let mut layout = self.layout.clone();
        let own = taped.module as u32 + 1;
        layout.variables.retain(|(of, ..)| *of == own);
        for (of, ..) in &mut layout.variables {
            *of = module as u32 + 1;
        }
        let device = &mut self.context.memory.device;
        device
            .set_layout(&layout, self.most)
            .map_err(|misfit| Refusal::Memory {
                number: taped.name.number,
                misfit,
            })?;
        let empty = Page::default();
        for page in layout.pages() {
            device.set_page(page, self.pages.get(&page).unwrap_or(&empty));
        }
        Ok(())
    }
}

/// Allocations, as the reader is told of them.
fn blocks(layout: &Layout, taped: &Taped) -> BTreeMap<u64, Block> {
    let known: HashMap<u64, (usize, &Option<String>)> = taped
        .blocks
        .iter()
        .map(|(address, number, name)| (*address, (*number, name)))
        .collect();
    let block = |allocation: &simt::memory::Allocation| {
        let address = GLOBAL_BASE.checked_add(allocation.offset)?;
        let (number, name) = known.get(&address)?;
        let kind = match (name, allocation.host) {
            (Some(_), _) => Kind::Variable,
            (None, true) => Kind::Pinned,
            (None, false) => Kind::Device,
        };
        let block = Block {
            address,
            bytes: allocation.bytes,
            kind,
            number: *number,
            name: (*name).clone(),
            call: Call::default(),
            freed: None,
            of_graph: false,
            registered: false,
        };
        Some((address, block))
    };
    let live = layout.allocations.iter().filter(|a| !a.freed);
    live.filter_map(block).collect()
}
