//! What is said of each rule, one file a rule: its page, which is the module comment (`racetrap explain RULE` prints it), and the titles, notes
//! and helps of its findings, as one [`RuleText`]. What helps of several rules need, such as where a barrier goes, is in [`crate::help`].
//! The rules' names, levels and summaries are a table in [`detect::rules`].

mod assertion_failed;
mod async_copy_hazard;
mod bank_conflict;
mod barrier_after_exit;
mod cluster_memory;
mod data_race;
mod deadlock;
mod divergent_barrier;
mod divergent_branch;
mod insufficient_scope;
mod invalid_api_use;
mod invalid_barrier;
mod invalid_call;
mod leak;
mod lockstep_assumption;
mod mbarrier_misuse;
mod misaligned_access;
mod missing_dependency_wait;
mod missing_proxy_fence;
mod no_progress;
mod non_coherent_read;
mod nondeterministic_result;
mod out_of_bounds;
mod same_value_write;
mod trap;
mod unchecked_error;
mod uncoalesced_access;
mod undefined_shuffle;
mod uninitialized_read;
mod unordered_communication;
mod use_after_free;
mod warp_sync_mask;

use crate::rule_text::RuleText;
use detect::rules::Rule;

macro_rules! rules {
    ($($rule:ident: $module:ident,)*) => {
        /// The texts of a rule.
        pub(crate) fn text(rule: Rule) -> &'static RuleText {
            match rule {
                $(Rule::$rule => &$module::TEXT,)*
            }
        }

        /// The file of a rule.
        fn source(rule: Rule) -> &'static str {
            match rule {
                $(Rule::$rule => include_str!(concat!("rules/", stringify!($module), ".rs")),)*
            }
        }
    };
}

rules! {
    DataRace: data_race,
    InsufficientScope: insufficient_scope,
    NonCoherentRead: non_coherent_read,
    AsyncCopyHazard: async_copy_hazard,
    MissingProxyFence: missing_proxy_fence,
    MissingDependencyWait: missing_dependency_wait,
    ClusterMemory: cluster_memory,
    LockstepAssumption: lockstep_assumption,
    UnorderedCommunication: unordered_communication,
    SameValueWrite: same_value_write,
    DivergentBarrier: divergent_barrier,
    BarrierAfterExit: barrier_after_exit,
    WarpSyncMask: warp_sync_mask,
    UndefinedShuffle: undefined_shuffle,
    InvalidBarrier: invalid_barrier,
    MbarrierMisuse: mbarrier_misuse,
    Deadlock: deadlock,
    NoProgress: no_progress,
    OutOfBounds: out_of_bounds,
    MisalignedAccess: misaligned_access,
    UninitializedRead: uninitialized_read,
    UseAfterFree: use_after_free,
    AssertionFailed: assertion_failed,
    Trap: trap,
    InvalidCall: invalid_call,
    BankConflict: bank_conflict,
    UncoalescedAccess: uncoalesced_access,
    DivergentBranch: divergent_branch,
    InvalidApiUse: invalid_api_use,
    UncheckedError: unchecked_error,
    Leak: leak,
    NondeterministicResult: nondeterministic_result,
}

/// The manual page of a rule, as Markdown.
pub fn page(rule: Rule) -> String {
    let lines = source(rule).lines();
    let comment = lines.map_while(|line| line.strip_prefix("//!"));
    let text = comment.map(|line| line.strip_prefix(' ').unwrap_or(line));
    text.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_page_with_an_example_and_a_reference() {
        for rule in Rule::ALL {
            let page = page(*rule);
            assert!(page.starts_with(&format!("# {}\n", rule.name())), "{rule}");
            assert!(page.contains("```cpp"), "{rule} has no example");
            assert!(page.contains("## Reference"), "{rule} names no source");
        }
    }
}
