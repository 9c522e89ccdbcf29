//! From integers to floating point, and between its types of 16 bits and more.

use super::super::AluOp;
use super::super::exact::{BF16, Exact, F16 as FORMAT16, F32, F64, Format, Rounding, Value};
use super::super::form::{FTZ, Form, Mode, RELU, SAT, SATFINITE, Type, with_flag, with_rounding};
use super::super::half::{self, Bf16, F16, Half, narrow_double};
use super::super::rounding::{Direction, canonical, flush, saturate, to_single};
use super::super::rows::row;
use super::from_each_integer;
use super::integers::Integer;

/// `.sat` of `.f64`.
#[inline(always)]
pub(super) fn saturate_double<const SAT: bool>(value: f64) -> f64 {
    if !SAT {
        return value;
    }
    let above = if value > 0.0 { value } else { 0.0 };
    if above < 1.0 { above } else { 1.0 }
}

/// The result, or the operand quieted if that is NaN.
#[inline(always)]
pub(super) fn quiet(operand: f64, result: f64) -> f64 {
    const INFINITY: u64 = 0x7ff0_0000_0000_0000;
    let bits = operand.to_bits();
    let nan = bits & !(1 << 63) > INFINITY;
    f64::from_bits(if nan {
        bits | 1 << 51
    } else {
        result.to_bits()
    })
}

/// `.f32` to `.f64`. A NaN keeps sign and payload, quieted.
#[inline(always)]
fn widen(value: f32) -> f64 {
    let bits = value.to_bits() as u64;
    let nan = (bits & 0x8000_0000) << 32 | 0x7ff8_0000_0000_0000 | (bits & 0x007f_ffff) << 29;
    let wide = (value as f64).to_bits();
    f64::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 {
        nan
    } else {
        wide
    })
}

/// 16 bits to `.f64`. A NaN keeps sign and payload, quieted.
#[inline(always)]
fn widen_half<H: Half>(code: u16) -> f64 {
    let code = u64::from(code);
    let (sign, magnitude) = ((code & 0x8000) << 48, code & 0x7fff);
    let fraction = H::INFINITY.trailing_zeros();
    if magnitude > u64::from(H::INFINITY) {
        f64::from_bits(sign | 0x7ff8_0000_0000_0000 | magnitude << (52 - fraction))
    } else {
        widen(H::widen(code as u32))
    }
}

/// `.f64` to `.f32`. A NaN keeps sign and what of its payload fits, quieted.
#[inline(always)]
fn shorten<D: Direction, const FTZ: bool>(value: f64) -> f32 {
    let bits = value.to_bits();
    let nan = (bits >> 32 & 0x8000_0000 | 0x7fc0_0000 | bits >> 29 & 0x003f_ffff) as u32;
    let short = to_single::<D, FTZ>(value).to_bits();
    f32::from_bits(if bits & !(1 << 63) > 0x7ff0_0000_0000_0000 {
        nan
    } else {
        short
    })
}

/// The code of an integer in a format, in any rounding.
#[inline(never)]
fn integer_code(value: i128, format: Format, rounding: Rounding) -> u64 {
    let value = match value {
        0 => Value::Zero { negative: false },
        _ => Value::Finite(Exact {
            negative: value < 0,
            exponent: 0,
            significand: value.unsigned_abs(),
        }),
    };
    format.pack(value, rounding)
}

/// A code of another format, in any rounding.
#[inline(never)]
fn recode(code: u64, from: Format, to: Format, rounding: Rounding) -> u32 {
    to.pack(from.unpack(code), rounding) as u32
}

#[inline(always)]
fn integer_to_single<S: Integer, D: Direction>(value: S) -> f32 {
    if S::MAX <= u32::MAX as i128 {
        to_single::<D, false>(value.double())
    } else {
        f32::from_bits(integer_code(value.widen(), F32, D::ROUNDING) as u32)
    }
}

#[inline(always)]
fn integer_to_double<S: Integer, D: Direction>(value: S) -> f64 {
    if S::MAX <= u32::MAX as i128 {
        value.double()
    } else {
        f64::from_bits(integer_code(value.widen(), F64, D::ROUNDING))
    }
}

/// From an integer.
pub(super) fn from_integer(form: &Form, to: Type, from: Type) -> Option<AluOp> {
    let rounding = form.ieee_rounding()?;
    match to {
        Type::F32 => form.only(FTZ | SAT)?,
        Type::Bf16 => form.only(0)?,
        _ => form.only(SAT)?,
    }
    let sat = form.has(SAT);
    if rounding == Rounding::NearestEven {
        // The host's conversions round so.
        match (to, sat) {
            (Type::F32, false) => return from_each_integer!(from, W_W, D_W, |a: S| a as f32),
            (Type::F64, false) => return from_each_integer!(from, W_D, D_D, |a: S| a as f64),
            _ => {}
        }
    }
    with_rounding!(
        D = rounding,
        with_flag!(
            C = sat,
            match to {
                Type::F16 => from_each_integer!(from, W_W, D_W, |a: S| {
                    half::saturate::<F16, C>(integer_code(a.widen(), FORMAT16, D::ROUNDING) as u32)
                }),
                Type::Bf16 => {
                    from_each_integer!(from, W_W, D_W, |a: S| integer_code(
                        a.widen(),
                        BF16,
                        D::ROUNDING
                    ) as u16)
                }
                Type::F32 => {
                    from_each_integer!(from, W_W, D_W, |a: S| saturate::<C>(integer_to_single::<
                        S,
                        D,
                    >(
                        a
                    )))
                }
                Type::F64 => {
                    from_each_integer!(from, W_D, D_D, |a: S| saturate_double::<C>(
                        integer_to_double::<S, D>(a)
                    ))
                }
                _ => None,
            }
        )
    )
}

/// Between two different types.
pub(super) fn convert(form: &Form, to: Type, from: Type) -> Option<AluOp> {
    match (to, from) {
        (Type::F64, Type::F32) => {
            unrounded(form)?;
            form.only(FTZ | SAT)?;
            with_flag!(
                F = form.has(FTZ),
                with_flag!(S = form.has(SAT), {
                    // Flushing is an operation of `.f32`, whose NaN is the canonical one.
                    Some(row!(W_D, |a: f32| {
                        let a = if F { canonical(flush::<F>(a)) } else { a };
                        saturate_double::<S>(widen(a))
                    }))
                })
            )
        }
        (Type::F32, Type::F64) => {
            form.only(FTZ | SAT)?;
            with_rounding!(D = form.ieee_rounding()?, {
                with_flag!(
                    F = form.has(FTZ),
                    with_flag!(S = form.has(SAT), {
                        Some(row!(D_W, |a: f64| saturate::<S>(shorten::<D, F>(a))))
                    })
                )
            })
        }
        (Type::F32, Type::F16) => {
            unrounded(form)?;
            form.only(FTZ | SAT)?;
            // No `.f16` becomes a subnormal `.f32`.
            with_flag!(
                S = form.has(SAT),
                Some(row!(W_W, |a: u16| saturate::<S>(F16::widen(a as u32))))
            )
        }
        (Type::F64, Type::F16) => {
            unrounded(form)?;
            form.only(SAT)?;
            with_flag!(S = form.has(SAT), {
                Some(row!(W_D, |a: u16| saturate_double::<S>(widen_half::<F16>(
                    a
                ))))
            })
        }
        // A rounding is allowed though nothing is lost.
        (Type::F32, Type::Bf16) => {
            form.rounding_or_nearest()?;
            form.only(FTZ)?;
            with_flag!(
                F = form.has(FTZ),
                // Without `.ftz` a shift, with it an operation of `.f32`.
                Some(row!(W_W, |a: u16| {
                    let a = Bf16::widen(a as u32);
                    if F { canonical(flush::<F>(a)) } else { a }
                }))
            )
        }
        (Type::F64, Type::Bf16) => {
            form.rounding_or_nearest()?;
            form.only(0)?;
            Some(row!(W_D, widen_half::<Bf16>))
        }
        (Type::Bf16, Type::F16) => {
            form.only(0)?;
            with_rounding!(D = form.rounding_or_nearest()?, {
                Some(row!(W_W, |a: u16| recode(
                    a as u64,
                    FORMAT16,
                    BF16,
                    D::ROUNDING
                )))
            })
        }
        (Type::F16, Type::Bf16) => {
            form.only(0)?;
            with_rounding!(D = form.rounding_or_nearest()?, {
                Some(row!(W_W, |a: u16| recode(
                    a as u64,
                    BF16,
                    FORMAT16,
                    D::ROUNDING
                )))
            })
        }
        (Type::F16, Type::F64) => {
            form.only(SAT)?;
            with_rounding!(
                D = form.ieee_rounding()?,
                with_flag!(S = form.has(SAT), {
                    Some(row!(D_W, |a: f64| half::saturate::<F16, S>(from_double::<
                        F16,
                        D,
                    >(
                        a, FORMAT16
                    ))))
                })
            )
        }
        (Type::Bf16, Type::F64) => {
            form.only(0)?;
            with_rounding!(D = form.ieee_rounding()?, {
                Some(row!(D_W, |a: f64| from_double::<Bf16, D>(a, BF16)))
            })
        }
        (Type::F16 | Type::Bf16, Type::F32) => from_single(form, to),
        _ => None,
    }
}

/// Something if no rounding is given.
fn unrounded(form: &Form) -> Option<()> {
    (form.mode == Mode::Default).then_some(())
}

/// `.f64` to 16 bits. A NaN keeps sign and what of its payload fits, quieted.
#[inline(always)]
fn from_double<H: Half, D: Direction>(value: f64, to: Format) -> u32 {
    let bits = value.to_bits();
    if bits & !(1 << 63) > 0x7ff0_0000_0000_0000 {
        let fraction = H::INFINITY.trailing_zeros();
        let payload = (bits >> (52 - fraction)) as u32 & 0x7fff;
        return (bits >> 48) as u32 & 0x8000 | H::INFINITY | 1 << (fraction - 1) | payload;
    }
    if D::ROUNDING == Rounding::NearestEven {
        narrow_double::<H>(value)
    } else {
        recode(value.to_bits(), F64, to, D::ROUNDING)
    }
}

/// `.f32` to 16 bits in any rounding.
#[inline(always)]
fn to_half<H: Half, D: Direction>(value: f32, to: Format) -> u32 {
    if D::ROUNDING == Rounding::NearestEven {
        H::narrow(value.to_bits())
    } else {
        recode(value.to_bits() as u64, F32, to, D::ROUNDING)
    }
}

/// [`to_half`] with `.relu` and `.satfinite`.
#[inline(always)]
pub(super) fn to_half_bounded<H: Half, D: Direction, const RELU: bool, const FINITE: bool>(
    value: f32,
    to: Format,
) -> u32 {
    let code = to_half::<H, D>(value, to);
    let code = if FINITE && code & 0x7fff == H::INFINITY {
        code - 1
    } else {
        code
    };
    half::relu::<H, RELU>(code)
}

/// From `.f32` to 16 bits.
fn from_single(form: &Form, to: Type) -> Option<AluOp> {
    let rounding = form.ieee_rounding()?;
    let bounded = form.has(RELU | SATFINITE);
    match to {
        _ if bounded => form.only(RELU | SATFINITE)?,
        Type::F16 => form.only(FTZ | SAT)?,
        _ => form.only(FTZ)?,
    }
    if bounded {
        if !matches!(rounding, Rounding::NearestEven | Rounding::TowardZero) {
            return None;
        }
        return with_rounding!(
            D = rounding,
            with_flag!(R = form.has(RELU), {
                with_flag!(S = form.has(SATFINITE), {
                    Some(match to {
                        Type::F16 => {
                            row!(W_W, |a: f32| to_half_bounded::<F16, D, R, S>(a, FORMAT16))
                        }
                        _ => row!(W_W, |a: f32| to_half_bounded::<Bf16, D, R, S>(a, BF16)),
                    })
                })
            })
        );
    }
    with_rounding!(
        D = rounding,
        with_flag!(F = form.has(FTZ), {
            match to {
                Type::F16 => with_flag!(
                    S = form.has(SAT),
                    // `.ftz` is without effect: `ptxas` emits the same F2F.F16.F32 for both. A subnormal
                    // number is seen by `.rm` and `.rp`.
                    Some(row!(W_W, |a: f32| {
                        half::saturate::<F16, S>(to_half::<F16, D>(a, FORMAT16))
                    }))
                ),
                _ => Some(row!(W_W, |a: f32| to_half::<Bf16, D>(flush::<F>(a), BF16))),
            }
        })
    )
}
