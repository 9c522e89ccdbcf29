//! Single and double precision (PTX ISA, "Floating-Point Instructions" and "Mixed
//! Precision Floating-Point Instructions").
//!
//! Operations with a rounding are bit-exact; approximate ones are within the
//! manual's bounds. Subnormal numbers count unless `.ftz` flushes them.
//!
//! # NaN
//!
//! The manual ("Floating-Point Instructions") has `.f64` keep NaN payloads, except in the two `.approx.ftz`
//! instructions, and `.f32` give some NaN. Which payload stays of several, it does not say. Here is what an H200 does (CUDA
//! 13.0; `tests/conformance/h200` has its results):
//!
//! * every `.f32` NaN result is `0x7fffffff`, that of `neg` and `abs` too (they
//!   compile to an addition);
//! * `.f64`: an invalid operation gives `0xfff8000000000000`. A NaN operand is kept, quieted: the second before the third
//!   before the first, in `div` the first. `min` and `max` of two NaN keep the second. `neg` and `abs` leave
//!   a NaN's sign, though the manual passes it "through unchanged".
//!
//! This is so where `ptxas` translates an instruction as it stands. It may exchange the factors of a product, make
//! `min` of a register with itself a move, or `neg` and `abs` under a guard an operation on the sign's bit: then another
//! NaN comes out, which PTX allows and nothing here can foresee.
//!
//! # What else the manual leaves open
//!
//! As the H200 has it, too:
//!
//! * `.ftz` decides after rounding with an unbounded exponent for `add`, `mul`, `fma` and
//!   `div` (`ptxas` folds `mul.ftz` and converts `cvt.ftz` so);
//! * `.sat` makes −0 into +0 (`ptxas` folds it so);
//! * `div.approx` with a subnormal divisor and no `.ftz` is exact to 2 ulp, as
//!   the code is that `ptxas` emits.
//!
//! The bits of approximate results are not the hardware's.

mod approx;
pub(crate) mod double;
mod mixed;
pub(super) mod single;
#[cfg(test)]
mod tests;

use super::AluOp;
use super::exact::Rounding;
use super::form::{ABS, FTZ, Form, Mode, NAN, SAT, Type, XORSIGN, with_flag, with_rounding};
use super::half::{Bf16, F16};
use super::rounding::saturate;
use super::rows::{fused3, row};
use ptx::semantics::{Modifier, Opcode};

/// See [`super::lookup`].
pub fn lookup(opcode: &Opcode, modifiers: &[Modifier], operands: usize) -> Option<AluOp> {
    let inputs = match opcode {
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Div | Opcode::Copysign => 2,
        Opcode::Fma | Opcode::Mad => 3,
        Opcode::Min | Opcode::Max => operands.checked_sub(1).filter(|n| matches!(n, 2 | 3))?,
        Opcode::Neg
        | Opcode::Abs
        | Opcode::Rcp
        | Opcode::Sqrt
        | Opcode::Rsqrt
        | Opcode::Sin
        | Opcode::Cos
        | Opcode::Lg2
        | Opcode::Ex2
        | Opcode::Tanh => 1,
        _ => return None,
    };
    if operands != inputs + 1 {
        return None;
    }
    let form = Form::parse(modifiers)?;
    match form.types() {
        (Some(Type::F32), None, None) => single(opcode, &form, inputs),
        (Some(Type::F32), Some(Type::F16), None) => mixed(opcode, &form, false),
        (Some(Type::F32), Some(Type::Bf16), None) => mixed(opcode, &form, true),
        (Some(Type::F32x2), None, None) => pairs(opcode, &form),
        (Some(Type::F64), None, None) => double(opcode, &form, inputs),
        _ => None,
    }
}

/// The `.f64` that `atom.add` or `red.add` leaves in a word of global or `shared` memory.
pub(crate) fn atomic_add(word: f64, operand: f64, shared: bool) -> f64 {
    double::atomic_add(word, operand, shared)
}

/// `.f32`.
fn single(opcode: &Opcode, form: &Form, inputs: usize) -> Option<AluOp> {
    let ftz = form.has(FTZ);
    match opcode {
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Fma | Opcode::Mad => {
            form.only(FTZ | SAT)?;
            arithmetic(opcode, form)
        }
        Opcode::Min | Opcode::Max => minimum_maximum(opcode, form, inputs),
        Opcode::Copysign => {
            form.only(0)?;
            unrounded(form)?;
            Some(row!(WW_W, |a: f32, b: f32| b.copysign(a)))
        }
        Opcode::Neg => {
            form.only(FTZ)?;
            unrounded(form)?;
            with_flag!(F = ftz, Some(row!(W_W, |a: f32| single::neg::<F>(a))))
        }
        Opcode::Abs => {
            form.only(FTZ)?;
            unrounded(form)?;
            with_flag!(F = ftz, Some(row!(W_W, |a: f32| single::abs::<F>(a))))
        }
        _ => {
            form.only(FTZ)?;
            match form.mode {
                Mode::Approximate => approximate(opcode, ftz),
                Mode::Full if *opcode == Opcode::Div => {
                    with_flag!(
                        F = ftz,
                        Some(row!(WW_W, |a: f32, b: f32| approx::div_full::<F>(a, b)))
                    )
                }
                Mode::Float(_) => quotient_or_root(opcode, form),
                _ => None,
            }
        }
    }
}

/// Something if no rounding is given.
fn unrounded(form: &Form) -> Option<()> {
    (form.mode == Mode::Default).then_some(())
}

/// `add`, `sub`, `mul`, `fma`, `mad` of `.f32`.
fn arithmetic(opcode: &Opcode, form: &Form) -> Option<AluOp> {
    let rounding = match opcode {
        Opcode::Fma => form.ieee_rounding()?,
        // `mad` without a rounding is legacy for `mad.rn`.
        _ => form.rounding_or_nearest()?,
    };
    with_rounding!(
        D = rounding,
        with_flag!(
            F = form.has(FTZ),
            with_flag!(S = form.has(SAT), {
                Some(match opcode {
                    Opcode::Add => row!(WW_W, |a: f32, b: f32| saturate::<S>(single::add::<D, F>(
                        a, b
                    ))),
                    Opcode::Sub => row!(WW_W, |a: f32, b: f32| saturate::<S>(single::sub::<D, F>(
                        a, b
                    ))),
                    Opcode::Mul => row!(WW_W, |a: f32, b: f32| saturate::<S>(single::mul::<D, F>(
                        a, b
                    ))),
                    _ if rounding == Rounding::NearestEven => AluOp::WWW_W(|a, b, c, d| {
                        fused3(
                            [a, b, c],
                            d,
                            |a: f32, b, c| saturate::<S>(single::fma::<D, F>(a, b, c)),
                            |a, b, c| {
                                let (result, tiny) = single::fused::<F>(a, b, c);
                                (saturate::<S>(result), tiny)
                            },
                        );
                    }),
                    _ => row!(WWW_W, |a: f32, b: f32, c: f32| {
                        saturate::<S>(single::fma::<D, F>(a, b, c))
                    }),
                })
            })
        )
    )
}

/// `div`, `rcp`, `sqrt` of `.f32` with a rounding.
fn quotient_or_root(opcode: &Opcode, form: &Form) -> Option<AluOp> {
    with_rounding!(
        D = form.ieee_rounding()?,
        with_flag!(F = form.has(FTZ), {
            Some(match opcode {
                Opcode::Div => row!(WW_W, |a: f32, b: f32| single::div::<D, F>(a, b)),
                Opcode::Rcp => row!(W_W, |a: f32| single::rcp::<D, F>(a)),
                Opcode::Sqrt => row!(W_W, |a: f32| single::sqrt::<D, F>(a)),
                _ => return None,
            })
        })
    )
}

/// `.approx` of `.f32`.
fn approximate(opcode: &Opcode, ftz: bool) -> Option<AluOp> {
    with_flag!(F = ftz, {
        Some(match opcode {
            Opcode::Div => row!(WW_W, |a: f32, b: f32| approx::div::<F>(a, b)),
            Opcode::Rcp => row!(W_W, |a: f32| approx::rcp::<F>(a)),
            Opcode::Sqrt => row!(W_W, |a: f32| approx::sqrt::<F>(a)),
            Opcode::Rsqrt => row!(W_W, |a: f32| approx::rsqrt::<F>(a)),
            Opcode::Sin => row!(W_W, |a: f32| approx::sin::<F>(a)),
            Opcode::Cos => row!(W_W, |a: f32| approx::cos::<F>(a)),
            Opcode::Lg2 => row!(W_W, |a: f32| approx::lg2::<F>(a)),
            Opcode::Ex2 => row!(W_W, |a: f32| approx::ex2::<F>(a)),
            Opcode::Tanh if !F => row!(W_W, |a: f32| approx::tanh(a)),
            _ => return None,
        })
    })
}

/// `min` and `max` of `.f32`.
fn minimum_maximum(opcode: &Opcode, form: &Form, inputs: usize) -> Option<AluOp> {
    unrounded(form)?;
    form.only(FTZ | NAN | XORSIGN | ABS)?;
    let (xorsign, abs) = (form.has(XORSIGN), form.has(ABS));
    let shape = (inputs, xorsign, abs);
    with_flag!(
        M = *opcode == Opcode::Max,
        with_flag!(
            F = form.has(FTZ),
            with_flag!(N = form.has(NAN), {
                Some(match shape {
                    (2, false, false) => row!(WW_W, |a: u32, b: u32| single::pick::<M, F, N>(a, b)),
                    (2, true, true) => {
                        row!(WW_W, |a: u32, b: u32| single::pick_xorsign::<M, F, N>(a, b))
                    }
                    (3, false, false) => row!(WWW_W, |a: u32, b: u32, c: u32| {
                        single::pick3::<M, F, N, false>(a, b, c)
                    }),
                    (3, false, true) => row!(WWW_W, |a: u32, b: u32, c: u32| {
                        single::pick3::<M, F, N, true>(a, b, c)
                    }),
                    _ => return None,
                })
            })
        )
    )
}

/// `.f32` with a first operand (for `fma`, two) of half precision.
fn mixed(opcode: &Opcode, form: &Form, bf16: bool) -> Option<AluOp> {
    form.only(SAT)?;
    let rounding = match opcode {
        Opcode::Add | Opcode::Sub => form.rounding_or_nearest()?,
        Opcode::Fma => form.ieee_rounding()?,
        _ => return None,
    };
    with_rounding!(
        D = rounding,
        with_flag!(S = form.has(SAT), {
            Some(match (opcode, bf16) {
                (Opcode::Add, false) => row!(WW_W, |a: u16, c: f32| mixed::add::<F16, D, S>(a, c)),
                (Opcode::Add, true) => row!(WW_W, |a: u16, c: f32| mixed::add::<Bf16, D, S>(a, c)),
                (Opcode::Sub, false) => row!(WW_W, |a: u16, c: f32| mixed::sub::<F16, D, S>(a, c)),
                (Opcode::Sub, true) => row!(WW_W, |a: u16, c: f32| mixed::sub::<Bf16, D, S>(a, c)),
                (_, false) => row!(WWW_W, |a: u16, b: u16, c: f32| mixed::fma::<F16, D, S>(
                    a, b, c
                )),
                (_, true) => row!(WWW_W, |a: u16, b: u16, c: f32| mixed::fma::<Bf16, D, S>(
                    a, b, c
                )),
            })
        })
    )
}

/// The two elements of an `.f32x2`, the lower one first.
#[inline(always)]
fn split(pair: u64) -> [f32; 2] {
    [
        f32::from_bits(pair as u32),
        f32::from_bits((pair >> 32) as u32),
    ]
}

/// The `.f32x2` of two elements.
#[inline(always)]
fn join(low: f32, high: f32) -> u64 {
    low.to_bits() as u64 | (high.to_bits() as u64) << 32
}

/// `.f32x2`.
fn pairs(opcode: &Opcode, form: &Form) -> Option<AluOp> {
    form.only(FTZ)?;
    let rounding = match opcode {
        Opcode::Add | Opcode::Sub | Opcode::Mul => form.rounding_or_nearest()?,
        Opcode::Fma => form.ieee_rounding()?,
        _ => return None,
    };
    with_rounding!(
        D = rounding,
        with_flag!(F = form.has(FTZ), {
            Some(match opcode {
                Opcode::Add => row!(DD_D, |a: u64, b: u64| {
                    let ([a0, a1], [b0, b1]) = (split(a), split(b));
                    join(single::add::<D, F>(a0, b0), single::add::<D, F>(a1, b1))
                }),
                Opcode::Sub => row!(DD_D, |a: u64, b: u64| {
                    let ([a0, a1], [b0, b1]) = (split(a), split(b));
                    join(single::sub::<D, F>(a0, b0), single::sub::<D, F>(a1, b1))
                }),
                Opcode::Mul => row!(DD_D, |a: u64, b: u64| {
                    let ([a0, a1], [b0, b1]) = (split(a), split(b));
                    join(single::mul::<D, F>(a0, b0), single::mul::<D, F>(a1, b1))
                }),
                _ => row!(DDD_D, |a: u64, b: u64, c: u64| {
                    let ([a0, a1], [b0, b1], [c0, c1]) = (split(a), split(b), split(c));
                    join(
                        single::fma::<D, F>(a0, b0, c0),
                        single::fma::<D, F>(a1, b1, c1),
                    )
                }),
            })
        })
    )
}

/// `.f64`.
fn double(opcode: &Opcode, form: &Form, inputs: usize) -> Option<AluOp> {
    match (opcode, form.mode, form.flags) {
        (Opcode::Rcp, Mode::Approximate, FTZ) => return Some(row!(D_D, double::rcp_approx)),
        (Opcode::Rsqrt, Mode::Approximate, FTZ) => return Some(row!(D_D, double::rsqrt_approx)),
        (Opcode::Rsqrt, Mode::Approximate, 0) => {
            return Some(AluOp::D_D(|a, d| {
                double::rows([a], d, double::ARITHMETIC, |[a]| double::rsqrt(a))
            }));
        }
        _ => form.only(0)?,
    }
    let rounding = match opcode {
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Mad => form.rounding_or_nearest()?,
        Opcode::Fma | Opcode::Div | Opcode::Rcp | Opcode::Sqrt => form.ieee_rounding()?,
        _ => {
            unrounded(form)?;
            return Some(match opcode {
                Opcode::Neg => row!(D_D, double::neg),
                Opcode::Abs => row!(D_D, double::abs),
                Opcode::Min if inputs == 2 => {
                    row!(DD_D, |a: u64, b: u64| double::pick::<false>(a, b))
                }
                Opcode::Max if inputs == 2 => {
                    row!(DD_D, |a: u64, b: u64| double::pick::<true>(a, b))
                }
                Opcode::Copysign => row!(DD_D, |a: f64, b: f64| b.copysign(a)),
                _ => return None,
            });
        }
    };
    with_rounding!(D = rounding, {
        Some(match opcode {
            Opcode::Add => AluOp::DD_D(|a, b, d| {
                double::rows([a, b], d, double::ARITHMETIC, |[a, b]| {
                    double::add::<D>(a, b)
                })
            }),
            Opcode::Sub => AluOp::DD_D(|a, b, d| {
                double::rows([a, b], d, double::ARITHMETIC, |[a, b]| {
                    double::sub::<D>(a, b)
                })
            }),
            Opcode::Mul => AluOp::DD_D(|a, b, d| {
                double::rows([a, b], d, double::ARITHMETIC, |[a, b]| {
                    double::mul::<D>(a, b)
                })
            }),
            Opcode::Div => AluOp::DD_D(|a, b, d| {
                double::rows([a, b], d, double::QUOTIENT, |[a, b]| double::div::<D>(a, b))
            }),
            Opcode::Rcp => AluOp::D_D(|a, d| {
                double::rows([a], d, double::ARITHMETIC, |[a]| double::rcp::<D>(a))
            }),
            Opcode::Sqrt => AluOp::D_D(|a, d| {
                double::rows([a], d, double::ARITHMETIC, |[a]| double::sqrt::<D>(a))
            }),
            _ => AluOp::DDD_D(|a, b, c, d| double::fma_rows::<D>([a, b, c], d)),
        })
    })
}
