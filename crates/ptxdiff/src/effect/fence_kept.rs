//! # fence-kept
//!
//! A memory fence is on both sides. This is no difference.
//!
//! ## How it is recognised
//!
//! Two `fence` or `membar` that are partners, of which none is weaker (`synchronisation-weakened`). By the PTX ISA `membar.gl` is `fence.sc.gpu`.
//!
//! ## What it cannot see
//!
//! Whether the same accesses stand in front of it and behind it.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class == InstructionClass::Fence)
        .filter_map(|(index, _)| view.kept(index))
        .collect()
}
