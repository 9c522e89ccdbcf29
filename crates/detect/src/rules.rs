//! The rules. Each rule has one file; its module comment is the page that `racetrap explain RULE` prints.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! rules {
    ($($variant:ident, $module:ident, $name:literal, $level:ident, $summary:literal;)*) => {
        $(#[doc = $summary] pub mod $module;)*

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
            /// The manual page: the rule file's module comment, as Markdown.
            pub fn page(self) -> String {
                let source = match self { $(Rule::$variant => include_str!(concat!("rules/", stringify!($module), ".rs")),)* };
                source.lines().map_while(|l| l.strip_prefix("//!"))
                    .map(|l| l.strip_prefix(' ').unwrap_or(l)).collect::<Vec<_>>().join("\n")
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
    DataRace, data_race, "data-race", Error, "two threads access the same memory, at least one writes, and nothing orders them";
    InsufficientScope, insufficient_scope, "insufficient-scope", Error, "the scope of an atomic, lock or fence does not include the other thread";
    NonCoherentRead, non_coherent_read, "non-coherent-read", Error, "a read through the read-only cache of memory that the same launch has written";
    AsyncCopyHazard, async_copy_hazard, "async-copy-hazard", Error, "memory that an asynchronous copy or product reads or writes, touched before anybody has waited for it";
    MissingProxyFence, missing_proxy_fence, "missing-proxy-fence", Error, "a bulk copy or matrix product touches memory that threads have written, without a proxy fence in between";
    MissingDependencyWait, missing_dependency_wait, "missing-dependency-wait", Error, "a dependent launch touches memory of the launch before it without waiting for it";
    ClusterMemory, cluster_memory, "cluster-memory", Error, "shared memory of another block of the cluster, accessed when that block may not have begun or may have ended";
    LockstepAssumption, lockstep_assumption, "lockstep-assumption", Warning, "lanes of a warp exchange data without synchronising";
    UnorderedCommunication, unordered_communication, "unordered-communication", Warning, "warps exchange data through strong accesses that nothing orders";
    SameValueWrite, same_value_write, "same-value-write", Warning, "several threads write one value to the same memory, and nothing orders them";
    DivergentBarrier, divergent_barrier, "divergent-barrier", Error, "threads of a block do not all reach the same barrier";
    BarrierAfterExit, barrier_after_exit, "barrier-after-exit", Warning, "a barrier completed only because threads had exited";
    WarpSyncMask, warp_sync_mask, "warp-sync-mask", Error, "the mask of a warp operation does not match the lanes that execute it";
    UndefinedShuffle, undefined_shuffle, "undefined-shuffle", Error, "a shuffle reads from a lane that does not take part, and the value is used";
    InvalidBarrier, invalid_barrier, "invalid-barrier", Error, "PTX does not allow the number or the thread count of a barrier";
    MbarrierMisuse, mbarrier_misuse, "mbarrier-misuse", Error, "an mbarrier gets more arrivals or bytes than it can count";
    Deadlock, deadlock, "deadlock", Error, "every remaining thread waits for something that cannot happen";
    NoProgress, no_progress, "no-progress", Error, "the kernel does not end within its step budget";
    OutOfBounds, out_of_bounds, "out-of-bounds", Error, "an access outside all allocations";
    MisalignedAccess, misaligned_access, "misaligned-access", Error, "an address that is not a multiple of the access size";
    UninitializedRead, uninitialized_read, "uninitialized-read", Error, "a read of bytes that nothing has written";
    UseAfterFree, use_after_free, "use-after-free", Error, "an access to memory that was freed";
    AssertionFailed, assertion_failed, "assertion-failed", Error, "an assertion does not hold";
    Trap, trap, "trap", Error, "a thread executed `trap`, which stops the launch";
    InvalidCall, invalid_call, "invalid-call", Error, "a call that leads nowhere, or recursion that fills the stack";
    BankConflict, bank_conflict, "bank-conflict", Note, "lanes of a warp address different words of the same shared-memory bank";
    UncoalescedAccess, uncoalesced_access, "uncoalesced-access", Note, "a warp moves more memory sectors than its data fills";
    DivergentBranch, divergent_branch, "divergent-branch", Note, "a branch sends lanes of a warp both ways";
    InvalidApiUse, invalid_api_use, "invalid-api-use", Error, "the host program calls CUDA in a way that its documentation forbids";
    UncheckedError, unchecked_error, "unchecked-error", Note, "a launch failed, and the program never asked";
    Leak, leak, "leak", Note, "memory that is allocated and never freed";
    NondeterministicResult, nondeterministic_result, "nondeterministic-result", Warning, "runs of one input leave different results";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_page_with_an_example_and_a_reference() {
        for rule in Rule::ALL {
            let page = rule.page();
            assert!(page.starts_with(&format!("# {}\n", rule.name())), "{rule}");
            assert!(page.contains("```cpp"), "{rule} has no example");
            assert!(page.contains("## Reference"), "{rule} names no source");
        }
    }
}
