//! # barrier-kept
//!
//! A barrier is on both sides. This is no difference; it says that what the barrier orders, it still orders.
//!
//! ## How it is recognised
//!
//! Two `bar`, `barrier` or `bar.warp.sync` that are partners, of which none is weaker (`synchronisation-weakened`). By the PTX ISA `bar.sync` is
//! `barrier.sync.aligned`.
//!
//! ## What it cannot see
//!
//! Whether the same accesses stand in front of it and behind it: `load-moved-across-barrier` says where loads do not.

use super::{Occurrence, View};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class.is_barrier())
        .filter_map(|(index, _)| view.kept(index))
        .collect()
}
