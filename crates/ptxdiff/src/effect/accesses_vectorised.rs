//! # accesses-vectorised
//!
//! One side loads or stores several words at once (`ld.v4`, `st.v2`), the other the same words one after the other: fewer instructions for the
//! same bytes. The side that is named has the vector; the other side's accesses are *split*.
//!
//! ## Example
//!
//! ```cpp
//! float4 v = in[t];                       // ld.global.v4.f32, where in is aligned to 16 bytes
//! float x = p[4 * t], y = p[4 * t + 1];   // two ld.global.f32
//! ```
//!
//! ## How it is recognised
//!
//! A `ld` or `st` with a vector qualifier whose bytes two or more narrower accesses of the other side touch, in the same direction, between the
//! same barriers and fences.
//!
//! ## What it cannot see
//!
//! Whether the address is aligned, which a vector access needs (`racetrap explain misaligned-access`). A vector is no single
//! memory operation: its elements are ordered and torn like separate accesses (PTX ISA, "Vector Data-types").

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    wider(view, |mine, others| mine > others)
}

/// My accesses that stand for several narrower ones of the other side, and whose lanes, beside the others', are as wanted.
pub(super) fn wider(view: &View, wanted: impl Fn(u8, u8) -> bool) -> Vec<Occurrence> {
    let plain = |class: InstructionClass| matches!(class, InstructionClass::Load(_) | InstructionClass::Store(_));
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| plain(instr.class))
        .filter_map(|(index, instr)| {
            let width = instr.place?.width;
            let beside = view.cover.beside(view.side, index, |pair| !pair.shared);
            let narrower = |&other: &usize| {
                let other = &view.other.instructions[other];
                plain(other.class) && other.place.is_some_and(|place| place.width < width)
            };
            let most = beside.iter().map(|&i| view.other.instructions[i].typed.modifiers.vector()).max()?;
            let several = beside.len() > 1 && beside.iter().all(narrower);
            (several && wanted(instr.typed.modifiers.vector(), most)).then(|| view.occurrence(vec![index], beside))
        })
        .collect()
}
