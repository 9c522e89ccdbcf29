//! # no-progress
//!
//! The kernel never ends, or did not end within its budget of steps: either no block ended during the second half of the
//! budget, or one block alone used more than half of it.
//!
//! ## Example
//!
//! ```cpp
//! for (int d = 1; d < n; d *= 1)      // never grows
//!     ...
//! ```
//!
//! ```cpp
//! while (flag == 0) { }               // a plain load: the compiler may read it only once
//! ```
//!
//! ## Why it happens
//!
//! The kernel loops forever, waits in a loop for a value that no thread writes, or is simply too long for the budget.
//!
//! ## How to fix it
//!
//! Use an atomic load (`cuda::atomic_ref`, or `volatile`) for a flag, and make sure that the thread that sets it can run.
//! If a block waits for another block, use a cooperative launch: blocks that do not fit on the device start only after
//! others have ended.
//!
//! ## What is reported
//!
//! Where the running threads are, and which threads wait for them. "Never ends" is said where all threads came back to
//! where they were, with the same values in registers and memory: then all that they did comes again and again. If they look
//! at the clock, it is stopped meanwhile, and put forward three times by 18 seconds, so that whoever gives up after a
//! while does. Otherwise the budget was spent.
//!
//! If the blocks of a large launch kept ending, there is no finding. The run is inconclusive and states how many blocks
//! had ended.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Independent Thread Scheduling", "Grid Synchronization".

use crate::NoChange;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use crate::terminal::thousands;
use detect::finding::Detail;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| match view.finding.detail {
        Detail::Steps(steps) => Some(format!(
            "the kernel has not ended after {} warp-instructions",
            thousands(steps)
        )),
        Detail::Repeats => Some(simt::NEVER_ENDS.to_owned()),
        _ => None,
    },
    help: |view| {
        let look = format!(
            "check that the loop at {} changes its condition, and that it does not wait for a value from a thread that is waiting itself",
            view.at(0)
        );
        Some(Advice::from(match view.finding.detail {
            Detail::Repeats => look,
            _ => look + "; `--max-steps` raises the budget",
        }))
    },
    no_change: NoChange::Meaning,
    ..SUMMARY
};
