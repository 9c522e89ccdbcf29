//! Mutants of a case's host plan: an ordering step is removed, or a blocking stream becomes non-blocking.
//!
//! Launches and copies are the work of the plan and stay. The mutants remove, one at a time, what orders them: recording an
//! event, a stream waiting for an event, a wait of the host, or the blocking flag of a stream, for which the legacy default
//! stream waits (see [`catalog::host`]). Launches and copies are not moved to other streams.

use super::operator::{Change, Kind};
use catalog::case::Case;
use catalog::host::{self, StreamKind};
use catalog::load::Entry;
use catalog::locate::locate;
use report::Label;
use report::view::step_columns;
use std::sync::Arc;

/// One mutant of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepMutant {
    /// What is changed.
    pub change: Change,
    at: At,
}

/// What of the case is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    /// A step of the plan, by its index.
    Step(usize),
    /// A stream, by its name.
    Stream(String),
}

/// The mutants of a case's plan, in the order of its lines: of these kinds, or of all where `only` is empty.
pub fn steps(case: &Case, only: &[Kind]) -> Vec<StepMutant> {
    let change = |kind, what| Change {
        kind,
        what,
        from: None,
        to: None,
    };
    let blocking = case.streams.iter();
    let blocking = blocking.filter(|(_, kind)| **kind == StreamKind::Blocking);
    let streams = blocking.map(|(name, _)| StepMutant {
        change: change(Kind::UnblockStream, "stream"),
        at: At::Stream(name.clone()),
    });
    let steps = case.plan.iter().enumerate().filter_map(|(index, step)| {
        let change = match step {
            host::Step {
                record: Some(_), ..
            } => change(Kind::RemoveRecord, "event record"),
            host::Step { wait: Some(_), .. } => change(Kind::RemoveWait, "wait for an event"),
            host::Step {
                synchronize: Some(_),
                ..
            } => change(Kind::RemoveSynchronize, "host's wait"),
            _ => return None,
        };
        let at = At::Step(index);
        Some(StepMutant { change, at })
    });
    let all = streams.chain(steps);
    all.filter(|m| only.is_empty() || only.contains(&m.change.kind))
        .collect()
}

impl StepMutant {
    /// The case with this mutant's plan. Steps keep their numbers, and so their lines.
    pub fn mutated(&self, entry: &Entry) -> Entry {
        let mut entry = entry.clone();
        match &self.at {
            At::Step(index) => {
                if let Some(step) = entry.case.plan.get_mut(*index) {
                    *step = host::Step::default();
                }
            }
            At::Stream(name) => {
                entry.case.streams.remove(name);
            }
        }
        entry
    }

    /// The line of the case's file that it changes, from 1.
    pub fn line(&self, entry: &Entry) -> u32 {
        match &self.at {
            At::Step(index) => entry.step_line(*index),
            At::Stream(name) => {
                let path = ["streams".into(), name.as_str().into()];
                locate(&entry.source.text, &path).0 as u32
            }
        }
    }

    /// That line, for a reader.
    pub fn place(&self, entry: &Entry) -> Label {
        let line = self.line(entry);
        Label {
            source: Arc::clone(&entry.source),
            line,
            columns: step_columns(entry.source.line(line).unwrap_or_default()),
            text: self.change.to_string(),
            who: None,
            instruction: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "\
title: t
streams: {a: blocking, b: non-blocking}
plan:
  - record: {event: e, stream: a}
  - wait: {event: e, stream: b}
  - launch: {entry: k, stream: b}
  - synchronize: all
equivalent:
  - {mutation: remove-wait, line: 'wait: {event: e', why: x}
kernel: k.cu
expect: {simulator: clean}
";

    #[test]
    fn what_orders_is_mutated_and_nothing_else() {
        let case = catalog::load::from_yaml("c.yaml", YAML).unwrap();
        let kinds = |only: &[Kind]| -> Vec<Kind> {
            steps(&case, only).iter().map(|m| m.change.kind).collect()
        };
        let all = [
            Kind::UnblockStream,
            Kind::RemoveRecord,
            Kind::RemoveWait,
            Kind::RemoveSynchronize,
        ];
        assert_eq!(kinds(&[]), all);
        assert_eq!(kinds(&[Kind::RemoveWait]), [Kind::RemoveWait]);
        assert_eq!(kinds(&[Kind::RemoveBarrier]), []);
    }
}
