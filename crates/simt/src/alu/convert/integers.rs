//! Between integers, and `cvt.pack`.

use super::super::AluOp;
use super::super::form::{Flags, Form, Mode, PACK, SAT, Type, with_flag};
use super::super::rows::{Lane, row};
use super::to_each_integer;

/// An integer type of PTX.
pub(super) trait Integer: Lane {
    /// Smallest value.
    const MIN: i128;
    /// Largest value.
    const MAX: i128;
    /// What a NaN converts to where it does not convert to 0: half the range.
    const MIDDLE: Self;
    /// The low bits.
    fn truncate(value: i128) -> Self;
    /// The nearest value of an integral number.
    fn clamp(value: f64) -> Self;
    /// The value.
    fn widen(self) -> i128;
    /// The nearest `f64`: the value itself, for 32 bits and fewer.
    fn double(self) -> f64;
}

macro_rules! integers {
    ($($integer:ty, $middle:expr;)*) => {$(
        impl Integer for $integer {
            const MIN: i128 = <$integer>::MIN as i128;
            const MAX: i128 = <$integer>::MAX as i128;
            const MIDDLE: $integer = $middle;
            #[inline(always)]
            fn truncate(value: i128) -> $integer {
                value as $integer
            }
            #[inline(always)]
            fn clamp(value: f64) -> $integer {
                value as $integer
            }
            #[inline(always)]
            fn widen(self) -> i128 {
                self as i128
            }
            #[inline(always)]
            fn double(self) -> f64 {
                self as f64
            }
        }
    )*};
}

integers! {
    u8, 1 << 7;
    i8, i8::MIN;
    u16, 1 << 15;
    i16, i16::MIN;
    u32, 1 << 31;
    i32, i32::MIN;
    u64, 1 << 63;
    i64, i64::MIN;
}

#[inline(always)]
fn lane<S: Integer, I: Integer, const CLAMP: bool>(value: S) -> I {
    let value = value.widen();
    if !CLAMP {
        return I::truncate(value);
    }
    let above = if S::MIN < I::MIN && value < I::MIN {
        I::MIN
    } else {
        value
    };
    I::truncate(if S::MAX > I::MAX && above > I::MAX {
        I::MAX
    } else {
        above
    })
}

/// From integer to integer.
pub(super) fn convert(form: &Form, to: Type, from: Type) -> Option<AluOp> {
    form.only(SAT)?;
    if form.mode != Mode::Default {
        return None;
    }
    let clamp = form.has(SAT);
    let ((low, high), (min, max)) = (range(from)?, range(to)?);
    if clamp && low >= min && high <= max {
        return None;
    }
    macro_rules! from {
        ($source:ty, $narrow:ident, $wide:ident) => {
            with_flag!(CLAMP = clamp, {
                to_each_integer!(to, $narrow, $wide, |a: $source| lane::<$source, I, CLAMP>(
                    a
                ))
            })
        };
    }
    match from {
        Type::U8 => from!(u8, W_W, W_D),
        Type::S8 => from!(i8, W_W, W_D),
        Type::U16 => from!(u16, W_W, W_D),
        Type::S16 => from!(i16, W_W, W_D),
        Type::U32 => from!(u32, W_W, W_D),
        Type::S32 => from!(i32, W_W, W_D),
        Type::U64 => from!(u64, D_W, D_D),
        Type::S64 => from!(i64, D_W, D_D),
        _ => None,
    }
}

/// The smallest and the largest value of a type.
fn range(of: Type) -> Option<(i128, i128)> {
    Some(match of {
        Type::U8 => (u8::MIN as i128, u8::MAX as i128),
        Type::S8 => (i8::MIN as i128, i8::MAX as i128),
        Type::U16 => (u16::MIN as i128, u16::MAX as i128),
        Type::S16 => (i16::MIN as i128, i16::MAX as i128),
        Type::U32 => (u32::MIN as i128, u32::MAX as i128),
        Type::S32 => (i32::MIN as i128, i32::MAX as i128),
        Type::U64 => (u64::MIN as i128, u64::MAX as i128),
        Type::S64 => (i64::MIN as i128, i64::MAX as i128),
        _ => return None,
    })
}

/// Two clamped fields: b below a.
#[inline(always)]
fn fields<const BITS: u32, const SIGNED: bool>(a: i32, b: i32) -> u32 {
    let (min, max) = if SIGNED {
        (-1 << (BITS - 1), (1 << (BITS - 1)) - 1)
    } else {
        (0, (1 << BITS) - 1)
    };
    let field = |value: i32| value.clamp(min, max) as u32 & ((1 << BITS) - 1);
    field(a) << BITS | field(b)
}

/// [`fields`] below the low bits of c.
#[inline(always)]
fn fields_below<const BITS: u32, const SIGNED: bool>(a: i32, b: i32, c: u32) -> u32 {
    c << (2 * BITS) | fields::<BITS, SIGNED>(a, b)
}

/// `cvt.pack.sat`.
pub(super) fn pack(form: &Form, inputs: usize) -> Option<AluOp> {
    const FLAGS: Flags = PACK | SAT;
    if form.flags != FLAGS || form.mode != Mode::Default {
        return None;
    }
    let (Some(to), Some(Type::S32), third) = form.types() else {
        return None;
    };
    Some(match (to, third, inputs) {
        (Type::U16, None, 2) => row!(WW_W, |a: i32, b: i32| fields::<16, false>(a, b)),
        (Type::S16, None, 2) => row!(WW_W, |a: i32, b: i32| fields::<16, true>(a, b)),
        (_, Some(Type::B32), 3) => match to {
            Type::U8 => row!(WWW_W, |a: i32, b: i32, c: u32| fields_below::<8, false>(
                a, b, c
            )),
            Type::S8 => row!(WWW_W, |a: i32, b: i32, c: u32| fields_below::<8, true>(
                a, b, c
            )),
            Type::U4 => row!(WWW_W, |a: i32, b: i32, c: u32| fields_below::<4, false>(
                a, b, c
            )),
            Type::S4 => row!(WWW_W, |a: i32, b: i32, c: u32| fields_below::<4, true>(
                a, b, c
            )),
            Type::U2 => row!(WWW_W, |a: i32, b: i32, c: u32| fields_below::<2, false>(
                a, b, c
            )),
            Type::S2 => row!(WWW_W, |a: i32, b: i32, c: u32| fields_below::<2, true>(
                a, b, c
            )),
            _ => return None,
        },
        _ => return None,
    })
}
