//! Budgets, and why a launch stopped before its end.

use super::ids::*;
use super::observer::Party;
use std::time::Duration;

/// Budgets of one launch.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Warp-instructions.
    pub steps: u64,
    /// Bytes for the state of resident blocks (registers, shared and local memory).
    pub memory: u64,
    /// Wall-clock time.
    pub wall: Option<Duration>,
}

impl Default for Limits {
    /// A hundred million warp-instructions (about a second), 2 GiB, no clock.
    fn default() -> Limits {
        Limits {
            steps: 100_000_000,
            memory: 2 << 30,
            wall: None,
        }
    }
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Warp-instructions executed.
    pub steps: u64,
    /// Blocks run.
    pub blocks: u64,
    /// Whether blocks ran on several cores.
    pub parallel: bool,
    /// Decisions of a schedule that makes some ([`super::schedule`]).
    pub trace: super::schedule::Trace,
    /// What the kernel printed.
    pub output: String,
}

/// Why a launch did not come to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Stop {
    /// An instruction that racetrap does not implement.
    #[error("`{text}` (PTX line {line}) is not implemented")]
    Unsupported {
        /// The instruction.
        site: Site,
        /// Its text.
        text: String,
        /// Line in the PTX, from 1.
        line: u32,
    },
    /// Nothing can run any more.
    #[error("deadlock: every thread that is left waits")]
    Deadlock {
        /// The block.
        block: BlockId,
        /// Who waits where.
        waiting: Vec<Party>,
    },
    /// The step budget is spent, and no block has ended in the last half of it, or one block has taken more than
    /// half of it.
    #[error("no end after {steps} warp-instructions")]
    NoProgress {
        /// Warp-instructions executed.
        steps: u64,
        /// A block that still runs.
        block: BlockId,
        /// Threads that still run, and where.
        running: Vec<Party>,
        /// Threads that wait, and where.
        waiting: Vec<Party>,
    },
    /// The step budget is spent while blocks went on coming to their end: the launch is merely long.
    #[error(
        "{ended} of {blocks} blocks had ended when the budget of {steps} warp-instructions was spent"
    )]
    Budget {
        /// Warp-instructions executed.
        steps: u64,
        /// Blocks that had ended.
        ended: u32,
        /// Blocks of the launch.
        blocks: u32,
    },
    /// The wall-clock budget is spent.
    #[error("no end within {0:?}")]
    WallClock(Duration),
    /// A `trap` instruction.
    #[error("the kernel executed `trap`")]
    Trap {
        /// The instruction.
        site: Site,
        /// The block.
        block: BlockId,
        /// The first thread that trapped.
        thread: ThreadId,
    },
    /// A failed `assert`.
    #[error("assertion `{message}` failed at {file}:{line} in {function}")]
    Assert {
        /// The call.
        site: Site,
        /// The block.
        block: BlockId,
        /// The first thread that failed.
        thread: ThreadId,
        /// The asserted expression.
        message: String,
        /// Source file.
        file: String,
        /// Source line.
        line: u32,
        /// Function.
        function: String,
    },
    /// Kernels that run at the same time, with accesses that only their own synchronisation could order.
    #[error(
        "`{0}` and `{1}` may run at the same time and synchronise with each other, which racetrap does not follow"
    )]
    KernelsSynchronise(String, String),
    /// The launch configuration is impossible.
    #[error("{0}")]
    InvalidLaunch(String),
    /// The device or the state budget is too small.
    #[error("{0}")]
    OutOfMemory(String),
}
