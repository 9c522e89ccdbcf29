//! Results of random programs that say nothing about the simulator, because `ptxas` 13.0 translates two instructions together
//! wrongly (`-O3`, `sm_90`; `-O0` translates each as it stands). They are nobody's operand and are not stored.
//!
//! * `abs.f16x2` and `abs.bf16x2` of a register that, as an `.f32`, can't be negative, because `.sat` or a square made it, become
//!   a `MOV`, or lose the `|…|` of their operand. The sign of the upper half is the `.f32`'s and is clear; that of the lower half
//!   is bit 15, and it stays. `add.sat.f32 x, a, b; abs.f16x2 y, x;` is `FADD.SAT R0, R2, R2; MOV R3, R0`.
//! * `cvt.rzi` from `.f16` or `.bf16` to an integer loses its rounding where a conversion of a half to a half comes before it: the
//!   two become one with the first one's rounding, which is none and so to nearest. `cvt.bf16.bf16 x, a; cvt.rzi.s64.bf16 y, x;`
//!   is `F2I.S64.BF16 R4, R2`, without the `.TRUNC` that the second one has alone. `.rni`, `.rmi` and `.rpi` are kept.
//!
//! [`random`](super::random) lists what one instruction shows.

use crate::conformance::build::Value;
use std::collections::HashSet;

/// What is known of the registers of a program.
#[derive(Debug, Default)]
pub struct Doubts {
    /// As an `.f32` never negative.
    positive: HashSet<String>,
    /// Halves that come from halves.
    converted: HashSet<String>,
    /// Results in doubt.
    doubtful: HashSet<String>,
}

impl Doubts {
    /// Whether `ptxas` may have got this register's value wrong.
    pub fn about(&self, register: &str) -> bool {
        self.doubtful.contains(register)
    }

    /// Takes note of an instruction; `guarded` if its result may stand as it was.
    pub fn note(&mut self, spelling: &str, guarded: bool, operands: &[Value], register: &str) {
        let is = |set: &HashSet<String>, n: usize| {
            operands
                .get(n)
                .is_some_and(|value| set.contains(&value.register))
        };
        let wrong = match spelling {
            "abs.f16x2" | "abs.bf16x2" => is(&self.positive, 0),
            _ => truncates_a_half(spelling) && is(&self.converted, 0),
        };
        if wrong {
            self.doubtful.insert(register.to_owned());
        }
        if guarded {
            return;
        }
        let (first, second) = (operands.first(), operands.get(1));
        let square = first.is_some_and(|a| second.is_some_and(|b| a.register == b.register));
        let opcode = spelling.split('.').next().unwrap_or_default();
        let never_negative = spelling.contains(".sat.f32")
            || spelling.ends_with(".f32")
                && match opcode {
                    "mul" => square,
                    "add" => is(&self.positive, 0) && is(&self.positive, 1),
                    "fma" | "mad" => square && is(&self.positive, 2),
                    _ => false,
                };
        if never_negative {
            self.positive.insert(register.to_owned());
        }
        if is_of_halves(spelling) {
            self.converted.insert(register.to_owned());
        }
    }

    /// Takes note that `to` may hold what `from` does.
    pub fn copy(&mut self, from: &str, to: &str) {
        for set in [&mut self.positive, &mut self.converted] {
            if set.contains(from) {
                set.insert(to.to_owned());
            }
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
