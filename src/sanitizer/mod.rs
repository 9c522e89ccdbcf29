//! NVIDIA's compute-sanitizer: what it wrote, and what that says about a case.
//!
//! The wrappers of `sanitizer/` run one case under one tool and keep three files: the tool's records ([`xml`]), its
//! log ([`log`]) and the receipt of the run ([`crate::device::receipt`]). [`judge`] compares them with the kernel's annotations. Whatever is not
//! as it must be where a tool ran to its end is a [`Trouble`]: nothing can be said then, and
//! nothing is ever taken for clean.
//!
//! The tools are documented in NVIDIA's "Compute Sanitizer" manual, sections 2 (options) to 6 (one for each tool).

pub mod judge;
pub mod log;
pub mod record;
pub mod recording;
pub mod trouble;
pub mod xml;

pub use judge::{Judgement, judge};
pub use record::{End, Kind, Record, Severity};
pub use recording::Recording;
pub use trouble::Trouble;

use serde::{Deserialize, Serialize};
use std::fmt;

/// A tool of compute-sanitizer.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    clap::ValueEnum,
)]
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
