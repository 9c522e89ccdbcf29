//! Budgets, and the reasons why a launch stopped before its end.

use super::ids::*;
use super::observer::Party;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Budgets of one launch.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of warp-instructions.
    pub steps: u64,
    /// Maximum size in bytes of all that the launch keeps beside the device's memory: the state of resident blocks (registers, shared and local
    /// memory), which takes half of it at most, and what its observers remember. Counted by the allocator ([`meter`]).
    pub memory: u64,
    /// Maximum wall-clock time.
    pub wall: Option<Duration>,
    /// Who else may write to its memory meanwhile.
    pub others: Others,
    /// Where it is put aside for a launch that may run meanwhile.
    pub pause: Pause,
    /// Who executes it.
    pub engine: Engine,
    /// Who looks on, and may end it.
    pub live: Option<Live>,
}

/// Who executes a launch. Both do the same, to the byte: memory, output, findings and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A whole warp at once, by shortcuts where there are some.
    Fast,
    /// Lane after lane and byte after byte, on one core: slow, and short enough to be compared with the manual. For those who doubt the other one.
    Plain,
    /// Both, one after the other; all that came of it is compared (`launch/both.rs`).
    Both,
}

/// Warp-instructions up to which launches run on both engines, where the process was started to compare them.
pub(crate) fn most_steps() -> Option<u64> {
    static MOST: OnceLock<Option<u64>> = OnceLock::new();
    *MOST.get_or_init(|| std::env::var("RACETRAP_ENGINES").ok()?.parse().ok())
}

impl Default for Engine {
    /// The fast one, unless the process was started to compare them.
    fn default() -> Engine {
        match most_steps() {
            Some(_) => Engine::Both,
            None => Engine::Fast,
        }
    }
}

/// A run as others see it while it goes on: how far it is. They may end it.
#[derive(Clone, Debug, Default)]
pub struct Live {
    steps: Arc<AtomicU64>,
    all: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Live {
    /// Nothing has run yet.
    pub fn new() -> Live {
        Live::default()
    }

    /// The same, which ends when somebody sets the flag: a signal's handler can do nothing else.
    pub fn until(flag: Arc<AtomicBool>) -> Live {
        Live {
            ended: flag,
            ..Live::default()
        }
    }

    /// A part of it: its steps are counted here, too, and it ends when this ends.
    pub fn part(&self) -> Live {
        Live {
            steps: Arc::default(),
            ..self.clone()
        }
    }

    /// Warp-instructions that this part has executed.
    pub fn steps(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    /// Warp-instructions of all parts.
    pub fn all_steps(&self) -> u64 {
        self.all.load(Relaxed)
    }

    /// Something else, which ends when this ends and is not counted here.
    pub(crate) fn apart(&self) -> Live {
        Live::until(self.ended.clone())
    }

    /// Ends what runs, and what would begin.
    pub fn end(&self) {
        self.ended.store(true, Relaxed);
    }

    /// Whether it is to end.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    pub(crate) fn add(&self, steps: u64) {
        self.steps.fetch_add(steps, Relaxed);
        self.all.fetch_add(steps, Relaxed);
    }

    /// What was counted was in vain, and will be run again.
    pub(crate) fn take_back(&self, steps: u64) {
        self.steps.fetch_sub(steps, Relaxed);
        self.all.fetch_sub(steps, Relaxed);
    }
}

/// Who may write to a launch's memory while it runs, besides its own threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Nobody: a launch whose state repeats never ends, and is stopped.
    Nobody,
    /// The host, or launches that run at the same time: a launch that waits for them is put aside ([`crate::Waiting`]).
    InTurn,
    /// The same, but the launch can't be put aside: it runs until its budget ends.
    AnyTime,
}

/// Where a launch is put aside once ([`crate::Waiting`]), so that the other one of two launches of which the second depends on the first
/// programmatically (PTX ISA, "griddepcontrol") gets a turn. Only schedules that sweep do so, and no clusters and no cooperative launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pause {
    /// Nowhere.
    #[default]
    Nowhere,
    /// Where each of its blocks has executed `griddepcontrol.launch_dependents` or has ended: a dependent launch may begin. A warp stops behind that
    /// instruction.
    AtTrigger,
    /// Where nobody can go on but behind `griddepcontrol.wait`, or somebody waits for what may be the other launch's. A warp stops behind that
    /// instruction.
    AtWait,
}

impl Default for Limits {
    /// A hundred million warp-instructions (about a second), 2 GiB, no time limit; nobody else writes to its memory.
    fn default() -> Limits {
        Limits {
            steps: 100_000_000,
            memory: 2 << 30,
            wall: None,
            others: Others::Nobody,
            pause: Pause::Nowhere,
            engine: Engine::default(),
            live: None,
        }
    }
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Warp-instructions executed.
    pub steps: u64,
    /// Blocks executed.
    pub blocks: u64,
    /// Whether blocks ran on several cores.
    pub parallel: bool,
    /// The decisions of the schedule, if it makes any ([`super::schedule`]).
    pub trace: super::schedule::Trace,
    /// Whether the schedule asked for an order that the run could not have.
    pub gave_up: bool,
    /// What the kernel printed.
    pub output: String,
}

/// Threads of a block that wait for a phase of an mbarrier which can't complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseWait {
    /// The test.
    pub site: Site,
    /// The mbarrier's offset in shared memory.
    pub object: u64,
    /// The parity of the phase that they wait for.
    pub parity: bool,
    /// How many threads wait.
    pub threads: u32,
    /// What the mbarrier holds.
    pub state: super::mbarrier::State,
}

/// What is wrong with a call, or with a branch whose target is found when it is executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCall {
    /// Through a null pointer.
    #[error("a call through a null pointer")]
    Null,
    /// Through a pointer that holds no function's address.
    #[error("a call through a pointer to {0:#x}, where no function begins")]
    NoFunction(u64),
    /// Of a function that is declared and defined nowhere.
    #[error("a call of `{0}`, which is declared but defined nowhere")]
    NoBody(String),
    /// A branch by an index that its list of labels does not have (PTX ISA, "brx.idx").
    #[error("a branch by index {0} in a list of {1} labels")]
    NoLabel(u32, usize),
    /// The stack is full: recursion that does not end in time.
    #[error("the stack of {0} KiB a thread is full")]
    StackOverflow(u32),
}

impl Stop {
    /// Whether the kernel is to blame: a thread stopped the launch, or threads wait for what never comes.
    pub fn is_finding(&self) -> bool {
        match self {
            Stop::Deadlock { .. }
            | Stop::NoProgress { .. }
            | Stop::Trap { .. }
            | Stop::Assert { .. }
            | Stop::InvalidCall { .. } => true,
            Stop::Unsupported { .. }
            | Stop::Budget { .. }
            | Stop::WallClock(_)
            | Stop::Memory(_)
            | Stop::Interrupted
            | Stop::EnginesDiffer(_)
            | Stop::KernelsSynchronise(..)
            | Stop::InvalidLaunch(_)
            | Stop::OutOfMemory(_) => false,
        }
    }
}

/// Why a launch did not complete.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Stop {
    /// An instruction that racetrap does not implement.
    #[error("`{text}` (PTX line {line}) is not implemented")]
    Unsupported {
        /// The instruction.
        site: Site,
        /// Its text.
        text: String,
        /// The line in the PTX, counted from 1.
        line: u32,
    },
    /// No thread can run any more.
    #[error("deadlock: all remaining threads are waiting")]
    Deadlock {
        /// The block.
        block: BlockId,
        /// The waiting threads, and where they wait.
        waiting: Vec<Party>,
        /// Those that wait for phases of mbarriers, and what these lack.
        phases: Vec<PhaseWait>,
    },
    /// The step budget is exhausted, and either no block ended in the second half of it or one block used more than half of
    /// it. Or it is known before that the launch never ends, since its state repeats.
    #[error("{}", no_end(*steps, *for_ever))]
    NoProgress {
        /// Warp-instructions executed.
        steps: u64,
        /// Whether it would never end, with any budget.
        for_ever: bool,
        /// A block that is still running.
        block: BlockId,
        /// The running threads, and where they are.
        running: Vec<Party>,
        /// The waiting threads, and where they wait.
        waiting: Vec<Party>,
    },
    /// The step budget is exhausted while blocks kept ending: the launch is just long.
    #[error("only {ended} of {blocks} blocks ended within the budget of {steps} warp-instructions")]
    Budget {
        /// Warp-instructions executed.
        steps: u64,
        /// Blocks that ended.
        ended: u32,
        /// Blocks of the launch.
        blocks: u32,
    },
    /// The time budget is exhausted.
    #[error("the kernel did not end within {0:?}")]
    WallClock(Duration),
    /// The launch and its detectors need more memory than there is for them, bytes.
    #[error("the launch and what is remembered of it need more than {} MiB of memory", *.0 >> 20)]
    Memory(u64),
    /// Somebody ended it.
    #[error("the run was interrupted")]
    Interrupted,
    /// The two engines do not agree ([`Engine::Both`]).
    #[error(
        "both engines of racetrap ran this launch, and do not agree; this is a bug of racetrap: {0}"
    )]
    EnginesDiffer(String),
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
    /// A call that leads nowhere.
    #[error("{why}")]
    InvalidCall {
        /// The call.
        site: Site,
        /// The block.
        block: BlockId,
        /// The first thread that called.
        thread: ThreadId,
        /// What is wrong with it.
        why: BadCall,
    },
    /// Concurrent kernels with accesses that only synchronisation between them could order.
    #[error(
        "`{0}` and `{1}` may run concurrently and synchronise with each other; racetrap does not support this"
    )]
    KernelsSynchronise(String, String),
    /// The launch configuration is invalid.
    #[error("{0}")]
    InvalidLaunch(String),
    /// The device or the state budget is too small.
    #[error("{0}")]
    OutOfMemory(String),
}

impl From<Box<Stop>> for Stop {
    fn from(boxed: Box<Stop>) -> Stop {
        *boxed
    }
}

/// What is said of a launch whose state repeats.
pub const NEVER_ENDS: &str =
    "the kernel never ends: its threads repeat what they do, and nothing changes";

fn no_end(steps: u64, for_ever: bool) -> String {
    match for_ever {
        true => NEVER_ENDS.into(),
        false => format!("the kernel did not end within {steps} warp-instructions"),
    }
}
