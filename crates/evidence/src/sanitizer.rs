//! Reads the output of NVIDIA's compute-sanitizer and judges a case by it.
//!
//! The wrappers of `sanitizer/` run one case under one tool and keep three files: the tool's records ([`xml`]), its log
//! ([`log`]) and the receipt of the run ([`device::receipt`]). [`judge()`] compares them with the kernel's annotations. Any
//! deviation from a complete run is a [`ToolError`]: there is no verdict then, and it is never taken for clean.
//!
//! The tools are documented in NVIDIA's "Compute Sanitizer" manual, sections 2 (options) to 6 (one for each tool).

pub mod judge;
pub mod log;
pub mod program;
pub mod record;
pub mod recording;
pub mod tool_error;
pub mod xml;

pub use judge::{Judgement, judge};
pub use record::{End, Hazard, Kind, Record, Severity};
pub use recording::Recording;
pub use tool_error::ToolError;

use detect::rules::Rule;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// Hazards in shared memory.
    Racecheck,
    /// Barriers that not all threads reach.
    Synccheck,
    /// Accesses out of bounds and misaligned.
    Memcheck,
    /// Reads of global memory that nobody has written.
    Initcheck,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 4] = [
        Tool::Racecheck,
        Tool::Synccheck,
        Tool::Memcheck,
        Tool::Initcheck,
    ];

    /// What the tool reports about a kernel.
    fn kinds(self) -> &'static [Kind] {
        match self {
            Tool::Racecheck => &[Kind::Race],
            Tool::Synccheck => &[Kind::DivergentBarrier, Kind::InvalidBarrier],
            Tool::Memcheck => &[Kind::OutOfBounds, Kind::Misaligned],
            Tool::Initcheck => &[Kind::Uninitialized, Kind::UnwrittenResult],
        }
    }

    /// The rules that it can see a sign of.
    pub fn rules(self) -> impl Iterator<Item = Rule> {
        self.kinds().iter().flat_map(|kind| kind.rules()).copied()
    }

    /// The tool of this name.
    pub fn named(name: &str) -> Option<Tool> {
        Tool::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// As on compute-sanitizer's command line.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Racecheck => "racecheck",
            Tool::Synccheck => "synccheck",
            Tool::Memcheck => "memcheck",
            Tool::Initcheck => "initcheck",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
