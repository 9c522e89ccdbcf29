//! What an instruction computes, as a value.

use crate::class::{InstructionClass, Space};
use crate::value::{Node, Value, Values};
use ptx::ast::Instruction;

/// What an instruction computes.
pub(super) fn result(
    values: &mut Values,
    instr: &Instruction,
    sources: &[Value],
    address: Option<Value>,
) -> Value {
    // The guard is no source of the value.
    let sources = &sources[usize::from(instr.guard.is_some()).min(sources.len())..];
    let integer = instr.modifiers.last().is_some_and(|m| {
        matches!(
            m.as_str(),
            "u32" | "s32" | "b32" | "u64" | "s64" | "b64" | "u16" | "s16" | "b16"
        )
    });
    match (instr.opcode.as_str(), sources) {
        ("ld", _) if InstructionClass::of(instr) == InstructionClass::Parameter => match address
            .map(|a| values.split(a))
        {
            Some((base, offset)) => match values.node(base) {
                Node::Symbol(name) => match name.strip_prefix("param").and_then(|n| n.parse().ok())
                {
                    Some(index) => values.intern(Node::Parameter(index, offset)),
                    None => values.intern(Node::Load("param".into(), base)),
                },
                _ => values.intern(Node::Load("param".into(), base)),
            },
            None => values.intern(Node::Unknown),
        },
        ("ld" | "ldu", _) => match address {
            Some(address) => values.intern(Node::Load(Space::of(instr).to_string(), address)),
            None => values.intern(Node::Unknown),
        },
        ("mov", [only]) | ("cvta", [only]) => *only,
        // A wider integer is the same number.
        ("cvt", [only])
            if integer && !instr.has("sat") && instr.modifiers.len() == 2 && widens(instr) =>
        {
            *only
        }
        ("add", [a, b]) if integer => values.add(*a, *b, 1),
        ("sub", [a, b]) if integer => values.add(*a, *b, -1),
        ("neg", [a]) if integer => values.scale(*a, -1),
        ("mul", [a, b]) if integer && (instr.has("lo") || instr.has("wide")) => {
            values.multiply(*a, *b)
        }
        ("mad", [a, b, c]) if integer && (instr.has("lo") || instr.has("wide")) => {
            let product = values.multiply(*a, *b);
            values.add(product, *c, 1)
        }
        ("shl", [a, b]) => match values.constant(*b) {
            Some(by @ 0..=62) => values.scale(*a, 1 << by),
            _ => values.intern(Node::Operation("shl".into(), sources.to_vec())),
        },
        (opcode, _) => {
            let mut name = opcode.to_owned();
            for modifier in &instr.modifiers {
                name.push('.');
                name.push_str(modifier);
            }
            values.intern(Node::Operation(name, sources.to_vec()))
        }
    }
}

/// `cvt.to.from` to a type at least as wide.
fn widens(instr: &Instruction) -> bool {
    let bits = |modifier: &String| {
        modifier
            .get(1..)
            .and_then(|digits| digits.parse::<u32>().ok())
    };
    match instr.modifiers.as_slice() {
        [to, from] => bits(to) >= bits(from) && !from.starts_with('f') && !from.starts_with("bf"),
        _ => false,
    }
}
