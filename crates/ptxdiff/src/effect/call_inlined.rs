//! # call-inlined
//!
//! One side calls a function; the other side has the body of the function in place of the call.
//!
//! ## Example
//!
//! ```cpp
//! __device__ int own_word();              // `-G` calls it, `-O3` does not
//! ```
//!
//! ## How it is recognised
//!
//! A `call` has no match, and the other side has instructions inlined from that function. Their source locations show
//! this. Without source locations, at least half of the function's instructions (not counting moves and parameters) must
//! be among the unmatched ones.
//!
//! ## Limitations
//!
//! Indirect calls name no function and are not recognised. A function that was inlined and left no instruction shows as a
//! call that disappeared.

use super::{Occurrence, View};
use crate::loops::signature::{callee, defined, each};
use ptx::ast::{Function, Instruction};
use ptx::demangle;
use ptx::semantics::TypedInstruction;
use crate::class::InstructionClass;

/// The calls of the other side that are inlined here, and the instructions that they became.
pub(super) fn find(view: &View) -> (Vec<Occurrence>, Vec<usize>) {
    let (mut found, mut bodies) = (Vec::new(), Vec::new());
    let mut used = vec![false; view.mine.instructions.len()];
    let calls = view.other.instructions.iter().enumerate();
    for (index, call) in calls.filter(|(i, c)| c.class == InstructionClass::Call && view.back(*i).is_none()) {
        let Some(name) = callee(call.instr) else { continue };
        let plain = demangle(name);
        let mut body: Vec<usize> = view
            .only_mine()
            .filter(|(i, _)| view.mine.inlined_from(*i).any(|from| from == plain))
            .map(|(i, _)| i)
            .collect();
        if body.is_empty() {
            body = by_content(view, name, &mut used).unwrap_or_default();
        }
        if !body.is_empty() {
            bodies.extend(&body);
            found.push(view.occurrence(body, vec![index]));
        }
    }
    (found, bodies)
}

/// Instructions without a partner that look like the function's.
fn by_content(view: &View, name: &str, used: &mut [bool]) -> Option<Vec<usize>> {
    let function = defined(view.other_module, name)?;
    let mut wanted: Vec<String> = Vec::new();
    collect(function, &mut wanted);
    let total = wanted.len();
    let mut body = Vec::new();
    for (index, instr) in view.only_mine() {
        let text = spelling(instr.instr);
        if !used[index]
            && let Some(at) = wanted.iter().position(|w| *w == text)
        {
            wanted.swap_remove(at);
            body.push(index);
        }
    }
    if body.is_empty() || 2 * body.len() < total {
        return None;
    }
    body.iter().for_each(|&index| used[index] = true);
    Some(body)
}

fn collect(function: &Function, into: &mut Vec<String>) {
    each(function.body.as_deref().unwrap_or_default(), &mut |i| {
        use InstructionClass::{Branch, Leave, Move, Parameter};
        let class = InstructionClass::of(&TypedInstruction::of(i));
        if !matches!(class, Parameter | Move | Leave | Branch) {
            into.push(spelling(i));
        }
    });
}

fn spelling(i: &Instruction) -> String {
    format!("{}.{}", i.opcode, i.modifiers.join("."))
}
