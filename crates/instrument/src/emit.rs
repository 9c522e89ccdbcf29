//! Statements that are inserted.

use ptx::ast::*;

/// The register with the address of the thread's state.
pub const THREAD: &str = "%racetrap_t";
/// A scratch register of 64 bits.
pub const WIDE: &str = "%racetrap_a";
/// A scratch register of 32 bits.
pub const NARROW: &str = "%racetrap_b";
/// A copy of a guard that its instruction overwrites.
pub const GUARD: &str = "%racetrap_p";
/// The parameter that kernels and functions get.
pub const PARAMETER: &str = "__racetrap_parameter";

pub fn name(text: &str) -> Operand {
    Operand::Name(text.to_owned(), None)
}

pub fn int(value: u64) -> Operand {
    Operand::Int(value, false)
}

pub fn address(base: Operand, offset: i64) -> Operand {
    Operand::Address(Address {
        base: Box::new(base),
        offset,
        rest: Vec::new(),
    })
}

/// `opcode.with.modifiers operands;`
pub fn instruction(spelling: &str, operands: Vec<Operand>) -> Stmt {
    guarded(None, spelling, operands)
}

pub fn guarded(guard: Option<&Guard>, spelling: &str, operands: Vec<Operand>) -> Stmt {
    let mut words = spelling.split('.').map(str::to_owned);
    Stmt::Instruction(Instruction {
        guard: guard.cloned(),
        opcode: words.next().unwrap_or_default(),
        modifiers: words.collect(),
        operands,
        span: Span::default(),
    })
}

pub fn variable(space: StateSpace, ty: ScalarType, name: &str) -> Variable {
    Variable {
        linkage: None,
        space,
        space_suffix: None,
        bank: None,
        align: None,
        vector: None,
        ty,
        pointer: None,
        attributes: Vec::new(),
        name: name.to_owned(),
        count: None,
        dims: Vec::new(),
        init: None,
        span: Span::default(),
    }
}

/// `.space .align 8 .b8 name[bytes]`
pub fn bytes(space: StateSpace, name: &str, bytes: Option<u64>, align: u32) -> Variable {
    Variable {
        align: Some(align),
        dims: vec![bytes],
        ..variable(space, ScalarType::B8, name)
    }
}
