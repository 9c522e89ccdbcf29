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

/// See [`super::lookup`].
pub fn lookup(opcode: &str, modifiers: &[&str], operands: usize) -> Option<AluOp> {
    let modifiers = types_last(modifiers);
    let m = modifiers.as_slice();
    match (opcode, operands) {
        ("add" | "sub", 3) if m.first() == Some(&"cc") => carry::two_inputs(opcode, m),
        ("mad", 4) if m.contains(&"cc") => carry::three_inputs(opcode, m),
        ("addc" | "subc", 3) => carry::two_inputs(opcode, m),
        ("madc", 4) => carry::three_inputs(opcode, m),
        ("add", 3) => arithmetic::add(m),
        ("sub", 3) => arithmetic::sub(m),
        ("mul", 3) => arithmetic::mul(m),
        ("mad", 4) => arithmetic::mad(m),
        ("mul24", 3) => arithmetic::mul24(m),
        ("mad24", 4) => arithmetic::mad24(m),
        ("sad", 4) => arithmetic::sad(m),
        ("div", 3) => arithmetic::div(m),
        ("rem", 3) => arithmetic::rem(m),
        ("abs", 2) => arithmetic::abs(m),
        ("neg", 2) => arithmetic::neg(m),
        ("min", 3) => arithmetic::min(m),
        ("max", 3) => arithmetic::max(m),
        ("popc", 2) => bits::popc(m),
        ("clz", 2) => bits::clz(m),
        ("bfind", 2) => bits::bfind(m),
        ("fns", 4) => bits::fns(m),
        ("brev", 2) => bits::brev(m),
        ("bfe", 4) => bits::bfe(m),
        ("bfi", 5) => bits::bfi(m),
        ("szext", 3) => bits::szext(m),
        ("bmsk", 3) => bits::bmsk(m),
        ("dp4a", 4) => dot::dp4a(m),
        ("dp2a", 4) => dot::dp2a(m),
        _ => None,
    }
}
