//! # fence-kept
//!
//! A memory fence is on both sides. This is not a difference.
//!
//! ## How it is recognised
//!
//! Two `fence` or `membar` instructions match, and neither is weaker (`synchronisation-weakened`). By the PTX ISA,
//! `membar.gl` is `fence.sc.gpu`.
//!
//! ## Limitations
//!
//! The comparison does not check that the same accesses stand before and after the fence.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class == InstructionClass::Fence)
        .filter_map(|(index, _)| view.kept(index))
        .collect()
}
