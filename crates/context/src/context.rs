//! The context: everything that one process knows of its simulated device.

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::explore::Spent;
use crate::host_access::Watch;
use crate::image::Arrays;
use crate::memory::{Block, Kind, Registered};
use crate::module::{Image, Kernel, Module};
use crate::options::{self, LeaveOut, Options};
use crate::property::Model;
use crate::record::{Call, KernelTotals, Record, Recorder, Totals};
use crate::report::Known;
use crate::stream::Streams;
use crate::suspended::{Awaited, Beside};
use crate::tape::Tape;
use crate::timeline::Timeline;
use detect::Detectors;
use detect::coverage::Coverage;
use ptx::ast::Item;
use report::unjudged::Unjudged;
use report::{SourcePlace, Sources};
use simt::{Device, Live};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often sums are written while the program runs.
const BETWEEN_TOTALS: Duration = Duration::from_millis(200);

/// A device in the program's process.
#[derive(Debug)]
pub struct Context {
    /// How it is run.
    pub options: Options,
    /// What GPU it is.
    pub model: Model,
    pub(crate) arena: Arena,
    pub(crate) device: Device,
    pub(crate) detectors: Detectors,
    pub(crate) blocks: BTreeMap<u64, Block>,
    pub(crate) quarantine: VecDeque<u64>,
    /// Memory of the host that is registered, by its start.
    pub(crate) registered: BTreeMap<u64, Registered>,
    /// What the program set of its streams: 64 bytes each, by stream and number of the attribute.
    stream_attributes: HashMap<(u64, u32), [u8; 64]>,
    pub(crate) numbers: usize,
    pub(crate) modules: Vec<Module>,
    pub(crate) kernels: Vec<Arc<Kernel>>,
    pub(crate) opted_in: HashMap<usize, u32>,
    pub(crate) recorder: Recorder,
    pub(crate) known: Known,
    pub(crate) sources: Sources,
    pub(crate) tape: Tape,
    /// The stream of a launch that is run again.
    pub(crate) stream_elsewhere: Option<String>,
    pub(crate) timeline: Timeline<crate::launch::Work>,
    /// Launches that the next ones may overlap.
    pub(crate) primaries: crate::dependent::Primaries,
    /// Launches that wait for others.
    pub(crate) beside: Beside,
    pub(crate) watch: Watch,
    pub(crate) spent: Spent,
    /// Streams and events by handle.
    pub streams: Streams,
    pub(crate) arrays: Arrays,
    pub(crate) graph_peak: u64,
    pub(crate) totals: Totals,
    pub(crate) counted: HashMap<usize, usize>,
    /// By kernel: where branches went in the launches that were watched, and the largest number of a block's warps.
    pub(crate) coverage: HashMap<usize, (Coverage, u32)>,
    pub(crate) geometries: HashMap<(usize, [u32; 6]), u64>,
    /// Kernels whose blocks were independent when they were last watched on several cores.
    pub(crate) independent: HashSet<usize>,
    pub(crate) launches: u64,
    /// How deep launches by kernels are nested.
    pub(crate) depth: u32,
    pub(crate) output: String,
    pub(crate) sticky: Option<Error>,
    /// A launch that failed and of which nobody has heard yet.
    pub(crate) unheard: Option<(Error, Call)>,
    functions: HashMap<u64, (usize, String)>,
    symbols: HashMap<u64, Symbol>,
    told: Instant,
    handles: u64,
    /// What ends its launches.
    pub(crate) live: Live,
}

/// A variable that host code registered.
#[derive(Clone, Debug)]
struct Symbol {
    module: usize,
    name: String,
    bytes: u64,
}

static CONTEXT: Mutex<Option<Box<Context>>> = Mutex::new(None);

/// The process's context, made at the first call; `None` where the system has no room for it.
pub fn context() -> Option<Guard> {
    let mut guard = CONTEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.is_none() {
        *guard = Context::new().ok().map(Box::new);
    }
    Guard::of(guard)
}

/// The context if there is one already.
pub fn existing() -> Option<Guard> {
    let guard = CONTEXT.lock().unwrap_or_else(PoisonError::into_inner);
    Guard::of(guard)
}

thread_local! {
    /// How often the thread holds the context.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread holds the context.
pub(crate) fn is_held() -> bool {
    HELD.get() > 0
}

/// The context, while nobody else has it.
pub struct Guard(MutexGuard<'static, Option<Box<Context>>>);

impl Guard {
    fn of(guard: MutexGuard<'static, Option<Box<Context>>>) -> Option<Guard> {
        guard.is_some().then(|| {
            HELD.set(HELD.get() + 1);
            Guard(guard)
        })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

impl std::ops::Deref for Guard {
    type Target = Context;
    fn deref(&self) -> &Context {
        self.0.as_ref().expect("made with a context")
    }
}

impl std::ops::DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Context {
        self.0.as_mut().expect("made with a context")
    }
}

impl Context {
    fn new() -> std::io::Result<Context> {
        let (folder, options) = match Options::of_process() {
            Some((folder, options)) => (Some(folder), options),
            None => (None, Options::default()),
        };
        let records = folder.map(|f| options::records(&f));
        let mut recorder = Recorder::new(records.as_deref(), options.seal.as_deref());
        let program = std::env::current_exe().map(|p| p.display().to_string());
        recorder.write(Record::Started {
            program: program.unwrap_or_default(),
        });
        let (arena, cells) = Arena::reserve().inspect_err(|error| {
            recorder.write(Record::Doubt {
                text: format!(
                    "no room for the device's memory in the program's address space: {error}"
                ),
                budget: false,
            });
        })?;
        let memory = options.memory.min(arena.bytes() / 2);
        let device = Device::lent(cells.words, cells.valid, memory);
        // The program runs as its user, and may read any file itself.
        let mut sources = Sources::new();
        sources.look_in(std::path::Path::new("/"));
        Ok(Context::on(options, recorder, arena, device, sources))
    }

    /// A context on a device.
    pub(crate) fn on(
        options: Options,
        recorder: Recorder,
        arena: Arena,
        mut device: Device,
        sources: Sources,
    ) -> Context {
        device.images.all = true;
        Context {
            model: Model::of(options.capability),
            device,
            arena,
            detectors: Detectors::new(options.perf),
            blocks: BTreeMap::new(),
            quarantine: VecDeque::new(),
            registered: BTreeMap::new(),
            stream_attributes: HashMap::new(),
            numbers: 0,
            modules: Vec::new(),
            kernels: Vec::new(),
            opted_in: HashMap::new(),
            recorder,
            known: Known::default(),
            sources,
            tape: Tape::default(),
            stream_elsewhere: None,
            timeline: Timeline::default(),
            primaries: Default::default(),
            beside: Beside::default(),
            watch: Watch::default(),
            spent: Spent::default(),
            streams: Streams::default(),
            arrays: Arrays::default(),
            graph_peak: 0,
            totals: Totals {
                capability: options.capability,
                ..Totals::default()
            },
            counted: HashMap::new(),
            coverage: HashMap::new(),
            geometries: HashMap::new(),
            independent: HashSet::new(),
            launches: 0,
            depth: 0,
            output: String::new(),
            sticky: None,
            unheard: None,
            functions: HashMap::new(),
            symbols: HashMap::new(),
            told: Instant::now(),
            handles: 0,
            live: Live::new(),
            options,
        }
    }

    /// Whether this is the context of the program's own process.
    pub(crate) fn is_own(&self) -> bool {
        self.arena.bytes() > 0
    }

    /// A handle that is not a null pointer and was never given before.
    pub fn handle(&mut self) -> u64 {
        self.handles += 1;
        0x5261_0000_0000 + self.handles * 16
    }

    /// The error that every call gives, once a kernel has failed (CUDA Runtime API, "Error Handling": a sticky error).
    ///
    /// # Errors
    ///
    /// It.
    pub fn healthy(&self) -> Result<()> {
        self.sticky.map_or(Ok(()), Err)
    }

    /// A call of the library, for the summary; whether it is to be done.
    pub fn count_call(&mut self, function: &str) -> bool {
        self.totals.calls += 1;
        if !LeaveOut::FUNCTIONS.contains(&function) {
            return true;
        }
        let calls = self.totals.functions.entry(function.to_owned());
        let number = calls.and_modify(|n| *n += 1).or_insert(1);
        let out = self.options.leave_out.as_ref();
        !out.is_some_and(|out| out.function == function && out.number == *number)
    }

    /// Names a function that is not there.
    pub fn missing(&mut self, function: &str) {
        if self.known.is_new(function) {
            self.recorder.write(Record::Missing {
                function: function.to_owned(),
            });
        }
    }

    /// An attribute of a stream as the program set it; zeros where it did not.
    pub fn stream_attribute(&self, stream: u64, attribute: u32) -> [u8; 64] {
        let set = self.stream_attributes.get(&(stream, attribute));
        set.copied().unwrap_or([0; 64])
    }

    /// Sets an attribute of a stream. All of them are about speed, and change nothing of what is computed.
    pub fn set_stream_attribute(&mut self, stream: u64, attribute: u32, value: [u8; 64]) {
        self.stream_attributes.insert((stream, attribute), value);
    }

    /// Something ran that is not judged in full.
    pub fn unjudged(&mut self, what: Unjudged) {
        if self.known.is_new(what.row().note) {
            self.recorder.write(Record::Unjudged { what });
        }
    }

    /// Something keeps the result from being told.
    pub fn doubt(&mut self, text: &str) {
        self.doubt_for(text, false);
    }

    /// The same, with whether a launch took more warp-instructions than it may.
    pub(crate) fn doubt_for(&mut self, text: &str, budget: bool) {
        if self.known.is_new(text) {
            self.recorder.write(Record::Doubt {
                text: text.to_owned(),
                budget,
            });
        }
    }

    /// Registers or loads a module; its number.
    pub fn add_module(&mut self, from: &str, image: Image) -> usize {
        self.modules.push(Module::new(from, image));
        self.modules.len() - 1
    }

    /// Host code for a kernel of a module: `function` is its address.
    pub fn register_function(&mut self, module: usize, function: u64, name: &str) {
        if let Some(module) = self.modules.get_mut(module) {
            module.registered.push(name.to_owned());
        }
        self.functions.insert(function, (module, name.to_owned()));
    }

    /// A variable of a module: `variable` is its address in the host code.
    pub fn register_variable(&mut self, module: usize, variable: u64, name: &str, bytes: u64) {
        let name = name.to_owned();
        self.symbols.insert(
            variable,
            Symbol {
                module,
                name,
                bytes,
            },
        );
    }

    /// The kernel that a function of the host stands for.
    ///
    /// # Errors
    ///
    /// There is none, or it can't be made ready.
    pub fn function(&mut self, function: u64) -> Result<Arc<Kernel>> {
        let known = self.functions.get(&function).cloned();
        let (module, name) = known.ok_or(Error::INVALID_DEVICE_FUNCTION)?;
        self.kernel(module, &name)
    }

    /// A kernel of a module by its name in the PTX.
    ///
    /// # Errors
    ///
    /// There is none, or it can't be made ready.
    pub fn kernel(&mut self, module: usize, name: &str) -> Result<Arc<Kernel>> {
        self.load(module)?;
        let id = self.kernels.len();
        let mut doubt = Vec::new();
        let loaded = self.modules[module].load(&self.options, &mut doubt)?;
        let made = loaded.kernel(name, module, id, self.options.capability, &mut doubt);
        doubt.iter().for_each(|text| self.doubt(text));
        let kernel = made?;
        if kernel.id == id {
            self.kernels.push(kernel.clone());
        }
        Ok(kernel)
    }

    /// A kernel by its number.
    pub fn kernel_of(&self, id: usize) -> Option<Arc<Kernel>> {
        self.kernels.get(id).cloned()
    }

    /// Loads a module, and allocates its variables.
    ///
    /// # Errors
    ///
    /// It can't be read, or does not fit.
    pub fn load(&mut self, module: usize) -> Result<()> {
        let mut doubt = Vec::new();
        let unloaded = self
            .modules
            .get_mut(module)
            .ok_or(Error::INVALID_RESOURCE_HANDLE)?;
        let was_loaded = unloaded.is_loaded();
        if !was_loaded {
            self.totals
                .newer
                .extend(unloaded.newer(self.options.capability));
        }
        let loaded = unloaded.load(&self.options, &mut doubt);
        let result = loaded.map(|loaded| {
            let managed = loaded.tree().items.iter().filter_map(|item| match item {
                Item::Variable(v) => v
                    .attributes
                    .iter()
                    .any(|a| a.contains("managed"))
                    .then(|| v.name.clone()),
                _ => None,
            });
            let managed: Vec<String> = managed.collect();
            let entry = loaded.entries().next().map(str::to_owned);
            (managed, entry)
        });
        doubt.iter().for_each(|text| self.doubt(text));
        let (managed, entry) = result?;
        let (false, Some(entry)) = (was_loaded, entry) else {
            return Ok(());
        };
        let kernel = self.kernel(module, &entry)?;
        self.variables(&kernel, &managed)
    }

    fn variables(&mut self, kernel: &Kernel, managed: &[String]) -> Result<()> {
        let program = &kernel.program;
        for variable in program.globals.iter().filter(|g| managed.contains(&g.name)) {
            let address = self.allocate(variable.bytes, Kind::Managed, Call::default())?;
            self.device
                .bind_variable(program.module, &variable.name, address);
            let mut init = variable.init.clone();
            init.resize(variable.bytes as usize, 0);
            self.write(address, &init)?;
            if let Some(block) = self.blocks.get_mut(&address) {
                block.name = Some(report::kernel_view::variable_name(&variable.name));
            }
        }
        self.device
            .load(program)
            .map_err(|_| Error::MEMORY_ALLOCATION)?;
        for variable in program
            .globals
            .iter()
            .filter(|g| !managed.contains(&g.name))
        {
            let Some(address) = self.device.variable_of(program.module, &variable.name) else {
                continue;
            };
            let block = Block {
                address,
                bytes: variable.bytes,
                kind: Kind::Variable,
                number: 0,
                name: Some(report::kernel_view::variable_name(&variable.name)),
                call: Call::default(),
                freed: None,
                of_graph: false,
                registered: false,
            };
            self.blocks.insert(address, block);
        }
        Ok(())
    }

    /// Address and size of a variable that the host knows by an address of its own.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn symbol(&mut self, variable: u64) -> Result<(u64, u64)> {
        let known = self.symbols.get(&variable).cloned();
        let symbol = known.ok_or(Error::INVALID_SYMBOL)?;
        let (address, bytes) = self.variable(symbol.module, &symbol.name)?;
        Ok((
            address,
            if symbol.bytes > 0 {
                symbol.bytes
            } else {
                bytes
            },
        ))
    }

    /// Address and size of a module's variable.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn variable(&mut self, module: usize, name: &str) -> Result<(u64, u64)> {
        self.load(module)?;
        let address = self.device.variable_of(module as u32 + 1, name);
        let address = address.ok_or(Error::INVALID_SYMBOL)?;
        let bytes = self.blocks.get(&address).map_or(0, |b| b.bytes);
        Ok((address, bytes))
    }

    /// Writes the sums, if the last time is long enough ago or it `must` be.
    pub fn tell(&mut self, must: bool) {
        if must || self.told.elapsed() > BETWEEN_TOTALS {
            self.told = Instant::now();
            self.recorder.write(Record::Totals(self.totals.clone()));
            for (id, count) in self.known.repeated() {
                self.recorder.write(Record::Again { id, count });
            }
        }
    }

    /// A signal ended a launch, and ends the program: all that is known.
    pub(crate) fn interrupted(&mut self) {
        self.print();
        self.totals.lines = self.lines();
        self.tell(true);
    }

    /// The sums of a kernel.
    pub(crate) fn totals_of(&mut self, kernel: &Kernel) -> &mut KernelTotals {
        let all = &mut self.totals.kernels;
        let index = *self.counted.entry(kernel.id).or_insert_with(|| {
            all.push(KernelTotals {
                name: kernel.name.clone(),
                ..KernelTotals::default()
            });
            all.len() - 1
        });
        &mut all[index]
    }

    /// For each line of the kernels that were watched, whether a thread ran it then.
    fn lines(&mut self) -> Vec<(SourcePlace, bool)> {
        let mut ran = BTreeMap::new();
        for kernel in &self.kernels {
            if let Some((coverage, warps)) = self.coverage.get(&kernel.id) {
                let masks = session::coverage::reached(&kernel.program, coverage, *warps);
                report::note_lines(&kernel.program, &masks, &mut self.sources, &mut ran);
            }
        }
        ran.into_iter().collect()
    }

    /// The program is about to end: what it left behind is told.
    pub fn end(&mut self) {
        self.settle(Awaited::All);
        self.print();
        self.leaks();
        let launched: Vec<&str> = self.kernels.iter().map(|k| k.mangled.as_str()).collect();
        let registered = self.modules.iter().flat_map(|m| &m.registered);
        // The toolkit's own kernels come with relocatable device code.
        let own = registered.filter(|name| !name.contains("cuda_device_runtime"));
        let idle = own.filter(|name| !launched.contains(&name.as_str()));
        self.totals.idle = idle.map(|name| ptx::demangle(name)).collect();
        self.totals.idle.sort();
        self.totals.idle.dedup();
        self.totals.lines = self.lines();
        self.tell(true);
        self.recorder.write(Record::Ended);
    }
}
