//! The parser on PTX that real compilers wrote.

use ptx::{self, Flat, ast::*};

fn functions(module: &Module) -> impl Iterator<Item = &Function> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    })
}

#[test]
fn every_sample_parses_and_flattens() {
    for (path, source) in crate::samples::all() {
        let module = ptx::parse(&source).unwrap_or_else(|e| panic!("{}: {e}", path));
        let mut instructions = 0;
        for function in functions(&module) {
            let flat = Flat::of(function).unwrap_or_else(|e| panic!("{}: {e}", path));
            instructions += flat.instructions.len();
            for instruction in &flat.instructions {
                let span = instruction.instr.span;
                let text = &source[span.start as usize..span.end as usize];
                assert!(
                    text.ends_with(';') && text.contains(&instruction.instr.opcode),
                    "{text}"
                );
            }
        }
        assert!(instructions > 0, "{}", path);
    }
}

#[test]
fn every_register_and_label_of_every_sample_is_declared() {
    fn check(flat: &Flat, at: &ptx::FlatInstr, operand: &Operand, path: &str) {
        match operand {
            Operand::Name(name, component) if name.starts_with("%r") && component.is_none() => {
                assert!(flat.lookup(at.scope, name).is_some(), "{}: {name}", path);
            }
            Operand::Name(name, _) if name.starts_with("$L") => {
                assert!(flat.label(at.scope, name).is_some(), "{}: {name}", path);
            }
            Operand::Address(address) => check(flat, at, &address.base, path),
            Operand::Vector(lanes) | Operand::List(lanes) => {
                lanes.iter().for_each(|lane| check(flat, at, lane, path));
            }
            Operand::Pair(a, b) => [a, b].into_iter().for_each(|o| check(flat, at, o, path)),
            Operand::Not(inner) | Operand::Neg(inner) => check(flat, at, inner, path),
            _ => {}
        }
    }
    for (path, source) in crate::samples::all() {
        let module = ptx::parse(&source).unwrap();
        for function in functions(&module) {
            let flat = Flat::of(function).unwrap();
            for at in &flat.instructions {
                at.instr
                    .operands
                    .iter()
                    .for_each(|operand| check(&flat, at, operand, &path));
            }
        }
    }
}
