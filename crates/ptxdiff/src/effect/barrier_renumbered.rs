//! # barrier-renumbered
//!
//! A barrier of the block is on both sides, with different numbers. Threads that wait at barriers of different numbers do
//! not wait for each other.
//!
//! ## Example
//!
//! ```cpp
//! asm volatile("bar.sync 1;");            // __syncthreads() is bar.sync 0
//! ```
//!
//! ## How it is recognised
//!
//! Two barriers match, and their first operands are different constants.
//!
//! ## Limitations
//!
//! Numbers in registers are not compared.

use super::{Occurrence, View};
use crate::class::InstructionClass;
use crate::code::Instr;
use ptx::ast::Operand;
use ptx::semantics::Synchronisation;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class == InstructionClass::BlockBarrier)
        .filter_map(|(index, instr)| {
            let partner = view.partner(index)?;
            let (x, y) = (number(instr)?, number(&view.other.instructions[partner])?);
            (x != y).then(|| Occurrence {
                note: Some(format!("barrier {x} in A, barrier {y} in B")),
                ..view.occurrence(vec![index], vec![partner])
            })
        })
        .collect()
}

fn number(instr: &Instr) -> Option<u64> {
    match instr.typed.synchronisation {
        Some(Synchronisation::BlockBarrier { .. }) => {}
        _ => return None,
    }
    // A reduction has its destination in front.
    match instr.instr.operands.get(instr.destinations())? {
        Operand::Int(number, _) => Some(*number),
        _ => None,
    }
}
