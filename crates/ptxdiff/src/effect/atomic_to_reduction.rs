//! # atomic-to-reduction
//!
//! One side uses an atomic operation that returns the old value (`atom`); the other side uses the same operation without
//! a result (`red`). No thread has to wait for a reduction.
//!
//! ## Example
//!
//! ```cpp
//! atomicAdd(&bins[value], 1);             // the result is not used: red.global.add
//! ```
//!
//! ## How it is recognised
//!
//! An `atom` is matched with a `red` that performs the same operation on the same location or at the same source
//! position.
//!
//! ## Limitations
//!
//! The comparison does not see atomic operations that were combined over the lanes of a warp first, or a `red` that
//! `ptxas` makes of an `atom` below PTX (`--sass` shows that).

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
