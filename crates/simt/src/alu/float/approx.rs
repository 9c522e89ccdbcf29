//! Lane functions of the approximate `.f32` instructions.
//!
//! The manual states the largest error and the results for special inputs. Each
//! function here computes in `f64` and rounds to nearest, so its error is
//! about half a unit in the last place: within every stated bound, though not
//! the hardware's own bits.

use super::super::rounding::{Rn, canonical, flush, to_single};
use super::single;

/// A function of `f64` as one of `f32`, subnormals flushed if `FTZ`.
#[inline(always)]
fn through_double<const FTZ: bool>(a: f32, function: impl Fn(f64) -> f64) -> f32 {
    to_single::<Rn, FTZ>(function(flush::<FTZ>(a) as f64))
}

/// `rcp.approx`.
pub(super) fn rcp<const FTZ: bool>(a: f32) -> f32 {
    single::rcp::<Rn, FTZ>(a)
}

/// `sqrt.approx`.
pub(super) fn sqrt<const FTZ: bool>(a: f32) -> f32 {
    single::sqrt::<Rn, FTZ>(a)
}

/// `rsqrt.approx`.
pub(super) fn rsqrt<const FTZ: bool>(a: f32) -> f32 {
    through_double::<FTZ>(a, |a| 1.0 / a.sqrt())
}

/// `sin.approx`.
pub(super) fn sin<const FTZ: bool>(a: f32) -> f32 {
    through_double::<FTZ>(a, f64::sin)
}

/// `cos.approx`.
pub(super) fn cos<const FTZ: bool>(a: f32) -> f32 {
    through_double::<FTZ>(a, f64::cos)
}

/// `lg2.approx`.
pub(super) fn lg2<const FTZ: bool>(a: f32) -> f32 {
    through_double::<FTZ>(a, f64::log2)
}

/// `ex2.approx`.
pub(super) fn ex2<const FTZ: bool>(a: f32) -> f32 {
    through_double::<FTZ>(a, f64::exp2)
}

/// `tanh.approx`.
pub(super) fn tanh(a: f32) -> f32 {
    through_double::<false>(a, f64::tanh)
}

/// `div.approx`: a · (1/b), whose reciprocal is zero for |b| > 2^126.
pub(super) fn div<const FTZ: bool>(a: f32, b: f32) -> f32 {
    const LARGE: f32 = f32::from_bits(0x7e80_0000);
    if b.abs() > LARGE {
        return canonical(a * 0f32.copysign(b));
    }
    single::div::<Rn, FTZ>(a, b)
}

/// `div.full`.
pub(super) fn div_full<const FTZ: bool>(a: f32, b: f32) -> f32 {
    single::div::<Rn, FTZ>(a, b)
}
