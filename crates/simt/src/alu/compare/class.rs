//! `testp` and `copysign`.

use crate::alu::AluOp;
use crate::alu::rows::row;
use crate::alu::words::*;

/// The class of a number by its bits without the sign.
macro_rules! classes {
    ($variant:ident, $word:ty, $infinity:expr, $smallest_normal:expr, $property:expr) => {{
        const SIGN: $word = 1 << (<$word>::BITS - 1);
        /// Above zero and below the smallest normal number.
        fn subnormal(a: $word) -> bool {
            (a & !SIGN).wrapping_sub(1) < $smallest_normal - 1
        }
        match $property {
            Finite => row!($variant, |a: $word| a & !SIGN < $infinity),
            Infinite => row!($variant, |a: $word| a & !SIGN == $infinity),
            Number => row!($variant, |a: $word| a & !SIGN <= $infinity),
            NotANumber => row!($variant, |a: $word| a & !SIGN > $infinity),
            Normal => row!($variant, |a: $word| a & !SIGN < $infinity && !subnormal(a)),
            Subnormal => row!($variant, subnormal),
            _ => return None,
        }
    }};
}

/// "Floating Point Instructions: testp". Zero counts as normal.
pub(super) fn testp(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [property, F32] => classes!(W_P, u32, 0x7f80_0000, 0x0080_0000, *property),
        [property, F64] => classes!(D_P, u64, 0x7ff0 << 48, 0x0010 << 48, *property),
        _ => return None,
    })
}

/// "Floating Point Instructions: copysign": the sign of `a`, the rest of `b`.
pub(super) fn copysign(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [F32] => row!(WW_W, |a: u32, b: u32| a & (1 << 31) | b & !(1 << 31)),
        [F64] => row!(DD_D, |a: u64, b: u64| a & (1 << 63) | b & !(1 << 63)),
        _ => return None,
    })
}
