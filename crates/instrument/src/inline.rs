//! Checks that stand in the function itself: bodies of `runtime/inline.ptx`, with names replaced.

use crate::emit;
use ptx::ast::*;
use std::collections::HashMap;
use std::sync::LazyLock;

static BODIES: LazyLock<HashMap<String, Vec<Stmt>>> = LazyLock::new(|| {
    let module = ptx::parse(include_str!("../runtime/inline.ptx")).expect("a test reads it");
    let functions = module.items.into_iter().filter_map(|item| match item {
        Item::Function(f) => Some((f.name, f.body.unwrap_or_default())),
        _ => None,
    });
    functions.collect()
});

/// A body by its name, under a guard, with operands in place of names.
pub fn body(name: &str, guard: Option<&Guard>, with: &[(&str, Operand)]) -> Stmt {
    let mut out = Vec::new();
    if let Some(guard) = guard {
        let not = Guard {
            negated: !guard.negated,
            register: guard.register.clone(),
        };
        out.push(emit::guarded(Some(&not), "bra", vec![emit::name("DONE")]));
    }
    for statement in BODIES.get(name).into_iter().flatten() {
        let mut statement = statement.clone();
        if let Stmt::Instruction(instruction) = &mut statement {
            instruction
                .operands
                .iter_mut()
                .for_each(|o| replace(o, with));
            if instruction.opcode == "call" {
                out.push(call(instruction));
                continue;
            }
        }
        out.push(statement);
    }
    Stmt::Block(out)
}

/// `call.b64.b32 name, (a, b);`
fn call(instruction: &Instruction) -> Stmt {
    let (Some(Operand::Name(name, None)), Some(Operand::List(list))) =
        (instruction.operands.first(), instruction.operands.get(1))
    else {
        unreachable!("a test expands every body");
    };
    let widths = instruction.modifiers.iter().map(|m| match m.as_str() {
        "b64" => ScalarType::B64,
        _ => ScalarType::B32,
    });
    let arguments: Vec<_> = widths.zip(list.iter().cloned()).collect();
    emit::call(None, name.trim_start_matches("__racetrap_"), &arguments)
}

fn replace(operand: &mut Operand, with: &[(&str, Operand)]) {
    match operand {
        Operand::Name(name, None) => {
            if let Some((_, value)) = with.iter().find(|(from, _)| from == name) {
                *operand = value.clone();
            }
        }
        Operand::List(list) | Operand::Vector(list) => {
            list.iter_mut().for_each(|o| replace(o, with));
        }
        _ => {}
    }
}
