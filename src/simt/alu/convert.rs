//! `cvt`, `cvt.pack`, `cvta`-free conversions (PTX ISA, "Data Movement and Conversion Instructions: cvt").

use super::AluOp;

/// See [`super::lookup`].
pub fn lookup(_opcode: &str, _modifiers: &[&str], _operands: usize) -> Option<AluOp> {
    None
}
