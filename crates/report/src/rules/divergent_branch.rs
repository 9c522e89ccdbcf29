//! # divergent-branch
//!
//! A branch sends the lanes of one warp both ways. The hardware executes the two paths one after the other. The result
//! is right; it only takes longer. Shown with `--perf`.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x % (2 * d) == 0)         // every second lane, then every fourth …
//!     s[threadIdx.x] += s[threadIdx.x + d];
//! ```
//!
//! Let whole warps take the same path:
//!
//! ```cpp
//! if (threadIdx.x < blockDim.x / 2 / d)   // whole warps, down to the last one
//!     s[threadIdx.x] += s[threadIdx.x + blockDim.x / 2 / d];
//! ```
//!
//! ## What is reported
//!
//! How many times warps executed the branch, and how many of these executions split the warp. A warp that has already
//! diverged counts once for each part.
//!
//! ## Limitations
//!
//! The compiler turns short bodies into predicated instructions. These are not branches and are not counted.
//!
//! ## Reference
//!
//! CUDA C++ Best Practices Guide, "Branching and Divergence".

use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Detail;

pub(crate) const TEXT: RuleText = RuleText {
    notes: |view| match view.finding.detail {
        Detail::Branches {
            executed,
            divergent,
        } => vec![format!(
            "{divergent} of {executed} executions split the warp"
        )],
        _ => Vec::new(),
    },
    help: |view| {
        Some(Advice::from(format!(
            "make the condition at {} the same for all lanes of a warp",
            view.at(0)
        )))
    },
    ..SUMMARY
};
