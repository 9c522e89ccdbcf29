//! Packed pairs of 16 bits, `.tf32`, and the formats of 8 bits and fewer (PTX ISA,
//! "Alternate Floating-Point Data Formats").

use super::super::AluOp;
use super::super::exact::{
    BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16 as FORMAT16, F32, Format, Rounding, Value, is_negative,
};
use super::super::form::{Form, Mode, RELU, SATFINITE, Type, with_flag, with_rounding};
use super::super::half::{Bf16, F16, NAN, relu};
use super::super::rows::row;
use super::floats::to_half_bounded;

/// Evaluates `body` with the format named `FORMAT` and the width of its field in a
/// packed register named `WIDTH`; `body` may differ for nothing else.
macro_rules! with_alternate {
    ($of:expr, $body:expr) => {
        match $of {
            Type::E4m3x2 | Type::E4m3x4 => {
                const FORMAT: Format = E4M3;
                const WIDTH: u32 = 8;
                $body
            }
            Type::E5m2x2 | Type::E5m2x4 => {
                const FORMAT: Format = E5M2;
                const WIDTH: u32 = 8;
                $body
            }
            Type::E3m2x2 | Type::E3m2x4 => {
                const FORMAT: Format = E3M2;
                const WIDTH: u32 = 8;
                $body
            }
            Type::E2m3x2 | Type::E2m3x4 => {
                const FORMAT: Format = E2M3;
                const WIDTH: u32 = 8;
                $body
            }
            Type::E2m1x2 => {
                const FORMAT: Format = E2M1;
                const WIDTH: u32 = 4;
                $body
            }
            _ => return None,
        }
    };
}

/// Whichever of the conversions of this file it is.
pub(super) fn convert(form: &Form, to: Type, from: Type, inputs: usize) -> Option<AluOp> {
    use Type::*;
    match (to, from, inputs) {
        (Tf32, F32, 1) => tf32(form),
        (F16x2 | Bf16x2, F32, 2) => pair(form, to),
        (F16x2 | Bf16x2, F32, 3) => stochastic_pair(form, to),
        (Ue8m0x2, F32 | Bf16x2, _) => to_scale(form, from, inputs),
        (Bf16x2, Ue8m0x2, 1) => from_scale(form),
        (E4m3x4 | E5m2x4 | E3m2x4 | E2m3x4, F32, _) => stochastic_four(form, to, inputs),
        (E4m3x2 | E5m2x2 | E3m2x2 | E2m3x2 | E2m1x2, _, _) => shrink(form, to, from, inputs),
        (F16x2, E4m3x2 | E5m2x2 | E3m2x2 | E2m3x2 | E2m1x2, 1) => grow(form, from),
        _ => None,
    }
}

/// Two codes of 16 bits, the lower one first.
#[inline(always)]
fn pack([low, high]: [u32; 2]) -> u32 {
    low | high << 16
}

/// A value after `.relu`: NaN stays.
#[inline(always)]
fn rectify<const RELU: bool>(value: Value) -> Value {
    if RELU && is_negative(value) {
        Value::Zero { negative: false }
    } else {
        value
    }
}

/// `cvt.{rn,rz}{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a, b`.
fn pair(form: &Form, to: Type) -> Option<AluOp> {
    form.only(RELU | SATFINITE)?;
    let rounding = form.ieee_rounding()?;
    if !matches!(rounding, Rounding::NearestEven | Rounding::TowardZero) {
        return None;
    }
    with_rounding!(
        D = rounding,
        with_flag!(
            R = form.has(RELU),
            with_flag!(S = form.has(SATFINITE), {
                Some(match to {
                    Type::F16x2 => row!(WW_W, |a: f32, b: f32| {
                        pack([b, a].map(|x| to_half_bounded::<F16, D, R, S>(x, FORMAT16)))
                    }),
                    _ => row!(WW_W, |a: f32, b: f32| {
                        pack([b, a].map(|x| to_half_bounded::<Bf16, D, R, S>(x, BF16)))
                    }),
                })
            })
        )
    )
}

/// The code of an `.f32` in a format, by random bits.
fn stochastic<const RELU: bool, const FINITE: bool>(
    value: f32,
    random: u32,
    bits: u32,
    format: Format,
) -> u32 {
    let value = rectify::<RELU>(F32.unpack(value.to_bits() as u64));
    let code = if FINITE {
        format.pack_stochastic_finite(value, random, bits)
    } else {
        format.pack_stochastic(value, random, bits)
    };
    code as u32
}

/// `cvt.rs{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a, b, rbits`.
fn stochastic_pair(form: &Form, to: Type) -> Option<AluOp> {
    form.only(RELU | SATFINITE)?;
    if form.mode != Mode::Stochastic {
        return None;
    }
    with_flag!(
        R = form.has(RELU),
        with_flag!(S = form.has(SATFINITE), {
            Some(match to {
                Type::F16x2 => row!(WWW_W, |a: f32, b: f32, random: u32| {
                    stochastic::<R, S>(a, random >> 16, 13, FORMAT16) << 16
                        | stochastic::<R, S>(b, random, 13, FORMAT16)
                }),
                _ => row!(WWW_W, |a: f32, b: f32, random: u32| {
                    stochastic::<R, S>(a, random >> 16, 16, BF16) << 16
                        | stochastic::<R, S>(b, random, 16, BF16)
                }),
            })
        })
    )
}

/// `cvt.rs{.relu}.satfinite.{e4m3x4,…}.f32 d, {a, b, e, f}, rbits`: eight random bits
/// for each, in its place.
fn stochastic_four(form: &Form, to: Type, inputs: usize) -> Option<AluOp> {
    // The vector operand counts as one where the operands are as written.
    if form.mode != Mode::Stochastic || !matches!(inputs, 2 | 5) || !form.has(SATFINITE) {
        return None;
    }
    form.only(RELU | SATFINITE)?;
    with_flag!(
        R = form.has(RELU),
        with_alternate!(to, {
            Some(AluOp::WWWWW_W(|a, b, e, f, random, d| {
                for i in 0..d.len() {
                    let values = [f[i], e[i], b[i], a[i]];
                    d[i] = values
                        .into_iter()
                        .enumerate()
                        .fold(0, |all, (place, value)| {
                            let shift = WIDTH * place as u32;
                            let value = f32::from_bits(value);
                            all | stochastic::<R, true>(value, random[i] >> shift, 8, FORMAT)
                                << shift
                        });
                }
            }))
        })
    )
}

/// The code of a value in a narrow format: nearest, finite.
fn shrunk<const RELU: bool>(value: Value, format: Format) -> u32 {
    format.pack_finite(rectify::<RELU>(value), Rounding::NearestEven) as u32
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,…}` from two `.f32`, or from `.f16x2` or `.bf16x2`.
fn shrink(form: &Form, to: Type, from: Type, inputs: usize) -> Option<AluOp> {
    form.only(RELU | SATFINITE)?;
    if form.ieee_rounding()? != Rounding::NearestEven || !form.has(SATFINITE) {
        return None;
    }
    with_flag!(
        R = form.has(RELU),
        with_alternate!(to, {
            Some(match (from, inputs) {
                (Type::F32, 2) => row!(WW_W, |a: u32, b: u32| {
                    shrunk::<R>(F32.unpack(a as u64), FORMAT) << WIDTH
                        | shrunk::<R>(F32.unpack(b as u64), FORMAT)
                }),
                (Type::F16x2, 1) => row!(W_W, |a: u32| {
                    shrunk::<R>(FORMAT16.unpack(a as u64 >> 16), FORMAT) << WIDTH
                        | shrunk::<R>(FORMAT16.unpack(a as u64), FORMAT)
                }),
                (Type::Bf16x2, 1) => row!(W_W, |a: u32| {
                    shrunk::<R>(BF16.unpack(a as u64 >> 16), FORMAT) << WIDTH
                        | shrunk::<R>(BF16.unpack(a as u64), FORMAT)
                }),
                _ => return None,
            })
        })
    )
}

/// The `.f16` of a code of a narrow format; all have one.
fn grown<const RELU: bool>(code: u32, format: Format) -> u32 {
    let code = FORMAT16.pack(format.unpack(code as u64), Rounding::TowardZero) as u32;
    relu::<F16, RELU>(code)
}

/// `cvt.rn{.relu}.f16x2.{e4m3x2,…}`.
fn grow(form: &Form, from: Type) -> Option<AluOp> {
    form.only(RELU)?;
    if form.ieee_rounding()? != Rounding::NearestEven {
        return None;
    }
    with_flag!(
        R = form.has(RELU),
        with_alternate!(from, {
            Some(row!(W_W, |a: u32| {
                pack([grown::<R>(a, FORMAT), grown::<R>(a >> WIDTH, FORMAT)])
            }))
        })
    )
}

/// The power of two for a magnitude, `.ue8m0`: its exponent field, one more if
/// `UP` and the number is not that power. Signs are ignored.
fn scale<const UP: bool, const FINITE: bool>(bits: u32) -> u32 {
    const SMALLEST: u32 = 0x0040_0000;
    const INFINITY: u32 = 0x7f80_0000;
    let magnitude = bits & 0x7fff_ffff;
    let above = UP && magnitude & 0x007f_ffff != 0 && magnitude > SMALLEST && magnitude < INFINITY;
    let code = (magnitude >> 23) + above as u32;
    if FINITE && magnitude <= INFINITY {
        code.min(0xfe)
    } else {
        code
    }
}

/// `cvt.{rz,rp}{.satfinite}.ue8m0x2` from two `.f32` or from `.bf16x2`.
fn to_scale(form: &Form, from: Type, inputs: usize) -> Option<AluOp> {
    form.only(SATFINITE)?;
    let up = match form.ieee_rounding()? {
        Rounding::TowardZero => false,
        Rounding::TowardPositive => true,
        _ => return None,
    };
    with_flag!(
        U = up,
        with_flag!(S = form.has(SATFINITE), {
            Some(match (from, inputs) {
                (Type::F32, 2) => {
                    row!(WW_W, |a: u32, b: u32| scale::<U, S>(a) << 8
                        | scale::<U, S>(b))
                }
                (Type::Bf16x2, 1) => {
                    row!(W_W, |a: u32| scale::<U, S>(a & 0xffff_0000) << 8
                        | scale::<U, S>(a << 16))
                }
                _ => return None,
            })
        })
    )
}

/// `cvt.rn.bf16x2.ue8m0x2`.
fn from_scale(form: &Form) -> Option<AluOp> {
    form.only(0)?;
    if form.ieee_rounding()? != Rounding::NearestEven {
        return None;
    }
    Some(row!(W_W, |a: u32| {
        pack([a, a >> 8].map(|code| match code as u8 {
            // 2^-127 is subnormal.
            0 => 0x0040,
            0xff => NAN,
            code => (code as u32) << 7,
        }))
    }))
}

/// `cvt.{rna,rn,rz}{.relu}{.satfinite}.tf32.f32`: the low 13 bits become zero.
fn tf32(form: &Form) -> Option<AluOp> {
    form.only(RELU | SATFINITE)?;
    let Mode::Float(rounding) = form.mode else {
        return None;
    };
    with_flag!(
        R = form.has(RELU),
        with_flag!(S = form.has(SATFINITE), {
            Some(match rounding {
                Rounding::NearestEven => {
                    row!(W_W, |a: u32| tf32_lane::<R, S>(a, 0x0fff + (a >> 13 & 1)))
                }
                Rounding::TowardZero => row!(W_W, |a: u32| tf32_lane::<R, S>(a, 0)),
                Rounding::NearestAway if !R => row!(W_W, tf32_away::<S>),
                _ => return None,
            })
        })
    )
}

/// The bits of `.tf32` in those of `.f32`.
const TF32: u32 = 0xffff_e000;

#[inline(always)]
fn is_nan(bits: u32) -> bool {
    bits & 0x7fff_ffff > 0x7f80_0000
}

/// `.rna`, for which there is no instruction: `ptxas` emits additions of integers. A NaN's
/// payload is cut, even to that of an infinity, and `.satfinite` takes one from the
/// last place of whatever is no number then.
#[inline(always)]
fn tf32_away<const FINITE: bool>(bits: u32) -> u32 {
    const INFINITY: u32 = 0x7f80_0000;
    let special = |code: u32| code & 0x7fff_ffff >= INFINITY;
    let half = if special(bits) { 0 } else { 0x1000 };
    let cut = bits.wrapping_add(half) & TF32;
    if FINITE && special(cut) {
        cut.wrapping_sub(0x2000)
    } else {
        cut
    }
}

/// Adds what rounds, and cuts.
#[inline(always)]
fn tf32_lane<const RELU: bool, const FINITE: bool>(bits: u32, add: u32) -> u32 {
    const INFINITY: u32 = 0x7f80_0000;
    const LARGEST: u32 = 0x7f7f_e000;
    let (sign, magnitude) = (bits & 0x8000_0000, bits & 0x7fff_ffff);
    let rounded = if magnitude < INFINITY {
        magnitude + add
    } else {
        magnitude
    } & TF32;
    let bounded = if FINITE && rounded >= INFINITY {
        LARGEST
    } else {
        rounded
    };
    let signed = if RELU && sign != 0 { 0 } else { sign | bounded };
    if is_nan(bits) { 0x7fff_e000 } else { signed }
}
