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

/// Whether a mask names all lanes.
pub fn is_all(mask: &Operand, constants: &HashMap<String, u64>) -> bool {
    match mask {
        Operand::Int(value, _) => *value as u32 == u32::MAX,
        Operand::Neg(one) => **one == Operand::Int(1, false),
        Operand::Name(name, None) => constants.get(name).is_some_and(|v| *v as u32 == u32::MAX),
        _ => false,
    }
}
