//! What an instruction computes, as a value.

use super::Instr;
use crate::class::{InstructionClass, Space};
use crate::code::value::{Node, Value, Values};
use ptx::semantics::{Modifier, Modifiers, Opcode, Type, TypedInstruction};

/// What an instruction computes.
pub(super) fn result(
    values: &mut Values,
    own: &Instr,
    sources: &[Value],
    address: Option<Value>,
) -> Value {
    // The guard is no source of the value.
    let sources = &sources[usize::from(own.instr.guard.is_some()).min(sources.len())..];
    let t = &own.typed;
    let half = t.has(Modifier::Lo) || t.has(Modifier::Wide);
    match (&t.opcode, sources) {
        (Opcode::Ld, _) if own.class == InstructionClass::Parameter => parameter(values, address),
        (Opcode::Ld | Opcode::Ldu, _) => match (address, &t.memory) {
            (Some(address), Some(memory)) => {
                values.intern(Node::Load(Space::from(memory.space).to_string(), address))
            }
            _ => values.intern(Node::Unknown),
        },
        (Opcode::Mov | Opcode::Cvta, [only]) => *only,
        // A wider integer is the same number.
        (Opcode::Cvt, [only]) if widens(t) => *only,
        (Opcode::Add, [a, b]) if is_word(t) => values.add(*a, *b, 1),
        (Opcode::Sub, [a, b]) if is_word(t) => values.add(*a, *b, -1),
        (Opcode::Neg, [a]) if is_word(t) => values.scale(*a, -1),
        (Opcode::Mul, [a, b]) if is_word(t) && half => values.multiply(*a, *b),
        (Opcode::Mad, [a, b, c]) if is_word(t) && half => {
            let product = values.multiply(*a, *b);
            values.add(product, *c, 1)
        }
        (Opcode::Shl, [a, b]) => match values.constant(*b) {
            Some(by @ 0..=62) => values.scale(*a, 1 << by),
            _ => values.intern(Node::Computed(
                Opcode::Shl,
                Modifiers::default(),
                sources.to_vec(),
            )),
        },
        (opcode, _) => values.intern(Node::Computed(
            opcode.clone(),
            t.modifiers.clone(),
            sources.to_vec(),
        )),
    }
}

/// What `ld.param` gives.
fn parameter(values: &mut Values, address: Option<Value>) -> Value {
    let Some((base, offset)) = address.map(|a| values.split(a)) else {
        return values.intern(Node::Unknown);
    };
    let index = match values.node(base) {
        Node::Symbol(name) => name.strip_prefix("param").and_then(|n| n.parse().ok()),
        _ => None,
    };
    match index {
        Some(index) => values.intern(Node::Parameter(index, offset)),
        None => values.intern(Node::Load("param".into(), base)),
    }
}

/// Whether it computes with one integer of 16, 32 or 64 bits an operand.
fn is_word(t: &TypedInstruction) -> bool {
    use Type::*;
    let word = |ty| matches!(ty, U32 | S32 | B32 | U64 | S64 | B64 | U16 | S16 | B16);
    t.modifiers.last().and_then(|m| m.ty()).is_some_and(word)
}

/// `cvt.to.from` to a type at least as wide.
fn widens(t: &TypedInstruction) -> bool {
    match t.modifiers[..] {
        [Modifier::Type(to), Modifier::Type(from)] => is_word(t) && to.bits() >= from.bits(),
        _ => false,
    }
}
