//! Integer, bit-field and extended-precision arithmetic (PTX ISA, "Integer
//! Arithmetic Instructions" and "Extended-Precision Integer Arithmetic
//! Instructions").
//!
//! Where the manual leaves a result open, racetrap gives what `ptxas` 13.0
//! compiles for `sm_75` and `sm_90`, read off the machine code; each such place
//! says "to be confirmed on hardware".

mod arithmetic;
mod bits;
mod carry;
mod dot;

use super::AluOp;
use super::spelling::types_last;
use ptx::semantics::{Modifier, Opcode, Opcode::*};

/// See [`super::lookup`].
pub fn lookup(opcode: &Opcode, modifiers: &[Modifier], operands: usize) -> Option<AluOp> {
    let modifiers = types_last(modifiers);
    let m = modifiers.as_slice();
    match (opcode, operands) {
        (AddCc | SubCc | Addc | Subc, 3) => carry::two_inputs(opcode, m),
        (MadCc | Madc, 4) => carry::three_inputs(opcode, m),
        (Add, 3) => arithmetic::add(m),
        (Sub, 3) => arithmetic::sub(m),
        (Mul, 3) => arithmetic::mul(m),
        (Mad, 4) => arithmetic::mad(m),
        (Mul24, 3) => arithmetic::mul24(m),
        (Mad24, 4) => arithmetic::mad24(m),
        (Sad, 4) => arithmetic::sad(m),
        (Div, 3) => arithmetic::div(m),
        (Rem, 3) => arithmetic::rem(m),
        (Abs, 2) => arithmetic::abs(m),
        (Neg, 2) => arithmetic::neg(m),
        (Min, 3) => arithmetic::min(m),
        (Max, 3) => arithmetic::max(m),
        (Popc, 2) => bits::popc(m),
        (Clz, 2) => bits::clz(m),
        (Bfind, 2) => bits::bfind(m),
        (Fns, 4) => bits::fns(m),
        (Brev, 2) => bits::brev(m),
        (Bfe, 4) => bits::bfe(m),
        (Bfi, 5) => bits::bfi(m),
        (Szext, 3) => bits::szext(m),
        (Bmsk, 3) => bits::bmsk(m),
        (Dp4a, 4) => dot::dp4a(m),
        (Dp2a, 4) => dot::dp2a(m),
        _ => None,
    }
}
