//! What happened around a finding, step by step: for pictures. A trace comes from one more run under the schedule that showed the
//! finding.

use super::SourcePlace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In [`Step::before`]: nobody has written there.
pub const NOTHING: &str = "nothing";

/// What a picture of a finding shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Trace {
    /// All accesses of the location, and the barriers between them.
    Location {
        /// In the order in which they happened.
        steps: Vec<Step>,
        /// Steps that are left out before, between and behind these.
        left_out: u64,
    },
    /// The request to shared memory with the most passes through the banks.
    Banks(Request),
    /// A request to global memory that moved more sectors than its bytes fill.
    Sectors(Request),
}

/// The addresses of one request of a warp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Bytes of each lane.
    pub bytes: u32,
    /// The offset that each lane asks for, in bytes; `None` for a lane that takes no part.
    pub lanes: Vec<Option<u64>>,
}

/// Something that happened at the location, or ordered what did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its number in the run, from 1: of accesses to the location and barriers of its blocks.
    pub number: u64,
    /// What happened.
    pub what: What,
    /// `threadIdx`; of a barrier, a copy and the host none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<[u32; 3]>,
    /// `blockIdx`; zeros of a copy and of the host.
    pub block: [u32; 3],
    /// Who did it, where several operations take part: `launch 2 on stream 1`, `the host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The source line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SourcePlace>,
    /// What is in the location before it, where that is known; `nothing` before its first write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What a write leaves there, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Which of the finding's places it is, from 0; `None` for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<usize>,
}

/// What happened at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A thread reads.
    Read,
    /// A thread writes.
    Write,
    /// A thread updates it atomically.
    Atomic,
    /// A barrier of the block completes.
    Barrier,
}

impl What {
    /// `reads`
    pub fn verb(self) -> &'static str {
        match self {
            What::Read => "reads",
            What::Write => "writes",
            What::Atomic => "updates",
            What::Barrier => "barrier",
        }
    }
}

impl Request {
    /// The banks of shared memory.
    pub const BANKS: u64 = 32;
    /// Bytes of a word of a bank, and of a sector of global memory.
    pub const WORD: u64 = 4;
    /// Bytes of a sector of global memory.
    pub const SECTOR: u64 = 32;

    /// Every word of a bank, or every sector, that the request touches: its index, and the lanes. `unit` is its size in bytes.
    pub fn units(&self, unit: u64) -> Vec<(u64, Vec<usize>)> {
        let mut all: std::collections::BTreeMap<u64, Vec<usize>> = Default::default();
        for (lane, offset) in self.lanes.iter().enumerate() {
            let Some(offset) = offset else { continue };
            let last = offset.saturating_add(u64::from(self.bytes).saturating_sub(1));
            for index in offset / unit..=last / unit {
                all.entry(index).or_default().push(lane);
            }
        }
        all.into_iter().collect()
    }
}
