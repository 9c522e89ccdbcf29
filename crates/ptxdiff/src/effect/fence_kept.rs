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
//! A fence across which an access moved (`load-moved-across-barrier`, `store-moved-across-barrier`) is not counted.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(index, instr)| instr.class == InstructionClass::Fence && !view.crossed.contains(index))
        .filter_map(|(index, _)| view.kept(index))
        .collect()
}
