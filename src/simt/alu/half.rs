//! Half and bfloat16 precision (PTX ISA, "Half Precision Floating Point Instructions").

use super::AluOp;

/// See [`super::lookup`].
pub fn lookup(_opcode: &str, _modifiers: &[&str], _operands: usize) -> Option<AluOp> {
    None
}
