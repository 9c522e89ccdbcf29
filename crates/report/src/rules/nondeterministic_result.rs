//! # nondeterministic-result
//!
//! Two runs of the same input left different results in memory, or printed different text. Only the order of threads
//! differed between them.
//!
//! ## Example
//!
//! ```cpp
//! int at = atomicAdd(count, 1);       // which thread gets which number?
//! out[at] = value;                    // the elements come in any order
//! ```
//!
//! ```cpp
//! atomicAdd(total, partial);          // every warp adds its part
//! if (threadIdx.x == 0) {
//!     __threadfence();
//!     if (atomicAdd(done, 1) == gridDim.x - 1)
//!         *out = atomicAdd(total, 0); // other warps of the block may not have added yet
//! }
//! ```
//!
//! ## Why it happens
//!
//! Threads use what atomics or volatile loads return, and nothing fixes which thread comes first. Atomics make each access whole, they
//! don't order what threads do around it.
//!
//! ## How to fix it
//!
//! If every thread has to be done before a value is read, put a barrier before the step that says so: `__syncthreads()` before
//! thread 0 counts its block as done. If results may come in any order, sort them, or compute each one's place with a scan.
//! If any order is right, expect the warning.
//!
//! ## What is reported
//!
//! The first element that differs, both values, and the schedules that show them; each can be run again with `--schedule`. Where only
//! the rounding of floating-point sums differs, it is a note. If the kernel has errors, this rule is silent: they explain it.
//!
//! ## Blind spots
//!
//! Only buffers that are passed to the kernel and what it prints are compared, and only for the schedules that were tried.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Atomic Functions"; PTX ISA, "Memory Consistency Model", "Observation Order".

use crate::NoChange;
use crate::rule_text::{RuleText, SUMMARY};

/// Findings of whole programs, and of a kernel's results, come with their title and their help.
pub(crate) const TEXT: RuleText = RuleText {
    no_change: NoChange::Meaning,
    ..SUMMARY
};
