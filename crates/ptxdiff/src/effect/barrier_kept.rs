//! # barrier-kept
//!
//! A barrier is on both sides. This is not a difference: the barrier still orders what it ordered.
//!
//! ## How it is recognised
//!
//! Two `bar`, `barrier` or `bar.warp.sync` instructions match, and neither is weaker (`synchronisation-weakened`). By the
//! PTX ISA, `bar.sync` is `barrier.sync.aligned`.
//!
//! ## Limitations
//!
//! A barrier across which an access moved (`load-moved-across-barrier`, `store-moved-across-barrier`), which is in a loop on
//! one side alone (`barrier-moved`) or has another number (`barrier-renumbered`), is not counted.

use super::{Occurrence, View};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(index, instr)| instr.class.is_barrier() && !view.crossed.contains(index))
        .filter_map(|(index, _)| view.kept(index))
        .collect()
}
