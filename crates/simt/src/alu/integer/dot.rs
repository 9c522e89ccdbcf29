//! `dp4a` and `dp2a`: dot products of packed narrow integers, accumulated
//! modulo 2³².

use crate::alu::AluOp;
use crate::alu::rows::row;

fn dot<A: Copy + Into<i32>, B: Copy + Into<i32>, const N: usize>(
    a: [A; N],
    b: [B; N],
    c: u32,
) -> u32 {
    let products = (0..N).map(|i| (a[i].into() * b[i].into()) as u32);
    products.fold(c, u32::wrapping_add)
}

/// "Integer Arithmetic Instructions: dp4a".
pub(super) fn dp4a(m: &[&str]) -> Option<AluOp> {
    Some(match m {
        ["u32", "u32"] => row!(WWW_W, dot::<u8, u8, 4>),
        ["u32", "s32"] => row!(WWW_W, dot::<u8, i8, 4>),
        ["s32", "u32"] => row!(WWW_W, dot::<i8, u8, 4>),
        ["s32", "s32"] => row!(WWW_W, dot::<i8, i8, 4>),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: dp2a": `.lo` takes bytes 0 and 1 of `b`,
/// `.hi` bytes 2 and 3.
pub(super) fn dp2a(m: &[&str]) -> Option<AluOp> {
    macro_rules! half {
        ($a:ty, $b:ty, $first:literal) => {
            row!(WWW_W, |a: [$a; 2], b: [$b; 4], c: u32| dot(
                a,
                [b[$first], b[$first + 1]],
                c
            ))
        };
    }
    Some(match m {
        ["lo", "u32", "u32"] => half!(u16, u8, 0),
        ["lo", "u32", "s32"] => half!(u16, i8, 0),
        ["lo", "s32", "u32"] => half!(i16, u8, 0),
        ["lo", "s32", "s32"] => half!(i16, i8, 0),
        ["hi", "u32", "u32"] => half!(u16, u8, 2),
        ["hi", "u32", "s32"] => half!(u16, i8, 2),
        ["hi", "s32", "u32"] => half!(i16, u8, 2),
        ["hi", "s32", "s32"] => half!(i16, i8, 2),
        _ => return None,
    })
}
