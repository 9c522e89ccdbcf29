//! Rounding to `.f32`, `.f16` and `.bf16` by way of `f64`, without branches.
//!
//! The exact sum or product of `f32` values, or an `f64` *rounded to odd* (the
//! last bit is set where digits were lost), holds all that one later rounding
//! to 24 bits or fewer has to know, whatever its direction: 53 ≥ 24 + 2
//! (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved
//! algorithms using rounding to odd", 2008). Every function here is straight-line code
//! on one lane, so that the loop over a row becomes SIMD code.
//!
//! # Flush to zero
//!
//! `.ftz` makes a result zero when it is below the smallest normal number
//! *after rounding to 24 bits with an exponent without bound*: this is what
//! `ptxas` folds constants to and the threshold in the code that it emits for
//! `cvt.ftz.f32.f64`; so 2^-126 · (1 − 2^-46) is not flushed, and
//! 2^-126 · (1 − 2^-24) is, though the subnormal rounding of both is 2^-126.

use super::exact::Rounding;

/// The NaN that single-precision hardware makes, whatever came in.
pub(super) const NAN: u32 = 0x7fff_ffff;

/// A rounding as a type.
pub(super) trait Direction {
    /// Which one.
    const ROUNDING: Rounding;
}

/// `.rn`.
pub(super) enum Rn {}
/// `.rz`.
pub(super) enum Rz {}
/// `.rm`.
pub(super) enum Rm {}
/// `.rp`.
pub(super) enum Rp {}

impl Direction for Rn {
    const ROUNDING: Rounding = Rounding::NearestEven;
}
impl Direction for Rz {
    const ROUNDING: Rounding = Rounding::TowardZero;
}
impl Direction for Rm {
    const ROUNDING: Rounding = Rounding::TowardNegative;
}
impl Direction for Rp {
    const ROUNDING: Rounding = Rounding::TowardPositive;
}

/// The canonical NaN for any NaN. By integer comparison: of floating-point
/// ones the compiler may assume that all NaN are as good.
#[inline(always)]
pub(super) fn canonical(value: f32) -> f32 {
    let bits = value.to_bits();
    let nan = bits & 0x7fff_ffff > 0x7f80_0000;
    f32::from_bits(if nan { NAN } else { bits })
}

/// Zero of the same sign for a subnormal number, if `FTZ`.
#[inline(always)]
pub(super) fn flush<const FTZ: bool>(value: f32) -> f32 {
    let bits = value.to_bits();
    if FTZ && value.abs() < f32::MIN_POSITIVE {
        f32::from_bits(bits & 0x8000_0000)
    } else {
        value
    }
}

/// `.sat`: into [+0, 1], NaN to +0, if `SAT`.
#[inline(always)]
pub(super) fn saturate<const SAT: bool>(value: f32) -> f32 {
    if !SAT {
        return value;
    }
    let above = if value > 0.0 { value } else { 0.0 };
    if above < 1.0 { above } else { 1.0 }
}

/// The sum of two numbers rounded to odd, or its special value. An exact zero has
/// the sign that `D` asks for. Neither the sum nor its error may overflow
/// or underflow, as none of sums and products of `f32` values does.
#[inline(always)]
pub(super) fn sum_to_odd<D: Direction>(x: f64, y: f64) -> f64 {
    let sum = x + y;
    // Knuth's TwoSum: the error is exact.
    let of_y = sum - x;
    let error = (x - (sum - of_y)) + (y - of_y);
    let bits = sum.to_bits();
    let opposite = (bits ^ error.to_bits()) >> 63;
    // NaN (where the sum is not finite) compares false.
    let odd = if error.abs() > 0.0 {
        (bits - opposite) | 1
    } else {
        bits
    };
    if D::ROUNDING == Rounding::TowardNegative && sum == 0.0 {
        let sign = (x.to_bits() | y.to_bits()) & (1 << 63);
        return f64::from_bits(sign);
    }
    f64::from_bits(odd)
}

/// A value that is exact or rounded to odd, rounded to `f32`.
#[inline(always)]
pub(super) fn to_single<D: Direction, const FTZ: bool>(value: f64) -> f32 {
    let nearest = value as f32;
    let bits = nearest.to_bits();
    let back = nearest as f64;
    let negative = bits >> 31;
    // One step toward zero is −1 and away from it +1, whatever the sign.
    let toward_negative = (negative << 1).wrapping_sub(1);
    let bits = match D::ROUNDING {
        Rounding::NearestEven | Rounding::NearestAway => bits,
        Rounding::TowardZero => bits.wrapping_sub((back.abs() > value.abs()) as u32),
        Rounding::TowardNegative => {
            bits.wrapping_add(if back > value { toward_negative } else { 0 })
        }
        Rounding::TowardPositive => {
            bits.wrapping_sub(if back < value { toward_negative } else { 0 })
        }
    };
    let tiny = FTZ && value.abs() < threshold::<D>(negative != 0);
    let bits = if tiny { bits & 0x8000_0000 } else { bits };
    canonical(f32::from_bits(bits))
}

/// The magnitude below which `.ftz` makes a result zero. See the module's page.
#[inline(always)]
fn threshold<D: Direction>(negative: bool) -> f64 {
    const NEAREST: f64 = f64::from_bits(0x380f_ffff_f000_0000);
    const TOWARD_ZERO: f64 = f64::from_bits(0x3810_0000_0000_0000);
    const AWAY: f64 = f64::from_bits(0x380f_ffff_e000_0001);
    match D::ROUNDING {
        Rounding::NearestEven | Rounding::NearestAway => NEAREST,
        Rounding::TowardZero => TOWARD_ZERO,
        Rounding::TowardNegative => {
            if negative {
                AWAY
            } else {
                TOWARD_ZERO
            }
        }
        Rounding::TowardPositive => {
            if negative {
                TOWARD_ZERO
            } else {
                AWAY
            }
        }
    }
}

/// A value that is exact or rounded to odd, rounded to odd in 24 bits: the
/// bits of an `f32`, or those of some NaN.
#[inline(always)]
pub(super) fn to_single_odd(value: f64) -> u32 {
    let nearest = value as f32;
    let back = nearest as f64;
    let truncated = nearest
        .to_bits()
        .wrapping_sub((back.abs() > value.abs()) as u32);
    // Where the conversion was exact nothing is lost. NaN stays NaN either way.
    if back != value {
        truncated | 1
    } else {
        truncated
    }
}
