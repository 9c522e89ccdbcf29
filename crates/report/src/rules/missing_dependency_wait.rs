//! # missing-dependency-wait
//!
//! A launch that may begin before the launch in front of it has ended (programmatic dependent launch) touches memory that the other one uses, and has not
//! waited for it.
//!
//! ## Example
//!
//! ```cpp
//! __global__ void first(int *p)
//! {
//!     cudaTriggerProgrammaticLaunchCompletion();          // the next launch may begin
//!     p[threadIdx.x] = 7;
//! }
//! __global__ void second(const int *p, int *q)
//! {
//!     q[threadIdx.x] = p[threadIdx.x];                    // perhaps before the 7 is there
//! }
//! ```
//!
//! Wait in the dependent kernel before it touches anything of the other one's, in the thread that does, or before a barrier that it meets:
//!
//! ```cpp
//!     cudaGridDependencySynchronize();
//!     q[threadIdx.x] = p[threadIdx.x];
//! ```
//!
//! ## Why it goes wrong
//!
//! A launch with `cudaLaunchAttributeProgrammaticStreamSerialization` begins as soon as all blocks of the launch before it in the stream have executed
//! `cudaTriggerProgrammaticLaunchCompletion` (`griddepcontrol.launch_dependents`) or have ended. The trigger says nothing of memory, not even of what was
//! written before it. Only `cudaGridDependencySynchronize` (`griddepcontrol.wait`) waits until the other launch has ended and all that it wrote can be seen. The
//! compiler does not check that it is there; code for targets before `sm_90` leaves it out.
//!
//! ## How to fix it
//!
//! Call `cudaGridDependencySynchronize()` in the dependent kernel before its first access to memory that the launch before it uses. Memory that the
//! dependent kernel writes counts as well: the other one may still read it. If the kernels share nothing, no wait is needed.
//!
//! ## What is reported
//!
//! The early access of the dependent launch, and the access of the launch before it.
//!
//! ## Limitations
//!
//! `racetrap exec` sees it, in launches with the attribute directly behind another launch of their stream that has a trigger; `racetrap check --entry FIRST
//! --then SECOND --programmatic` runs two kernels so. A launch without a trigger ends before the dependent launch begins. Only the launch directly in front is looked at, not those before it, which end in order only if each one waits. In a
//! block where one thread has waited, an mbarrier's phase or a fence counts as if all had.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization". PTX ISA, "griddepcontrol".

use crate::help::{Advice, barrier};
use crate::rule_text::{RuleText, SUMMARY};

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(format!(
            "a dependent launch accesses {} and has not waited for the launch before it",
            view.memory()
        ))
    },
    help: |view| {
        let text = format!(
            "call `cudaGridDependencySynchronize()` (`griddepcontrol.wait`) before {}",
            view.at(0)
        );
        let one = view.guilty.first()?;
        Some(Advice::with(
            text,
            barrier::of_dependency(one, view.defines()),
        ))
    },
    ..SUMMARY
};
