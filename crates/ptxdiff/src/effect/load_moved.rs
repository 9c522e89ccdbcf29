//! # load-moved-across-barrier
//!
//! A load stands before a barrier or fence on one side and after it on the other. Before it, it may read a location that
//! other threads have not written yet. The report names the side with the load in front: the load was hoisted on that
//! side or sunk on the other.
//!
//! ## Example
//!
//! ```cpp
//! __syncthreads();
//! int left = tile[t - 1];                 // must not be read before the barrier
//! ```
//!
//! ## How it is recognised
//!
//! The load and the barrier both have a match, and their order differs. Barriers of a warp, a block and a cluster count,
//! and fences.
//!
//! ## Limitations
//!
//! The comparison does not check whether other threads write the location. A compiler may move loads of read-only memory.
//! In a loop every instruction is both before and after every other one; there the order in the text decides.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    super::moved::crossing(view, |class| matches!(class, InstructionClass::Load(_)))
}
