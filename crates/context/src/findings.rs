//! What was found and counted so far, and where it is told.

use crate::call::Call;
use crate::error::{Error, Result};
use crate::module::Kernel;
use crate::record::{KernelTotals, Record, Recorder, Totals};
use detect::coverage::Coverage;
use detect::rules::Rule;
use report::Sources;
use report::unjudged::Unjudged;
use simt::ids::Site;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How often sums are written while the program runs.
const BETWEEN_TOTALS: Duration = Duration::from_millis(200);

/// What is known of the program, and told.
#[derive(Debug)]
pub struct Findings {
    /// Where it is told.
    pub recorder: Recorder,
    pub(crate) known: Known,
    pub(crate) sources: Sources,
    pub(crate) totals: Totals,
    /// The place of a kernel's sums among them.
    counted: HashMap<usize, usize>,
    /// By kernel: where branches went in the launches that were watched, and the largest number of a block's warps.
    pub(crate) coverage: HashMap<usize, (Coverage, u32)>,
    /// What kernels printed, and has not been written yet.
    pub(crate) output: String,
    /// The error that every call gives.
    pub(crate) sticky: Option<Error>,
    /// A launch that failed and of which nobody has heard yet.
    pub(crate) unheard: Option<(Error, Call)>,
    told: Instant,
}

impl Findings {
    /// None yet.
    pub(crate) fn new(recorder: Recorder, sources: Sources, capability: u32) -> Findings {
        Findings {
            recorder,
            known: Known::default(),
            sources,
            totals: Totals {
                capability,
                ..Totals::default()
            },
            counted: HashMap::new(),
            coverage: HashMap::new(),
            output: String::new(),
            sticky: None,
            unheard: None,
            told: Instant::now(),
        }
    }

    /// The error that every call gives, once a kernel has failed (CUDA Runtime API, "Error Handling": a sticky error).
    ///
    /// # Errors
    ///
    /// It.
    pub fn healthy(&self) -> Result<()> {
        self.sticky.map_or(Ok(()), Err)
    }

    /// Names a function that is not there.
    pub fn missing(&mut self, function: &str) {
        if self.known.is_new(function) {
            self.recorder.write(Record::Missing {
                function: function.to_owned(),
            });
        }
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
}

/// Diagnostics of a kernel and pairs of operations that are reported at most: what is wrong everywhere needs no list.
const MOST: usize = 1000;

/// What was told already.
#[derive(Debug, Default)]
pub(crate) struct Known {
    texts: HashSet<String>,
    pub findings: HashMap<Key, usize>,
    counts: Vec<u64>,
    changed: HashSet<usize>,
}

/// What makes two findings one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Kernel(usize, Rule, Site, Site),
    Pair(Rule, Option<(usize, Site)>, Option<(usize, Site)>, Vec<u64>),
    Call(Rule, String, Vec<u64>),
}

impl Known {
    /// Whether a text has not been told yet; it counts as told afterwards.
    pub fn is_new(&mut self, text: &str) -> bool {
        self.texts.insert(text.to_owned())
    }

    /// Counts a finding; its number if it is new.
    pub fn count(&mut self, key: Key, count: u64) -> Option<usize> {
        if let Some(id) = self.findings.get(&key) {
            self.counts[*id] += count;
            self.changed.insert(*id);
            return None;
        }
        let id = self.counts.len();
        if id >= MOST {
            return None;
        }
        self.findings.insert(key, id);
        self.counts.push(count);
        Some(id)
    }

    /// Findings that were seen again since the last call, with their counts.
    pub fn repeated(&mut self) -> Vec<(usize, u64)> {
        let changed = std::mem::take(&mut self.changed);
        changed
            .into_iter()
            .map(|id| (id, self.counts[id]))
            .collect()
    }
}
