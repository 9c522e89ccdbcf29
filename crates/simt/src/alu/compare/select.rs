//! `selp` and `slct`.

use super::relation::flush;
use crate::alu::AluOp;
use crate::alu::rows::row;
use crate::alu::words::*;

/// "Comparison and Selection Instructions: selp".
pub(super) fn selp(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [B16 | U16 | S16] => row!(WWP_W, |a: u16, b: u16, p: bool| if p { a } else { b }),
        [B32 | U32 | S32 | F32] => {
            row!(WWP_W, |a: u32, b: u32, p: bool| if p { a } else { b })
        }
        [B64 | U64 | S64 | F64] => {
            row!(DDP_D, |a: u64, b: u64, p: bool| if p { a } else { b })
        }
        _ => return None,
    })
}

/// "Comparison and Selection Instructions: slct". Negative zero counts as zero,
/// NaN chooses the second operand.
pub(super) fn slct(m: &[Modifier]) -> Option<AluOp> {
    /// The three selectors for one width.
    macro_rules! width {
        ($variant:ident, $lane:ty, $selector:expr) => {
            match $selector {
                [S32] => row!($variant, |a: $lane, b: $lane, c: i32| if c >= 0 {
                    a
                } else {
                    b
                }),
                [F32] => row!($variant, |a: $lane, b: $lane, c: f32| if c >= 0.0 {
                    a
                } else {
                    b
                }),
                [Ftz, F32] => row!($variant, |a: $lane, b: $lane, c: f32| {
                    if flush(c) >= 0.0 { a } else { b }
                }),
                _ => return None,
            }
        };
    }
    let (destination, selector): (Modifier, &[Modifier]) = match m {
        [destination, S32] => (*destination, &[S32]),
        [destination, F32] => (*destination, &[F32]),
        [Ftz, destination, F32] => (*destination, &[Ftz, F32]),
        _ => return None,
    };
    Some(match destination {
        B16 | U16 | S16 => width!(WWW_W, u16, selector),
        B32 | U32 | S32 | F32 => width!(WWW_W, u32, selector),
        B64 | U64 | S64 | F64 => width!(DDW_D, u64, selector),
        _ => return None,
    })
}
