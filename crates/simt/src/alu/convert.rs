//! `cvt`, `cvt.pack` (PTX ISA, "Data Movement and Conversion Instructions: cvt" and
//! "… cvt.pack").
//!
//! A result narrower than 32 bits is zero-extended, as everywhere in this
//! table. Where the destination register is wider than the type, PTX extends a
//! signed result by its sign: the caller does that, by a second conversion from the
//! result's type to the register's.
//!
//! What is accepted is what `ptxas` 13.0 accepts, and two kinds of conversion that the
//! manual lists too: 8-bit integers from and to `.bf16`, and every narrow format
//! from `.f16x2` and `.bf16x2`. Not there are the stochastic conversion to `.e2m1x4`,
//! whose use of the random bits the manual's text leaves open, and `.s2f6x2`.
//!
//! # What the manual leaves open
//!
//! As an H200 has it (CUDA 13.0; `tests/conformance/h200`):
//!
//! * `.f64` NaN to 8- and 16-bit integers: half the range, as the manual has it for
//!   all widths; `.f16` and `.bf16` NaN to 64-bit integers likewise;
//! * rounding a NaN to an integral `.f32` gives `0x7fffffff`, of `.f64` the quieted operand;
//! * NaN from and to `.f64` keeps sign and what fits of the payload, quieted; an `.ftz` before makes it `0x7fffffff`;
//! * NaN to `.tf32` gives `0x7fffe000`, except in `.rna`, which cuts its payload, and `.rna.satfinite`,
//!   which then takes one from its last place;
//! * `.relu` makes −0 into +0;
//! * `cvt.ftz.f16.f32` does not flush.
//!
//! What an `sm_90` does not have was compared with nothing: that the random bits of `.e3m2x4` and `.e2m3x4` lie as
//! those of the 8-bit formats do is a guess.

mod floats;
mod integers;
mod integral;
mod narrow;
#[cfg(test)]
mod tests;

use super::AluOp;
use super::form::{Form, PACK, Type};
use ptx::semantics::{Modifier, Opcode};

/// See [`super::lookup`].
pub fn lookup(opcode: &Opcode, modifiers: &[Modifier], operands: usize) -> Option<AluOp> {
    if !matches!(opcode, Opcode::Cvt | Opcode::CvtPack) {
        return None;
    }
    let form = Form::parse(modifiers)?;
    let inputs = operands.checked_sub(1)?;
    if form.has(PACK) {
        return integers::pack(&form, inputs);
    }
    let (Some(to), Some(from), None) = form.types() else {
        return None;
    };
    match (kind(to), kind(from)) {
        (Kind::Integer, Kind::Integer) if inputs == 1 => integers::convert(&form, to, from),
        (Kind::Integer, Kind::Float) if inputs == 1 => integral::to_integer(&form, to, from),
        (Kind::Float, Kind::Integer) if inputs == 1 => floats::from_integer(&form, to, from),
        (Kind::Float, Kind::Float) if inputs == 1 && to == from => integral::same(&form, to),
        (Kind::Float, Kind::Float) if inputs == 1 => floats::convert(&form, to, from),
        (Kind::Narrow, _) | (_, Kind::Narrow) => narrow::convert(&form, to, from, inputs),
        _ => None,
    }
}

#[derive(PartialEq)]
enum Kind {
    Integer,
    Float,
    /// `.tf32`, packed and narrower formats.
    Narrow,
    None,
}

fn kind(of: Type) -> Kind {
    use Type::*;
    match of {
        U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 => Kind::Integer,
        F16 | Bf16 | F32 | F64 => Kind::Float,
        U2 | S2 | U4 | S4 | B32 | F32x2 => Kind::None,
        _ => Kind::Narrow,
    }
}

/// `row!` for each integer result type: `value` is evaluated with the type
/// named `I`, in rows of the first letter's variant for up to 32 bits and of the
/// second's for 64.
macro_rules! to_each_integer {
    ($to:expr, $narrow:ident, $wide:ident, $lane:expr) => {
        Some(match $to {
            $crate::alu::form::Type::U8 => {
                type I = u8;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::S8 => {
                type I = i8;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::U16 => {
                type I = u16;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::S16 => {
                type I = i16;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::U32 => {
                type I = u32;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::S32 => {
                type I = i32;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::U64 => {
                type I = u64;
                row!($wide, $lane)
            }
            $crate::alu::form::Type::S64 => {
                type I = i64;
                row!($wide, $lane)
            }
            _ => return None,
        })
    };
}

/// `row!` for each integer operand type, `S`.
macro_rules! from_each_integer {
    ($from:expr, $narrow:ident, $wide:ident, $lane:expr) => {
        Some(match $from {
            $crate::alu::form::Type::U8 => {
                type S = u8;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::S8 => {
                type S = i8;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::U16 => {
                type S = u16;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::S16 => {
                type S = i16;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::U32 => {
                type S = u32;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::S32 => {
                type S = i32;
                row!($narrow, $lane)
            }
            $crate::alu::form::Type::U64 => {
                type S = u64;
                row!($wide, $lane)
            }
            $crate::alu::form::Type::S64 => {
                type S = i64;
                row!($wide, $lane)
            }
            _ => return None,
        })
    };
}

use {from_each_integer, to_each_integer};
