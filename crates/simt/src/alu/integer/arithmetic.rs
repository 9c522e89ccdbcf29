//! `add` to `max`: one table for each section of the manual's "Integer
//! Arithmetic Instructions".
//!
//! Addition, subtraction and low products do not depend on signedness, so
//! signed and unsigned spellings share a function.

use crate::alu::AluOp;
use crate::alu::rows::row;
use crate::alu::words::*;

/// A lane function on each element of a packed type.
fn packed<T: Copy, const N: usize>(f: impl Fn(T, T) -> T) -> impl Fn([T; N], [T; N]) -> [T; N] {
    move |a, b| std::array::from_fn(|i| f(a[i], b[i]))
}

/// "Integer Arithmetic Instructions: add". Results wrap; `.sat` clamps to the
/// type's range.
pub(super) fn add(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [U16 | S16] => row!(WW_W, u16::wrapping_add),
        [U32 | S32] => row!(WW_W, u32::wrapping_add),
        [U64 | S64] => row!(DD_D, u64::wrapping_add),
        [U16X2 | S16X2] => row!(WW_W, packed::<u16, 2>(u16::wrapping_add)),
        [U8X4 | S8X4] => row!(WW_W, packed::<u8, 4>(u8::wrapping_add)),
        [Sat, U32] => row!(WW_W, u32::saturating_add),
        [Sat, S32] => row!(WW_W, i32::saturating_add),
        [Sat, U16X2] => row!(WW_W, packed::<u16, 2>(u16::saturating_add)),
        [Sat, S16X2] => row!(WW_W, packed::<i16, 2>(i16::saturating_add)),
        [Sat, U8X4] => row!(WW_W, packed::<u8, 4>(u8::saturating_add)),
        [Sat, S8X4] => row!(WW_W, packed::<i8, 4>(i8::saturating_add)),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: sub". As [`add`].
pub(super) fn sub(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [U16 | S16] => row!(WW_W, u16::wrapping_sub),
        [U32 | S32] => row!(WW_W, u32::wrapping_sub),
        [U64 | S64] => row!(DD_D, u64::wrapping_sub),
        [U8X4 | S8X4] => row!(WW_W, packed::<u8, 4>(u8::wrapping_sub)),
        [Sat, S32] => row!(WW_W, i32::saturating_sub),
        [Sat, U8X4] => row!(WW_W, packed::<u8, 4>(u8::saturating_sub)),
        [Sat, S8X4] => row!(WW_W, packed::<i8, 4>(i8::saturating_sub)),
        _ => return None,
    })
}

/// The upper half of a product.
macro_rules! high_half {
    ($($name:ident: $lane:ty, $wide:ty;)*) => {$(
        pub(super) fn $name(a: $lane, b: $lane) -> $lane {
            ((a as $wide * b as $wide) >> <$lane>::BITS) as $lane
        }
    )*};
}

high_half! {
    high_u16: u16, u32;
    high_s16: i16, i32;
    high_u32: u32, u64;
    high_s32: i32, i64;
    high_u64: u64, u128;
    high_s64: i64, i128;
}

/// "Integer Arithmetic Instructions: mul".
pub(super) fn mul(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [Lo, U16 | S16] => row!(WW_W, u16::wrapping_mul),
        [Lo, U32 | S32] => row!(WW_W, u32::wrapping_mul),
        [Lo, U64 | S64] => row!(DD_D, u64::wrapping_mul),
        [Hi, U16] => row!(WW_W, high_u16),
        [Hi, S16] => row!(WW_W, high_s16),
        [Hi, U32] => row!(WW_W, high_u32),
        [Hi, S32] => row!(WW_W, high_s32),
        [Hi, U64] => row!(DD_D, high_u64),
        [Hi, S64] => row!(DD_D, high_s64),
        [Wide, U16] => row!(WW_W, |a: u16, b: u16| a as u32 * b as u32),
        [Wide, S16] => row!(WW_W, |a: i16, b: i16| a as i32 * b as i32),
        [Wide, U32] => row!(WW_D, |a: u32, b: u32| a as u64 * b as u64),
        [Wide, S32] => row!(WW_D, |a: i32, b: i32| a as i64 * b as i64),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: mad". The sum wraps, or saturates in
/// `.hi.sat.s32`.
pub(super) fn mad(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [Lo, U16 | S16] => {
            row!(WWW_W, |a: u16, b: u16, c: u16| a
                .wrapping_mul(b)
                .wrapping_add(c))
        }
        [Lo, U32 | S32] => {
            row!(WWW_W, |a: u32, b: u32, c: u32| a
                .wrapping_mul(b)
                .wrapping_add(c))
        }
        [Lo, U64 | S64] => {
            row!(DDD_D, |a: u64, b: u64, c: u64| a
                .wrapping_mul(b)
                .wrapping_add(c))
        }
        [Hi, U16] => row!(WWW_W, |a: u16, b: u16, c: u16| high_u16(a, b)
            .wrapping_add(c)),
        [Hi, S16] => row!(WWW_W, |a: i16, b: i16, c: i16| high_s16(a, b)
            .wrapping_add(c)),
        [Hi, U32] => row!(WWW_W, |a: u32, b: u32, c: u32| high_u32(a, b)
            .wrapping_add(c)),
        [Hi, S32] => row!(WWW_W, |a: i32, b: i32, c: i32| high_s32(a, b)
            .wrapping_add(c)),
        [Hi, U64] => row!(DDD_D, |a: u64, b: u64, c: u64| high_u64(a, b)
            .wrapping_add(c)),
        [Hi, S64] => row!(DDD_D, |a: i64, b: i64, c: i64| high_s64(a, b)
            .wrapping_add(c)),
        [Hi, Sat, S32] => {
            row!(WWW_W, |a: i32, b: i32, c: i32| high_s32(a, b)
                .saturating_add(c))
        }
        [Wide, U16] => {
            row!(WWW_W, |a: u16, b: u16, c: u32| (a as u32 * b as u32)
                .wrapping_add(c))
        }
        [Wide, S16] => {
            row!(WWW_W, |a: i16, b: i16, c: i32| (a as i32 * b as i32)
                .wrapping_add(c))
        }
        [Wide, U32] => {
            row!(WWD_D, |a: u32, b: u32, c: u64| (a as u64 * b as u64)
                .wrapping_add(c))
        }
        [Wide, S32] => {
            row!(WWD_D, |a: i32, b: i32, c: i64| (a as i64 * b as i64)
                .wrapping_add(c))
        }
        _ => return None,
    })
}

/// The product of the lower 24 bits, zero-extended. The manual asks for 24-bit
/// values; that upper bits are ignored is to be confirmed on hardware.
fn product_u24(a: u32, b: u32) -> u64 {
    (a & 0xff_ffff) as u64 * (b & 0xff_ffff) as u64
}

/// The product of the lower 24 bits, sign-extended from bit 23.
fn product_s24(a: i32, b: i32) -> i64 {
    ((a << 8) >> 8) as i64 * ((b << 8) >> 8) as i64
}

/// "Integer Arithmetic Instructions: mul24": `.lo` is bits 31..0 of the 48-bit
/// product, `.hi` bits 47..16.
pub(super) fn mul24(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [Lo, U32] => row!(WW_W, |a: u32, b: u32| product_u24(a, b) as u32),
        [Lo, S32] => row!(WW_W, |a: i32, b: i32| product_s24(a, b) as i32),
        [Hi, U32] => row!(WW_W, |a: u32, b: u32| (product_u24(a, b) >> 16) as u32),
        [Hi, S32] => row!(WW_W, |a: i32, b: i32| (product_s24(a, b) >> 16) as i32),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: mad24".
pub(super) fn mad24(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [Lo, U32] => {
            row!(WWW_W, |a: u32, b: u32, c: u32| (product_u24(a, b) as u32)
                .wrapping_add(c))
        }
        [Lo, S32] => {
            row!(WWW_W, |a: i32, b: i32, c: i32| (product_s24(a, b) as i32)
                .wrapping_add(c))
        }
        [Hi, U32] => {
            row!(WWW_W, |a: u32, b: u32, c: u32| ((product_u24(a, b) >> 16)
                as u32)
                .wrapping_add(c))
        }
        [Hi, S32] => {
            row!(WWW_W, |a: i32, b: i32, c: i32| ((product_s24(a, b) >> 16)
                as i32)
                .wrapping_add(c))
        }
        [Hi, Sat, S32] => {
            row!(WWW_W, |a: i32, b: i32, c: i32| ((product_s24(a, b) >> 16)
                as i32)
                .saturating_add(c))
        }
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: sad".
pub(super) fn sad(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [U16] => row!(WWW_W, |a: u16, b: u16, c: u16| c
            .wrapping_add(a.abs_diff(b))),
        [S16] => row!(WWW_W, |a: i16, b: i16, c: u16| c
            .wrapping_add(a.abs_diff(b))),
        [U32] => row!(WWW_W, |a: u32, b: u32, c: u32| c
            .wrapping_add(a.abs_diff(b))),
        [S32] => row!(WWW_W, |a: i32, b: i32, c: u32| c
            .wrapping_add(a.abs_diff(b))),
        [U64] => row!(DDD_D, |a: u64, b: u64, c: u64| c
            .wrapping_add(a.abs_diff(b))),
        [S64] => row!(DDD_D, |a: i64, b: i64, c: u64| c
            .wrapping_add(a.abs_diff(b))),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: div".
///
/// Rounds towards zero; the minimum divided by −1 wraps to the minimum. The
/// manual leaves division by zero open: all ones in every type (to be confirmed
/// on hardware).
pub(super) fn div(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [U16] => row!(WW_W, |a: u16, b: u16| a.checked_div(b).unwrap_or(!0)),
        [S16] => row!(WW_W, |a: i16, b: i16| if b == 0 {
            -1
        } else {
            a.wrapping_div(b)
        }),
        [U32] => row!(WW_W, |a: u32, b: u32| a.checked_div(b).unwrap_or(!0)),
        [S32] => row!(WW_W, |a: i32, b: i32| if b == 0 {
            -1
        } else {
            a.wrapping_div(b)
        }),
        [U64] => row!(DD_D, |a: u64, b: u64| a.checked_div(b).unwrap_or(!0)),
        [S64] => row!(DD_D, |a: i64, b: i64| if b == 0 {
            -1
        } else {
            a.wrapping_div(b)
        }),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: rem". The sign is the dividend's; by zero
/// it is all ones, as in [`div`].
pub(super) fn rem(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [U16] => row!(WW_W, |a: u16, b: u16| a.checked_rem(b).unwrap_or(!0)),
        [S16] => row!(WW_W, |a: i16, b: i16| if b == 0 {
            -1
        } else {
            a.wrapping_rem(b)
        }),
        [U32] => row!(WW_W, |a: u32, b: u32| a.checked_rem(b).unwrap_or(!0)),
        [S32] => row!(WW_W, |a: i32, b: i32| if b == 0 {
            -1
        } else {
            a.wrapping_rem(b)
        }),
        [U64] => row!(DD_D, |a: u64, b: u64| a.checked_rem(b).unwrap_or(!0)),
        [S64] => row!(DD_D, |a: i64, b: i64| if b == 0 {
            -1
        } else {
            a.wrapping_rem(b)
        }),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: abs". The minimum stays itself.
pub(super) fn abs(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [S16] => row!(W_W, i16::wrapping_abs),
        [S32] => row!(W_W, i32::wrapping_abs),
        [S64] => row!(D_D, i64::wrapping_abs),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: neg". The minimum stays itself.
pub(super) fn neg(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [S16] => row!(W_W, i16::wrapping_neg),
        [S32] => row!(W_W, i32::wrapping_neg),
        [S64] => row!(D_D, i64::wrapping_neg),
        [S8X4] => row!(W_W, |a: [i8; 4]| a.map(i8::wrapping_neg)),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: min". `.relu` clamps negative results to 0.
pub(super) fn min(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [U16] => row!(WW_W, u16::min),
        [S16] => row!(WW_W, i16::min),
        [U32] => row!(WW_W, u32::min),
        [S32] => row!(WW_W, i32::min),
        [U64] => row!(DD_D, u64::min),
        [S64] => row!(DD_D, i64::min),
        [U16X2] => row!(WW_W, packed::<u16, 2>(u16::min)),
        [S16X2] => row!(WW_W, packed::<i16, 2>(i16::min)),
        [U8X4] => row!(WW_W, packed::<u8, 4>(u8::min)),
        [S8X4] => row!(WW_W, packed::<i8, 4>(i8::min)),
        [Relu, S32] => row!(WW_W, |a: i32, b: i32| a.min(b).max(0)),
        [Relu, S16X2] => row!(WW_W, packed::<i16, 2>(|a, b| a.min(b).max(0))),
        [Relu, S8X4] => row!(WW_W, packed::<i8, 4>(|a, b| a.min(b).max(0))),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: max". `.relu` clamps negative results to 0.
pub(super) fn max(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [U16] => row!(WW_W, u16::max),
        [S16] => row!(WW_W, i16::max),
        [U32] => row!(WW_W, u32::max),
        [S32] => row!(WW_W, i32::max),
        [U64] => row!(DD_D, u64::max),
        [S64] => row!(DD_D, i64::max),
        [U16X2] => row!(WW_W, packed::<u16, 2>(u16::max)),
        [S16X2] => row!(WW_W, packed::<i16, 2>(i16::max)),
        [U8X4] => row!(WW_W, packed::<u8, 4>(u8::max)),
        [S8X4] => row!(WW_W, packed::<i8, 4>(i8::max)),
        [Relu, S32] => row!(WW_W, |a: i32, b: i32| a.max(b).max(0)),
        [Relu, S16X2] => row!(WW_W, packed::<i16, 2>(|a, b| a.max(b).max(0))),
        [Relu, S8X4] => row!(WW_W, packed::<i8, 4>(|a, b| a.max(b).max(0))),
        _ => return None,
    })
}
