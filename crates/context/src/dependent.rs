//! Programmatic dependent launches: what one did before it waited for the launch in front of it, against what that one did
//! (`missing-dependency-wait`).
//!
//! Kept for each stream is what its last launch did, if dependent launches could begin before its end: it has a trigger. It is forgotten when the host
//! waits, when the stream gets something else to do, and at the next launch.

use crate::context::Context;
use crate::launch::{Request, Work};
use detect::footprint::Footprint;
use detect::rules::Rule;
use std::collections::HashMap;

/// The last launches of streams that dependent launches may overlap, by the streams' handles.
#[derive(Debug, Default)]
pub(crate) struct Primaries(HashMap<u64, (Footprint, Work)>);

impl Primaries {
    /// The stream gets something else to do, or the host has waited for it; for all of them without one.
    pub fn forget(&mut self, stream: Option<u64>) {
        match stream {
            Some(stream) => drop(self.0.remove(&stream)),
            None => self.0.clear(),
        }
    }

    /// Whether a launch is to be watched for what it does early, and for what it does at all.
    pub fn concern(&self, request: &Request) -> bool {
        let dependent = request.programmatic && self.0.contains_key(&request.stream);
        dependent || request.kernel.program.facts.launches_dependents
    }
}

impl Context {
    /// A launch is over: compares what it did early with what the launch in front of it did, and keeps what it did for the next one.
    pub(super) fn judge_dependence(&mut self, request: &Request, work: impl Fn() -> Work) {
        let seen = self.detectors.take_dependency();
        let before = self.primaries.0.remove(&request.stream);
        let Some((early, all)) = seen else {
            return;
        };
        if let (Some((first, what)), true) = (&before, request.programmatic) {
            let (mut conflicts, _) = early.conflicts(first);
            for conflict in &mut conflicts {
                conflict.rule = Rule::MissingDependencyWait;
            }
            self.unordered(&work(), what, &conflicts);
        }
        if request.kernel.program.facts.launches_dependents {
            self.primaries.0.insert(request.stream, (all, work()));
        }
    }
}
