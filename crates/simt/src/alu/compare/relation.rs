//! `setp` and `set`: relational operators over all types.
//!
//! Both resolve to a predicate for each lane ([`AluOp::WW_P`], [`AluOp::DD_P`]), or
//! to two for the packed half types ([`AluOp::WW_PP`]). Combining it with a third
//! predicate and, for `set`, turning it into the destination's true value is the
//! caller's ([`set_truth`], [`write_set`], [`write_set_pair`]): there is one
//! function for each comparison and not one for each pair of types.

use crate::alu::rows::row;
use crate::alu::spelling::types_last;
use crate::alu::words::*;
use crate::alu::{AluOp, Mask, Row32};

/// The qualifiers of `setp` and `set`, in whatever order.
struct Qualifiers {
    relation: Modifier,
    combines: bool,
    ftz: bool,
}

impl Qualifiers {
    fn parse(modifiers: &[Modifier]) -> Option<Self> {
        let (mut relation, mut combines, mut ftz) = (None, false, false);
        for modifier in modifiers {
            let repeated = match *modifier {
                Ftz => std::mem::replace(&mut ftz, true),
                And | Or | Xor => std::mem::replace(&mut combines, true),
                name => relation.replace(name).is_some(),
            };
            if repeated {
                return None;
            }
        }
        Some(Qualifiers {
            relation: relation?,
            combines,
            ftz,
        })
    }
}

/// "Comparison and Selection Instructions: setp", "Half Precision Comparison
/// Instructions: setp".
pub(super) fn setp(m: &[Modifier], combines: bool) -> Option<AluOp> {
    let [qualifiers @ .., source] = m else {
        return None;
    };
    let qualifiers = Qualifiers::parse(qualifiers)?;
    if qualifiers.combines != combines {
        return None;
    }
    relation(qualifiers.relation, *source, qualifiers.ftz)
}

/// "Comparison and Selection Instructions: set", "Half Precision Comparison
/// Instructions: set".
pub(super) fn set(m: &[Modifier], combines: bool) -> Option<AluOp> {
    let [qualifiers @ .., destination, source] = m else {
        return None;
    };
    let qualifiers = Qualifiers::parse(qualifiers)?;
    if qualifiers.combines != combines || qualifiers.ftz && *destination == BF16 {
        return None;
    }
    truth(*destination, *source)?;
    relation(qualifiers.relation, *source, qualifiers.ftz)
}

/// What `set` writes where the comparison holds (0 elsewhere); for packed
/// sources both halves' values, each in its place. `None` where the manual has no
/// such pair of types.
pub fn set_truth(modifiers: &[Modifier]) -> Option<u32> {
    let modifiers = types_last(modifiers);
    match *modifiers.as_slice() {
        [.., destination, source] if destination.ty().is_some() => truth(destination, source),
        _ => None,
    }
}

fn truth(destination: Modifier, source: Modifier) -> Option<u32> {
    let packed = matches!(source, F16X2 | BF16X2);
    let half = matches!(source, F16 | BF16);
    Some(match destination {
        U32 | S32 => !0,
        U16 | S16 if half => 0xffff,
        F32 if !packed && !half => 1f32.to_bits(),
        F16 if !packed && source != BF16 => 0x3c00,
        BF16 if !packed => 0x3f80,
        F16X2 if source == F16X2 => 0x3c00_3c00,
        BF16X2 if source == BF16X2 => 0x3f80_3f80,
        _ => return None,
    })
}

/// The result row of `set`: `truth` in the lanes of `p`, 0 in the others.
pub fn write_set(truth: u32, p: Mask, d: &mut Row32) {
    write_set_pair(truth, p, p, d);
}

/// The result row of `set` on a packed type: the lower half of `truth` in the
/// lanes of `p`, its upper half in those of `q`.
pub fn write_set_pair(truth: u32, p: Mask, q: Mask, d: &mut Row32) {
    for (i, d) in d.iter_mut().enumerate() {
        let lower = if p & (1 << i) != 0 { truth & 0xffff } else { 0 };
        let upper = if q & (1 << i) != 0 {
            truth & !0xffff
        } else {
            0
        };
        *d = lower | upper;
    }
}

/// The comparison of two values of a type.
#[allow(
    clippy::double_comparisons,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "ordered and unordered relations differ in what NaN gives"
)]
fn relation(relation: Modifier, source: Modifier, ftz: bool) -> Option<AluOp> {
    // Unsigned types have names of their own for the orderings.
    let unsigned = source.ty().is_some_and(ptx::semantics::Type::is_unsigned);
    let relation = match relation {
        Lo if unsigned => Lt,
        Ls if unsigned => Le,
        Hi if unsigned => Gt,
        Hs if unsigned => Ge,
        other => other,
    };
    /// `.eq` and `.ne`, all that bit-size types have.
    macro_rules! equality {
        ($variant:ident, $lane:ty) => {
            match relation {
                Eq => row!($variant, |a: $lane, b: $lane| a == b),
                Ne => row!($variant, |a: $lane, b: $lane| a != b),
                _ => return None,
            }
        };
    }
    macro_rules! ordering {
        ($variant:ident, $lane:ty) => {
            match relation {
                Lt => row!($variant, |a: $lane, b: $lane| a < b),
                Le => row!($variant, |a: $lane, b: $lane| a <= b),
                Gt => row!($variant, |a: $lane, b: $lane| a > b),
                Ge => row!($variant, |a: $lane, b: $lane| a >= b),
                _ => equality!($variant, $lane),
            }
        };
    }
    /// `$value` turns what the lane holds into a number that compares as it should.
    macro_rules! float {
        ($variant:ident, $lane:ty, $value:expr) => {{
            macro_rules! holds {
                ($test:expr) => {
                    row!($variant, |a: $lane, b: $lane| $test($value(a), $value(b)))
                };
            }
            match relation {
                // Ordered: false where either is NaN.
                Eq => holds!(|a, b| a == b),
                Ne => holds!(|a, b| a < b || a > b),
                Lt => holds!(|a, b| a < b),
                Le => holds!(|a, b| a <= b),
                Gt => holds!(|a, b| a > b),
                Ge => holds!(|a, b| a >= b),
                // Unordered: true where either is NaN.
                Equ => holds!(|a, b| !(a < b || a > b)),
                Neu => holds!(|a, b| a != b),
                Ltu => holds!(|a, b| !(a >= b)),
                Leu => holds!(|a, b| !(a > b)),
                Gtu => holds!(|a, b| !(a <= b)),
                Geu => holds!(|a, b| !(a < b)),
                Num => holds!(|a, b| !is_nan(a) && !is_nan(b)),
                Nan => holds!(|a, b| is_nan(a) || is_nan(b)),
                _ => return None,
            }
        }};
    }
    if ftz {
        return Some(match source {
            F32 => float!(WW_P, f32, flush),
            F16 => float!(WW_P, u16, rank_f16_ftz),
            F16X2 => float!(WW_PP, u16, rank_f16_ftz),
            _ => return None,
        });
    }
    Some(match source {
        B16 => equality!(WW_P, u16),
        B32 => equality!(WW_P, u32),
        B64 => equality!(DD_P, u64),
        U16 => ordering!(WW_P, u16),
        U32 => ordering!(WW_P, u32),
        U64 => ordering!(DD_P, u64),
        S16 => ordering!(WW_P, i16),
        S32 => ordering!(WW_P, i32),
        S64 => ordering!(DD_P, i64),
        F32 => float!(WW_P, f32, |a: f32| a),
        F64 => float!(DD_P, f64, |a: f64| a),
        F16 => float!(WW_P, u16, rank_f16),
        F16X2 => float!(WW_PP, u16, rank_f16),
        BF16 => float!(WW_P, u16, value_bf16),
        BF16X2 => float!(WW_PP, u16, value_bf16),
        _ => return None,
    })
}

fn is_nan<T: PartialEq + Copy>(a: T) -> bool {
    a.ne(&a)
}

/// Subnormal numbers become zero of their sign.
pub(super) fn flush(a: f32) -> f32 {
    let bits = a.to_bits();
    let subnormal_or_zero = bits & 0x7f80_0000 == 0;
    f32::from_bits(if subnormal_or_zero {
        bits & 0x8000_0000
    } else {
        bits
    })
}

/// A number that orders as the half-precision number does: its distance from
/// zero counted in representable numbers. NaN for NaN.
fn rank_f16(bits: u16) -> f32 {
    let magnitude = (bits & 0x7fff) as i32;
    let rank = if bits & 0x8000 != 0 {
        -magnitude
    } else {
        magnitude
    };
    if magnitude > 0x7c00 {
        f32::NAN
    } else {
        rank as f32
    }
}

/// [`rank_f16`] with subnormal numbers taken for zero.
fn rank_f16_ftz(bits: u16) -> f32 {
    rank_f16(if bits & 0x7c00 == 0 { 0 } else { bits })
}

/// The value of a bfloat16 number.
fn value_bf16(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}
