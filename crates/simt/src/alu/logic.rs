//! Logic, shifts, `lop3`, `prmt`, `shf`, `mov` (PTX ISA, "Logic and Shift
//! Instructions"; "Data Movement and Conversion Instructions": `mov`, `prmt`).

mod bitwise;
mod permute;
mod shift;

use super::AluOp;
use super::rows::row;
use super::spelling::types_last;
use super::words::*;
use ptx::semantics::Opcode;

/// See [`super::lookup`].
pub fn lookup(opcode: &Opcode, modifiers: &[Modifier], operands: usize) -> Option<AluOp> {
    let modifiers = types_last(modifiers);
    let m = modifiers.as_slice();
    match (opcode, operands) {
        (Opcode::And, 3) => bitwise::and(m),
        (Opcode::Or, 3) => bitwise::or(m),
        (Opcode::Xor, 3) => bitwise::xor(m),
        (Opcode::Not, 2) => bitwise::not(m),
        (Opcode::Cnot, 2) => bitwise::cnot(m),
        (Opcode::Lop3, 5 | 6) => bitwise::lop3(m, operands),
        (Opcode::Shf, 4) => shift::shf(m),
        (Opcode::Shl, 3) => shift::shl(m),
        (Opcode::Shr, 3) => shift::shr(m),
        (Opcode::Prmt, 4) => permute::prmt(m),
        (Opcode::Mov, 2) => mov(m),
        _ => None,
    }
}

/// "Data Movement and Conversion Instructions: mov", from register to register.
fn mov(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [PRED] => AluOp::P_P(|a| a),
        [B16 | U16 | S16] => row!(W_W, |a: u16| a),
        [B32 | U32 | S32 | F32] => row!(W_W, |a: u32| a),
        [B64 | U64 | S64 | F64] => row!(D_D, |a: u64| a),
        _ => return None,
    })
}
