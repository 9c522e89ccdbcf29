//! Rounding to integral values: from floating point to integers, and within a
//! floating-point type.

use super::super::AluOp;
use super::super::exact::Rounding;
use super::super::form::{FTZ, Form, Mode, SAT, Type, with_flag, with_rounding};
use super::super::half::{self, Bf16, F16, Half, narrow_double};
use super::super::rounding::{Direction, canonical, flush, saturate};
use super::super::rows::row;
use super::floats::{quiet, saturate_double};
use super::integers::Integer;
use super::to_each_integer;

/// The integral value next to a number, of the same sign. Infinities and NaN pass.
#[inline(always)]
fn integral<D: Direction>(value: f64) -> f64 {
    // Numbers from here on are integral.
    const LARGE: f64 = (1u64 << 52) as f64;
    let cut = (value as i64) as f64;
    let magnitude = value.abs();
    let rounded = match D::ROUNDING {
        Rounding::TowardZero => cut,
        Rounding::TowardNegative => cut - if cut > value { 1.0 } else { 0.0 },
        Rounding::TowardPositive => cut + if cut < value { 1.0 } else { 0.0 },
        Rounding::NearestEven | Rounding::NearestAway => magnitude + LARGE - LARGE,
    };
    if magnitude < LARGE {
        rounded.copysign(value)
    } else {
        value
    }
}

/// The integer for a value of `.f64` (`WIDE`) or of a narrower type.
#[inline(always)]
fn lane<I: Integer, D: Direction, const WIDE: bool>(value: f64) -> I {
    match D::ROUNDING {
        Rounding::TowardZero | Rounding::NearestEven => lane_in_row::<I, D, WIDE>(value),
        _ => lane_by_call::<I, D, WIDE>(value),
    }
}

/// [`lane`] in the roundings that few programs ask for: compiled once for several rows, not as a part of each.
#[inline(never)]
fn lane_by_call<I: Integer, D: Direction, const WIDE: bool>(value: f64) -> I {
    lane_in_row::<I, D, WIDE>(value)
}

#[inline(always)]
fn lane_in_row<I: Integer, D: Direction, const WIDE: bool>(value: f64) -> I {
    // Converting to an integer cuts already.
    let cuts = D::ROUNDING == Rounding::TowardZero;
    let result = I::clamp(if cuts { value } else { integral::<D>(value) });
    let middle = WIDE || I::MAX > u32::MAX as i128;
    if middle && value.is_nan() {
        I::MIDDLE
    } else {
        result
    }
}

/// From floating point to an integer.
pub(super) fn to_integer(form: &Form, to: Type, from: Type) -> Option<AluOp> {
    let Mode::Integer(rounding) = form.mode else {
        return None;
    };
    match from {
        Type::F32 => form.only(FTZ | SAT)?,
        Type::Bf16 => form.only(0)?,
        _ => form.only(SAT)?,
    }
    with_rounding!(
        D = rounding,
        match from {
            Type::F16 => {
                to_each_integer!(to, W_W, W_D, |a: u16| lane::<I, D, false>(
                    F16::widen(a as u32) as f64
                ))
            }
            Type::Bf16 => {
                to_each_integer!(to, W_W, W_D, |a: u16| lane::<I, D, false>(
                    Bf16::widen(a as u32) as f64
                ))
            }
            Type::F32 => with_flag!(F = form.has(FTZ), {
                to_each_integer!(to, W_W, W_D, |a: f32| lane::<I, D, false>(
                    flush::<F>(a) as f64
                ))
            }),
            Type::F64 => to_each_integer!(to, D_W, D_D, |a: f64| lane::<I, D, true>(a)),
            _ => None,
        }
    )
}

/// Within a type: to an integral value, or only with `.ftz` or `.sat`.
pub(super) fn same(form: &Form, of: Type) -> Option<AluOp> {
    match of {
        Type::F32 => form.only(FTZ | SAT)?,
        Type::Bf16 => form.only(0)?,
        _ => form.only(SAT)?,
    }
    let sat = form.has(SAT);
    match form.mode {
        Mode::Default => unrounded(form, of),
        Mode::Integer(rounding) => with_rounding!(
            D = rounding,
            with_flag!(S = sat, {
                Some(match of {
                    Type::F16 => row!(W_W, |a: u16| {
                        half::saturate::<F16, S>(integral_half::<F16, D>(a))
                    }),
                    Type::Bf16 => row!(W_W, |a: u16| integral_half::<Bf16, D>(a)),
                    Type::F32 => with_flag!(
                        F = form.has(FTZ),
                        row!(W_W, |a: f32| {
                            saturate::<S>(canonical(integral::<D>(flush::<F>(a) as f64) as f32))
                        })
                    ),
                    Type::F64 => row!(D_D, |a: f64| saturate_double::<S>(quiet(
                        a,
                        integral::<D>(a)
                    ))),
                    _ => return None,
                })
            })
        ),
        _ => None,
    }
}

#[inline(always)]
fn integral_half<H: Half, D: Direction>(code: u16) -> u32 {
    narrow_double::<H>(integral::<D>(H::widen(code as u32) as f64))
}

/// A conversion of a type to itself. The plain ones are moves, but `ptxas`
/// makes those of 16 bits an addition, which settles NaN.
fn unrounded(form: &Form, of: Type) -> Option<AluOp> {
    let (ftz, sat) = (form.has(FTZ), form.has(SAT));
    Some(match (of, ftz, sat) {
        (Type::F16, _, false) => row!(W_W, |a: u16| half::settle::<F16>(a as u32)),
        (Type::F16, _, true) => row!(W_W, |a: u16| half::saturate::<F16, true>(a as u32)),
        (Type::Bf16, ..) => row!(W_W, |a: u16| half::settle::<Bf16>(a as u32)),
        (Type::F32, false, false) => row!(W_W, |a: u32| a),
        (Type::F32, true, false) => row!(W_W, |a: f32| canonical(flush::<true>(a))),
        (Type::F32, false, true) => row!(W_W, |a: f32| saturate::<true>(a)),
        (Type::F32, true, true) => row!(W_W, |a: f32| saturate::<true>(flush::<true>(a))),
        (Type::F64, _, false) => row!(D_D, |a: u64| a),
        (Type::F64, _, true) => row!(D_D, |a: f64| saturate_double::<true>(a)),
        _ => return None,
    })
}
