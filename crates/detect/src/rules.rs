//! The rules: names, levels and summaries, as a table. What is said of each is a file in `report`'s `rules`.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! rules {
    ($($variant:ident, $name:literal, $level:ident, $summary:literal;)*) => {
        /// A kind of finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Rule { $(#[doc = $summary] $variant,)* }

        impl Rule {
            /// All rules, in the order of the manual.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant,)*];

            /// The name that users type: `data-race`.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$variant => $name,)* }
            }
            /// The default severity.
            pub fn level(self) -> Level {
                match self { $(Rule::$variant => Level::$level,)* }
            }
            /// A one-line summary.
            pub fn summary(self) -> &'static str {
                match self { $(Rule::$variant => $summary,)* }
            }
        }
    };
}

/// The severity of a finding.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Costs time, not correctness.
    Note,
    /// Right only by chance, or only on some hardware.
    Warning,
    /// Incorrect by the memory model or the manual.
    Error,
}

rules! {
    DataRace, "data-race", Error, "two threads access the same memory, at least one writes, and nothing orders them";
    InsufficientScope, "insufficient-scope", Error, "the scope of an atomic, lock or fence does not include the other thread";
    NonCoherentRead, "non-coherent-read", Error, "a read through the read-only cache of memory that the same launch has written";
    AsyncCopyHazard, "async-copy-hazard", Error, "memory that an asynchronous copy or product reads or writes, touched before anybody has waited for it";
    MissingProxyFence, "missing-proxy-fence", Error, "a bulk copy or matrix product touches memory that threads have written, without a proxy fence in between";
    MissingDependencyWait, "missing-dependency-wait", Error, "a dependent launch touches memory of the launch before it without waiting for it";
    ClusterMemory, "cluster-memory", Error, "shared memory of another block of the cluster, accessed when that block may not have begun or may have ended";
    LockstepAssumption, "lockstep-assumption", Warning, "lanes of a warp exchange data without synchronising";
    UnorderedCommunication, "unordered-communication", Warning, "warps exchange data through strong accesses that nothing orders";
    SameValueWrite, "same-value-write", Warning, "several threads write one value to the same memory, and nothing orders them";
    DivergentBarrier, "divergent-barrier", Error, "threads of a block do not all reach the same barrier";
    BarrierAfterExit, "barrier-after-exit", Warning, "a barrier completed only because threads had exited";
    WarpSyncMask, "warp-sync-mask", Error, "the mask of a warp operation does not match the lanes that execute it";
    UndefinedShuffle, "undefined-shuffle", Error, "a shuffle reads from a lane that does not take part, and the value is used";
    InvalidBarrier, "invalid-barrier", Error, "PTX does not allow the number or the thread count of a barrier";
    MbarrierMisuse, "mbarrier-misuse", Error, "an mbarrier gets more arrivals or bytes than it can count";
    Deadlock, "deadlock", Error, "every remaining thread waits for something that cannot happen";
    NoProgress, "no-progress", Error, "the kernel does not end within its step budget";
    OutOfBounds, "out-of-bounds", Error, "an access outside all allocations";
    MisalignedAccess, "misaligned-access", Error, "an address that is not a multiple of the access size";
    UninitializedRead, "uninitialized-read", Error, "a read of bytes that nothing has written";
    UseAfterFree, "use-after-free", Error, "an access to memory that was freed";
    AssertionFailed, "assertion-failed", Error, "an assertion does not hold";
    Trap, "trap", Error, "a thread executed `trap`, which stops the launch";
    InvalidCall, "invalid-call", Error, "a call that leads nowhere, or recursion that fills the stack";
    BankConflict, "bank-conflict", Note, "lanes of a warp address different words of the same shared-memory bank";
    UncoalescedAccess, "uncoalesced-access", Note, "a warp moves more memory sectors than its data fills";
    DivergentBranch, "divergent-branch", Note, "a branch sends lanes of a warp both ways";
    InvalidApiUse, "invalid-api-use", Error, "the host program calls CUDA in a way that its documentation forbids";
    UncheckedError, "unchecked-error", Note, "a launch failed, and the program never asked";
    Leak, "leak", Note, "memory that is allocated and never freed";
    NondeterministicResult, "nondeterministic-result", Warning, "runs of one input leave different results";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
