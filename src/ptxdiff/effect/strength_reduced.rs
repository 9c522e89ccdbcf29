//! # strength-reduced
//!
//! One side divides, takes a remainder or multiplies; the other gets the same by shifts, masks and additions.
//!
//! ## Example
//!
//! ```cpp
//! if (t % (2 * d) == 0)                   // rem.u32: some 20 instructions of machine code
//! if ((t & (2 * d - 1)) == 0)             // and.b32: one
//! ```
//!
//! ## How it is recognised
//!
//! A costly operation of one side has no partner. On the other, an arithmetic operation of smaller cost has none either, works on one of the
//! same values (and no other that costs as much does: then the work was only cut up), and its result is used where the costly one's was: by partners, as the same operand, or on the same source position. Costs are
//! those of the throughput table of the CUDA C++ Programming Guide ("Arithmetic Instructions") and its notes on
//! division, in steps: division and remainder, square root and reciprocal, multiplication, the rest.
//!
//! ## What it cannot see
//!
//! Whether the results are equal: `%` and `&` are so for powers of two only. A division that is costly for being made of many instructions on
//! both sides, as those of 64 bits in machine code, counts as one.

use super::{Occurrence, View};
use crate::ptxdiff::class::Class;
use crate::ptxdiff::code::{Code, Instr, Token};
use std::collections::HashMap;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let costly: Vec<usize> = view
        .only_other()
        .filter(|(_, i)| cost(i) > 1)
        .map(|(index, _)| index)
        .collect();
    if costly.is_empty() {
        return Vec::new();
    }
    let cheap: Vec<usize> = view
        .only_mine()
        .filter(|(_, i)| i.class == Class::Arithmetic && i.result.is_some() && i.instr.opcode != "setp")
        .map(|(index, _)| index)
        .collect();
    let (mine, other) = (uses(view.mine), uses(view.other));
    let shares = |x: &Instr, y: &Instr| x.sources.iter().any(|v| y.sources.contains(v));
    let beside = |x: &Instr, y: &Instr| x.site != 0 && x.site == y.site;
    let mut taken = Vec::new();
    let mut found = Vec::new();
    for index in costly {
        let own = &view.other.instructions[index];
        let still_there = cheap.iter().map(|&index| &view.mine.instructions[index]).any(|i| {
            cost(i) >= cost(own) && (shares(i, own) || beside(i, own))
        });
        if still_there {
            continue;
        }
        let replaces = |candidate: &&usize| {
            let cheaper = &view.mine.instructions[**candidate];
            cost(cheaper) < cost(own)
                && !taken.contains(*candidate)
                && shares(cheaper, own)
                && (beside(cheaper, own) || used_alike(view, &mine, &other, **candidate, index))
        };
        if let Some(&replacement) = cheap.iter().find(replaces) {
            taken.push(replacement);
            found.push(view.occurrence(vec![replacement], vec![index]));
        }
    }
    found
}

/// What an operation costs, in steps.
fn cost(instr: &Instr) -> u32 {
    if instr.class != Class::Arithmetic {
        return 0;
    }
    match instr.instr.opcode.as_str() {
        "div" | "rem" => 4,
        "sqrt" | "rsqrt" | "rcp" | "sin" | "cos" | "ex2" | "lg2" | "tanh" => 3,
        "mul" | "mad" | "mul24" | "mad24" => 2,
        _ => 1,
    }
}

/// Where each instruction's result is used: the users, and as which operand.
type Uses = HashMap<usize, Vec<(usize, usize)>>;

fn uses(code: &Code) -> Uses {
    let mut definitions: HashMap<u32, Vec<usize>> = HashMap::new();
    let guarded = |instr: &Instr| usize::from(instr.instr.guard.is_some());
    let written = |instr: &Instr| crate::ptxdiff::class::destinations(instr.instr);
    for (index, instr) in code.instructions.iter().enumerate() {
        let first = guarded(instr);
        let targets = instr.operands.iter().skip(first).take(written(instr));
        for token in targets.flatten() {
            if let Token::Register(register) = token {
                definitions.entry(*register).or_default().push(index);
            }
        }
    }
    let mut uses = Uses::new();
    for (user, instr) in code.instructions.iter().enumerate() {
        for (position, operand) in instr.operands.iter().enumerate() {
            let first = guarded(instr);
            if (first..first + written(instr)).contains(&position) {
                continue;
            }
            for token in operand {
                if let Token::Register(register) = token {
                    for definition in definitions.get(register).into_iter().flatten() {
                        uses.entry(*definition).or_default().push((user, position));
                    }
                }
            }
        }
    }
    uses
}

/// Whether partners use both results as the same operand.
fn used_alike(view: &View, mine: &Uses, other: &Uses, cheap: usize, costly: usize) -> bool {
    let theirs = other.get(&costly);
    let users = mine.get(&cheap).into_iter().flatten();
    users.into_iter().any(|&(user, position)| {
        let partner = view.partner(user);
        theirs.into_iter().flatten().any(|&(own, at)| Some(own) == partner && at == position)
    })
}
