//! Programmatic dependent launches: what one did before it waited for the launch in front of it, against what that one did
//! (`missing-dependency-wait`).
//!
//! Kept for each stream is what its last launch did, if dependent launches could begin before its end: it has a trigger. It is forgotten when the host
//! waits, when the stream gets something else to do, and at the next launch.

use crate::context::Context;
use crate::operation::{Request, Work};
use detect::rules::Rule;

impl Context {
    /// A launch is over: compares what it did early with what the launch in front of it did, and keeps what it did for the next one.
    pub(super) fn judge_dependence(&mut self, request: &Request, work: impl Fn() -> Work) {
        let seen = self.launches.detectors.take_dependency();
        let before = self.launches.primaries.0.remove(&request.stream);
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
            self.launches
                .primaries
                .0
                .insert(request.stream, (all, work()));
        }
    }
}
