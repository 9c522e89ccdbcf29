//! `selp` and `slct`.

use super::relation::flush;
use crate::alu::AluOp;
use crate::alu::rows::row;

/// "Comparison and Selection Instructions: selp".
pub(super) fn selp(m: &[&str]) -> Option<AluOp> {
    Some(match m {
        ["b16" | "u16" | "s16"] => row!(WWP_W, |a: u16, b: u16, p: bool| if p { a } else { b }),
        ["b32" | "u32" | "s32" | "f32"] => {
            row!(WWP_W, |a: u32, b: u32, p: bool| if p { a } else { b })
        }
        ["b64" | "u64" | "s64" | "f64"] => {
            row!(DDP_D, |a: u64, b: u64, p: bool| if p { a } else { b })
        }
        _ => return None,
    })
}

/// "Comparison and Selection Instructions: slct". Negative zero counts as zero,
/// NaN chooses the second operand.
pub(super) fn slct(m: &[&str]) -> Option<AluOp> {
    /// The three selectors for one width.
    macro_rules! width {
        ($variant:ident, $lane:ty, $selector:expr) => {
            match $selector {
                ["s32"] => row!($variant, |a: $lane, b: $lane, c: i32| if c >= 0 {
                    a
                } else {
                    b
                }),
                ["f32"] => row!($variant, |a: $lane, b: $lane, c: f32| if c >= 0.0 {
                    a
                } else {
                    b
                }),
                ["ftz", "f32"] => row!($variant, |a: $lane, b: $lane, c: f32| {
                    if flush(c) >= 0.0 { a } else { b }
                }),
                _ => return None,
            }
        };
    }
    let (destination, selector): (&str, &[&str]) = match m {
        [destination, "s32"] => (destination, &["s32"]),
        [destination, "f32"] => (destination, &["f32"]),
        ["ftz", destination, "f32"] => (destination, &["ftz", "f32"]),
        _ => return None,
    };
    Some(match destination {
        "b16" | "u16" | "s16" => width!(WWW_W, u16, selector),
        "b32" | "u32" | "s32" | "f32" => width!(WWW_W, u32, selector),
        "b64" | "u64" | "s64" | "f64" => width!(DDW_D, u64, selector),
        _ => return None,
    })
}
