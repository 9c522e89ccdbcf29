//! # approximated
//!
//! One side uses an approximate floating-point instruction (`div.full`, `div.approx`, `sqrt.approx`, `sin.approx`) where
//! the other side has one that rounds correctly, or computes more precisely in another way.
//!
//! ## Example
//!
//! ```cpp
//! z = x / y;                              // div.rn.f32; with -prec-div=false: div.full.f32
//! ```
//!
//! ## How it is recognised
//!
//! An instruction with `.approx` or `.full` matches one of the same opcode without, or has no match while the other side
//! has one of the same family (quotients and reciprocals; roots) that rounds and has no match.
//!
//! ## Limitations
//!
//! A function such as `sinf` that is replaced by one instruction is not recognised, because its body is on the other side.

use super::{Occurrence, View};
use crate::code::Instr;
use ptx::semantics::{Modifier, Opcode};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mut left: Vec<usize> = view
        .only_other()
        .filter(|(_, i)| family(i).is_some() && !is_approximate(i))
        .map(|(index, _)| index)
        .collect();
    let mine = view.mine.instructions.iter().enumerate();
    let mut found = Vec::new();
    for (index, instr) in mine.filter(|(_, i)| is_approximate(i) && family(i).is_some()) {
        let exact = match view.partner(index) {
            Some(partner) => {
                let other = &view.other.instructions[partner];
                (family(other) == family(instr) && !is_approximate(other)).then_some(partner)
            }
            None => {
                let at = left.iter().position(|&i| family(&view.other.instructions[i]) == family(instr));
                at.map(|at| left.remove(at))
            }
        };
        if let Some(exact) = exact {
            found.push(view.occurrence(vec![index], vec![exact]));
        }
    }
    found
}

fn is_approximate(instr: &Instr) -> bool {
    instr.typed.has(Modifier::Approx) || instr.typed.has(Modifier::Full)
}

/// What is computed, of the operations that have an approximate form.
fn family(instr: &Instr) -> Option<u8> {
    let float = instr.typed.modifiers.types().any(|ty| ty.is_float());
    Some(match instr.typed.opcode {
        Opcode::Div | Opcode::Rcp if float => 0,
        Opcode::Sqrt | Opcode::Rsqrt => 1,
        _ => return None,
    })
}
