//! Lane functions of `.f16` and `.bf16`, on their codes: 16 bits in a `u32`, the
//! upper ones zero, since SIMD code is better for lanes of one width.
//!
//! Operands are widened exactly and the operation is done in `f32` where its rounding
//! does no harm, or else in `f64` rounded to odd (see
//! [`rounding`](super::super::rounding)); then the result is narrowed. All of it is
//! straight-line code.

use super::super::order::{self, Layout};
use super::super::rounding::{Rn, sum_to_odd, to_single_odd};

/// The NaN of both formats that the hardware makes.
pub(in super::super) const NAN: u32 = 0x7fff;
const SIGN: u32 = 0x8000;

/// A 16-bit format.
pub(in super::super) trait Half {
    /// The code of +∞.
    const INFINITY: u32;
    /// The code of 1.
    const ONE: u32;
    /// A result of smaller magnitude is flushed by `.ftz`: what rounds, with an
    /// unbounded exponent, below the smallest normal number.
    const TINY: f64;
    /// Whether the product of any two numbers is an `f32`, exactly.
    const PRODUCTS_FIT: bool;
    /// The value of a code. NaN stays NaN: of `.f16` the canonical one, of `.bf16`
    /// that of the same bits.
    fn widen(code: u32) -> f32;
    /// The nearest code, ties to even, for the bits of an `f32` that is exact or
    /// rounded to odd.
    fn narrow(bits: u32) -> u32;
}

/// `.f16`.
pub(in super::super) enum F16 {}
/// `.bf16`.
pub(in super::super) enum Bf16 {}

impl Half for F16 {
    const INFINITY: u32 = 0x7c00;
    const ONE: u32 = 0x3c00;
    // 2^-14 · (1 − 2^-12).
    const TINY: f64 = f64::from_bits(0x3f0f_fe00_0000_0000);
    const PRODUCTS_FIT: bool = true;

    #[inline(always)]
    fn widen(code: u32) -> f32 {
        let magnitude = code & !SIGN;
        let sign = (code & SIGN) << 16;
        // The fraction with the exponent of 2^-14 one too high: subtracting 2^-14
        // leaves exactly the subnormal number.
        let subnormal = f32::from_bits(magnitude << 13 | 0x3880_0000) - f32::from_bits(0x3880_0000);
        let normal = (magnitude << 13) + ((127 - 15) << 23);
        let bits = if magnitude < 0x0400 {
            subnormal.to_bits()
        } else {
            normal
        };
        let bits = if magnitude >= 0x7c00 {
            0x7f80_0000
        } else {
            bits
        } | sign;
        f32::from_bits(if magnitude > 0x7c00 {
            0x7fff_ffff
        } else {
            bits
        })
    }

    #[inline(always)]
    fn narrow(bits: u32) -> u32 {
        let magnitude = bits & 0x7fff_ffff;
        let sign = bits >> 16 & SIGN;
        // Adding 0.5, whose last place is 2^-24, rounds to a multiple of that.
        let subnormal = (f32::from_bits(magnitude) + 0.5)
            .to_bits()
            .wrapping_sub(0x3f00_0000);
        let even = magnitude >> 13 & 1;
        let normal = magnitude
            .wrapping_sub((127 - 15) << 23)
            .wrapping_add(0xfff + even)
            >> 13;
        let code = if magnitude < 0x3880_0000 {
            subnormal
        } else {
            normal
        };
        let code = if magnitude >= 0x4780_0000 {
            Self::INFINITY
        } else {
            code
        };
        if magnitude > 0x7f80_0000 {
            NAN
        } else {
            code | sign
        }
    }
}

impl Half for Bf16 {
    const INFINITY: u32 = 0x7f80;
    const ONE: u32 = 0x3f80;
    // 2^-126 · (1 − 2^-9).
    const TINY: f64 = f64::from_bits(0x380f_f000_0000_0000);
    // Not the smallest ones.
    const PRODUCTS_FIT: bool = false;

    #[inline(always)]
    fn widen(code: u32) -> f32 {
        f32::from_bits(code << 16)
    }

    #[inline(always)]
    fn narrow(bits: u32) -> u32 {
        let even = bits >> 16 & 1;
        let rounded = bits.wrapping_add(0x7fff + even) >> 16;
        if bits & 0x7fff_ffff > 0x7f80_0000 {
            NAN
        } else {
            rounded
        }
    }
}

/// The nearest code for a value that is exact or rounded to odd.
#[inline(always)]
pub(in super::super) fn narrow_double<H: Half>(value: f64) -> u32 {
    H::narrow(to_single_odd(value))
}

#[inline(always)]
fn is_nan<H: Half>(code: u32) -> bool {
    code & !SIGN > H::INFINITY
}

/// The canonical NaN for any NaN.
#[inline(always)]
pub(in super::super) fn settle<H: Half>(code: u32) -> u32 {
    if is_nan::<H>(code) { NAN } else { code }
}

/// Zero of the same sign for a subnormal number, if `FTZ`.
#[inline(always)]
fn flush<H: Half, const FTZ: bool>(code: u32) -> u32 {
    if FTZ && code & H::INFINITY == 0 {
        code & SIGN
    } else {
        code
    }
}

/// Narrows a result of `f64`, flushing it if `FTZ`.
#[inline(always)]
fn finish<H: Half, const FTZ: bool>(value: f64) -> u32 {
    let code = narrow_double::<H>(value);
    let tiny = FTZ && value.abs() < H::TINY;
    if tiny { code & SIGN } else { code }
}

/// Narrows a result of `f32`, flushing it if `FTZ`.
#[inline(always)]
fn finish_single<H: Half, const FTZ: bool>(value: f32) -> u32 {
    let code = H::narrow(value.to_bits());
    let tiny = FTZ && value.abs() < H::TINY as f32;
    if tiny { code & SIGN } else { code }
}

/// `.sat`: into [+0, 1], NaN to +0, if `SAT`.
#[inline(always)]
pub(in super::super) fn saturate<H: Half, const SAT: bool>(code: u32) -> u32 {
    let none = is_nan::<H>(code) || code & SIGN != 0;
    let capped = if code > H::ONE { H::ONE } else { code };
    match SAT {
        true if none => 0,
        true => capped,
        false => code,
    }
}

/// `.relu`: what is negative to +0, NaN canonical, if `RELU`.
#[inline(always)]
pub(in super::super) fn relu<H: Half, const RELU: bool>(code: u32) -> u32 {
    if !RELU {
        code
    } else if is_nan::<H>(code) {
        NAN
    } else if code & SIGN != 0 {
        0
    } else {
        code
    }
}

#[inline(always)]
fn operand<H: Half, const FTZ: bool>(code: u32) -> f32 {
    H::widen(flush::<H, FTZ>(code))
}

/// a + b. A sum that is rounded to 24 bits and then to 11 or 8 is as if it had been
/// rounded once, since 24 ≥ 2 · 11 + 2; what is subnormal in either format is exact.
#[inline(always)]
pub(super) fn add<H: Half, const FTZ: bool>(a: u32, b: u32) -> u32 {
    finish_single::<H, FTZ>(operand::<H, FTZ>(a) + operand::<H, FTZ>(b))
}

/// a − b.
#[inline(always)]
pub(super) fn sub<H: Half, const FTZ: bool>(a: u32, b: u32) -> u32 {
    add::<H, FTZ>(a, b ^ SIGN)
}

/// a · b.
#[inline(always)]
pub(super) fn mul<H: Half, const FTZ: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (operand::<H, FTZ>(a), operand::<H, FTZ>(b));
    if H::PRODUCTS_FIT {
        finish_single::<H, FTZ>(a * b)
    } else {
        finish::<H, FTZ>(a as f64 * b as f64)
    }
}

/// a · b + c, rounded once.
#[inline(always)]
pub(super) fn fma<H: Half, const FTZ: bool>(a: u32, b: u32, c: u32) -> u32 {
    let product = operand::<H, FTZ>(a) as f64 * operand::<H, FTZ>(b) as f64;
    finish::<H, FTZ>(sum_to_odd::<Rn>(product, operand::<H, FTZ>(c) as f64))
}

/// −a.
#[inline(always)]
pub(super) fn neg<H: Half, const FTZ: bool>(a: u32) -> u32 {
    if is_nan::<H>(a) {
        NAN
    } else {
        flush::<H, FTZ>(a) ^ SIGN
    }
}

/// |a|.
#[inline(always)]
pub(super) fn abs<H: Half, const FTZ: bool>(a: u32) -> u32 {
    if is_nan::<H>(a) {
        NAN
    } else {
        flush::<H, FTZ>(a) & !SIGN
    }
}

/// The order of `.f32`, to which a code's upper half belongs.
const fn layout<H: Half>() -> Layout<u32> {
    Layout {
        infinity: H::INFINITY << 16,
    }
}

#[inline(always)]
fn raised<H: Half, const FTZ: bool>(code: u32) -> u32 {
    flush::<H, FTZ>(code) << 16
}

/// `min` and `max` (`MAX`).
#[inline(always)]
pub(super) fn pick<H: Half, const MAX: bool, const FTZ: bool, const NANS: bool>(
    a: u32,
    b: u32,
) -> u32 {
    let (a, b) = (raised::<H, FTZ>(a), raised::<H, FTZ>(b));
    order::single::pick::<MAX, NANS>(a, b, NAN << 16, layout::<H>()) >> 16
}

/// `min.xorsign.abs` and `max.xorsign.abs`.
#[inline(always)]
pub(super) fn pick_xorsign<H: Half, const MAX: bool, const FTZ: bool, const NANS: bool>(
    a: u32,
    b: u32,
) -> u32 {
    let (a, b) = (raised::<H, FTZ>(a), raised::<H, FTZ>(b));
    order::pick_xorsign::<MAX, NANS>(a, b, NAN << 16, layout::<H>()) >> 16
}

/// `tanh.approx`.
pub(super) fn tanh<H: Half>(a: u32) -> u32 {
    narrow_double::<H>((H::widen(a) as f64).tanh())
}

/// `ex2.approx`.
pub(super) fn ex2<H: Half, const FTZ: bool>(a: u32) -> u32 {
    finish::<H, FTZ>((operand::<H, FTZ>(a) as f64).exp2())
}
