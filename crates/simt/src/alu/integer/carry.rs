//! Extended precision: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`
//! (PTX ISA, "Extended-Precision Integer Arithmetic Instructions").
//!
//! `CC.CF` holds the machine's carry. The manual calls the flag of `sub.cc` a
//! borrow; `ptxas` 13.0 subtracts by adding the complement and a carry of one,
//! on `sm_75` and `sm_90` alike, so the flag is set when *nothing* was borrowed.
//! Chains of subtractions are the same either way; an `addc` that reads the flag
//! of a `sub.cc` (or a `subc` that of an `add.cc`) gets the complement of what the
//! manual says, here as there (to be confirmed on hardware).

use super::arithmetic::{high_s32, high_s64, high_u32, high_u64};
use crate::alu::AluOp;
use crate::alu::rows::row;
use crate::alu::words::*;
use ptx::semantics::Opcode;

fn add32(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let sum = a as u64 + b as u64 + carry as u64;
    (sum as u32, sum >> 32 != 0)
}

fn add64(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (partial, first) = a.overflowing_add(b);
    let (sum, second) = partial.overflowing_add(carry as u64);
    (sum, first | second)
}

/// The result alone: without `.cc` the flag stays as it was.
fn keep<W>(carry: bool, (result, _): (W, bool)) -> (W, bool) {
    (result, carry)
}

/// `add.cc`, `addc{.cc}`, `sub.cc`, `subc{.cc}`.
pub(super) fn two_inputs(opcode: &Opcode, m: &[Modifier]) -> Option<AluOp> {
    macro_rules! width {
        ($variant:ident, $word:ty, $add:ident, $cc:expr) => {
            match (opcode, $cc) {
                (Opcode::AddCc, true) => {
                    row!($variant, |a: $word, b: $word, _: bool| $add(a, b, false))
                }
                (Opcode::SubCc, true) => {
                    row!($variant, |a: $word, b: $word, _: bool| $add(a, !b, true))
                }
                (Opcode::Addc, true) => row!($variant, $add),
                (Opcode::Subc, true) => {
                    row!($variant, |a: $word, b: $word, c: bool| $add(a, !b, c))
                }
                (Opcode::Addc, false) => {
                    row!($variant, |a: $word, b: $word, c: bool| keep(
                        c,
                        $add(a, b, c)
                    ))
                }
                (Opcode::Subc, false) => {
                    row!($variant, |a: $word, b: $word, c: bool| keep(
                        c,
                        $add(a, !b, c)
                    ))
                }
                _ => return None,
            }
        };
    }
    let (cc, types) = match m {
        [Cc, types @ ..] => (true, types),
        types => (false, types),
    };
    Some(match types {
        [U32 | S32] => width!(WW_W_Carry, u32, add32, cc),
        [U64 | S64] => width!(DD_D_Carry, u64, add64, cc),
        _ => return None,
    })
}

/// `mad{.hi,.lo}.cc`, `madc{.hi,.lo}{.cc}`: the carry is that of the addition.
pub(super) fn three_inputs(opcode: &Opcode, m: &[Modifier]) -> Option<AluOp> {
    macro_rules! product {
        ($variant:ident, $word:ty, $add:ident, $half:expr, $cc:expr) => {
            match (opcode, $cc) {
                (Opcode::MadCc, true) => row!($variant, |a: $word, b: $word, c: $word, _: bool| {
                    $add($half(a, b), c, false)
                }),
                (Opcode::Madc, true) => {
                    row!($variant, |a: $word, b: $word, c: $word, carry: bool| {
                        $add($half(a, b), c, carry)
                    })
                }
                (Opcode::Madc, false) => {
                    row!($variant, |a: $word, b: $word, c: $word, carry: bool| {
                        keep(carry, $add($half(a, b), c, carry))
                    })
                }
                _ => return None,
            }
        };
    }
    let (half, cc, types) = match m {
        [half, Cc, types @ ..] => (*half, true, types),
        [half, types @ ..] => (*half, false, types),
        _ => return None,
    };
    Some(match (half, types) {
        (Lo, [U32 | S32]) => product!(WWW_W_Carry, u32, add32, u32::wrapping_mul, cc),
        (Lo, [U64 | S64]) => product!(DDD_D_Carry, u64, add64, u64::wrapping_mul, cc),
        (Hi, [U32]) => product!(WWW_W_Carry, u32, add32, high_u32, cc),
        (Hi, [U64]) => product!(DDD_D_Carry, u64, add64, high_u64, cc),
        (Hi, [S32]) => product!(WWW_W_Carry, u32, add32, signed_high32, cc),
        (Hi, [S64]) => product!(DDD_D_Carry, u64, add64, signed_high64, cc),
        _ => return None,
    })
}

fn signed_high32(a: u32, b: u32) -> u32 {
    high_s32(a as i32, b as i32) as u32
}

fn signed_high64(a: u64, b: u64) -> u64 {
    high_s64(a as i64, b as i64) as u64
}
