//! `shf`, `shl`, `shr`. Amounts are unsigned 32-bit numbers; those above the
//! width clamp to it (PTX ISA, "Logic and Shift Instructions: shl" and "shr").

use crate::alu::AluOp;
use crate::alu::rows::row;
use crate::alu::words::*;

/// The 64-bit value whose upper word is `b` and whose lower word is `a`.
fn funnel(a: u32, b: u32) -> u64 {
    (b as u64) << 32 | a as u64
}

/// "Logic and Shift Instructions: shf".
pub(super) fn shf(m: &[Modifier]) -> Option<AluOp> {
    fn left(a: u32, b: u32, amount: u32) -> u32 {
        (funnel(a, b) << amount >> 32) as u32
    }
    fn right(a: u32, b: u32, amount: u32) -> u32 {
        (funnel(a, b) >> amount) as u32
    }
    Some(match m {
        [L, Clamp, B32] => row!(WWW_W, |a: u32, b: u32, c: u32| left(a, b, c.min(32))),
        [R, Clamp, B32] => row!(WWW_W, |a: u32, b: u32, c: u32| right(a, b, c.min(32))),
        [L, Wrap, B32] => row!(WWW_W, |a: u32, b: u32, c: u32| left(a, b, c & 31)),
        [R, Wrap, B32] => row!(WWW_W, |a: u32, b: u32, c: u32| right(a, b, c & 31)),
        _ => return None,
    })
}

/// "Logic and Shift Instructions: shl".
pub(super) fn shl(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [B16] => row!(WW_W, |a: u32, b: u32| (a << b.min(16)) as u16),
        [B32] => row!(WW_W, |a: u32, b: u32| if b < 32 {
            a << (b & 31)
        } else {
            0
        }),
        [B64] => row!(DW_D, |a: u64, b: u32| if b < 64 {
            a << (b & 63)
        } else {
            0
        }),
        _ => return None,
    })
}

/// "Logic and Shift Instructions: shr". Signed types repeat the sign.
pub(super) fn shr(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [B16 | U16] => row!(WW_W, |a: u16, b: u32| (a as u32 >> b.min(16)) as u16),
        [B32 | U32] => row!(WW_W, |a: u32, b: u32| if b < 32 {
            a >> (b & 31)
        } else {
            0
        }),
        [B64 | U64] => row!(DW_D, |a: u64, b: u32| if b < 64 {
            a >> (b & 63)
        } else {
            0
        }),
        [S16] => row!(WW_W, |a: i16, b: u32| a >> b.min(15)),
        [S32] => row!(WW_W, |a: i32, b: u32| a >> b.min(31)),
        [S64] => row!(DW_D, |a: i64, b: u32| a >> b.min(63)),
        _ => return None,
    })
}
