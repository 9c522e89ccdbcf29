//! The context: everything that one process knows of its simulated device.
#![allow(unsafe_code)] // Says what a child that is forked does first.

use crate::arena::Arena;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::findings::Findings;
use crate::launches::{Awaited, Launches};
use crate::memory::{Block, Kind, Memory};
use crate::module::Kernel;
use crate::modules::Modules;
use crate::options::{self, LeaveOut, Options};
use crate::property::Model;
use crate::record::{Record, Recorder};
use crate::streams::Streams;
use ptx::ast::Item;
use report::{SourcePlace, Sources};
use simt::Device;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an operation does that had to wait.
pub(crate) type Deferral = Box<dyn FnOnce(&mut Context) + Send>;

/// A device in the program's process.
#[derive(Debug)]
pub struct Context {
    /// How it is run.
    pub options: Options,
    /// What GPU it is.
    pub model: Model,
    /// Its memory.
    pub memory: Memory,
    /// What was registered and loaded.
    pub modules: Modules,
    pub(crate) launches: Launches<Deferral>,
    /// What was found, and where it is told.
    pub findings: Findings,
    /// Streams and events by handle.
    pub streams: Streams,
    handles: u64,
}

static CONTEXT: Mutex<Option<Box<Context>>> = Mutex::new(None);

/// Whether the process is a child that was forked behind the context's first use. A child can't use CUDA (CUDA Runtime API,
/// "cudaErrorInitializationError"), and what it has of the context is its parent's.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
    crate::interrupt::forked();
    crate::arena::forked();
}

/// Whether the context can't be had: in a child, and where the thread holds it already, since a handler of a signal or a function that the
/// library calls has come back.
fn is_out_of_reach() -> bool {
    FORKED.load(Ordering::Relaxed) || is_held()
}

/// The process's context, made at the first call; `None` where the system has no room for it, or it is out of reach.
pub fn context() -> Option<Guard> {
    if is_out_of_reach() {
        return None;
    }
    let mut guard = CONTEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.is_none() {
        *guard = Context::new().ok().map(Box::new);
        // SAFETY: the function stays: the library is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    }
    Guard::of(guard)
}

/// The context if there is one already, within reach.
pub fn existing() -> Option<Guard> {
    if is_out_of_reach() {
        return None;
    }
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
        let (arena, cells) = Arena::reserve(options.arena).inspect_err(|error| {
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
        device: Device,
        sources: Sources,
    ) -> Context {
        Context {
            model: Model::of(options.capability),
            memory: Memory::new(arena, device),
            modules: Modules::default(),
            launches: Launches::new(options.perf),
            findings: Findings::new(recorder, sources, options.capability),
            streams: Streams::default(),
            handles: 0,
            options,
        }
    }

    /// Whether this is the context of the program's own process.
    pub(crate) fn is_own(&self) -> bool {
        self.memory.arena.bytes() > 0
    }

    /// A handle that is not a null pointer and was never given before.
    pub fn handle(&mut self) -> u64 {
        self.handles += 1;
        0x5261_0000_0000 + self.handles * 16
    }

    /// A call of the library, for the summary; whether it is to be done.
    pub fn count_call(&mut self, function: &str) -> bool {
        self.findings.totals.calls += 1;
        if !LeaveOut::FUNCTIONS.contains(&function) {
            return true;
        }
        let calls = self.findings.totals.functions.entry(function.to_owned());
        let number = calls.and_modify(|n| *n += 1).or_insert(1);
        let out = self.options.leave_out.as_ref();
        !out.is_some_and(|out| out.function == function && out.number == *number)
    }

    /// An attribute of a stream as the program set it; zeros where it did not.
    pub fn stream_attribute(&self, stream: u64, attribute: u32) -> [u8; 64] {
        let set = self.streams.attributes.get(&(stream, attribute));
        set.copied().unwrap_or([0; 64])
    }

    /// Sets an attribute of a stream. All of them are about speed, and change nothing of what is computed.
    pub fn set_stream_attribute(&mut self, stream: u64, attribute: u32, value: [u8; 64]) {
        self.streams.attributes.insert((stream, attribute), value);
    }

    /// The kernel that a function of the host stands for.
    ///
    /// # Errors
    ///
    /// There is none, or it can't be made ready.
    pub fn function(&mut self, function: u64) -> Result<Arc<Kernel>> {
        let known = self.modules.functions.get(&function).cloned();
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
        let id = self.modules.kernels.len();
        let mut doubt = Vec::new();
        let loaded = self.modules.all[module].load(&self.options, &mut doubt)?;
        let made = loaded.kernel(name, module, id, self.options.capability, &mut doubt);
        doubt.iter().for_each(|text| self.findings.doubt(text));
        let kernel = made?;
        if kernel.id == id {
            self.modules.kernels.push(kernel.clone());
        }
        Ok(kernel)
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
            .all
            .get_mut(module)
            .ok_or(Error::INVALID_RESOURCE_HANDLE)?;
        let was_loaded = unloaded.is_loaded();
        if !was_loaded {
            self.findings
                .totals
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
        doubt.iter().for_each(|text| self.findings.doubt(text));
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
            self.memory
                .device
                .bind_variable(program.module, &variable.name, address);
            let mut init = variable.init.clone();
            init.resize(variable.bytes as usize, 0);
            self.memory.write(address, &init)?;
            if let Some(block) = self.memory.blocks.get_mut(&address) {
                block.name = Some(report::kernel_view::variable_name(&variable.name));
            }
        }
        self.memory
            .device
            .load(program)
            .map_err(|_| Error::MEMORY_ALLOCATION)?;
        for variable in program
            .globals
            .iter()
            .filter(|g| !managed.contains(&g.name))
        {
            let Some(address) = self
                .memory
                .device
                .variable_of(program.module, &variable.name)
            else {
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
            self.memory.blocks.insert(address, block);
        }
        Ok(())
    }

    /// Address and size of a variable that the host knows by an address of its own.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn symbol(&mut self, variable: u64) -> Result<(u64, u64)> {
        let known = self.modules.symbols.get(&variable).cloned();
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
        let address = self.memory.device.variable_of(module as u32 + 1, name);
        let address = address.ok_or(Error::INVALID_SYMBOL)?;
        let bytes = self.memory.blocks.get(&address).map_or(0, |b| b.bytes);
        Ok((address, bytes))
    }

    /// A signal ended a launch, and ends the program: all that is known.
    pub(crate) fn interrupted(&mut self) {
        self.print();
        self.findings.totals.lines = self.lines();
        self.findings.tell(true);
    }

    /// For each line of the kernels that were watched, whether a thread ran it then.
    fn lines(&mut self) -> Vec<(SourcePlace, bool)> {
        let mut ran = BTreeMap::new();
        for kernel in &self.modules.kernels {
            if let Some((coverage, warps)) = self.findings.coverage.get(&kernel.id) {
                let masks = session::coverage::reached(&kernel.program, coverage, *warps);
                report::note_lines(
                    &kernel.program,
                    &masks,
                    &mut self.findings.sources,
                    &mut ran,
                );
            }
        }
        ran.into_iter().collect()
    }

    /// The program is about to end: what it left behind is told.
    pub fn end(&mut self) {
        self.settle(Awaited::All);
        self.print_at_last();
        self.leaks();
        let launched: Vec<&str> = self
            .modules
            .kernels
            .iter()
            .map(|k| k.mangled.as_str())
            .collect();
        let registered = self.modules.all.iter().flat_map(|m| &m.registered);
        // The toolkit's own kernels come with relocatable device code.
        let own = registered.filter(|name| !name.contains("cuda_device_runtime"));
        let idle = own.filter(|name| !launched.contains(&name.as_str()));
        self.findings.totals.idle = idle.map(|name| ptx::demangle(name)).collect();
        self.findings.totals.idle.sort();
        self.findings.totals.idle.dedup();
        self.findings.totals.lines = self.lines();
        self.findings.tell(true);
        self.findings.recorder.write(Record::Ended);
    }
}
