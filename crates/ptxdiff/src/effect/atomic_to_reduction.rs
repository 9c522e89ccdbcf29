//! # atomic-to-reduction
//!
//! One side makes an atomic operation that gives the old value back (`atom`), the other the same operation without it (`red`). A reduction
//! needs no answer, so nobody waits for it.
//!
//! ## Example
//!
//! ```cpp
//! atomicAdd(&bins[value], 1);             // the result is not used: red.global.add
//! ```
//!
//! ## How it is recognised
//!
//! Partners, one `atom` and one `red`, with the same operation on the same place or source position.
//!
//! ## What it cannot see
//!
//! Atomics that were joined over the lanes of a warp before; a `red` that `ptxas` makes of an `atom` below PTX (`--sass` shows that).

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| matches!(instr.class, InstructionClass::Reduction(_)))
        .filter_map(|(index, _)| {
            let partner = view.partner(index)?;
            let atomic = matches!(view.other.instructions[partner].class, InstructionClass::Atomic(_));
            atomic.then(|| view.occurrence(vec![index], vec![partner]))
        })
        .collect()
}
