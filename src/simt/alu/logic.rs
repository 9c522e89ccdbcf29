//! Logic, shifts, `lop3`, `prmt`, `shf`, `mov` (PTX ISA, "Logic and Shift Instructions").

use super::AluOp;

/// See [`super::lookup`].
pub fn lookup(_opcode: &str, _modifiers: &[&str], _operands: usize) -> Option<AluOp> {
    None
}
