//! Logic, shifts, `lop3`, `prmt`, `shf`, `mov` (PTX ISA, "Logic and Shift
//! Instructions"; "Data Movement and Conversion Instructions": `mov`, `prmt`).

mod bitwise;
mod permute;
mod shift;

use super::AluOp;
use super::rows::row;
use super::spelling::types_last;

/// See [`super::lookup`].
pub fn lookup(opcode: &str, modifiers: &[&str], operands: usize) -> Option<AluOp> {
    let modifiers = types_last(modifiers);
    let m = modifiers.as_slice();
    match (opcode, operands) {
        ("and", 3) => bitwise::and(m),
        ("or", 3) => bitwise::or(m),
        ("xor", 3) => bitwise::xor(m),
        ("not", 2) => bitwise::not(m),
        ("cnot", 2) => bitwise::cnot(m),
        ("lop3", 5 | 6) => bitwise::lop3(m, operands),
        ("shf", 4) => shift::shf(m),
        ("shl", 3) => shift::shl(m),
        ("shr", 3) => shift::shr(m),
        ("prmt", 4) => permute::prmt(m),
        ("mov", 2) => mov(m),
        _ => None,
    }
}

/// "Data Movement and Conversion Instructions: mov", from register to register.
fn mov(m: &[&str]) -> Option<AluOp> {
    Some(match m {
        ["pred"] => AluOp::P_P(|a| a),
        ["b16" | "u16" | "s16"] => row!(W_W, |a: u16| a),
        ["b32" | "u32" | "s32" | "f32"] => row!(W_W, |a: u32| a),
        ["b64" | "u64" | "s64" | "f64"] => row!(D_D, |a: u64| a),
        _ => return None,
    })
}
