//! # barrier-lost
//!
//! One side has a barrier (of a warp, a block or a cluster) that the other side does not have. The side without the
//! barrier may have a race.
//!
//! ## Example
//!
//! ```cpp
//! tile[t] = value;
//! __syncthreads();                        // behind a define that leaves it out
//! value = tile[t ^ 1];
//! ```
//!
//! ## How it is recognised
//!
//! A `bar`, `barrier` or `bar.warp.sync` has no match. Each unmatched barrier of the same kind on the other side cancels
//! one of these. Each barrier of the other side must stand for one that is executed at least as often (see `store-elided`); otherwise no
//! barrier is called lost.
//!
//! ## Limitations
//!
//! Barriers built from atomic operations are not recognised. Whether the barrier was needed is for `racetrap run` and
//! `racetrap check` to decide.

use super::{Instr, Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let kind: fn(&Instr) -> Option<InstructionClass> = |i| Some(i.class);
    view.lacking(|i| i.class.is_barrier(), &[(kind, kind)])
        .into_iter()
        .filter(|&index| !view.is_copy(index))
        .filter_map(|index| view.lacks(index))
        .collect()
}
