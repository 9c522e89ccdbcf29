//! # accesses-vectorised
//!
//! One side loads or stores several words with one instruction (`ld.v4`, `st.v2`); the other side accesses the same words
//! one by one. The report names the side with the vector access; on the other side the accesses are *split*.
//!
//! ## Example
//!
//! ```cpp
//! float4 v = in[t];                       // ld.global.v4.f32, if `in` is aligned to 16 bytes
//! float x = p[4 * t], y = p[4 * t + 1];   // two ld.global.f32
//! ```
//!
//! ## How it is recognised
//!
//! A `ld` or `st` has a vector qualifier, and two or more narrower accesses of the other side touch its bytes, in the
//! same direction, between the same barriers and fences.
//!
//! ## Limitations
//!
//! The comparison does not check the alignment that a vector access needs (`racetrap explain misaligned-access`). A
//! vector access is not one memory operation: its elements are ordered and may tear like separate accesses (PTX ISA,
//! "Vector Data-types").

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
