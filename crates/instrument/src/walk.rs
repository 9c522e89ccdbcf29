//! What is read off a function's body, whoever asks.

use ptx::ast::*;
use ptx::semantics::TypedInstruction;
use std::collections::HashMap;

/// Calls `visit` with every instruction of a body.
pub fn each(body: &[Stmt], visit: &mut impl FnMut(&Instruction)) {
    for statement in body {
        match statement {
            Stmt::Instruction(instruction) => visit(instruction),
            Stmt::Block(inner) => each(inner, visit),
            _ => {}
        }
    }
}

/// Registers that are written once, by a move of a constant.
pub fn constants(body: &[Stmt]) -> HashMap<String, u64> {
    let mut writes: HashMap<String, u32> = HashMap::new();
    let mut values = HashMap::new();
    each(body, &mut |instruction| {
        let typed = TypedInstruction::of(instruction);
        for operand in &instruction.operands[..typed.destinations().min(instruction.operands.len())]
        {
            if let Operand::Name(register, None) = operand {
                *writes.entry(register.clone()).or_default() += 1;
            }
        }
        if let ("mov", [Operand::Name(to, None), value]) =
            (instruction.opcode.as_str(), &instruction.operands[..])
        {
            let value = match value {
                Operand::Int(value, _) => Some(*value),
                Operand::Neg(one) => match **one {
                    Operand::Int(value, _) => Some(value.wrapping_neg()),
                    _ => None,
                },
                Operand::F32(bits) => Some(u64::from(*bits)),
                Operand::F64(bits) => Some(*bits),
                _ => None,
            };
            values.extend(value.map(|v| (to.clone(), v)));
        }
    });
    values.retain(|register, _| writes.get(register) == Some(&1));
    values
}

/// How often each name stands in a body: a register that stands there once is written and never read.
pub fn names(body: &[Stmt]) -> HashMap<String, u32> {
    fn expression(of: &Expr, out: &mut HashMap<String, u32>) {
        match of {
            Expr::Leaf(operand) => operands(operand, out),
            Expr::Unary(_, one) | Expr::Call(_, one) => expression(one, out),
            Expr::Binary(_, a, b) => [a, b].iter().for_each(|e| expression(e, out)),
            Expr::Conditional(a, b, c) => [a, b, c].iter().for_each(|e| expression(e, out)),
        }
    }
    fn operands(of: &Operand, out: &mut HashMap<String, u32>) {
        match of {
            Operand::Name(name, _) | Operand::Offset(name, _) | Operand::Index(name, _) => {
                *out.entry(name.clone()).or_default() += 1;
            }
            Operand::Neg(one) | Operand::Not(one) => operands(one, out),
            Operand::Expr(inner) => expression(inner, out),
            Operand::Address(address) => {
                operands(&address.base, out);
                address.rest.iter().for_each(|o| operands(o, out));
            }
            Operand::Vector(all) | Operand::List(all) => all.iter().for_each(|o| operands(o, out)),
            Operand::Pair(a, b) => [a, b].iter().for_each(|o| operands(o, out)),
            Operand::Int(..) | Operand::F32(_) | Operand::F64(_) | Operand::Text(_) => {}
        }
    }
    let mut out = HashMap::new();
    each(body, &mut |instruction| {
        if let Some(guard) = &instruction.guard {
            *out.entry(guard.register.clone()).or_default() += 1;
        }
        instruction
            .operands
            .iter()
            .for_each(|o| operands(o, &mut out));
    });
    out
}

/// Whether a mask names all lanes.
pub fn is_all(mask: &Operand, constants: &HashMap<String, u64>) -> bool {
    match mask {
        Operand::Int(value, _) => *value as u32 == u32::MAX,
        Operand::Neg(one) => **one == Operand::Int(1, false),
        Operand::Name(name, None) => constants.get(name).is_some_and(|v| *v as u32 == u32::MAX),
        _ => false,
    }
}
