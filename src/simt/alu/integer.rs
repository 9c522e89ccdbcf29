//! Integer, bit-field and extended-precision arithmetic (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic Instructions").

use super::AluOp;

/// See [`super::lookup`].
pub fn lookup(_opcode: &str, _modifiers: &[&str], _operands: usize) -> Option<AluOp> {
    None
}
