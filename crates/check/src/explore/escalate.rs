//! Data that passes between warps in no certain order is an error once two runs leave different results.

use super::difference::Difference;
use super::memory::left_in;
use detect::rules::{Level, Rule};
use report::Diagnostic;
use session::Outcome;
use simt::{Device, ScheduleSpec};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a run left in memory and printed, as a hash, and its schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    hash: u64,
    schedule: String,
}

/// What a run left that came to its end, if data passed between warps in no certain order.
pub fn left(outcome: &Outcome, device: &Device, schedule: &ScheduleSpec) -> Option<Left> {
    let mut rules = outcome.findings.iter().map(|f| f.rule);
    let unordered = rules.any(|rule| rule == Rule::UnorderedCommunication);
    (unordered && outcome.stopped.is_none()).then(|| {
        let mut hash = DefaultHasher::new();
        (left_in(device), &outcome.output).hash(&mut hash);
        Left {
            hash: hash.finish(),
            schedule: schedule.to_string(),
        }
    })
}

/// Makes errors of the findings if two results differ; `difference` is where, with both values, if that is in a buffer.
pub fn escalate(diagnostics: &mut [Diagnostic], results: &[Left], difference: Option<&Difference>) {
    let Some(first) = results.first() else {
        return;
    };
    let Some(other) = results.iter().find(|left| left.hash != first.hash) else {
        return;
    };
    let unordered = |d: &&mut Diagnostic| d.rule == Rule::UnorderedCommunication;
    for diagnostic in diagnostics.iter_mut().filter(unordered) {
        diagnostic.level = Level::Error;
        diagnostic.notes.push(match difference {
            Some(difference) => difference.sentence(),
            None => format!(
                "the results of schedule {} differ from those of schedule {}",
                first.schedule, other.schedule
            ),
        });
    }
}
