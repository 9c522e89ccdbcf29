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
//! The comparison does not check that the same accesses stand before and after the barrier;
//! `load-moved-across-barrier` reports loads that moved.

use super::{Occurrence, View};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class.is_barrier())
        .filter_map(|(index, _)| view.kept(index))
        .collect()
}
