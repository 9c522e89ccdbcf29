//! A report of a tool.

use detect::finding::Action;
use detect::rules::Rule;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A report of a tool: what, how bad, where.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What is wrong.
    pub kind: Kind,
    /// How bad the tool finds it.
    pub severity: Severity,
    /// The tool's own sentence.
    pub text: String,
    /// The block in which it happened, where the tool says.
    pub block: Option<[u32; 3]>,
    /// The address, where the tool says.
    pub address: Option<u64>,
    /// Of a hazard: what lay there.
    pub value: Option<u64>,
    /// Of a hazard: what the second thread writes.
    pub written: Option<u64>,
    /// The places, in the tool's order. Of a race the first is one side and each of the others the other side.
    pub ends: Vec<End>,
}

/// A place that a record names, and what a thread did there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct End {
    /// What was done, where the tool says.
    pub action: Option<Action>,
    /// The kernel or device function, demangled.
    pub function: Option<String>,
    /// The source file as the PTX names it.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The callers of an inlined or called function, from the innermost outwards: file and line.
    pub callers: Vec<(String, u32)>,
    /// `threadIdx`.
    pub thread: Option<[u32; 3]>,
    /// How many hazards the tool has summed up here.
    pub count: Option<u64>,
}

impl End {
    /// The lines of a kernel's file that this place lies on, from the innermost call outwards.
    pub fn lines_in(&self, kernel_file: &str) -> Vec<u32> {
        let own = self.file.as_deref().zip(self.line);
        let callers = self
            .callers
            .iter()
            .map(|(file, line)| (file.as_str(), *line));
        own.into_iter()
            .chain(callers)
            .filter(|(file, line)| *line > 0 && same_file(file, kernel_file))
            .map(|(_, line)| line)
            .collect()
    }
}

/// Whether a path as a tool prints it, whole or its last part alone, is that file.
pub(crate) fn same_file(printed: &str, kernel_file: &str) -> bool {
    let printed = printed.replace('\\', "/");
    printed == kernel_file
        || printed.ends_with(&format!("/{kernel_file}"))
        || kernel_file.ends_with(&format!("/{printed}"))
}

/// What a record reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// racecheck: all hazards of two source lines, summed up.
    Race,
    /// racecheck: a single hazard, two accesses to a byte by two threads (`--racecheck-report hazard` or `all`).
    Hazard(Hazard),
    /// synccheck: a barrier that lanes of a warp, or warps of a block, reach apart.
    DivergentBarrier,
    /// synccheck: a barrier of a warp whose mask does not have the lane that calls it.
    InvalidBarrier,
    /// memcheck: an access outside of every allocation.
    OutOfBounds,
    /// memcheck: an access at an address that is no multiple of its size.
    Misaligned,
    /// initcheck: a read of memory that nobody has written.
    Uninitialized,
    /// initcheck: the host copied memory back that nobody has written. Such a record has no place.
    UnwrittenResult,
    /// memcheck: a call of the driver that failed, as a consequence of an error. Such a record has no place.
    Api,
    /// Any tool: the kernel was stopped, by an assertion, by what the tool takes for an overflow of the stack (`trap` does, too)
    /// or by a wrong use of the heap. Nothing can be concluded from what it did before.
    Stopped,
    /// Anything else: the record's own kind and text. Nothing can be concluded from it.
    Unknown(String),
}

impl Kind {
    /// The rules that such a record can be the sign of.
    pub fn rules(&self) -> &'static [Rule] {
        match self {
            Kind::Race | Kind::Hazard(_) => &[
                Rule::DataRace,
                Rule::LockstepAssumption,
                Rule::InsufficientScope,
                Rule::UnorderedCommunication,
                Rule::SameValueWrite,
            ],
            Kind::DivergentBarrier => &[
                Rule::DivergentBarrier,
                Rule::WarpSyncMask,
                Rule::BarrierAfterExit,
                Rule::Deadlock,
            ],
            Kind::InvalidBarrier => &[Rule::WarpSyncMask, Rule::InvalidBarrier],
            Kind::OutOfBounds => &[Rule::OutOfBounds, Rule::UseAfterFree],
            Kind::Misaligned => &[Rule::MisalignedAccess],
            Kind::Uninitialized => &[Rule::UninitializedRead],
            Kind::UnwrittenResult | Kind::Api | Kind::Stopped | Kind::Unknown(_) => &[],
        }
    }

    /// Whether it names the two sides of a race.
    pub fn is_race(&self) -> bool {
        matches!(self, Kind::Race | Kind::Hazard(_))
    }

    /// Whether it is about the host's calls, which are on no line of a kernel.
    pub fn is_of_the_host(&self) -> bool {
        matches!(self, Kind::UnwrittenResult | Kind::Api)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Race => "race",
            Kind::Hazard(order) => return write!(f, "{order} hazard"),
            Kind::DivergentBarrier => "divergent barrier",
            Kind::InvalidBarrier => "barrier with invalid arguments",
            Kind::OutOfBounds => "out-of-bounds access",
            Kind::Misaligned => "misaligned access",
            Kind::Uninitialized => "uninitialized read",
            Kind::UnwrittenResult => "unwritten result",
            Kind::Api => "failed driver call",
            Kind::Stopped => "end of the kernel",
            Kind::Unknown(kind) => return write!(f, "`{kind}`"),
        })
    }
}

/// In which order two threads access a byte (Compute Sanitizer manual, "Racecheck Hazards").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Hazard {
    /// Read after write.
    Raw,
    /// Write after read.
    War,
    /// Write after write.
    Waw,
}

impl Hazard {
    /// By the tool's name for it.
    pub fn named(name: &str) -> Option<Hazard> {
        match name {
            "RAW" => Some(Hazard::Raw),
            "WAR" => Some(Hazard::War),
            "WAW" => Some(Hazard::Waw),
            _ => None,
        }
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hazard::Raw => "RAW",
            Hazard::War => "WAR",
            Hazard::Waw => "WAW",
        })
    }
}

/// How bad a tool finds something: the `<level>` of its record. Of hazards the log alone says it; records of kinds that have none
/// are errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Right if code relies on lockstep within a warp.
    Warning,
    /// Wrong.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}
