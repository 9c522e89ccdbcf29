//! What the library knows of the program, in one place under one lock.

use crate::findings::FindingLog;
use crate::launches::{Kernel, Launched, Totals};
use crate::modules::Loaded;
use crate::shadow::Shadow;
use context::options::Options;
use context::record::{Record, Recorder};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

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
    /// Launches by their number on the device.
    pub launched: Vec<Option<Launched>>,
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
            launched: vec![None; 256],
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

/// The state; made when it is first asked for.
pub fn state() -> MutexGuard<'static, State> {
    static STATE: OnceLock<Mutex<State>> = OnceLock::new();
    let state = STATE.get_or_init(|| Mutex::new(State::new()));
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
