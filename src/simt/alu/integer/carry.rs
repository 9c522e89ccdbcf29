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
use crate::simt::alu::AluOp;
use crate::simt::alu::rows::row;

fn add32(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let sum = a as u64 + b as u64 + carry as u64;
    (sum as u32, sum >> 32 != 0)
}

fn add64(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (partial, first) = a.overflowing_add(b);
    let (sum, second) = partial.overflowing_add(carry as u64);
    (sum, first | second)
}

/// `add.cc`, `addc{.cc}`, `sub.cc`, `subc{.cc}`. Whether the new flag is kept
/// (`.cc`) is the caller's.
pub(super) fn two_inputs(opcode: &str, m: &[&str]) -> Option<AluOp> {
    Some(match (opcode, m) {
        ("add", ["cc", "u32" | "s32"]) => {
            row!(WW_W_Carry, |a: u32, b: u32, _: bool| add32(a, b, false))
        }
        ("add", ["cc", "u64" | "s64"]) => {
            row!(DD_D_Carry, |a: u64, b: u64, _: bool| add64(a, b, false))
        }
        ("addc", ["u32" | "s32"] | ["cc", "u32" | "s32"]) => row!(WW_W_Carry, add32),
        ("addc", ["u64" | "s64"] | ["cc", "u64" | "s64"]) => row!(DD_D_Carry, add64),
        ("sub", ["cc", "u32" | "s32"]) => {
            row!(WW_W_Carry, |a: u32, b: u32, _: bool| add32(a, !b, true))
        }
        ("sub", ["cc", "u64" | "s64"]) => {
            row!(DD_D_Carry, |a: u64, b: u64, _: bool| add64(a, !b, true))
        }
        ("subc", ["u32" | "s32"] | ["cc", "u32" | "s32"]) => {
            row!(WW_W_Carry, |a: u32, b: u32, carry: bool| add32(
                a, !b, carry
            ))
        }
        ("subc", ["u64" | "s64"] | ["cc", "u64" | "s64"]) => {
            row!(DD_D_Carry, |a: u64, b: u64, carry: bool| add64(
                a, !b, carry
            ))
        }
        _ => return None,
    })
}

/// `mad{.hi,.lo}.cc`, `madc{.hi,.lo}{.cc}`: the carry is that of the addition.
pub(super) fn three_inputs(opcode: &str, m: &[&str]) -> Option<AluOp> {
    let (half, types) = match (opcode, m) {
        ("mad", [half, "cc", types @ ..]) => (*half, types),
        ("madc", [half, "cc", types @ ..] | [half, types @ ..]) => (*half, types),
        _ => return None,
    };
    macro_rules! product {
        ($variant:ident, $sum:ident, $word:ty, $high:expr) => {
            if opcode == "mad" {
                row!($variant, |a: $word, b: $word, c: $word, _: bool| {
                    $sum($high(a, b), c, false)
                })
            } else {
                row!($variant, |a: $word, b: $word, c: $word, carry: bool| {
                    $sum($high(a, b), c, carry)
                })
            }
        };
    }
    Some(match (half, types) {
        ("lo", ["u32" | "s32"]) => product!(WWW_W_Carry, add32, u32, u32::wrapping_mul),
        ("lo", ["u64" | "s64"]) => product!(DDD_D_Carry, add64, u64, u64::wrapping_mul),
        ("hi", ["u32"]) => product!(WWW_W_Carry, add32, u32, high_u32),
        ("hi", ["u64"]) => product!(DDD_D_Carry, add64, u64, high_u64),
        ("hi", ["s32"]) => {
            product!(WWW_W_Carry, add32, u32, |a, b| high_s32(a as i32, b as i32)
                as u32)
        }
        ("hi", ["s64"]) => {
            product!(DDD_D_Carry, add64, u64, |a, b| high_s64(a as i64, b as i64)
                as u64)
        }
        _ => return None,
    })
}
