//! Lane functions of `.f64`.
//!
//! To nearest, the host's operations; otherwise the exact ones of
//! [`exact`](super::super::exact). NaN operands are kept: the result is one of
//! them, quieted (which one: [`ARITHMETIC`], [`QUOTIENT`]), and an invalid operation
//! gives `0xfff8000000000000`.

use super::super::Row64;
use super::super::exact::{self, F64, Rounding, Value};
use super::super::order::{self, Layout};
use super::super::rounding::Direction;
use crate::simd::{Work, at_best};
use std::marker::PhantomData;

const LAYOUT: Layout<u64> = Layout {
    infinity: 0x7ff0_0000_0000_0000,
};
const QUIET: u64 = 0x0008_0000_0000_0000;
const INVALID: u64 = 0xfff8_0000_0000_0000;

#[inline(always)]
fn is_nan(bits: u64) -> bool {
    bits & !(1 << 63) > LAYOUT.infinity
}

/// The order in which operands are looked at for a NaN to keep: the second, the
/// third, the first, as the H200's `DADD`, `DMUL` and `DFMA` do.
pub(super) const ARITHMETIC: [usize; 3] = [1, 2, 0];
/// The order for `div`: the first, the second. The code that `ptxas` emits does so.
pub(super) const QUOTIENT: [usize; 3] = [0, 1, 2];

/// The result of an operation, NaN settled. By integer comparison: of floating-point
/// ones the compiler may assume that all NaN are as good.
#[inline(always)]
fn settle<const N: usize>(operands: [f64; N], result: f64, order: [usize; 3]) -> f64 {
    let bits = result.to_bits();
    let mut settled = if is_nan(bits) { INVALID } else { bits };
    for operand in order.into_iter().rev().filter_map(|i| operands.get(i)) {
        let bits = operand.to_bits();
        settled = if is_nan(bits) { bits | QUIET } else { settled };
    }
    f64::from_bits(settled)
}

/// Applies a function to rows of `N` operands. NaN results are settled in a
/// second pass, which few rows need.
#[inline(always)]
pub(super) fn rows<const N: usize>(
    operands: [&Row64; N],
    results: &mut Row64,
    order: [usize; 3],
    function: impl Fn([f64; N]) -> f64,
) {
    let lane = |i: usize| operands.map(|row| f64::from_bits(row[i]));
    let mut any_nan = false;
    for (i, slot) in results.iter_mut().enumerate() {
        let result = function(lane(i));
        *slot = result.to_bits();
        any_nan |= result.is_nan();
    }
    if any_nan {
        settle_rows(operands, results, order);
    }
}

#[cold]
#[inline(never)]
fn settle_rows<const N: usize>(operands: [&Row64; N], results: &mut Row64, order: [usize; 3]) {
    for (i, slot) in results.iter_mut().enumerate() {
        let lane = operands.map(|row| f64::from_bits(row[i]));
        *slot = settle(lane, f64::from_bits(*slot), order).to_bits();
    }
}

/// Rows of [`fma`], by the processor's own instruction where it has one.
pub(super) fn fma_rows<D: Direction>(operands: [&Row64; 3], results: &mut Row64) {
    struct Fma<'r, D>([&'r Row64; 3], &'r mut Row64, PhantomData<D>);
    impl<D: Direction> Work for Fma<'_, D> {
        type Output = ();
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            rows(self.0, self.1, ARITHMETIC, |[a, b, c]| fma::<D>(a, b, c));
        }
    }
    at_best(Fma::<D>(operands, results, PhantomData));
}

/// Results of arithmetic, NaN settled.
#[cold]
#[inline(never)]
pub(crate) fn settled<const N: usize>(operands: [&Row64; N], mut results: Row64) -> Row64 {
    settle_rows(operands, &mut results, ARITHMETIC);
    results
}

#[inline(always)]
fn nearest<D: Direction>() -> bool {
    D::ROUNDING == Rounding::NearestEven
}

fn unpack(value: f64) -> Value {
    F64.unpack(value.to_bits())
}

fn pack(value: Value, rounding: Rounding) -> f64 {
    f64::from_bits(F64.pack(value, rounding))
}

#[inline(never)]
fn exact_add(a: f64, b: f64, rounding: Rounding) -> f64 {
    pack(exact::add(unpack(a), unpack(b), rounding), rounding)
}

#[inline(never)]
fn exact_mul(a: f64, b: f64, rounding: Rounding) -> f64 {
    pack(exact::multiply(unpack(a), unpack(b)), rounding)
}

#[inline(never)]
fn exact_fma(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    let product = exact::multiply(unpack(a), unpack(b));
    pack(exact::add(product, unpack(c), rounding), rounding)
}

#[inline(never)]
fn exact_div(a: f64, b: f64, rounding: Rounding) -> f64 {
    pack(exact::divide(unpack(a), unpack(b)), rounding)
}

#[inline(never)]
fn exact_sqrt(a: f64, rounding: Rounding) -> f64 {
    pack(exact::square_root(unpack(a)), rounding)
}

/// −a. A NaN is only quieted, its sign too stays: it is the sum −0 − a.
#[inline(always)]
pub(super) fn neg(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a ^ (1 << 63) }
}

/// |a|. NaN as for [`neg`].
#[inline(always)]
pub(super) fn abs(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a & !(1 << 63) }
}

/// The sum that an atomic operation leaves in memory. In shared memory it is made by a
/// loop around `DADD`, which keeps the word's NaN before the operand's; the unit at global memory
/// keeps the operand's before the word's, and does not quiet it.
pub(super) fn atomic_add(word: f64, operand: f64, shared: bool) -> f64 {
    let order = if shared { [0, 1, 2] } else { [1, 0, 2] };
    let sum = settle([word, operand], word + operand, order);
    let kept = [operand, word].into_iter().find(|x| is_nan(x.to_bits()));
    match kept {
        Some(nan) if !shared => nan,
        _ => sum,
    }
}

/// a + b.
#[inline(always)]
pub(super) fn add<D: Direction>(a: f64, b: f64) -> f64 {
    if nearest::<D>() {
        a + b
    } else {
        exact_add(a, b, D::ROUNDING)
    }
}

/// a − b.
#[inline(always)]
pub(super) fn sub<D: Direction>(a: f64, b: f64) -> f64 {
    if nearest::<D>() {
        a - b
    } else {
        exact_add(a, -b, D::ROUNDING)
    }
}

/// a · b.
#[inline(always)]
pub(super) fn mul<D: Direction>(a: f64, b: f64) -> f64 {
    if nearest::<D>() {
        a * b
    } else {
        exact_mul(a, b, D::ROUNDING)
    }
}

/// a · b + c, rounded once.
#[inline(always)]
pub(super) fn fma<D: Direction>(a: f64, b: f64, c: f64) -> f64 {
    if nearest::<D>() {
        a.mul_add(b, c)
    } else {
        exact_fma(a, b, c, D::ROUNDING)
    }
}

/// a / b.
#[inline(always)]
pub(super) fn div<D: Direction>(a: f64, b: f64) -> f64 {
    if nearest::<D>() {
        a / b
    } else {
        exact_div(a, b, D::ROUNDING)
    }
}

/// 1 / a.
#[inline(always)]
pub(super) fn rcp<D: Direction>(a: f64) -> f64 {
    div::<D>(1.0, a)
}

/// √a.
#[inline(always)]
pub(super) fn sqrt<D: Direction>(a: f64) -> f64 {
    if nearest::<D>() {
        a.sqrt()
    } else {
        exact_sqrt(a, D::ROUNDING)
    }
}

/// `min` and `max` (`MAX`). Of two NaN the second one, quieted, as the code
/// that `ptxas` emits has it.
#[inline(always)]
pub(super) fn pick<const MAX: bool>(a: u64, b: u64) -> u64 {
    order::double::pick::<MAX, false>(a, b, b | QUIET, LAYOUT)
}

/// `rsqrt.approx.f64`.
pub(super) fn rsqrt(a: f64) -> f64 {
    1.0 / a.sqrt()
}

/// Inputs and results of the two `.approx.ftz.f64` operations: the upper words alone,
/// subnormals flushed, NaN canonical.
fn upper_words(a: f64, operation: impl Fn(f64) -> f64) -> f64 {
    const NAN: u64 = 0x7fff_ffff_0000_0000;
    const UPPER: u64 = 0xffff_ffff_0000_0000;
    const SIGN: u64 = 1 << 63;
    let flush = |value: f64| {
        if value.is_subnormal() {
            value.to_bits() & SIGN
        } else {
            value.to_bits() & UPPER
        }
    };
    // NaN of the lower word alone must not pass for an infinity.
    if a.is_nan() {
        return f64::from_bits(NAN);
    }
    let result = operation(f64::from_bits(flush(a)));
    f64::from_bits(if result.is_nan() { NAN } else { flush(result) })
}

/// `rcp.approx.ftz.f64`.
pub(super) fn rcp_approx(a: f64) -> f64 {
    upper_words(a, |a| 1.0 / a)
}

/// `rsqrt.approx.ftz.f64`.
pub(super) fn rsqrt_approx(a: f64) -> f64 {
    upper_words(a, |a| 1.0 / a.sqrt())
}
