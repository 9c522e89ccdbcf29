//! # branch-to-selection
//!
//! One side branches around instructions. The other side always executes them and selects the result (`selp`), or
//! predicates each of them. The lanes of the warp then stay together: they do not diverge, and no lane can skip a barrier.
//!
//! ## Example
//!
//! ```cpp
//! if (lane >= d) value += left;           // setp, selp, add: no branch
//! ```
//!
//! ## How it is recognised
//!
//! A conditional branch has no match, and it neither closes nor leaves a loop. The other side has a new `selp`, `slct` or
//! predicated instruction (one without a match, or matched with an unpredicated one) that depends on the same comparison.
//! Negation and operand order do not matter. If the comparison cannot be traced, both must come from the same source
//! position.
//!
//! ## Limitations
//!
//! The comparison does not see selections without a predicate, such as `min`, `max` or masks made of sign bits, or what
//! `ptxas` does below PTX (`--sass` shows that).

use super::{Occurrence, View};
use crate::class::InstructionClass;
use crate::code::{Code, Instr};
use crate::compare::chooses;
use crate::code::value::{Node, Value, Values};
use ptx::semantics::{Comparison, Modifier, Opcode};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let new = |index: usize, instr: &Instr| match view.partner(index) {
        None => true,
        Some(partner) => view.other.instructions[partner].instr.guard.is_none() && instr.instr.guard.is_some(),
    };
    let selections: Vec<(usize, Option<Value>)> = view
        .mine
        .instructions
        .iter()
        .enumerate()
        .filter(|(index, instr)| selects(instr) && new(*index, instr))
        .map(|(index, instr)| (index, predicate(instr)))
        .collect();
    let branches = view.only_other().filter(|(index, instr)| chooses(instr) && is_forward(view.other, *index));
    branches
        .filter_map(|(index, branch)| {
            let condition = branch.sources.first().copied();
            let chosen: Vec<usize> = selections
                .iter()
                .filter(|(selection, value)| {
                    let same = match (condition, *value) {
                        (Some(x), Some(y)) => alike(view.values, x, y),
                        _ => false,
                    };
                    let site = view.mine.instructions[*selection].site;
                    same || site != 0 && site == branch.site
                })
                .map(|(selection, _)| *selection)
                .collect();
            (!chosen.is_empty()).then(|| view.occurrence(chosen, vec![index]))
        })
        .collect()
}

fn selects(instr: &Instr) -> bool {
    instr.class == InstructionClass::Select
        || instr.instr.guard.is_some() && !matches!(instr.class, InstructionClass::Branch | InstructionClass::Leave)
}

/// What a selection hangs on.
fn predicate(instr: &Instr) -> Option<Value> {
    match instr.class {
        InstructionClass::Select => instr.sources.last().copied(),
        _ => instr.sources.first().copied(),
    }
}

/// Whether both ways stay in the branch's loop and none leads back to its start.
fn is_forward(code: &Code, branch: usize) -> bool {
    let block = code.instructions[branch].block;
    let own = code.flow.innermost[block];
    code.flow.blocks[block].successors.iter().all(|&next| {
        let stays = own.is_none_or(|own| code.flow.loops[own].nodes.contains(&next));
        let back = ptx::graph::dominates(&code.flow.idom, next, block);
        stays && !back
    })
}

/// Whether two predicates are one comparison, negated or turned round.
fn alike(values: &Values, x: Value, y: Value) -> bool {
    if x == y {
        return true;
    }
    match (comparison(values, x), comparison(values, y)) {
        (Some(x), Some(y)) => x == y,
        _ => false,
    }
}

/// A comparison without its sense: `lt` for the four orders, its operands so that it means "less"; the other modifiers.
fn comparison(values: &Values, predicate: Value) -> Option<(Comparison, Vec<Modifier>, Value, Value)> {
    let Node::Computed(Opcode::Setp, modifiers, operands) = values.node(predicate) else {
        return None;
    };
    let [x, y] = operands[..] else { return None };
    let kind = modifiers.get(1..)?.to_vec();
    Some(match modifiers.comparison()? {
        Comparison::Eq | Comparison::Ne => (Comparison::Eq, kind, x.min(y), x.max(y)),
        Comparison::Lt | Comparison::Ge => (Comparison::Lt, kind, x, y),
        Comparison::Gt | Comparison::Le => (Comparison::Lt, kind, y, x),
        _ => return None,
    })
}
