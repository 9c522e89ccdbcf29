//! # atomics-aggregated
//!
//! On one side, lanes of a warp combine their values first, and one of them makes one atomic operation; on the other side
//! each lane makes its own.
//!
//! ## Example
//!
//! ```cpp
//! unsigned lanes = __activemask();
//! if (lane == __ffs(lanes) - 1) atomicAdd(count, __popc(lanes));     // for atomicAdd(count, 1) by each
//! ```
//!
//! ## How it is recognised
//!
//! Both sides have the atomic operation on the same variable or parameter. On one side alone its operand comes from an
//! exchange between lanes: a vote, a mask of active lanes, a shuffle, a reduction of the warp.
//!
//! ## Limitations
//!
//! The comparison does not check that one lane alone makes the operation. `ptxas` aggregates atomic operations below PTX.

use super::{Occurrence, View};
use crate::class::InstructionClass;
use crate::code::{Code, Instr, Token};
use std::collections::HashMap;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let atomic = |i: &Instr| matches!(i.class, InstructionClass::Atomic(_) | InstructionClass::Reduction(_));
    let exchanges = |code: &Code| code.instructions.iter().any(|i| i.class == InstructionClass::WarpExchange);
    if !exchanges(view.mine) {
        return Vec::new();
    }
    let (combined, others) = (combined(view.mine), combined(view.other));
    let mut found = Vec::new();
    let mut taken = Vec::new();
    for (index, instr) in view.mine.instructions.iter().enumerate() {
        if !atomic(instr) || !combined[index] {
            continue;
        }
        let root = instr.place.map(|p| p.root);
        let alike = |i: &usize| {
            let other = &view.other.instructions[*i];
            atomic(other)
                && !others[*i]
                && other.place.map(|p| p.root) == root
                && other.atomic_operation() == instr.atomic_operation()
        };
        let partner = view.partner(index).filter(alike);
        let partner = partner.or_else(|| {
            let free = |i: &usize| alike(i) && !taken.contains(i);
            (0..view.other.instructions.len()).find(free)
        });
        if let Some(partner) = partner {
            taken.push(partner);
            found.push(view.occurrence(vec![index], vec![partner]));
        }
    }
    found
}

/// Whether each instruction's operands, its address apart, come from an exchange between lanes.
fn combined(code: &Code) -> Vec<bool> {
    let mut from: HashMap<u32, bool> = HashMap::new();
    let mut changed = true;
    let tokens = |instr: &Instr, address: bool| -> Vec<u32> {
        let guarded = usize::from(instr.instr.guard.is_some());
        let first = guarded + instr.destinations();
        let operands = instr.operands.iter().enumerate().skip(first);
        let wanted = operands.filter(|(position, _)| {
            let operand = instr.instr.operands.get(position - guarded);
            address || !matches!(operand, Some(ptx::ast::Operand::Address(_)))
        });
        let tokens = wanted.flat_map(|(_, tokens)| tokens);
        tokens
            .filter_map(|token| match token {
                Token::Register(web) => Some(*web),
                _ => None,
            })
            .collect()
    };
    while changed {
        changed = false;
        for instr in &code.instructions {
            let exchange = instr.class == InstructionClass::WarpExchange;
            let passes = !instr.class.is_access() && tokens(instr, true).iter().any(|web| from.get(web) == Some(&true));
            if !exchange && !passes {
                continue;
            }
            let guarded = usize::from(instr.instr.guard.is_some());
            for token in instr.operands.iter().skip(guarded).take(instr.destinations()).flatten() {
                if let Token::Register(web) = token {
                    changed |= from.insert(*web, true) != Some(true);
                }
            }
        }
    }
    let of = |instr: &Instr| tokens(instr, false).iter().any(|web| from.get(web) == Some(&true));
    code.instructions.iter().map(of).collect()
}
