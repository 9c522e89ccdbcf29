//! `add`, `sub` and `fma` of `.f32` with `.f16` or `.bf16` operands (PTX ISA,
//! "Mixed Precision Floating-Point Instructions").

use super::super::half::Half;
use super::super::rounding::{Direction, saturate};
use super::single;

/// a + c.
#[inline(always)]
pub(super) fn add<H: Half, D: Direction, const SAT: bool>(a: u16, c: f32) -> f32 {
    saturate::<SAT>(single::add::<D, false>(H::widen(a as u32), c))
}

/// a − c.
#[inline(always)]
pub(super) fn sub<H: Half, D: Direction, const SAT: bool>(a: u16, c: f32) -> f32 {
    saturate::<SAT>(single::sub::<D, false>(H::widen(a as u32), c))
}

/// a · b + c.
#[inline(always)]
pub(super) fn fma<H: Half, D: Direction, const SAT: bool>(a: u16, b: u16, c: f32) -> f32 {
    saturate::<SAT>(single::fma::<D, false>(
        H::widen(a as u32),
        H::widen(b as u32),
        c,
    ))
}
