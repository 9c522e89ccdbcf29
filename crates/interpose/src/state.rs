//! What the library knows of the program, in one place under one lock.

use crate::order::LaunchOrder;
use crate::shadow::Shadow;
use context::options::Options;
use context::record::{Record, Recorder};
use instrument::Instrumented;
use ptx::ast::Module;
use report::SourceFile;
use session::host_order::Stamp;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// A module that was loaded with checks.
pub struct Loaded {
    /// Its own tree and text.
    pub tree: Module,
    pub text: Arc<SourceFile>,
    /// What was made of it.
    pub checked: Instrumented,
    /// Its kernels as the simulator reads them, for wording.
    pub programs: Mutex<HashMap<String, Option<Arc<simt::Program>>>>,
}

/// A kernel by the driver's handle.
pub struct Kernel {
    /// Its name in the module.
    pub name: String,
    /// Number and content of its module, where that was loaded with checks.
    pub module: Option<(usize, Arc<Loaded>)>,
    /// Whether the handle is a library's kernel (`CUkernel`), and not a function of a context.
    pub of_library: bool,
}

/// A launch that has a number.
#[derive(Clone)]
pub struct Launched {
    pub kernel: Arc<Kernel>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Its number in the program, from 1.
    pub number: u64,
    /// The call, where the launch stands for a copy or memset.
    pub call: Option<&'static str>,
}

/// Kernels of ours that stand for copies, loaded.
pub struct Copies {
    pub module: usize,
    pub reads: Arc<Kernel>,
    pub writes: Arc<Kernel>,
    /// Their functions.
    pub handles: [usize; 2],
}

/// What a copy does to memory of the device: rows of so many bytes, one every `pitch` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub at: u64,
    pub bytes: u64,
    pub rows: u64,
    pub pitch: u64,
    pub writes: bool,
}

impl Range {
    /// In one piece.
    pub fn whole(at: u64, bytes: u64, writes: bool) -> Range {
        Range {
            at,
            bytes,
            rows: 1,
            pitch: bytes,
            writes,
        }
    }
}

/// A copy that other work may still have to follow.
pub struct Noted {
    pub stamp: Stamp,
    /// The call.
    pub name: &'static str,
    pub ranges: Vec<Range>,
}

/// A node of a graph that launches a kernel.
pub struct Node {
    pub handle: usize,
    pub slot: u32,
    /// The kernel and how it is launched; `None` where it can't be watched.
    pub launch: Option<(Arc<Kernel>, [u32; 3], [u32; 3])>,
}

/// A graph that can be launched.
pub struct Replayed {
    pub nodes: Vec<Node>,
    pub first: u32,
    /// Whether it has copies or memsets.
    pub copies: bool,
    /// The stream of its last replay, and an event behind that.
    pub last: Option<usize>,
    pub event: usize,
}

/// Graphs that can be launched, by handle.
#[derive(Default)]
pub struct Replays {
    pub graphs: HashMap<usize, Replayed>,
    pub next: u32,
}

/// Sums of a kernel.
#[derive(Clone, Copy, Default)]
pub struct Totals {
    pub launches: u64,
    pub watched: u64,
    pub threads: u64,
    pub has_ptx: bool,
}

/// What tells findings apart: module (and lockstep), the earlier launch, both sites, and whether it is shared memory.
pub type FindingKey = (u32, u32, u32, u32, bool);

/// What was told so far.
#[derive(Default)]
pub struct FindingLog {
    /// Number of the last watched launch.
    pub next: u32,
    /// Modules whose variables are watched.
    pub variables: HashSet<usize>,
    /// Handles that are libraries.
    pub libraries: HashSet<usize>,
    /// Findings by what tells them apart, with their number.
    pub findings: HashMap<FindingKey, usize>,
    pub assumed: u64,
    pub unwatched: u64,
    /// What both were in contexts that are gone.
    pub before: (u64, u64),
    pub hooked: bool,
    pub ended: bool,
    pub last: Option<std::time::Instant>,
}

/// Everything.
pub struct State {
    pub options: Options,
    pub recorder: Recorder,
    /// Modules and libraries that were loaded with checks, by number; they stay known when they are unloaded.
    pub loaded: Vec<Arc<Loaded>>,
    /// Their numbers, by the driver's handles.
    pub modules: HashMap<usize, usize>,
    /// Kernels of any module, by the driver's handles.
    pub kernels: HashMap<usize, Arc<Kernel>>,
    /// The device that is watched.
    pub shadow: Option<Shadow>,
    /// Graphs.
    pub replays: Replays,
    /// Launches by their number on the device.
    pub launched: Vec<Option<Launched>>,
    /// What orders them.
    pub order: LaunchOrder,
    /// Kernels that stand for copies, and copies that work on other streams may have to follow.
    pub copies: Option<Copies>,
    pub noted: Vec<Noted>,
    pub totals: BTreeMap<String, Totals>,
    pub told: FindingLog,
    doubts: BTreeSet<String>,
}

impl State {
    fn new() -> State {
        let process = Options::of_process();
        let records = process
            .as_ref()
            .map(|(folder, _)| context::options::records(folder));
        let mut recorder = Recorder::new(records.as_deref(), None);
        let program = std::env::current_exe().unwrap_or_default();
        recorder.write(Record::Started {
            program: program.display().to_string(),
        });
        State {
            options: process.map(|(_, options)| options).unwrap_or_default(),
            recorder,
            loaded: Vec::new(),
            modules: HashMap::new(),
            kernels: HashMap::new(),
            shadow: None,
            replays: Replays::default(),
            launched: vec![None; 256],
            order: LaunchOrder::default(),
            copies: None,
            noted: Vec::new(),
            totals: BTreeMap::new(),
            told: FindingLog::default(),
            doubts: BTreeSet::new(),
        }
    }

    /// Something keeps the result from being told.
    pub fn doubt(&mut self, text: String) {
        if self.doubts.insert(text.clone()) {
            self.recorder.write(Record::Doubt {
                text,
                budget: false,
            });
        }
    }
}

static STATE: OnceLock<Mutex<State>> = OnceLock::new();

/// The state; made when it is first asked for.
pub fn state() -> MutexGuard<'static, State> {
    let state = STATE.get_or_init(|| Mutex::new(State::new()));
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state, if it is there and nobody has it.
pub fn try_state() -> Option<MutexGuard<'static, State>> {
    match STATE.get()?.try_lock() {
        Ok(state) => Some(state),
        Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
