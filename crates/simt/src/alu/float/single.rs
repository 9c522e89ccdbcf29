//! Lane functions of `.f32`: `add`, `sub`, `mul`, `fma`, `div`, `rcp`, `sqrt` in every
//! rounding, `neg`, `abs`, `min`, `max`.
//!
//! To nearest, the host's own operations are used; the other directions, and
//! `fma`, go through `f64` (see [`rounding`](super::super::rounding)). A NaN result is always
//! `0x7fffffff`.
//!
//! Quotients and square roots need no rounding to odd: a quotient or root of
//! 24-bit numbers that is not itself a 24-bit number differs from every one by
//! more than 2^-49 of itself, so that its rounding to 53 bits lies on the same side.

use super::super::exact::Rounding;
use super::super::order::{self, Layout};
use super::super::rounding::{Direction, canonical, flush, sum_to_odd, to_single};

const LAYOUT: Layout<u32> = Layout {
    infinity: 0x7f80_0000,
};
const NAN: u32 = 0x7fff_ffff;

#[inline(always)]
fn nearest<D: Direction>() -> bool {
    D::ROUNDING == Rounding::NearestEven
}

/// a + b.
#[inline(always)]
pub(in super::super) fn add<D: Direction, const FTZ: bool>(a: f32, b: f32) -> f32 {
    let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
    if nearest::<D>() {
        // A sum below the normal numbers is exact.
        flush::<FTZ>(canonical(a + b))
    } else {
        to_single::<D, FTZ>(sum_to_odd::<D>(a as f64, b as f64))
    }
}

/// a − b.
#[inline(always)]
pub(in super::super) fn sub<D: Direction, const FTZ: bool>(a: f32, b: f32) -> f32 {
    add::<D, FTZ>(a, -b)
}

/// a · b.
#[inline(always)]
pub(in super::super) fn mul<D: Direction, const FTZ: bool>(a: f32, b: f32) -> f32 {
    const UP: f32 = (1u128 << 64) as f32;
    const TINY: f32 = 1.0 / (1u64 << 62) as f32;
    let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
    if nearest::<D>() {
        let product = canonical(a * b);
        // The product with 24 bits whatever its exponent. What overflows here is not tiny.
        let tiny = FTZ && (a * UP * b).abs() < TINY;
        if tiny {
            f32::from_bits(product.to_bits() & 0x8000_0000)
        } else {
            product
        }
    } else {
        to_single::<D, FTZ>(a as f64 * b as f64)
    }
}

/// a · b + c, rounded once.
#[inline(always)]
pub(in super::super) fn fma<D: Direction, const FTZ: bool>(a: f32, b: f32, c: f32) -> f32 {
    let (a, b, c) = (flush::<FTZ>(a), flush::<FTZ>(b), flush::<FTZ>(c));
    to_single::<D, FTZ>(sum_to_odd::<D>(a as f64 * b as f64, c as f64))
}

/// a · b + c to nearest, for processors with that instruction, and whether [`fma`] has to look at it: a result
/// around the smallest normal number is flushed or not by what it was before rounding.
#[inline(always)]
pub(super) fn fused<const FTZ: bool>(a: f32, b: f32, c: f32) -> (f32, bool) {
    let (a, b, c) = (flush::<FTZ>(a), flush::<FTZ>(b), flush::<FTZ>(c));
    let result = a.mul_add(b, c);
    let tiny = FTZ && result != 0.0 && result.abs() <= f32::MIN_POSITIVE;
    (canonical(result), tiny)
}

/// a / b.
#[inline(always)]
pub(in super::super) fn div<D: Direction, const FTZ: bool>(a: f32, b: f32) -> f32 {
    let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
    if nearest::<D>() && !FTZ {
        canonical(a / b)
    } else {
        to_single::<D, FTZ>(a as f64 / b as f64)
    }
}

/// 1 / a.
#[inline(always)]
pub(in super::super) fn rcp<D: Direction, const FTZ: bool>(a: f32) -> f32 {
    div::<D, FTZ>(1.0, a)
}

/// √a.
#[inline(always)]
pub(in super::super) fn sqrt<D: Direction, const FTZ: bool>(a: f32) -> f32 {
    let a = flush::<FTZ>(a);
    if nearest::<D>() {
        canonical(a.sqrt())
    } else {
        to_single::<D, FTZ>((a as f64).sqrt())
    }
}

/// −a.
#[inline(always)]
pub(super) fn neg<const FTZ: bool>(a: f32) -> f32 {
    canonical(-flush::<FTZ>(a))
}

/// |a|.
#[inline(always)]
pub(super) fn abs<const FTZ: bool>(a: f32) -> f32 {
    canonical(flush::<FTZ>(a).abs())
}

#[inline(always)]
fn flushed<const FTZ: bool>(code: u32) -> u32 {
    flush::<FTZ>(f32::from_bits(code)).to_bits()
}

/// `min` and `max` (`MAX`).
#[inline(always)]
pub(super) fn pick<const MAX: bool, const FTZ: bool, const NANS: bool>(a: u32, b: u32) -> u32 {
    order::single::pick::<MAX, NANS>(flushed::<FTZ>(a), flushed::<FTZ>(b), NAN, LAYOUT)
}

/// `min.xorsign.abs` and `max.xorsign.abs`.
#[inline(always)]
pub(super) fn pick_xorsign<const MAX: bool, const FTZ: bool, const NANS: bool>(
    a: u32,
    b: u32,
) -> u32 {
    order::pick_xorsign::<MAX, NANS>(flushed::<FTZ>(a), flushed::<FTZ>(b), NAN, LAYOUT)
}

/// `min` and `max` of three, of their magnitudes if `ABS`.
#[inline(always)]
pub(super) fn pick3<const MAX: bool, const FTZ: bool, const NANS: bool, const ABS: bool>(
    a: u32,
    b: u32,
    c: u32,
) -> u32 {
    let mask = if ABS { 0x7fff_ffff } else { !0 };
    let first = pick::<MAX, FTZ, NANS>(a & mask, b & mask);
    pick::<MAX, FTZ, NANS>(first, c & mask)
}
