//! Comparison and selection: `setp`, `set`, `selp`, `slct`, `testp` (PTX ISA, "Comparison and Selection Instructions").

use super::AluOp;

/// See [`super::lookup`].
pub fn lookup(_opcode: &str, _modifiers: &[&str], _operands: usize) -> Option<AluOp> {
    None
}
