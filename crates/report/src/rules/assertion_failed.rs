//! # assertion-failed
//!
//! A thread called `assert` with a condition that does not hold. The launch stops there, as it does on a GPU, where the host then gets
//! `cudaErrorAssert`. What was found before the assertion failed is reported, too; a race is often its cause.
//!
//! ## Example
//!
//! ```cpp
//! int slot = atomicAdd(&count, 1);
//! assert(slot < capacity);    // more threads come than there is room for
//! ```
//!
//! ```cpp
//! int slot = atomicAdd(&count, 1);
//! if (slot >= capacity)
//!     return;
//! ```
//!
//! ## What is reported
//!
//! The first thread whose condition is false, with the text, file and line that the assertion hands over. Other threads may fail it as well:
//! the launch ends with the first. Another schedule may end it elsewhere, or not at all; `racetrap check` tells which schedule it was.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Assertion".

use crate::NoChange;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Detail;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| match &view.finding.detail {
        Detail::Assertion { message, .. } => Some(format!("assertion `{message}` failed")),
        _ => None,
    },
    notes: |view| match &view.finding.detail {
        Detail::Assertion {
            file,
            line,
            function,
            ..
        } => vec![match function.is_empty() {
            true => format!("asserted at {file}:{line}"),
            false => format!("asserted at {file}:{line}, in `{function}`"),
        }],
        _ => Vec::new(),
    },
    help: |view| {
        Some(Advice::from(format!(
            "find out which value breaks the condition at {}; if another finding is about it, mend that first",
            view.at(0)
        )))
    },
    no_change: NoChange::Meaning,
    ..SUMMARY
};
