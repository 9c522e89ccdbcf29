//! One thing that a tool reports.

use crate::finding::Action;
use crate::rules::Rule;
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
fn same_file(printed: &str, kernel_file: &str) -> bool {
    let printed = printed.replace('\\', "/");
    printed == kernel_file
        || printed.ends_with(&format!("/{kernel_file}"))
        || kernel_file.ends_with(&format!("/{printed}"))
}

/// What a record reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// racecheck: a hazard of two accesses, read after write.
    HazardRaw,
    /// racecheck: write after read.
    HazardWar,
    /// racecheck: write after write.
    HazardWaw,
    /// racecheck: all hazards of two source lines, summed up.
    Race,
    /// synccheck: a barrier that lanes of a warp, or warps of a block, reach apart.
    DivergentBarrier,
    /// synccheck: another misuse of a barrier.
    InvalidBarrier,
    /// memcheck: an access outside of every allocation.
    OutOfBounds,
    /// memcheck: an address that is no multiple of the access's size.
    Misaligned,
    /// memcheck: an error of the hardware that has no single instruction.
    Imprecise,
    /// initcheck: a read of memory that nobody has written.
    Uninitialized,
    /// A call of the driver or runtime that failed: a consequence of an error, or none of the kernel's business.
    Api,
    /// Anything else: the record's own kind and text. Nothing can be concluded from it.
    Unknown(String),
}

impl Kind {
    /// The rules that such a record can be the sign of.
    pub fn rules(&self) -> &'static [Rule] {
        match self {
            Kind::HazardRaw | Kind::HazardWar | Kind::HazardWaw | Kind::Race => &[
                Rule::DataRace,
                Rule::LockstepAssumption,
                Rule::InsufficientScope,
            ],
            Kind::DivergentBarrier | Kind::InvalidBarrier => &[
                Rule::DivergentBarrier,
                Rule::WarpSyncMask,
                Rule::BarrierAfterExit,
                Rule::Deadlock,
            ],
            Kind::OutOfBounds | Kind::Misaligned | Kind::Imprecise => &[
                Rule::OutOfBounds,
                Rule::MisalignedAccess,
                Rule::UseAfterFree,
            ],
            Kind::Uninitialized => &[Rule::UninitializedRead],
            Kind::Api | Kind::Unknown(_) => &[],
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::HazardRaw => "read-after-write hazard",
            Kind::HazardWar => "write-after-read hazard",
            Kind::HazardWaw => "write-after-write hazard",
            Kind::Race => "race",
            Kind::DivergentBarrier => "divergent barrier",
            Kind::InvalidBarrier => "invalid barrier",
            Kind::OutOfBounds => "access out of bounds",
            Kind::Misaligned => "misaligned access",
            Kind::Imprecise => "hardware error",
            Kind::Uninitialized => "uninitialized read",
            Kind::Api => "failed driver call",
            Kind::Unknown(kind) => return write!(f, "`{kind}`"),
        })
    }
}

/// How bad a tool finds something: the `<level>` of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Nothing to worry about: writes of the same value, say.
    Info,
    /// Right if code relies on lockstep within a warp.
    Warning,
    /// Wrong.
    Error,
    /// The tool could not go on.
    Fatal,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Fatal => "fatal error",
        })
    }
}
