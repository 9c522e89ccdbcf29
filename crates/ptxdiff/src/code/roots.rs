//! What addresses start from, where they differ from way to way: a pointer that a loop moves on starts from what it started from in front of
//! the loop.
//!
//! Roots flow along definitions, without regard to the order of instructions, until nothing changes (a flow-insensitive points-to analysis,
//! after L. O. Andersen, "Program Analysis and Specialization for the C Programming Language", 1994). A sum starts from the one of its
//! terms that is a pointer; products and shifts are no pointers; what was loaded from memory is not known.

use super::value::{Node, Value, Values};
use super::{Instr, Root, Token};
use crate::class::Space;
use ptx::semantics::Opcode;
use std::collections::HashMap;

/// What a register may start from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// No pointer, as far as is known.
    Nothing,
    One(Root),
    Several,
}

impl Start {
    fn join(self, other: Start) -> Start {
        match (self, other) {
            (Start::Nothing, x) | (x, Start::Nothing) => x,
            (x, y) if x == y => x,
            _ => Start::Several,
        }
    }
}

/// Gives the places whose address alone does not tell a root the one that its register starts from.
pub(super) fn complete(values: &Values, instructions: &mut [Instr]) {
    let mut starts: HashMap<u32, Start> = HashMap::new();
    let mut changed = true;
    while changed {
        changed = false;
        for instr in instructions.iter() {
            let Some(own) = defined(instr) else { continue };
            let start = of_instruction(values, &starts, instr);
            let known = starts.entry(own).or_insert(Start::Nothing);
            let joined = known.join(start);
            changed |= joined != *known;
            *known = joined;
        }
    }
    for instr in instructions.iter_mut() {
        let addresses = instr
            .instr
            .operands
            .iter()
            .enumerate()
            .filter(|(_, o)| matches!(o, ptx::ast::Operand::Address(_)));
        let guarded = usize::from(instr.instr.guard.is_some());
        let found: Vec<Option<Root>> = addresses
            .map(|(position, _)| {
                let tokens = instr.operands.get(position + guarded)?;
                let registers = tokens.iter().filter_map(|token| match token {
                    Token::Register(web) => starts.get(web).copied(),
                    _ => None,
                });
                match registers.fold(Start::Nothing, Start::join) {
                    Start::One(root) => Some(root),
                    _ => None,
                }
            })
            .collect();
        let places = [&mut instr.place, &mut instr.source_place];
        for (place, root) in places.into_iter().zip(found) {
            if let (Some(place), Some(root)) = (place, root)
                && place.root == Root::Unknown
            {
                place.root = root;
            }
        }
        // A generic address of a thread's own memory (`cvta.local` of its depot).
        for place in [&mut instr.place, &mut instr.source_place]
            .into_iter()
            .flatten()
        {
            if place.space == Space::Generic && is_depot(values, place.root) {
                place.space = Space::Local;
            }
        }
    }
}

/// The register that an instruction defines, where it is one.
fn defined(instr: &Instr) -> Option<u32> {
    if instr.destinations() != 1 {
        return None;
    }
    let guarded = usize::from(instr.instr.guard.is_some());
    match instr.operands.get(guarded)?[..] {
        [Token::Register(web)] => Some(web),
        _ => None,
    }
}

fn of_instruction(values: &Values, starts: &HashMap<u32, Start>, instr: &Instr) -> Start {
    let guarded = usize::from(instr.instr.guard.is_some());
    let source = |position: usize| {
        let registers = instr.operands.get(guarded + 1 + position);
        let registers = registers
            .into_iter()
            .flatten()
            .filter_map(|token| match token {
                Token::Register(web) => starts.get(web).copied(),
                _ => None,
            });
        let value = instr.sources.get(guarded + position);
        registers.fold(
            value.map_or(Start::Nothing, |v| of_value(values, *v)),
            Start::join,
        )
    };
    match instr.typed.opcode {
        Opcode::Ld => instr.result.map_or(Start::Nothing, |result| {
            let pointer = instr.typed.modifiers.types().any(|ty| ty.bits() == 64);
            if pointer {
                of_value(values, result)
            } else {
                Start::Nothing
            }
        }),
        Opcode::Mov | Opcode::Cvta | Opcode::Cvt | Opcode::Sub | Opcode::And => source(0),
        Opcode::Add | Opcode::Or | Opcode::Selp => source(0).join(source(1)),
        Opcode::Mad => source(2),
        _ => Start::Nothing,
    }
}

/// Whether an address starts from what the compiler calls a function's local memory.
fn is_depot(values: &Values, root: Root) -> bool {
    match root {
        Root::Variable(value) => {
            matches!(values.node(value), Node::Symbol(name) if name.starts_with("__local_depot"))
        }
        _ => false,
    }
}

fn of_value(values: &Values, value: Value) -> Start {
    match values.node(value) {
        Node::Symbol(_) => Start::One(Root::Variable(value)),
        Node::Parameter(..) => Start::One(Root::Parameter(value)),
        _ => Start::Nothing,
    }
}
