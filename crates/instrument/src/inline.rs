//! Checks that stand in the function itself: bodies of `runtime/inline.ptx`, with names replaced.

use crate::emit;
use ptx::ast::*;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Functions of the runtime that change the part of a thread's state that is kept in registers.
const CHANGING: [&str; 3] = ["barrier", "counted", "warp"];

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
        out.push(emit::guarded(Some(&not), "bra", vec![emit::name("END")]));
    }
    for statement in BODIES.get(name).into_iter().flatten() {
        let mut statement = statement.clone();
        if let Stmt::Instruction(instruction) = &mut statement {
            instruction
                .operands
                .iter_mut()
                .for_each(|o| replace(o, with));
            if instruction.opcode == "call" {
                out.push(written(instruction));
                continue;
            }
        }
        out.push(statement);
    }
    // Behind what the lanes do together, which this one has no part in.
    if guard.is_some() {
        out.push(Stmt::Label(Label {
            name: "END".to_owned(),
            span: Default::default(),
        }));
    }
    Stmt::Block(out)
}

/// `call.b64.b32 name, (a, b);`
fn written(instruction: &Instruction) -> Stmt {
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
    call(None, name.trim_start_matches("__racetrap_"), &arguments)
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

/// A call of the runtime, under a guard: the thread's state and further arguments, each of 64 or 32 bits.
pub fn call(guard: Option<&Guard>, function: &str, arguments: &[(ScalarType, Operand)]) -> Stmt {
    let mut inner = vec![body("store", None, &[])];
    let mut list = Vec::new();
    let thread = (ScalarType::B64, emit::name(emit::THREAD));
    for (number, (ty, value)) in std::iter::once(&thread).chain(arguments).enumerate() {
        let parameter = format!("__racetrap_{number}");
        inner.push(Stmt::Variable(emit::variable(
            StateSpace::Param,
            *ty,
            &parameter,
        )));
        let store = match ty {
            ScalarType::B64 => "st.param.b64",
            _ => "st.param.b32",
        };
        let to = emit::address(emit::name(&parameter), 0);
        inner.push(emit::instruction(store, vec![to, value.clone()]));
        list.push(emit::name(&parameter));
    }
    let target = emit::name(&format!("__racetrap_{function}"));
    let operands = vec![target, Operand::List(list)];
    inner.push(emit::guarded(guard, "call", operands));
    if CHANGING.contains(&function) {
        inner.push(body("load", None, &[]));
    }
    Stmt::Block(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_can_be_inserted() {
        let guard = Guard {
            negated: false,
            register: "%p1".to_owned(),
        };
        assert!(BODIES.len() > 10);
        for name in BODIES.keys() {
            let Stmt::Block(inserted) = body(name, Some(&guard), &[]) else {
                panic!("{name}");
            };
            assert!(inserted.len() > 2, "{name}");
        }
    }
}
