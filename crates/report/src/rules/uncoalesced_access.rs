//! # uncoalesced-access
//!
//! A warp's access to global memory moves more 32-byte sectors than its data fills. The result is right; the access
//! wastes bandwidth. Shown with `--perf`.
//!
//! ## Example
//!
//! ```cpp
//! float x = in[threadIdx.x * 32];         // one sector for each lane, 28 of its 32 bytes unused
//! ```
//!
//! ```cpp
//! float x = in[blockIdx.x * blockDim.x + threadIdx.x];
//! ```
//!
//! ## How to fix it
//!
//! Let neighbouring lanes access neighbouring elements: use a structure of arrays, traverse arrays row by row, or
//! transpose through shared memory.
//!
//! ## What is reported
//!
//! - *Sectors*: the sectors that the requests of the line touch.
//! - *Ideal*: the sectors that the distinct bytes would fill if they were contiguous.
//!
//! An access that is contiguous but not aligned to a sector moves one sector more than the ideal.
//!
//! The sectors equal the counters of an NVIDIA H200 (`racetrap dev counters compare`), with one exception: a call of `printf`
//! moves sectors that PTX does not show.
//!
//! ## Limitations
//!
//! Caches are not modelled: a sector counts again for each request that touches it. Atomic operations are not counted.
//!
//! ## Reference
//!
//! CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory".

use crate::NoChange;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Detail;

pub(crate) const TEXT: RuleText = RuleText {
    notes: |view| match view.finding.detail {
        Detail::Sectors {
            requests,
            sectors,
            ideal,
        } => vec![format!(
            "{requests} requests moved {sectors} sectors of 32 bytes; their data would fit in {ideal}"
        )],
        _ => Vec::new(),
    },
    help: |view| {
        Some(Advice::from(format!(
            "let neighbouring lanes access neighbouring addresses at {}",
            view.at(0)
        )))
    },
    no_change: NoChange::Layout,
    ..SUMMARY
};
