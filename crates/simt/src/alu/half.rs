//! Half and bfloat16 precision (PTX ISA, "Half Precision Floating-Point Instructions").
//!
//! The packed types work on the two halves of a register alike.
//!
//! `fma.oob` is not here: it zeroes the result for the "out of bounds" NaN that a
//! tensor copy fills in, whose code the manual does not give.
//!
//! # What the manual leaves open
//!
//! As an H200 has it (CUDA 13.0; `tests/conformance/h200`):
//!
//! * every NaN result is `0x7fff`, that of `neg` and `abs` too;
//! * `.relu` makes −0 into +0;
//! * `.ftz` decides after rounding, as for `.f32`.
//!
//! The results of `tanh` and `ex2` are here the nearest to the true value, not the hardware's own bits.

mod lanes;
#[cfg(test)]
mod tests;

pub(super) use lanes::{Bf16, F16, Half, NAN, narrow_double, relu, saturate, settle};

use super::AluOp;
use super::form::{
    ABS, FTZ, Flags, Form, Mode, NAN as NAN_FLAG, RELU, SAT, Type, XORSIGN, with_flag,
};
use super::rows::row;
use ptx::semantics::{Modifier, Opcode};

/// `row!` for a function of codes, or of both halves where `packed`. What stands
/// above a scalar code is ignored.
macro_rules! halves {
    ($packed:expr, W_W, $f:expr) => {
        if $packed {
            row!(W_W, |a: u32| $f(a & LOW) | $f(a >> 16) << 16)
        } else {
            row!(W_W, |a: u32| $f(a & LOW))
        }
    };
    ($packed:expr, WW_W, $f:expr) => {
        if $packed {
            row!(WW_W, |a: u32, b: u32| {
                $f(a & LOW, b & LOW) | $f(a >> 16, b >> 16) << 16
            })
        } else {
            row!(WW_W, |a: u32, b: u32| $f(a & LOW, b & LOW))
        }
    };
    ($packed:expr, WWW_W, $f:expr) => {
        if $packed {
            row!(WWW_W, |a: u32, b: u32, c: u32| {
                $f(a & LOW, b & LOW, c & LOW) | $f(a >> 16, b >> 16, c >> 16) << 16
            })
        } else {
            row!(WWW_W, |a: u32, b: u32, c: u32| $f(
                a & LOW,
                b & LOW,
                c & LOW
            ))
        }
    };
}

/// The lower half of a register.
const LOW: u32 = 0xffff;

/// `with_flag!` for a type: the format.
macro_rules! with_format {
    ($name:ident = $bf16:expr, $body:expr) => {
        if $bf16 {
            type $name = Bf16;
            $body
        } else {
            type $name = F16;
            $body
        }
    };
}

/// See [`super::lookup`].
pub fn lookup(opcode: &Opcode, modifiers: &[Modifier], operands: usize) -> Option<AluOp> {
    let inputs = match opcode {
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Min | Opcode::Max => 2,
        Opcode::Fma => 3,
        Opcode::Neg | Opcode::Abs | Opcode::Tanh | Opcode::Ex2 => 1,
        _ => return None,
    };
    if operands != inputs + 1 {
        return None;
    }
    let form = Form::parse(modifiers)?;
    let (bf16, packed) = match form.types() {
        (Some(Type::F16), None, None) => (false, false),
        (Some(Type::F16x2), None, None) => (false, true),
        (Some(Type::Bf16), None, None) => (true, false),
        (Some(Type::Bf16x2), None, None) => (true, true),
        _ => return None,
    };
    let nearest = form.rounding_or_nearest() == Some(super::exact::Rounding::NearestEven);
    let ftz = form.has(FTZ);
    // Flags of the `.f16` and of the `.bf16` form.
    let only = |f16: Flags, bf: Flags| form.only(if bf16 { bf } else { f16 });
    match opcode {
        Opcode::Add | Opcode::Sub | Opcode::Mul if nearest => {
            only(FTZ | SAT, 0)?;
            if bf16 {
                return Some(match opcode {
                    Opcode::Add => {
                        halves!(packed, WW_W, |a: u32, b: u32| lanes::add::<Bf16, false>(
                            a, b
                        ))
                    }
                    Opcode::Sub => {
                        halves!(packed, WW_W, |a: u32, b: u32| lanes::sub::<Bf16, false>(
                            a, b
                        ))
                    }
                    _ => halves!(packed, WW_W, |a: u32, b: u32| lanes::mul::<Bf16, false>(
                        a, b
                    )),
                });
            }
            with_flag!(
                F = ftz,
                with_flag!(S = form.has(SAT), {
                    Some(match opcode {
                        Opcode::Add => halves!(packed, WW_W, |a: u32, b: u32| {
                            saturate::<F16, S>(lanes::add::<F16, F>(a, b))
                        }),
                        Opcode::Sub => halves!(packed, WW_W, |a: u32, b: u32| {
                            saturate::<F16, S>(lanes::sub::<F16, F>(a, b))
                        }),
                        _ => halves!(packed, WW_W, |a: u32, b: u32| {
                            saturate::<F16, S>(lanes::mul::<F16, F>(a, b))
                        }),
                    })
                })
            )
        }
        Opcode::Fma if nearest && form.mode != Mode::Default => {
            only(FTZ | SAT | RELU, RELU)?;
            let (sat, rectify) = (form.has(SAT), form.has(RELU));
            if sat && rectify {
                return None;
            }
            if bf16 {
                return with_flag!(R = rectify, {
                    Some(halves!(packed, WWW_W, |a: u32, b: u32, c: u32| {
                        relu::<Bf16, R>(lanes::fma::<Bf16, false>(a, b, c))
                    }))
                });
            }
            with_flag!(F = ftz, {
                Some(if sat {
                    halves!(packed, WWW_W, |a: u32, b: u32, c: u32| {
                        saturate::<F16, true>(lanes::fma::<F16, F>(a, b, c))
                    })
                } else if rectify {
                    halves!(packed, WWW_W, |a: u32, b: u32, c: u32| {
                        relu::<F16, true>(lanes::fma::<F16, F>(a, b, c))
                    })
                } else {
                    halves!(
                        packed,
                        WWW_W,
                        |a: u32, b: u32, c: u32| lanes::fma::<F16, F>(a, b, c)
                    )
                })
            })
        }
        Opcode::Neg | Opcode::Abs if form.mode == Mode::Default => {
            only(FTZ, 0)?;
            with_format!(
                H = bf16,
                with_flag!(F = ftz, {
                    Some(match opcode {
                        Opcode::Neg => halves!(packed, W_W, |a: u32| lanes::neg::<H, F>(a)),
                        _ => halves!(packed, W_W, |a: u32| lanes::abs::<H, F>(a)),
                    })
                })
            )
        }
        Opcode::Min | Opcode::Max if form.mode == Mode::Default => {
            let common = NAN_FLAG | XORSIGN | ABS;
            only(FTZ | common, common)?;
            if form.has(XORSIGN) != form.has(ABS) {
                return None;
            }
            with_format!(
                H = bf16,
                with_flag!(M = *opcode == Opcode::Max, {
                    with_flag!(
                        F = ftz,
                        with_flag!(N = form.has(NAN_FLAG), {
                            Some(if form.has(XORSIGN) {
                                halves!(packed, WW_W, |a: u32, b: u32| {
                                    lanes::pick_xorsign::<H, M, F, N>(a, b)
                                })
                            } else {
                                halves!(packed, WW_W, |a: u32, b: u32| lanes::pick::<H, M, F, N>(
                                    a, b
                                ))
                            })
                        })
                    )
                })
            )
        }
        Opcode::Tanh if form.mode == Mode::Approximate => {
            only(0, 0)?;
            with_format!(H = bf16, {
                Some(halves!(packed, W_W, |a: u32| lanes::tanh::<H>(a)))
            })
        }
        // The `.bf16` form is spelt with `.ftz`, the `.f16` form without.
        Opcode::Ex2 if form.mode == Mode::Approximate && ftz == bf16 => {
            only(0, FTZ)?;
            Some(if bf16 {
                halves!(packed, W_W, |a: u32| lanes::ex2::<Bf16, true>(a))
            } else {
                halves!(packed, W_W, |a: u32| lanes::ex2::<F16, false>(a))
            })
        }
        _ => None,
    }
}
