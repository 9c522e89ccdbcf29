//! Results of random programs that say nothing about the simulator, because `ptxas` 13.0 translates two instructions together
//! wrongly (`-O3`, `sm_90`; `-O0` translates each as it stands). They are nobody's operand and are not stored.
//!
//! * `abs.f16x2` and `abs.bf16x2` of a register that, as an `.f32`, can't be negative, because `.sat` or a square made it, become
//!   a `MOV`, or lose the `|…|` of their operand. The sign of the upper half is the `.f32`'s and is clear; that of the lower half
//!   is bit 15, and it stays. `add.sat.f32 x, a, b; abs.f16x2 y, x;` is `FADD.SAT R0, R2, R2; MOV R3, R0`.
//! * `cvt.rzi` from `.f16` or `.bf16` to an integer loses its rounding where a conversion of a half to a half comes before it: the
//!   two become one with the first one's rounding, which is none and so to nearest. `cvt.bf16.bf16 x, a; cvt.rzi.s64.bf16 y, x;`
//!   is `F2I.S64.BF16 R4, R2`, without the `.TRUNC` that the second one has alone. `.rni`, `.rmi` and `.rpi` are kept.
//! * `cvt.sat` from `.f32` loses its `.sat` where the register is a saturated sum of `.s32`: it counts as saturated.
//!   `add.sat.s32 x, a, b; cvt.rn.sat.f16.f32 y, x;` ends with `F2FP.F16.F32.PACK_AB R0, RZ, R0`, and the `HADD2.SAT` is gone.
//! * `max` of a product with `.sat` and of zero, both `.f16`, is a multiplication with `.RELU` and no `.SAT`:
//!   `mul.sat.f16 x, a, b; max.f16 y, x, z;` is `HFMA2.RELU R0, R0.H0_H0, R7.H0_H0, RZ.H0_H0`; a NaN or 2 stays one.
//! * `cvt.rn` and `cvt.rz` to `.tf32` of a register that an instruction of two halves made count as readers of its lower half; where
//!   nobody else reads it, the upper one is lost. `add.bf16x2 x, a, b; cvt.rz.tf32.f32 y, x;` is `HADD2.BF16_V2 R8, R0.H0_H0, R7.H0_H0`
//!   and a `PRMT` of its lower half.
//!
//! [`random`](super::random) lists what one instruction shows. Not left out: `sad.u16` of what `set.f16` gives, for which `ptxas` may
//! take all 32 bits of `HSET2.BF`, which sets both halves (one program in 7,200 had a wrong result).

use crate::conformance::build::{Source, Value};
use std::collections::{HashMap, HashSet};

/// What is known of how a register was made, where `ptxas` draws a wrong conclusion from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// As an `.f32` it is never negative.
    Positive,
    /// A half that comes from a half.
    Converted,
    /// A saturated sum of `.s32`.
    SaturatedSum,
    /// A saturated product of `.f16`.
    SaturatedProduct,
    /// Two halves in a register that is not stored.
    Packed,
}

/// What is known of the registers of a program.
#[derive(Debug, Default)]
pub struct Doubts {
    made: HashMap<String, Made>,
    doubtful: HashSet<String>,
}

impl Doubts {
    /// Whether `ptxas` may have got this register's value wrong.
    pub fn about(&self, register: &str) -> bool {
        self.doubtful.contains(register)
    }

    /// Takes note of an instruction; `guarded` if its result may stand as it was.
    pub fn note(&mut self, spelling: &str, guarded: bool, operands: &[Value], register: &str) {
        let made = |n: usize| {
            Some((
                *self.made.get(&operands.get(n)?.register)?,
                operands[n].source,
            ))
        };
        let wrong = |n: usize| {
            made(n).is_some_and(|(made, source)| match made {
                Made::Positive => matches!(spelling, "abs.f16x2" | "abs.bf16x2"),
                Made::Converted => truncates_a_half(spelling),
                Made::SaturatedSum => spelling.starts_with("cvt.") && saturates_from_f32(spelling),
                Made::SaturatedProduct => {
                    spelling.starts_with("max.") && spelling.ends_with(".f16")
                }
                Made::Packed => narrows_to_tf32(spelling) && source == Source::Other,
            })
        };
        if (0..operands.len()).any(wrong) {
            self.doubtful.insert(register.to_owned());
        }
        if guarded {
            return;
        }
        let is_positive = |n| made(n).is_some_and(|(made, _)| made == Made::Positive);
        let (first, second) = (operands.first(), operands.get(1));
        let square = first.is_some_and(|a| second.is_some_and(|b| a.register == b.register));
        let opcode = spelling.split('.').next().unwrap_or_default();
        let never_negative = spelling.contains(".sat.f32")
            || spelling.ends_with(".f32")
                && match opcode {
                    "mul" => square,
                    "add" => is_positive(0) && is_positive(1),
                    "fma" | "mad" => square && is_positive(2),
                    _ => false,
                };
        let now = match opcode {
            _ if never_negative => Some(Made::Positive),
            "cvt" if is_of_halves(spelling) => Some(Made::Converted),
            "add" | "sub" | "mad" | "mad24" if spelling.ends_with(".sat.s32") => {
                Some(Made::SaturatedSum)
            }
            "mul" if spelling.ends_with(".sat.f16") => Some(Made::SaturatedProduct),
            "add" | "sub" | "mul" | "fma" if spelling.ends_with("f16x2") => Some(Made::Packed),
            "cvt" if spelling.ends_with("f16x2.f32") => Some(Made::Packed),
            _ => None,
        };
        if let Some(now) = now {
            self.made.insert(register.to_owned(), now);
        }
    }

    /// Takes note that `to` may hold what `from` does; it is a whole register then.
    pub fn copy(&mut self, from: &str, to: &str) {
        let made = self.made.get(from).copied();
        if let Some(made) = made.filter(|made| *made != Made::Packed) {
            self.made.insert(to.to_owned(), made);
        }
    }
}

/// `cvt.rzi.s64.bf16`
fn truncates_a_half(spelling: &str) -> bool {
    let parts: Vec<&str> = spelling.split('.').collect();
    matches!(parts.as_slice(), ["cvt", "rzi", .., to, "f16" | "bf16"] if to.starts_with(['s', 'u']))
}

/// `cvt.bf16.bf16`, `cvt.rn.f16.bf16`; not with `.sat`.
fn is_of_halves(spelling: &str) -> bool {
    let parts: Vec<&str> = spelling.split('.').collect();
    matches!(
        parts.as_slice(),
        ["cvt", before @ .., "f16" | "bf16", "f16" | "bf16"] if !before.contains(&"sat")
    )
}

/// `cvt.rn.sat.f16.f32`, `cvt.sat.f32.f32`; not with a rounding to an integer, which is an instruction of its own.
fn saturates_from_f32(spelling: &str) -> bool {
    spelling.ends_with(".sat.f16.f32")
        || matches!(spelling, "cvt.sat.f32.f32" | "cvt.ftz.sat.f32.f32")
}

/// `cvt.rz.tf32.f32`, `cvt.rn.relu.tf32.f32`; not `cvt.rna`.
fn narrows_to_tf32(spelling: &str) -> bool {
    spelling.ends_with(".tf32.f32") && !spelling.starts_with("cvt.rna.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::build::Source;
    use crate::conformance::kind::Width;

    fn value(register: &str) -> Value {
        Value {
            register: register.to_owned(),
            width: Width::B32,
            source: Source::Other,
        }
    }

    /// Notes `d = spelling a, b, …` for each line, and says which results are in doubt.
    fn doubtful(lines: &[(&str, bool, &str, &[&str])]) -> Vec<String> {
        let mut doubts = Doubts::default();
        for (spelling, guarded, register, operands) in lines {
            let operands: Vec<Value> = operands.iter().map(|name| value(name)).collect();
            doubts.note(spelling, *guarded, &operands, register);
        }
        let all = lines.iter().map(|line| line.2.to_owned());
        all.filter(|register| doubts.about(register)).collect()
    }

    #[test]
    fn what_ptxas_gets_wrong_is_in_doubt() {
        let none: [&str; 0] = [];
        for (first, second, d) in [
            ("add.sat.f32", "abs.f16x2", true),
            ("mad.rp.sat.f32", "abs.bf16x2", true),
            ("cvt.sat.f32.f16", "abs.f16x2", true),
            ("add.f32", "abs.f16x2", false),
            ("add.sat.f32", "abs.f32", false),
            ("add.sat.s32", "abs.f16x2", false),
            ("cvt.bf16.bf16", "cvt.rzi.s64.bf16", true),
            ("cvt.rn.f16.bf16", "cvt.rzi.u16.f16", true),
            ("cvt.sat.f16.f16", "cvt.rzi.s32.f16", false),
            ("cvt.bf16.bf16", "cvt.rmi.s64.bf16", false),
            ("cvt.bf16.bf16", "cvt.rzi.bf16.bf16", false),
            ("cvt.rn.f16.f32", "cvt.rzi.s32.f16", false),
            ("mad.hi.sat.s32", "cvt.rn.sat.f16.f32", true),
            ("sub.sat.s32", "cvt.sat.f32.f32", true),
            ("sub.sat.s32", "cvt.rn.f16.f32", false),
            ("sub.sat.s32", "cvt.rzi.sat.f32.f32", false),
            ("cvt.rni.sat.s32.f32", "cvt.rn.sat.f16.f32", false),
            ("mul.rn.ftz.sat.f16", "max.ftz.NaN.f16", true),
            ("mul.rn.ftz.sat.f16", "min.ftz.NaN.f16", false),
            ("mul.rn.f16", "max.f16", false),
            ("fma.rn.bf16x2", "cvt.rz.tf32.f32", true),
            ("cvt.rn.bf16x2.f32", "cvt.rn.relu.tf32.f32", true),
            ("add.f16x2", "cvt.rna.tf32.f32", false),
        ] {
            let plain = [
                (first, false, "x", ["a", "b"].as_slice()),
                (second, false, "d", ["x"].as_slice()),
            ];
            let expected = if d { vec!["d".to_owned()] } else { vec![] };
            assert_eq!(doubtful(&plain), expected, "{first} {second}");
            let guarded = [plain[0], (second, true, "d", ["x"].as_slice())];
            assert_eq!(doubtful(&guarded), expected, "{first} @p {second}");
            let either = [(first, true, "x", ["a", "b"].as_slice()), plain[1]];
            assert_eq!(doubtful(&either), none, "@p {first} {second}");
        }
    }

    #[test]
    fn squares_sums_and_copies_are_followed() {
        let mut doubts = Doubts::default();
        doubts.note("mul.rn.f32", false, &[value("a"), value("a")], "square");
        doubts.note("mul.rn.f32", false, &[value("a"), value("b")], "product");
        doubts.copy("square", "copy");
        doubts.note("add.f32", false, &[value("copy"), value("square")], "sum");
        let third = [value("a"), value("a"), value("sum")];
        doubts.note("fma.rn.f32", false, &third, "more");
        for (name, wrong) in [
            ("square", true),
            ("product", false),
            ("copy", true),
            ("sum", true),
            ("more", true),
        ] {
            let d = format!("abs {name}");
            doubts.note("abs.f16x2", false, &[value(name)], &d);
            assert_eq!(doubts.about(&d), wrong, "{name}");
        }
    }
}
