//! # use-after-free
//!
//! A thread accesses memory that the host or the device's `free` has freed, or frees it again. In whole programs also: a stream frees memory (`cudaFreeAsync`)
//! that another stream's work, which nothing orders before the free, may still use, or work uses memory that nothing orders it after the allocation of
//! (`cudaMallocAsync`).
//!
//! ## Example
//!
//! ```cpp
//! int *p = (int *)malloc(4);
//! free(p);
//! *p = 1;
//! ```
//!
//! ## How to fix it
//!
//! Free memory after the last use by any thread. If one thread frees for the whole block, put a barrier before the
//! `free`. Let a stream wait for an event that was recorded behind the last use on another stream before it frees.
//!
//! ## Limitations
//!
//! The rule does not see an access through an old pointer if the memory has been allocated again.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations", "Stream Ordered Memory Allocator".

use crate::NoChange;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Action;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(match view.action(0) {
            Some(Action::Free) => "memory is freed that was freed before".to_owned(),
            _ => format!("{} of memory that was freed", view.access()),
        })
    },
    help: |view| {
        let at = view.at(0);
        Some(match view.action(0)? {
            Action::Free => Advice::explained(
                NoChange::Meaning,
                format!("let only one thread free it, once, at {at}"),
            ),
            _ => Advice::from(format!("free it after {at}")),
        })
    },
    ..SUMMARY
};
