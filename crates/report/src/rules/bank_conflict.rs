//! # bank-conflict
//!
//! Several lanes of a warp address different words in the same bank of shared memory. The hardware serves such a
//! request in several passes. The result is right; it only takes longer. Shown with `--perf`.
//!
//! ## Example
//!
//! ```cpp
//! __shared__ float tile[32][32];
//! float x = tile[threadIdx.x][0];         // all 32 lanes in bank 0: 32 passes
//! ```
//!
//! Pad the rows, so that the elements of a column lie in different banks:
//!
//! ```cpp
//! __shared__ float tile[32][33];          // one more column: 32 banks, one pass
//! ```
//!
//! ## Why it costs time
//!
//! Shared memory has 32 banks of 4 bytes. Each bank delivers one word a pass. Lanes that read the same word do not
//! conflict: the word is broadcast.
//!
//! ## What is reported
//!
//! - *Requests*: the passes that the access needs without conflicts: one for up to 4 bytes a lane, two for 8 bytes,
//!   four for 16.
//! - *Wavefronts*: the passes that it takes, as the hardware counters for shared loads and stores count them.
//! - *Degree*: the passes of the worst single request.
//!
//! The wavefronts equal the counters of an NVIDIA H200 (`racetrap dev counters compare`), with one exception: `ptxas` may
//! join loads of adjacent words into one 16-byte load. That happens below PTX, so the count here is higher.
//!
//! ## Limitations
//!
//! Atomic operations are not counted.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Compute Capabilities", "Shared Memory"; CUDA C++ Best Practices Guide, "Shared Memory
//! and Memory Banks".

use crate::NoChange;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Detail;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| match view.finding.detail {
        Detail::Banks { degree, .. } => Some(format!("{degree}-way bank conflict")),
        _ => None,
    },
    notes: |view| match view.finding.detail {
        Detail::Banks {
            requests,
            wavefronts,
            ..
        } => vec![format!(
            "{requests} requests took {wavefronts} passes, {} more than without conflicts",
            wavefronts.saturating_sub(requests)
        )],
        _ => Vec::new(),
    },
    help: |view| {
        Some(Advice::from(format!(
            "pad the rows of the array by one element, or let neighbouring lanes access neighbouring words at {}",
            view.at(0)
        )))
    },
    no_change: NoChange::Layout,
    ..SUMMARY
};
