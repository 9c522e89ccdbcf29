//! # access-made-atomic
//!
//! One side makes an atomic operation (`atom`, `red`) where the other loads, stores, or does both with plain instructions. Between a plain load and
//! a plain store another thread may write the place, and its write is lost; an atomic operation leaves no room for that. The side that is
//! named has the atomic operation; on the other it is *a plain access*.
//!
//! ## Example
//!
//! ```cpp
//! atomicAdd(&bins[value], 1);             // red.global.add.u32, or atom where the old value is used
//! bins[value]++;                          // ld.global.u32, add.s32, st.global.u32
//! ```
//!
//! ## How it is recognised
//!
//! An `atom` or `red` and, on the other side, a `ld` or `st` that touch common bytes between the same barriers and fences; or, of what
//! neither side has otherwise, the same variable or parameter.
//!
//! ## What it cannot see
//!
//! Whether both compute the same. Loads and stores with an order (`ld.acquire`, `st.relaxed`) are single operations too, and count as plain here: the
//! page `synchronisation-weakened` is about orders.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let atomic = |class: InstructionClass| matches!(class, InstructionClass::Atomic(_) | InstructionClass::Reduction(_));
    let plain = |class: InstructionClass| matches!(class, InstructionClass::Load(_) | InstructionClass::Store(_));
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| atomic(instr.class))
        .filter_map(|(index, _)| {
            let beside = view.cover.beside(view.side, index, |_| true);
            let all = beside.iter().all(|&i| plain(view.other.instructions[i].class));
            (all && !beside.is_empty()).then(|| view.occurrence(vec![index], beside))
        })
        .collect()
}
