//! `.f16` and `.bf16` against `rustc_apfloat`: one operand over all codes, the
//! others at edges and at random.

use rustc_apfloat::ieee::{BFloat, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

use super::super::testing::{Random, compare, edges, lane, op};

/// A format of 16 bits for the reference.
trait Reference: Float + FloatConvert<Single> {
    const SUFFIX: &str;
    const EXPONENT: u32;
    const FRACTION: u32;
    fn of(bits: u64) -> Self {
        Self::from_bits(bits as u128 & 0xffff)
    }
    fn code(self) -> u64 {
        if self.is_nan() {
            0x7fff
        } else {
            self.to_bits() as u64
        }
    }
}

impl Reference for Half {
    const SUFFIX: &str = "f16";
    const EXPONENT: u32 = 5;
    const FRACTION: u32 = 10;
}

impl Reference for BFloat {
    const SUFFIX: &str = "bf16";
    const EXPONENT: u32 = 8;
    const FRACTION: u32 = 7;
}

/// Every code with every edge, and random pairs.
fn pairs<R: Reference>() -> Vec<[u64; 2]> {
    let edges = edges(R::EXPONENT, R::FRACTION);
    let mut random = Random(20);
    let mut all = Vec::new();
    for a in 0..0x10000 {
        all.push([a, random.code(R::EXPONENT, R::FRACTION)]);
        all.push([a, edges[a as usize % edges.len()]]);
    }
    all.extend(
        edges
            .iter()
            .flat_map(|&a| edges.iter().map(move |&b| [a, b])),
    );
    all
}

fn triples<R: Reference>() -> Vec<[u64; 3]> {
    let edges: Vec<u64> = edges(R::EXPONENT, R::FRACTION)
        .into_iter()
        .step_by(3)
        .collect();
    let mut random = Random(21);
    let mut all = Vec::new();
    for &a in &edges {
        for &b in &edges {
            all.extend(edges.iter().map(|&c| [a, b, c]));
        }
    }
    for _ in 0..60_000 {
        let [a, b] = [
            random.code(R::EXPONENT, R::FRACTION),
            random.code(R::EXPONENT, R::FRACTION),
        ];
        let product = (R::of(a) * R::of(b)).value.code() ^ 0x8000;
        all.push([a, b, random.code(R::EXPONENT, R::FRACTION)]);
        all.push([
            a,
            b,
            product.wrapping_add(random.bits() % 3).wrapping_sub(1) & 0xffff,
        ]);
    }
    all
}

fn arithmetic<R: Reference>() {
    let spell = |opcode: &str| format!("{opcode}.rn.{}", R::SUFFIX);
    compare(&spell("add"), pairs::<R>(), |[a, b]| {
        (R::of(a) + R::of(b)).value.code()
    });
    compare(&spell("sub"), pairs::<R>(), |[a, b]| {
        (R::of(a) - R::of(b)).value.code()
    });
    compare(&spell("mul"), pairs::<R>(), |[a, b]| {
        (R::of(a) * R::of(b)).value.code()
    });
    compare(&spell("fma"), triples::<R>(), |[a, b, c]| {
        R::of(a).mul_add(R::of(b), R::of(c)).value.code()
    });
    let plain = |opcode: &str| format!("{opcode}.{}", R::SUFFIX);
    let all = || (0..0x10000u64).map(|a| [a]);
    compare(&plain("neg"), all(), |[a]| (-R::of(a)).code());
    compare(&plain("abs"), all(), |[a]| R::of(a).abs().code());
    compare(&plain("min"), pairs::<R>(), |[a, b]| minimum::<R>(a, b));
    compare(&plain("max"), pairs::<R>(), |[a, b]| {
        minimum::<R>(a ^ 0x8000, b ^ 0x8000) ^ if both_nan::<R>(a, b) { 0 } else { 0x8000 }
    });
}

fn both_nan<R: Reference>(a: u64, b: u64) -> bool {
    R::of(a).is_nan() && R::of(b).is_nan()
}

/// The manual's `min`, −0 below +0.
fn minimum<R: Reference>(a: u64, b: u64) -> u64 {
    let (x, y) = (R::of(a), R::of(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => 0x7fff,
        (true, false) => b,
        (false, true) => a,
        _ if x.is_zero() && y.is_zero() => {
            if x.is_negative() {
                a
            } else {
                b
            }
        }
        _ => {
            if x < y {
                a
            } else {
                b
            }
        }
    }
}

#[test]
fn f16_is_exact() {
    arithmetic::<Half>();
}

#[test]
fn bf16_is_exact() {
    arithmetic::<BFloat>();
}

#[test]
fn the_modifiers_follow_the_result() {
    let is_nan = |code: u64| code & 0x7fff > 0x7c00;
    compare("add.sat.f16", pairs::<Half>(), |[a, b]| {
        let sum = (Half::of(a) + Half::of(b)).value.code();
        if is_nan(sum) || sum & 0x8000 != 0 {
            0
        } else {
            sum.min(0x3c00)
        }
    });
    compare("fma.rn.relu.f16", triples::<Half>(), |[a, b, c]| {
        let sum = Half::of(a).mul_add(Half::of(b), Half::of(c)).value.code();
        if !is_nan(sum) && sum & 0x8000 != 0 {
            0
        } else {
            sum
        }
    });
    compare("fma.rn.relu.bf16", triples::<BFloat>(), |[a, b, c]| {
        let sum = BFloat::of(a)
            .mul_add(BFloat::of(b), BFloat::of(c))
            .value
            .code();
        if sum != 0x7fff && sum & 0x8000 != 0 {
            0
        } else {
            sum
        }
    });
}

#[test]
fn ftz_flushes_operands_and_results() {
    let flush = |code: u64| {
        if code & 0x7c00 == 0 {
            code & 0x8000
        } else {
            code
        }
    };
    compare("add.ftz.f16", pairs::<Half>(), |[a, b]| {
        flush((Half::of(flush(a)) + Half::of(flush(b))).value.code())
    });
    compare("mul.ftz.f16", pairs::<Half>(), |[a, b]| {
        // The product with an unbounded exponent: an `f32`'s is large enough.
        let wide = |code: u64| -> Single { Half::of(flush(code)).convert(&mut false).value };
        let product = (wide(a) * wide(b)).value;
        let scaled: Half = product.scalbn(20).convert(&mut false).value;
        let rounded = (Half::of(flush(a)) * Half::of(flush(b))).value;
        let tiny = !scaled.is_nan() && scaled.abs() < Half::of(0x0400).scalbn(20);
        if tiny {
            rounded.code() & 0x8000
        } else {
            rounded.code()
        }
    });
    for (spelling, a, want) in [
        ("neg.ftz.f16", 0x0001, 0x8000),
        ("abs.ftz.f16", 0x83ff, 0),
        ("neg.f16", 1, 0x8001),
    ] {
        assert_eq!(lane(op(spelling, 1), [a]), want, "{spelling}");
    }
    assert_eq!(lane(op("min.ftz.f16", 2), [0x0003, 0x8003]), 0x8000);
    // What rounds up to the smallest normal number stays, as on an H200: a tie, and less than one.
    assert_eq!(lane(op("mul.ftz.f16", 2), [0xa844, 0x1780]), 0x8400);
    let fma = op("fma.rn.ftz.f16", 3);
    assert_eq!(lane(fma, [0x8600, 0x0600, 0x0400]), 0x0400);
}

#[test]
fn min_and_max_modifiers() {
    let cases = [
        ("min.NaN.f16", 0x7e01, 0x3c00, 0x7fff),
        ("max.NaN.f16", 0x3c00, 0x4000, 0x4000),
        ("max.f16", 0x8000, 0x0000, 0x0000),
        ("max.xorsign.abs.f16", 0xc000, 0x3c00, 0xc000),
        ("min.xorsign.abs.f16", 0xc000, 0xbc00, 0x3c00),
        ("min.xorsign.abs.f16", 0xfe00, 0x3c00, 0xbc00),
        ("min.xorsign.abs.f16", 0xfe00, 0xfe00, 0x7fff),
        ("min.NaN.xorsign.abs.f16", 0xfe00, 0xbc00, 0x7fff),
        ("max.bf16", 0xffc0, 0x3f80, 0x3f80),
        ("max.NaN.xorsign.abs.bf16", 0x4000, 0xbf80, 0xc000),
    ];
    for (spelling, a, b, want) in cases {
        assert_eq!(
            lane(op(spelling, 2), [a, b]),
            want,
            "{spelling} {a:#x} {b:#x}"
        );
        let packed = format!("{spelling}x2");
        assert_eq!(
            lane(op(&packed, 2), [a << 16 | 0x4200, b << 16 | 0x4200]) >> 16,
            want,
            "{packed} {a:#x} {b:#x}"
        );
    }
}

#[test]
fn packed_forms_work_on_each_half() {
    let mut random = Random(22);
    for (opcode, inputs) in [
        ("add", 2),
        ("sub", 2),
        ("mul", 2),
        ("fma", 3),
        ("neg", 1),
        ("abs", 1),
        ("min", 2),
        ("max", 2),
    ] {
        for suffix in ["f16", "bf16"] {
            let rounding = if inputs == 3 { ".rn" } else { "" };
            let scalar = op(&format!("{opcode}{rounding}.{suffix}"), inputs);
            let packed = op(&format!("{opcode}{rounding}.{suffix}x2"), inputs);
            for _ in 0..200 {
                let operands: [u64; 3] = std::array::from_fn(|_| random.bits() & 0xffff_ffff);
                // The scalar form ignores what stands above it.
                let low = lane(scalar, operands);
                let high = lane(scalar, operands.map(|x| x >> 16));
                assert_eq!(
                    lane(packed, operands),
                    low | high << 16,
                    "{opcode}.{suffix}"
                );
            }
        }
    }
}

/// Every code, against the function in `f64` with the manual's bounds.
#[test]
fn tanh_and_ex2_are_within_their_bounds() {
    let f16 = |code: u64| (Half::of(code).convert(&mut false).value as Single).to_bits();
    let value16 = |code: u64| f32::from_bits(f16(code) as u32) as f64;
    let value_b = |code: u64| f32::from_bits((code as u32) << 16) as f64;
    type Check = (&'static str, fn(f64) -> f64, bool, f64);
    let checks: [Check; 4] = [
        ("tanh.approx.f16", f64::tanh, false, -10.987),
        ("tanh.approx.bf16", f64::tanh, false, -8.0),
        ("ex2.approx.f16", f64::exp2, true, -9.9),
        ("ex2.approx.ftz.bf16", f64::exp2, true, -7.0),
    ];
    for (spelling, function, relative, bound) in checks {
        let op = op(spelling, 1);
        let bf = spelling.ends_with("bf16");
        let value = |code: u64| if bf { value_b(code) } else { value16(code) };
        for code in 0..0x10000 {
            let a = value(code);
            let result = lane(op, [code]);
            let want = function(a);
            let got = value(result);
            if a.is_nan() {
                assert_eq!(result, 0x7fff, "{spelling} {code:#x}");
            } else if got.is_infinite() {
                let largest = value(if bf { 0x7f7f } else { 0x7bff });
                assert!(want > largest, "{spelling} {code:#x}");
            } else {
                // Below the normal numbers the bound is the last place's half.
                let floor = value(if bf { 0x0080 } else { 0x0400 });
                let unit = if relative { want.max(floor) } else { 1.0 };
                let flushed = bf && relative && want < floor && got == 0.0;
                assert!(
                    flushed || (got - want).abs() <= unit * bound.exp2(),
                    "{spelling} {code:#x}"
                );
            }
        }
    }
    for (spelling, a, want) in [
        ("tanh.approx.f16", 0x8000, 0x8000),
        ("tanh.approx.f16", 0xfc00, 0xbc00),
        ("tanh.approx.f16", 0x0001, 0x0001),
        ("ex2.approx.f16", 0x8000, 0x3c00),
        ("ex2.approx.f16", 0xfc00, 0),
        ("ex2.approx.ftz.bf16", 0x8001, 0x3f80),
        ("ex2.approx.ftz.bf16", 0x7f80, 0x7f80),
    ] {
        assert_eq!(lane(op(spelling, 1), [a]), want, "{spelling} {a:#x}");
    }
}
