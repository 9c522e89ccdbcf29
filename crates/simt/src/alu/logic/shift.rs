//! `shf`, `shl`, `shr`. Amounts are unsigned 32-bit numbers; those above the
//! width clamp to it (PTX ISA, "Logic and Shift Instructions: shl" and "shr").

use crate::alu::AluOp;
use crate::alu::rows::row;

/// The 64-bit value whose upper word is `b` and whose lower word is `a`.
fn funnel(a: u32, b: u32) -> u64 {
    (b as u64) << 32 | a as u64
}

/// "Logic and Shift Instructions: shf".
pub(super) fn shf(m: &[&str]) -> Option<AluOp> {
    fn left(a: u32, b: u32, amount: u32) -> u32 {
        (funnel(a, b) << amount >> 32) as u32
    }
    fn right(a: u32, b: u32, amount: u32) -> u32 {
        (funnel(a, b) >> amount) as u32
    }
    Some(match m {
        ["l", "clamp", "b32"] => row!(WWW_W, |a: u32, b: u32, c: u32| left(a, b, c.min(32))),
        ["r", "clamp", "b32"] => row!(WWW_W, |a: u32, b: u32, c: u32| right(a, b, c.min(32))),
        ["l", "wrap", "b32"] => row!(WWW_W, |a: u32, b: u32, c: u32| left(a, b, c & 31)),
        ["r", "wrap", "b32"] => row!(WWW_W, |a: u32, b: u32, c: u32| right(a, b, c & 31)),
        _ => return None,
    })
}

/// "Logic and Shift Instructions: shl".
pub(super) fn shl(m: &[&str]) -> Option<AluOp> {
    Some(match m {
        ["b16"] => row!(WW_W, |a: u32, b: u32| (a << b.min(16)) as u16),
        ["b32"] => row!(WW_W, |a: u32, b: u32| if b < 32 {
            a << (b & 31)
        } else {
            0
        }),
        ["b64"] => row!(DW_D, |a: u64, b: u32| if b < 64 {
            a << (b & 63)
        } else {
            0
        }),
        _ => return None,
    })
}

/// "Logic and Shift Instructions: shr". Signed types repeat the sign.
pub(super) fn shr(m: &[&str]) -> Option<AluOp> {
    Some(match m {
        ["b16" | "u16"] => row!(WW_W, |a: u16, b: u32| (a as u32 >> b.min(16)) as u16),
        ["b32" | "u32"] => row!(WW_W, |a: u32, b: u32| if b < 32 {
            a >> (b & 31)
        } else {
            0
        }),
        ["b64" | "u64"] => row!(DW_D, |a: u64, b: u32| if b < 64 {
            a >> (b & 63)
        } else {
            0
        }),
        ["s16"] => row!(WW_W, |a: i16, b: u32| a >> b.min(15)),
        ["s32"] => row!(WW_W, |a: i32, b: u32| a >> b.min(31)),
        ["s64"] => row!(DW_D, |a: i64, b: u32| a >> b.min(63)),
        _ => return None,
    })
}
