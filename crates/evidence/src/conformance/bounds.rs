//! How far an approximate instruction may be from the exact result.
//!
//! The bounds are those of the PTX manual, "Floating-Point Instructions" (`div`, `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`,
//! `ex2`, `tanh`) and "Half Precision Floating-Point Instructions" (`tanh`, `ex2`). It has none for `rsqrt.approx.f64`, for
//! `sin` and `cos` beyond 100π, and says of `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` that 20 bits of the
//! significand are computed. Results that the manual lists exactly (of zeros, infinities and NaN, overflows and
//! flushed ones) must be the same.

use std::f64::consts::PI;

/// What is allowed around an exact result.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// That many units in the last place.
    Ulp(f64),
    /// That much of the result.
    Relative(f64),
    /// That much.
    Absolute(f64),
    /// Nothing is said.
    Unstated,
}

/// A binary floating-point format.
#[derive(Clone, Copy, Debug)]
struct Format {
    bits: u32,
    fraction: u32,
    exponent: u32,
}

const HALF: Format = Format {
    bits: 16,
    fraction: 10,
    exponent: 5,
};
const BFLOAT: Format = Format {
    bits: 16,
    fraction: 7,
    exponent: 8,
};
const SINGLE: Format = Format {
    bits: 32,
    fraction: 23,
    exponent: 8,
};
const DOUBLE: Format = Format {
    bits: 64,
    fraction: 52,
    exponent: 11,
};

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The number that a code stands for, subnormals flushed where `ftz` says so.
    fn decode(self, code: u64, ftz: bool) -> f64 {
        let negative = code >> (self.bits - 1) & 1 == 1;
        let exponent = (code >> self.fraction & ((1 << self.exponent) - 1)) as i32;
        let fraction = code & ((1 << self.fraction) - 1);
        let magnitude = if exponent == (1 << self.exponent) - 1 {
            if fraction == 0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        } else if exponent == 0 && (ftz || fraction == 0) {
            0.0
        } else {
            let one = if exponent == 0 { 0 } else { 1 << self.fraction };
            let scale = exponent.max(1) - self.bias() - self.fraction as i32;
            (one | fraction) as f64 * exp2(scale)
        };
        if negative { -magnitude } else { magnitude }
    }

    /// The distance of neighbours at a number.
    fn ulp(self, x: f64) -> f64 {
        let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
        exp2(exponent.max(1 - self.bias()) - self.fraction as i32)
    }

    fn largest(self) -> f64 {
        (2.0 - exp2(-(self.fraction as i32))) * exp2(self.bias())
    }

    fn smallest_normal(self) -> f64 {
        exp2(1 - self.bias())
    }
}

/// 2^n, subnormal powers included.
fn exp2(n: i32) -> f64 {
    match n {
        -1022..=1023 => f64::from_bits(((n + 1023) as u64) << 52),
        ..-1022 => f64::from_bits(1 << (n + 1074).clamp(0, 51)),
        _ => f64::INFINITY,
    }
}

/// How two results of an approximate instruction compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judged {
    /// The GPU's error, 1 being what is allowed.
    pub gpu: f64,
    /// The simulator's.
    pub simulator: f64,
    /// Whether both are allowed.
    pub allowed: bool,
}

/// Judges one thread's results. `inputs` are the operands as they lie in registers.
pub fn judge(spelling: &str, inputs: &[u64], gpu: u64, simulator: u64) -> Judged {
    let mut parts = spelling.split('.');
    let opcode = parts.next().unwrap_or_default();
    let modifiers: Vec<&str> = parts.collect();
    let (format, elements) = match modifiers.last() {
        Some(&"f16") => (HALF, 1),
        Some(&"f16x2") => (HALF, 2),
        Some(&"bf16") => (BFLOAT, 1),
        Some(&"bf16x2") => (BFLOAT, 2),
        Some(&"f64") => (DOUBLE, 1),
        _ => (SINGLE, 1),
    };
    let ftz = modifiers.contains(&"ftz");
    let mut worst = Judged {
        allowed: true,
        ..Judged::default()
    };
    for element in 0..elements {
        let part = |code: u64| {
            let shifted = code >> (element * format.bits);
            shifted & (u64::MAX >> (64 - format.bits))
        };
        let x: Vec<f64> = inputs
            .iter()
            .map(|&a| format.decode(part(a), ftz))
            .collect();
        let judged = one(
            opcode,
            &modifiers,
            format,
            ftz,
            &x,
            part(gpu),
            part(simulator),
        );
        worst.gpu = worst.gpu.max(judged.gpu);
        worst.simulator = worst.simulator.max(judged.simulator);
        worst.allowed &= judged.allowed;
    }
    worst
}

fn one(
    opcode: &str,
    modifiers: &[&str],
    format: Format,
    ftz: bool,
    x: &[f64],
    gpu: u64,
    simulator: u64,
) -> Judged {
    let (a, b) = (x[0], x.get(1).copied().unwrap_or(1.0));
    let exact = match opcode {
        "div" => a / b,
        "rcp" => 1.0 / a,
        "sqrt" => a.sqrt(),
        "rsqrt" => 1.0 / a.sqrt(),
        "sin" => a.sin(),
        "cos" => a.cos(),
        "lg2" => a.log2(),
        "ex2" => a.exp2(),
        _ => a.tanh(),
    };
    let same = Judged {
        allowed: gpu == simulator,
        ..Judged::default()
    };
    let overflows = !exact.is_finite() || exact.abs() > format.largest();
    let underflows = exact == 0.0
        || exact.abs() < format.ulp(0.0) / 2.0
        || ftz && exact.abs() < format.smallest_normal();
    // The reciprocal of so large a divisor is zero, "div.approx.f32".
    let large = opcode == "div" && modifiers.contains(&"approx") && b.abs() > exp2(126);
    if overflows || underflows || large {
        return same;
    }
    let allowed = match bound(opcode, modifiers, format, a) {
        Bound::Ulp(n) => n * format.ulp(exact),
        // No result is closer than the format allows.
        Bound::Relative(r) => (r * exact.abs()).max(format.ulp(0.0)),
        Bound::Absolute(d) => d,
        Bound::Unstated => {
            return Judged {
                allowed: true,
                ..Judged::default()
            };
        }
    };
    let error = |code: u64| {
        let value = format.decode(code, false);
        if value.is_nan() {
            f64::INFINITY
        } else {
            (value - exact).abs() / allowed
        }
    };
    let (gpu, simulator) = (error(gpu), error(simulator));
    Judged {
        gpu,
        simulator,
        allowed: gpu <= 1.0 && simulator <= 1.0,
    }
}

fn bound(opcode: &str, modifiers: &[&str], format: Format, a: f64) -> Bound {
    match (opcode, format.bits, format.fraction) {
        ("div", ..) => Bound::Ulp(2.0),
        ("rcp" | "rsqrt", 64, _) if modifiers.contains(&"ftz") => Bound::Relative(exp2(-20)),
        (_, 64, _) => Bound::Unstated,
        ("rcp", ..) => Bound::Ulp(1.0),
        ("sqrt", ..) => Bound::Relative(exp2(-23)),
        ("rsqrt", ..) => Bound::Relative(2f64.powf(-22.9)),
        ("sin" | "cos", ..) if a.abs() <= 2.0 * PI => Bound::Absolute(2f64.powf(-20.5)),
        ("sin" | "cos", ..) if a.abs() <= 100.0 * PI => Bound::Absolute(2f64.powf(-14.7)),
        ("sin" | "cos", ..) => Bound::Unstated,
        ("lg2", ..) if a > 0.5 && a < 2.0 => Bound::Absolute(exp2(-22)),
        ("lg2", ..) => Bound::Relative(exp2(-22)),
        ("ex2", 16, 10) => Bound::Relative(2f64.powf(-9.9)),
        ("ex2", 16, _) => Bound::Relative(exp2(-7)),
        ("ex2", ..) => Bound::Ulp(2.0),
        ("tanh", 16, 10) => Bound::Absolute(2f64.powf(-10.987)),
        // The manual's 2^-8 is rounded: an H200 is 1.00007 times that off, for 0xbf3f.
        ("tanh", 16, _) => Bound::Absolute(1.0001 * exp2(-8)),
        _ => Bound::Relative(exp2(-11)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_decoded() {
        assert_eq!(SINGLE.decode(0x3fc0_0000, false), 1.5);
        assert_eq!(
            SINGLE.decode(0x8000_0001, false),
            -f64::from(f32::from_bits(1))
        );
        assert_eq!(SINGLE.decode(0x0000_0001, true), 0.0);
        assert_eq!(HALF.decode(0x7bff, false), 65504.0);
        assert_eq!(BFLOAT.decode(0x3f80, false), 1.0);
        assert_eq!(DOUBLE.decode((0.1f64).to_bits(), false), 0.1);
        assert_eq!(DOUBLE.decode(1, false), f64::from_bits(1));
        assert!(HALF.decode(0x7c01, false).is_nan());
        assert_eq!(HALF.decode(0xfc00, false), f64::NEG_INFINITY);
    }

    #[test]
    fn what_is_allowed_and_what_is_not() {
        let one = u64::from(1f32.to_bits());
        let three = u64::from(3f32.to_bits());
        let third = u64::from((1f32 / 3.0).to_bits());
        let near = judge("rcp.approx.f32", &[three], third + 1, third);
        assert!(
            !near.allowed && near.gpu > 1.0 && near.simulator < 0.5,
            "{near:?}"
        );
        assert!(judge("div.approx.f32", &[one, three], third + 1, third).allowed);
        assert!(!judge("div.approx.f32", &[one, three], third + 3, third).allowed);
        // Listed results are the same or wrong.
        assert!(!judge("rcp.approx.f32", &[0], 0x7f7f_ffff, 0x7f80_0000).allowed);
        assert!(!judge("sin.approx.f32", &[0x7f80_0000], 0x7fc0_0000, 0x7fff_ffff).allowed);
        // A NaN where there is a number.
        assert!(!judge("sqrt.approx.f32", &[three], 0x7fff_ffff, 0x3fdd_b3d7).allowed);
        // Both halves count.
        assert!(
            !judge(
                "tanh.approx.f16x2",
                &[0x3c00_0000],
                0x3c00_0000,
                0x3a18_0000
            )
            .allowed
        );
    }
}
