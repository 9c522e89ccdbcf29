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
//! one of these. Copies in unrolled loops count once. Where barriers stand in loops, only loops that are the same on both
//! sides are compared, and a barrier of a source line that the other side has in another loop is not counted.
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
        .filter(|&index| !view.is_copy(index) && view.may_lack(index))
        .map(|index| view.occurrence(Vec::new(), vec![index]))
        .collect()
}
