//! `setp` and `set`: relational operators over all types.
//!
//! Both resolve to a predicate for each lane ([`AluOp::WW_P`], [`AluOp::DD_P`]), or
//! to two for the packed half types ([`AluOp::WW_PP`]). Combining it with a third
//! predicate and, for `set`, turning it into the destination's true value is the
//! caller's ([`set_truth`], [`write_set`], [`write_set_pair`]): there is one
//! function for each comparison and not one for each pair of types.

use crate::alu::rows::row;
use crate::alu::spelling::{is_type, types_last};
use crate::alu::{AluOp, Mask, Row32};

/// The qualifiers of `setp` and `set`, in whatever order.
struct Qualifiers<'a> {
    relation: &'a str,
    combines: bool,
    ftz: bool,
}

impl<'a> Qualifiers<'a> {
    fn parse(modifiers: &[&'a str]) -> Option<Self> {
        let (mut relation, mut combines, mut ftz) = (None, false, false);
        for modifier in modifiers {
            let repeated = match *modifier {
                "ftz" => std::mem::replace(&mut ftz, true),
                "and" | "or" | "xor" => std::mem::replace(&mut combines, true),
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
pub(super) fn setp(m: &[&str], combines: bool) -> Option<AluOp> {
    let [qualifiers @ .., source] = m else {
        return None;
    };
    let qualifiers = Qualifiers::parse(qualifiers)?;
    if qualifiers.combines != combines {
        return None;
    }
    relation(qualifiers.relation, source, qualifiers.ftz)
}

/// "Comparison and Selection Instructions: set", "Half Precision Comparison
/// Instructions: set".
pub(super) fn set(m: &[&str], combines: bool) -> Option<AluOp> {
    let [qualifiers @ .., destination, source] = m else {
        return None;
    };
    let qualifiers = Qualifiers::parse(qualifiers)?;
    if qualifiers.combines != combines || qualifiers.ftz && *destination == "bf16" {
        return None;
    }
    truth(destination, source)?;
    relation(qualifiers.relation, source, qualifiers.ftz)
}

/// What `set` writes where the comparison holds (0 elsewhere); for packed
/// sources both halves' values, each in its place. `None` where the manual has no
/// such pair of types.
pub fn set_truth(modifiers: &[&str]) -> Option<u32> {
    let modifiers = types_last(modifiers);
    match *modifiers.as_slice() {
        [.., destination, source] if is_type(destination) => truth(destination, source),
        _ => None,
    }
}

fn truth(destination: &str, source: &str) -> Option<u32> {
    let packed = matches!(source, "f16x2" | "bf16x2");
    let half = matches!(source, "f16" | "bf16");
    Some(match destination {
        "u32" | "s32" => !0,
        "u16" | "s16" if half => 0xffff,
        "f32" if !packed && !half => 1f32.to_bits(),
        "f16" if !packed && source != "bf16" => 0x3c00,
        "bf16" if !packed => 0x3f80,
        "f16x2" if source == "f16x2" => 0x3c00_3c00,
        "bf16x2" if source == "bf16x2" => 0x3f80_3f80,
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
fn relation(relation: &str, source: &str, ftz: bool) -> Option<AluOp> {
    // Unsigned types have names of their own for the orderings.
    let relation = match relation {
        "lo" if source.starts_with('u') => "lt",
        "ls" if source.starts_with('u') => "le",
        "hi" if source.starts_with('u') => "gt",
        "hs" if source.starts_with('u') => "ge",
        other => other,
    };
    /// `.eq` and `.ne`, all that bit-size types have.
    macro_rules! equality {
        ($variant:ident, $lane:ty) => {
            match relation {
                "eq" => row!($variant, |a: $lane, b: $lane| a == b),
                "ne" => row!($variant, |a: $lane, b: $lane| a != b),
                _ => return None,
            }
        };
    }
    macro_rules! ordering {
        ($variant:ident, $lane:ty) => {
            match relation {
                "lt" => row!($variant, |a: $lane, b: $lane| a < b),
                "le" => row!($variant, |a: $lane, b: $lane| a <= b),
                "gt" => row!($variant, |a: $lane, b: $lane| a > b),
                "ge" => row!($variant, |a: $lane, b: $lane| a >= b),
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
                "eq" => holds!(|a, b| a == b),
                "ne" => holds!(|a, b| a < b || a > b),
                "lt" => holds!(|a, b| a < b),
                "le" => holds!(|a, b| a <= b),
                "gt" => holds!(|a, b| a > b),
                "ge" => holds!(|a, b| a >= b),
                // Unordered: true where either is NaN.
                "equ" => holds!(|a, b| !(a < b || a > b)),
                "neu" => holds!(|a, b| a != b),
                "ltu" => holds!(|a, b| !(a >= b)),
                "leu" => holds!(|a, b| !(a > b)),
                "gtu" => holds!(|a, b| !(a <= b)),
                "geu" => holds!(|a, b| !(a < b)),
                "num" => holds!(|a, b| !is_nan(a) && !is_nan(b)),
                "nan" => holds!(|a, b| is_nan(a) || is_nan(b)),
                _ => return None,
            }
        }};
    }
    if ftz {
        return Some(match source {
            "f32" => float!(WW_P, f32, flush),
            "f16" => float!(WW_P, u16, rank_f16_ftz),
            "f16x2" => float!(WW_PP, u16, rank_f16_ftz),
            _ => return None,
        });
    }
    Some(match source {
        "b16" => equality!(WW_P, u16),
        "b32" => equality!(WW_P, u32),
        "b64" => equality!(DD_P, u64),
        "u16" => ordering!(WW_P, u16),
        "u32" => ordering!(WW_P, u32),
        "u64" => ordering!(DD_P, u64),
        "s16" => ordering!(WW_P, i16),
        "s32" => ordering!(WW_P, i32),
        "s64" => ordering!(DD_P, i64),
        "f32" => float!(WW_P, f32, |a: f32| a),
        "f64" => float!(DD_P, f64, |a: f64| a),
        "f16" => float!(WW_P, u16, rank_f16),
        "f16x2" => float!(WW_PP, u16, rank_f16),
        "bf16" => float!(WW_P, u16, value_bf16),
        "bf16x2" => float!(WW_PP, u16, value_bf16),
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
