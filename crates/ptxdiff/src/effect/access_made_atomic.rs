//! # access-made-atomic
//!
//! One side uses an atomic operation (`atom`, `red`) where the other side uses plain loads, stores, or both. The report
//! names the side with the atomic operation; the other side has *a plain access*.
//!
//! Between a plain load and a plain store, another thread may write the location, and its update is lost. An atomic
//! operation excludes this.
//!
//! ## Example
//!
//! ```cpp
//! atomicAdd(&bins[value], 1);             // red.global.add.u32, or atom if the old value is used
//! bins[value]++;                          // ld.global.u32, add.s32, st.global.u32
//! ```
//!
//! ## How it is recognised
//!
//! An `atom` or `red` on one side and a `ld` or `st` on the other touch common bytes between the same barriers and
//! fences. Accesses that have no other match are compared by variable or parameter.
//!
//! ## Limitations
//!
//! The comparison does not check that both sides compute the same value. Loads and stores with an ordering
//! (`ld.acquire`, `st.relaxed`) are single operations too, but count as plain here; `synchronisation-weakened` compares
//! orderings.

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
