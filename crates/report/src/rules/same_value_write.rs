//! # same-value-write
//!
//! Several threads write the same memory with plain stores and nothing orders them, but all of them write the same value, and nothing
//! reads the memory at the same time.
//!
//! ## Example
//!
//! ```cpp
//! if (data[i] < 0)
//!     *found = 1;             // perhaps by many threads
//! ```
//!
//! Any of these says what is meant:
//!
//! ```cpp
//! if (__syncthreads_or(data[i] < 0) && threadIdx.x == 0)
//!     atomicExch(found, 1);
//! ```
//!
//! ```cpp
//! cuda::atomic_ref<int, cuda::thread_scope_device>(*found).store(1, cuda::memory_order_relaxed);
//! ```
//!
//! ## Why it is reported
//!
//! By the memory model it is a data race, and what a program with a data race does is undefined. Compilers and hardware of today leave
//! the value that all of them write; many kernels rely on it. That is why it is a warning.
//!
//! ## What is reported
//!
//! Two unordered plain writes of one location where the later one finds its own value there already. If another run, another input or
//! another pair of threads writes different values, or if a plain read or an update of the same instructions is unordered, it is a
//! `data-race`.
//!
//! ## Limitations
//!
//! Whether values are equal is known for the runs that were tried.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model": "Conflict and Data-races"; CUDA C++ Programming Guide, "SIMT Architecture" (of several threads of
//! a warp that write one location, which one writes last is undefined).

use crate::NoChange;
use crate::finding_view::FindingView;
use crate::help::{Advice, edits};
use crate::rule_text::{RuleText, SUMMARY};

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(format!(
            "unordered writes of one value to {}",
            view.memory()
        ))
    },
    help,
    no_change: NoChange::Meaning,
    ..SUMMARY
};

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let alike = |one: &&_| view.guilty.iter().all(|other| other.same_line(one));
    let one = view.guilty.first().filter(alike);
    Some(Advice::with(
        format!(
            "let one thread write it at {}, or use an atomic operation such as `atomicOr` or `atomicExch`",
            view.at(0)
        ),
        one.and_then(|one| edits::atomic_exchange(one, view.bytes(), view.defines())),
    ))
}
