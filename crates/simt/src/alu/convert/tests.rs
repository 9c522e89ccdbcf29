//! Conversions against `rustc_apfloat`, exhaustive where the operand has 16 bits or fewer.

mod narrow;
mod spellings;

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::super::testing::{Random, compare, edges, lane, op};

const FLOAT_ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

const INTEGERS: [(&str, u32, bool); 8] = [
    ("u8", 8, false),
    ("s8", 8, true),
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

/// A value of any of the four types, as an exact `f64`, or the NaN's code.
#[derive(Clone, Copy)]
struct Floating {
    name: &'static str,
    exponent: u32,
    fraction: u32,
    value: fn(u64) -> Double,
    /// The code of a number in this type.
    code: fn(Double, Round) -> u64,
}

fn from<F: Float + FloatConvert<Double>>(bits: u64) -> Double {
    F::from_bits(bits as u128).convert(&mut false).value
}

fn to<F: Float>(value: Double, round: Round) -> u64
where
    Double: FloatConvert<F>,
{
    let value: F = value.convert_r(round, &mut false).value;
    value.to_bits() as u64
}

const FLOATS: [Floating; 4] = [
    Floating {
        name: "f16",
        exponent: 5,
        fraction: 10,
        value: |bits| from::<Half>(bits & 0xffff),
        code: to::<Half>,
    },
    Floating {
        name: "bf16",
        exponent: 8,
        fraction: 7,
        value: |bits| from::<BFloat>(bits & 0xffff),
        code: to::<BFloat>,
    },
    Floating {
        name: "f32",
        exponent: 8,
        fraction: 23,
        value: |bits| from::<Single>(bits & 0xffff_ffff),
        code: to::<Single>,
    },
    Floating {
        name: "f64",
        exponent: 11,
        fraction: 52,
        value: |bits| Double::from_bits(bits as u128),
        code: |value, _| value.to_bits() as u64,
    },
];

/// All codes of a 16-bit type; edges and random codes of a wider one.
fn codes(of: Floating, count: usize) -> Vec<[u64; 1]> {
    if of.exponent + of.fraction < 16 {
        return (0..0x10000).map(|code| [code]).collect();
    }
    let mut random = Random(30);
    let mut all: Vec<[u64; 1]> = edges(of.exponent, of.fraction)
        .into_iter()
        .map(|a| [a])
        .collect();
    all.extend((0..count).map(|_| [random.code(of.exponent, of.fraction)]));
    // Near the limits of the integer types.
    let scale = |value: f64| {
        let code = (of.code)(
            Double::from_bits(value.to_bits() as u128),
            Round::NearestTiesToEven,
        );
        (0..5).map(move |step| [code.wrapping_add(step).wrapping_sub(2)])
    };
    for bits in [7, 8, 15, 16, 31, 32, 63, 64] {
        for offset in [-1.0, -0.5, 0.0, 0.5] {
            all.extend(scale(2f64.powi(bits) + offset));
            all.extend(scale(-2f64.powi(bits) - offset));
        }
    }
    all
}

fn integer_value(bits: u64, width: u32, signed: bool) -> i128 {
    let shift = 128 - width;
    let high = (bits as u128) << shift;
    if signed {
        high as i128 >> shift
    } else {
        (high >> shift) as i128
    }
}

fn mask(value: i128, width: u32) -> u64 {
    (value as u128 & (u128::MAX >> (128 - width))) as u64
}

fn limits(width: u32, signed: bool) -> (i128, i128) {
    if signed {
        (-1 << (width - 1), (1 << (width - 1)) - 1)
    } else {
        (0, (1 << width) - 1)
    }
}

fn integer_codes(width: u32) -> Vec<[u64; 1]> {
    if width <= 16 {
        // With bits above the type's, which count for nothing.
        return (0..1u64 << width)
            .map(|code| [code | 0xa5 << width])
            .collect();
    }
    let mut random = Random(31);
    let mut all = Vec::new();
    for bits in 0..width {
        for around in [-2i64, -1, 0, 1, 2] {
            let near = (1i128 << bits) + around as i128;
            all.extend([[mask(near, width)], [mask(-near, width)]]);
        }
        for _ in 0..20 {
            all.push([random.bits() >> (64 - width) >> bits]);
        }
    }
    all
}

#[test]
fn between_integers() {
    for (from, from_width, from_signed) in INTEGERS {
        let (low, high) = limits(from_width, from_signed);
        for (to, width, signed) in INTEGERS {
            let (min, max) = limits(width, signed);
            let value = |bits| integer_value(bits, from_width, from_signed);
            compare(
                &format!("cvt.{to}.{from}"),
                integer_codes(from_width),
                |[a]| mask(value(a), width),
            );
            if low < min || high > max {
                compare(
                    &format!("cvt.sat.{to}.{from}"),
                    integer_codes(from_width),
                    |[a]| mask(value(a).clamp(min, max), width),
                );
            }
        }
    }
}

#[test]
fn pack_clamps_two_and_shifts_the_third() {
    let mut random = Random(32);
    for (to, width, signed) in [
        ("u2", 2, false),
        ("s2", 2, true),
        ("u4", 4, false),
        ("s4", 4, true),
        ("u8", 8, false),
        ("s8", 8, true),
        ("u16", 16, false),
        ("s16", 16, true),
    ] {
        let (min, max) = limits(width, signed);
        let field = |a: u64| mask(integer_value(a, 32, true).clamp(min, max), width);
        let inputs: Vec<[u64; 3]> = (0..500)
            .map(|_| {
                let small = |r: u64| {
                    if r & 1 == 0 {
                        mask(integer_value(r >> 8, 18, true), 32)
                    } else {
                        r >> 32
                    }
                };
                [
                    small(random.bits()),
                    small(random.bits()),
                    random.bits() >> 32,
                ]
            })
            .collect();
        if width == 16 {
            compare(
                &format!("cvt.pack.sat.{to}.s32"),
                inputs.iter().map(|i| [i[0], i[1]]),
                |[a, b]| field(a) << 16 | field(b),
            );
        } else {
            compare(
                &format!("cvt.pack.sat.{to}.s32.b32"),
                inputs,
                |[a, b, c]| (field(a) << width | field(b) | c << (2 * width)) & 0xffff_ffff,
            );
        }
    }
    assert_eq!(
        lane(
            op("cvt.pack.sat.s16.s32", 2),
            [0x1_0000, (-70000i32) as u32 as u64]
        ),
        0x7fff_8000
    );
}

#[test]
fn from_floating_point_to_integers() {
    for source in FLOATS {
        for (to, width, signed) in INTEGERS {
            for (name, round) in FLOAT_ROUNDINGS {
                let middle = 1 << (width - 1);
                let nan = if source.name == "f64" || width == 64 {
                    middle
                } else {
                    0
                };
                compare(
                    &format!("cvt.{name}i.{to}.{}", source.name),
                    codes(source, 4_000),
                    |[a]| {
                        let value = (source.value)(a);
                        if value.is_nan() {
                            return nan;
                        }
                        let width = width as usize;
                        if signed {
                            mask(
                                value.to_i128_r(width, round, &mut false).value,
                                width as u32,
                            )
                        } else {
                            value.to_u128_r(width, round, &mut false).value as u64
                        }
                    },
                );
            }
        }
    }
}

#[test]
fn ftz_flushes_before_rounding_to_an_integer() {
    assert_eq!(lane(op("cvt.rpi.s32.f32", 1), [1]), 1);
    assert_eq!(lane(op("cvt.rpi.ftz.s32.f32", 1), [1]), 0);
    assert_eq!(lane(op("cvt.rmi.s64.f32", 1), [0x8000_0001]), u64::MAX);
    assert_eq!(lane(op("cvt.rmi.ftz.s64.f32", 1), [0x8000_0001]), 0);
    assert_eq!(lane(op("cvt.rpi.ftz.f32.f32", 1), [1]), 0);
    assert_eq!(lane(op("cvt.rpi.f32.f32", 1), [1]), 0x3f80_0000);
    assert_eq!(
        lane(op("cvt.rzi.sat.s8.f32", 1), [(-510f32).to_bits() as u64]),
        0x80
    );
}

#[test]
fn to_integral_values_of_the_same_type() {
    for source in FLOATS {
        for (name, round) in FLOAT_ROUNDINGS {
            compare(
                &format!("cvt.{name}i.{0}.{0}", source.name),
                codes(source, 10_000),
                |[a]| {
                    let value = (source.value)(a);
                    match source.name {
                        "f64" if value.is_nan() => a | 1 << 51,
                        "f32" if value.is_nan() => 0x7fff_ffff,
                        _ if value.is_nan() => 0x7fff,
                        _ => (source.code)(value.round_to_integral(round).value, round),
                    }
                },
            );
        }
    }
    assert_eq!(lane(op("cvt.rni.f32.f32", 1), [0xbe80_0000]), 0x8000_0000);
    assert_eq!(lane(op("cvt.rni.sat.f16.f16", 1), [0xbe00]), 0);
    assert_eq!(
        lane(op("cvt.rni.sat.f64.f64", 1), [(7.0f64).to_bits()]),
        (1.0f64).to_bits()
    );
}

#[test]
fn from_integers_to_floating_point() {
    for target in FLOATS {
        for (from, width, signed) in INTEGERS {
            for (name, round) in FLOAT_ROUNDINGS {
                compare(
                    &format!("cvt.{name}.{}.{from}", target.name),
                    integer_codes(width),
                    |[a]| {
                        let value = integer_value(a, width, signed);
                        match target.name {
                            "f16" => Half::from_i128_r(value, round).value.to_bits() as u64,
                            "bf16" => BFloat::from_i128_r(value, round).value.to_bits() as u64,
                            "f32" => Single::from_i128_r(value, round).value.to_bits() as u64,
                            _ => Double::from_i128_r(value, round).value.to_bits() as u64,
                        }
                    },
                );
            }
        }
    }
    assert_eq!(lane(op("cvt.rn.sat.f32.s32", 1), [5]), 0x3f80_0000);
    assert_eq!(lane(op("cvt.rn.sat.f32.s32", 1), [0xffff_fffb]), 0);
    assert_eq!(lane(op("cvt.rz.sat.f16.u64", 1), [5]), 0x3c00);
    assert_eq!(lane(op("cvt.rn.sat.f64.s8", 1), [1]), (1f64).to_bits());
}

/// What NaN becomes.
fn nan_code(to: &str, from: &str, bits: u64) -> u64 {
    match (to, from) {
        ("f32", "f64") => (bits >> 32 & 0x8000_0000) | 0x7fc0_0000 | (bits >> 29 & 0x7f_ffff),
        ("f64", "f32") => (bits & 0x8000_0000) << 32 | 0x7ff8 << 48 | (bits & 0x7f_ffff) << 29,
        ("f32", "bf16") => bits << 16,
        ("f32", _) => 0x7fff_ffff,
        ("f64", "f16") => (bits & 0x8000) << 48 | 0x7ff8 << 48 | (bits & 0x3ff) << 42,
        ("f64", _) => (bits & 0x8000) << 48 | 0x7ff8 << 48 | (bits & 0x7f) << 45,
        ("f16", "f64") => (bits >> 48 & 0x8000) | 0x7e00 | (bits >> 42 & 0x3ff),
        ("bf16", "f64") => (bits >> 48 & 0x8000) | 0x7fc0 | (bits >> 45 & 0x7f),
        _ => 0x7fff,
    }
}

#[test]
fn between_floating_point_types() {
    for source in FLOATS {
        for target in FLOATS {
            let (from, to) = (source.name, target.name);
            if from == to {
                continue;
            }
            let widens = matches!(
                (from, to),
                ("f16", "f32" | "f64") | ("f32", "f64") | ("bf16", "f32" | "f64")
            );
            for (name, round) in FLOAT_ROUNDINGS {
                let rounding = if widens {
                    String::new()
                } else {
                    format!(".{name}")
                };
                compare(
                    &format!("cvt{rounding}.{to}.{from}"),
                    codes(source, 30_000),
                    |[a]| {
                        let value = (source.value)(a);
                        if value.is_nan() {
                            nan_code(to, from, a)
                        } else {
                            (target.code)(value, round)
                        }
                    },
                );
            }
        }
    }
}

#[test]
fn plain_conversions_of_a_type_to_itself() {
    for (spelling, a, want) in [
        ("cvt.f32.f32", 0xffc1_2345, 0xffc1_2345),
        ("cvt.f32.f32", 1, 1),
        ("cvt.ftz.f32.f32", 0x8000_0001, 0x8000_0000),
        ("cvt.ftz.f32.f32", 0xffc1_2345, 0x7fff_ffff),
        ("cvt.sat.f32.f32", 0x8000_0000, 0),
        ("cvt.sat.f32.f32", 0x7fc0_0000, 0),
        ("cvt.sat.f32.f32", 1, 1),
        ("cvt.sat.ftz.f32.f32", 1, 0),
        ("cvt.f64.f64", 0x7ff0_0000_0000_0001, 0x7ff0_0000_0000_0001),
        ("cvt.sat.f64.f64", 0xfff8_0000_0000_0000, 0),
        ("cvt.sat.f64.f64", 1 << 63, 0),
        ("cvt.f16.f16", 0xfe01, 0x7fff),
        ("cvt.f16.f16", 0x8001, 0x8001),
        ("cvt.sat.f16.f16", 0x4000, 0x3c00),
        ("cvt.bf16.bf16", 0xffc1, 0x7fff),
    ] {
        assert_eq!(lane(op(spelling, 1), [a]), want, "{spelling} {a:#x}");
    }
}

#[test]
fn modifiers_between_floating_point_types() {
    for (spelling, a, want) in [
        // Results of `.ftz` are decided after rounding.
        ("cvt.rn.ftz.f32.f64", 0x380f_ffff_ffff_ffff, 0x0080_0000),
        ("cvt.rn.ftz.f32.f64", 0x380f_ffff_f000_0000, 0x0080_0000),
        ("cvt.rn.ftz.f32.f64", 0x380f_ffff_efff_ffff, 0),
        ("cvt.rz.ftz.f32.f64", 0xb80f_ffff_ffff_ffff, 0x8000_0000),
        ("cvt.rp.ftz.f32.f64", 0x380f_ffff_e000_0000, 0),
        ("cvt.rp.ftz.f32.f64", 0x380f_ffff_e000_0001, 0x0080_0000),
        ("cvt.rm.ftz.f32.f64", 0x380f_ffff_ffff_ffff, 0),
        ("cvt.ftz.f64.f32", 0x8000_0001, 1 << 63),
        ("cvt.f64.f32", 0x8000_0001, 0xb6a0_0000_0000_0000),
        ("cvt.rp.f16.f32", 1, 1),
        // As an H200 has them.
        ("cvt.rp.ftz.f16.f32", 0x0060_0000, 1),
        ("cvt.rp.ftz.sat.f16.f32", 2, 1),
        ("cvt.f64.f16", 0xfd99, 0xfffe_6400_0000_0000),
        ("cvt.rz.f64.bf16", 0x7f9b, 0x7ffb_6000_0000_0000),
        ("cvt.rn.f16.f64", 0xfff8_967f_320e_a866, 0xfe25),
        ("cvt.rm.bf16.f64", 0xfff7_124d_66a3_ffb3, 0xfff8),
        ("cvt.rn.ftz.f32.bf16", 0xffdd, 0x7fff_ffff),
        ("cvt.ftz.f64.f32", 0xffb9_7202, 0x7fff_ffff_e000_0000),
        ("cvt.rp.bf16.f32", 1, 1),
        ("cvt.rp.ftz.bf16.f32", 1, 0),
        ("cvt.ftz.f32.bf16", 0x8001, 0x8000_0000),
        ("cvt.f32.bf16", 0x8001, 0x8001_0000),
        ("cvt.rn.sat.f16.f32", 0x7fc0_0000, 0),
        ("cvt.rn.sat.f16.f32", 0x4000_0000, 0x3c00),
        ("cvt.rn.sat.f16.f64", (-1f64).to_bits(), 0),
        ("cvt.rn.sat.f32.f64", (0.5f64).to_bits(), 0x3f00_0000),
        ("cvt.sat.f64.f16", 0x4000, (1f64).to_bits()),
        ("cvt.sat.f32.f16", 0xfc00, 0),
        ("cvt.rn.relu.f16.f32", 0x8000_0000, 0),
        ("cvt.rn.relu.f16.f32", 0xff80_0000, 0),
        ("cvt.rn.relu.f16.f32", 0xffc0_0001, 0x7fff),
        ("cvt.rn.satfinite.f16.f32", 0x7f80_0000, 0x7bff),
        ("cvt.rn.satfinite.f16.f32", 0xff7f_ffff, 0xfbff),
        ("cvt.rn.satfinite.f16.f32", 0x477f_f000, 0x7bff),
        ("cvt.rn.satfinite.f16.f32", 0x7fc0_0000, 0x7fff),
        ("cvt.rz.satfinite.bf16.f32", 0xff80_0000, 0xff7f),
        ("cvt.rn.relu.satfinite.bf16.f32", 0x7f7f_ffff, 0x7f7f),
        ("cvt.rn.bf16.f32", 0x7f7f_ffff, 0x7f80),
    ] {
        let got = lane(op(spelling, 1), [a]);
        assert_eq!(got, want, "{spelling} {a:#x}: {got:#x}");
    }
}

#[test]
fn two_sources_pack_the_first_above() {
    let mut random = Random(33);
    for (to, one) in [("f16x2", "f16"), ("bf16x2", "bf16")] {
        for infix in ["rn", "rz", "rn.relu", "rz.satfinite", "rn.relu.satfinite"] {
            let two = op(&format!("cvt.{infix}.{to}.f32"), 2);
            let one = op(&format!("cvt.{infix}.{one}.f32"), 1);
            for _ in 0..500 {
                let (a, b) = (random.code(8, 23), random.code(8, 23));
                assert_eq!(lane(two, [a, b]), lane(one, [a]) << 16 | lane(one, [b]));
            }
        }
    }
}
