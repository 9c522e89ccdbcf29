//! Single and double precision (PTX ISA, "Floating Point Instructions").

use super::AluOp;

/// See [`super::lookup`].
pub fn lookup(_opcode: &str, _modifiers: &[&str], _operands: usize) -> Option<AluOp> {
    None
}
