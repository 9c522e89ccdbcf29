//! # barrier-lost
//!
//! One side has a barrier (of a warp, a block or a cluster) that the other does not have.
//!
//! ## Example
//!
//! ```cpp
//! tile[t] = value;
//! __syncthreads();                        // left out behind a define: what lost a barrier may race
//! value = tile[t ^ 1];
//! ```
//!
//! ## How it is recognised
//!
//! A `bar`, `barrier` or `bar.warp.sync` without a partner; barriers of the same kind without a partner on the other side
//! count for one each, and so do copies in unrolled loops.
//!
//! ## What it cannot see
//!
//! Barriers made of atomics. Whether the barrier was needed: `racetrap run` and `racetrap check` answer that.

use super::{Instr, Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let kind: fn(&Instr) -> Option<InstructionClass> = |i| Some(i.class);
    view.lacking(|i| i.class.is_barrier(), &[(kind, kind)])
        .into_iter()
        .filter(|&index| !view.is_copy(index))
        .map(|index| view.occurrence(Vec::new(), vec![index]))
        .collect()
}
