//! `dp4a` and `dp2a`: dot products of packed narrow integers, accumulated
//! modulo 2³².

use crate::alu::AluOp;
use crate::alu::rows::row;
use crate::alu::words::*;

fn dot<A: Copy + Into<i32>, B: Copy + Into<i32>, const N: usize>(
    a: [A; N],
    b: [B; N],
    c: u32,
) -> u32 {
    let products = (0..N).map(|i| (a[i].into() * b[i].into()) as u32);
    products.fold(c, u32::wrapping_add)
}

/// "Integer Arithmetic Instructions: dp4a".
pub(super) fn dp4a(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [U32, U32] => row!(WWW_W, dot::<u8, u8, 4>),
        [U32, S32] => row!(WWW_W, dot::<u8, i8, 4>),
        [S32, U32] => row!(WWW_W, dot::<i8, u8, 4>),
        [S32, S32] => row!(WWW_W, dot::<i8, i8, 4>),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: dp2a": `.lo` takes bytes 0 and 1 of `b`,
/// `.hi` bytes 2 and 3.
pub(super) fn dp2a(m: &[Modifier]) -> Option<AluOp> {
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
        [Lo, U32, U32] => half!(u16, u8, 0),
        [Lo, U32, S32] => half!(u16, i8, 0),
        [Lo, S32, U32] => half!(i16, u8, 0),
        [Lo, S32, S32] => half!(i16, i8, 0),
        [Hi, U32, U32] => half!(u16, u8, 2),
        [Hi, U32, S32] => half!(u16, i8, 2),
        [Hi, S32, U32] => half!(i16, u8, 2),
        [Hi, S32, S32] => half!(i16, i8, 2),
        _ => return None,
    })
}
