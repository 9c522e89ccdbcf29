//! # moved-to-constant-memory
//!
//! One side loads from constant memory what the other side loads from global memory.
//!
//! ## Example
//!
//! ```cpp
//! __constant__ float weights[16];         // ld.const, or an operand c[…] of machine code
//! ```
//!
//! ## How it is recognised
//!
//! A load from constant memory has no match, and the other side has a load of the same width from global memory without a
//! match. The one is not elided, nor the other.
//!
//! ## Limitations
//!
//! The comparison does not know whether the two places hold the same values.

use super::{Occurrence, View};
use crate::class::{InstructionClass, Space};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let load = |space: Space| InstructionClass::Load(space);
    let mut left: Vec<usize> = view
        .only_other()
        .filter(|(_, i)| i.class == load(Space::Global) || i.class == load(Space::Generic))
        .map(|(index, _)| index)
        .collect();
    let mut found = Vec::new();
    for (index, instr) in view.only_mine().filter(|(_, i)| i.class == load(Space::Const)) {
        let width = |i: usize| view.other.instructions[i].place.map(|p| p.width);
        let own = instr.place.map(|p| p.width);
        let elided = &view.cover.elided[view.side.other() as usize];
        let best = left.iter().copied().filter(|&i| width(i) == own && elided.contains(&i)).max_by_key(|&i| {
            let site = view.other.instructions[i].site;
            (site != 0 && site == instr.site, std::cmp::Reverse(i))
        });
        if let Some(other) = best {
            left.retain(|i| *i != other);
            found.push(view.occurrence(vec![index], vec![other]));
        }
    }
    found
}
