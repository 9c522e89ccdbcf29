//! The key `equivalent` of a case: which of its mutants change nothing, and why.
//!
//! A mutant's line is named by words of the source, not by a number that the next edit makes wrong. The words may go over
//! several lines, where one says too little (`__syncthreads();` stands in many); what matters is that the mutant's line is
//! one of those that they cover.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;

/// Mutants of a correct kernel, or of its plan, that behave like the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Equivalent {
    /// The kind of mutation.
    pub mutation: Kind,
    /// What a scope or an order becomes, where a line has several such mutants: `cta`, `relaxed`.
    #[serde(default)]
    pub to: Option<String>,
    /// Words of the kernel's source, or of the case's `plan` or `streams`, that stand on the mutant's line. They may go over several
    /// lines; white space does not matter.
    pub line: String,
    /// Why nothing can go wrong without it, in a sentence that a student understands.
    pub why: String,
}

/// A kind of mutation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A barrier of the block, of a warp or of the cluster is removed; of one that reduces, each thread gets its own predicate.
    RemoveBarrier,
    /// A fence is removed: between threads, between proxies, of an mbarrier's initialisation, or before a product of a warpgroup.
    RemoveFence,
    /// A wait is removed: for asynchronous copies or products, for a phase of an mbarrier, or for the launch in front.
    DropWait,
    /// A wait for groups of asynchronous operations leaves one more unfinished.
    RaiseCount,
    /// An arrival at an mbarrier is removed.
    DropArrival,
    /// A wait for a phase of an mbarrier asks for the other parity.
    FlipParity,
    /// A `volatile` load or store becomes a weak one.
    DropVolatile,
    /// An ordering becomes one step weaker: `acquire` and `release` become `relaxed`, a `relaxed` load or store weak,
    /// `acq_rel` either half.
    WeakenOrder,
    /// The scope of a fence or a strong operation becomes one step narrower: `sys`, `gpu`, `cta`.
    NarrowScope,
    /// An atomic operation becomes a weak load, the operation and a weak store.
    PlainAtomic,
    /// In a case's plan: an event is not recorded, so that nothing waits for it.
    RemoveRecord,
    /// In a case's plan: a stream does not wait for an event.
    RemoveWait,
    /// In a case's plan: the host does not wait.
    RemoveSynchronize,
    /// In a case's plan: a blocking stream becomes a non-blocking one.
    UnblockStream,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 14] = [
        Kind::RemoveBarrier,
        Kind::RemoveFence,
        Kind::DropWait,
        Kind::RaiseCount,
        Kind::DropArrival,
        Kind::FlipParity,
        Kind::DropVolatile,
        Kind::WeakenOrder,
        Kind::NarrowScope,
        Kind::PlainAtomic,
        Kind::RemoveRecord,
        Kind::RemoveWait,
        Kind::RemoveSynchronize,
        Kind::UnblockStream,
    ];

    /// The name in files: `remove-barrier`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::RemoveBarrier => "remove-barrier",
            Kind::RemoveFence => "remove-fence",
            Kind::DropWait => "drop-wait",
            Kind::RaiseCount => "raise-count",
            Kind::DropArrival => "drop-arrival",
            Kind::FlipParity => "flip-parity",
            Kind::DropVolatile => "drop-volatile",
            Kind::WeakenOrder => "weaken-order",
            Kind::NarrowScope => "narrow-scope",
            Kind::PlainAtomic => "plain-atomic",
            Kind::RemoveRecord => "remove-record",
            Kind::RemoveWait => "remove-wait",
            Kind::RemoveSynchronize => "remove-synchronize",
            Kind::UnblockStream => "unblock-stream",
        }
    }

    /// Whether it takes an instruction away, and does not weaken it.
    pub fn removes(self) -> bool {
        matches!(
            self,
            Kind::RemoveBarrier | Kind::RemoveFence | Kind::DropWait | Kind::DropArrival
        )
    }

    /// Whether it is of a case's plan, and not of a kernel.
    pub fn is_of_plan(self) -> bool {
        matches!(
            self,
            Kind::RemoveRecord | Kind::RemoveWait | Kind::RemoveSynchronize | Kind::UnblockStream
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The lines (from 1) that each occurrence of `words` covers; white space matters neither here nor there.
pub fn lines(source: &str, words: &str) -> Vec<RangeInclusive<u32>> {
    let wanted: String = words.split_whitespace().collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut text = String::new();
    let mut line_of = Vec::new();
    for (index, line) in source.lines().enumerate() {
        for word in line.split_whitespace() {
            text.push_str(word);
            line_of.resize(text.len(), index as u32 + 1);
        }
    }
    let found = text.match_indices(&wanted);
    found
        .map(|(at, found)| line_of[at]..=line_of[at + found.len() - 1])
        .collect()
}

/// The text of a case's file in which its plan's mutants are, every other line being empty: what explanations of them quote.
pub fn plan_text(source: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in source.lines() {
        if line.starts_with(|c: char| c.is_alphabetic()) {
            inside = ["plan:", "streams:"].iter().any(|k| line.starts_with(k));
        }
        if inside {
            out += line;
        }
        out.push('\n');
    }
    out
}

/// The lines of a case's plan that each occurrence of `words` covers.
pub fn plan_lines(source: &str, words: &str) -> Vec<RangeInclusive<u32>> {
    lines(&plan_text(source), words)
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
    fn explanations_quote_the_plan_alone() {
        assert_eq!(plan_lines(YAML, "wait: {event: e"), [5..=5]);
        assert_eq!(plan_lines(YAML, "a: blocking"), [2..=2]);
        assert_eq!(plan_lines(YAML, "kernel: k.cu"), []);
    }
}
