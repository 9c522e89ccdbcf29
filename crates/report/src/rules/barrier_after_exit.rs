//! # barrier-after-exit
//!
//! A block barrier completed only because the threads that never reached it had exited.
//!
//! ## Example
//!
//! ```cpp
//! if (i >= n) return;         // these threads never reach the barrier
//! s[threadIdx.x] = in[i];
//! __syncthreads();
//! ```
//!
//! Let every thread reach the barrier, and exit after it:
//!
//! ```cpp
//! s[threadIdx.x] = i < n ? in[i] : 0;
//! __syncthreads();
//! if (i >= n) return;
//! ```
//!
//! ## Why it is a warning
//!
//! Since Volta the behaviour is defined: a barrier waits only for threads that have not exited. On older devices it is
//! undefined. The code is also fragile: if you later add work after the barrier for the exited threads, they miss it.
//!
//! The barrier does not order what the exited threads wrote. If another thread reads it, racetrap reports a `data-race`
//! as well.
//!
//! ## Reference
//!
//! PTX ISA, "exit" and "bar, barrier"; CUDA C++ Programming Guide, "Synchronization Functions".

use crate::finding_view::FindingView;
use crate::help::{Advice, edits};
use crate::rule_text::{RuleText, SUMMARY};

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| match view.threads(1) {
        0 => None,
        n => Some(format!(
            "a barrier completed only because {n} thread{} had exited",
            if n == 1 { "" } else { "s" }
        )),
    },
    help,
    ..SUMMARY
};

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let here = view.guilty.first()?;
    let at = here.place();
    if let Some(edit) = edits::joined_by_all(here, view.defines()) {
        return Some(Advice::with(
            format!(
                "let all threads of the block reach {at}: put the work in a condition instead of leaving before it"
            ),
            Some(edit),
        ));
    }
    Some(Advice::from(match view.guilty.get(1) {
        // Where a `return` stands early, the instruction that exits has the line of the kernel's end.
        Some(exit) if here.line() < exit.line() => format!(
            "let all threads of the block reach {at}: where some return before it, put the work in a condition instead"
        ),
        Some(exit) => format!(
            "let all threads of the block reach {at}: put the work in a condition instead of leaving at {}",
            exit.place()
        ),
        None => format!("let all threads of the block reach {at}"),
    }))
}
