//! Conversions against `rustc_apfloat`, exhaustive where the operand has 16 bits or fewer.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::super::testing::{Random, compare, edges, find, lane, op};

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
        ("f64", _) => 0x7fff_ffff_e000_0000,
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
        ("cvt.rp.ftz.f16.f32", 1, 0),
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

#[test]
fn tf32_has_ten_bits_of_fraction() {
    for (spelling, a, want) in [
        ("cvt.rna.tf32.f32", 0x3f80_1000, 0x3f80_2000),
        ("cvt.rn.tf32.f32", 0x3f80_1000, 0x3f80_0000),
        ("cvt.rn.tf32.f32", 0x3f80_3000, 0x3f80_4000),
        ("cvt.rn.tf32.f32", 0x3f80_1001, 0x3f80_2000),
        ("cvt.rz.tf32.f32", 0xbf80_1fff, 0xbf80_0000),
        ("cvt.rna.tf32.f32", 0x7f7f_ffff, 0x7f80_0000),
        ("cvt.rna.satfinite.tf32.f32", 0x7f7f_ffff, 0x7f7f_e000),
        ("cvt.rn.satfinite.tf32.f32", 0xff80_0000, 0xff7f_e000),
        ("cvt.rz.relu.tf32.f32", 0xbf80_0000, 0),
        ("cvt.rz.relu.satfinite.tf32.f32", 0x7f80_0000, 0x7f7f_e000),
        ("cvt.rna.tf32.f32", 0x7fc1_2345, 0x7fc1_2000),
        ("cvt.rna.tf32.f32", 0x7f80_0001, 0x7fff_ffff),
        ("cvt.rn.tf32.f32", 0xffc1_2345, 0x7fff_ffff),
        ("cvt.rn.tf32.f32", 0x8000_0001, 0x8000_0000),
    ] {
        assert_eq!(lane(op(spelling, 1), [a]), want, "{spelling} {a:#x}");
    }
}

/// A narrow format by its definition: the values of its codes.
struct Alternate {
    name: &'static str,
    exponent: i32,
    fraction: i32,
    /// Codes with a sign of plus that are numbers.
    numbers: u64,
    nan: u64,
}

const ALTERNATES: [Alternate; 5] = [
    Alternate {
        name: "e4m3",
        exponent: 4,
        fraction: 3,
        numbers: 0x7f,
        nan: 0x7f,
    },
    Alternate {
        name: "e5m2",
        exponent: 5,
        fraction: 2,
        numbers: 0x7c,
        nan: 0x7f,
    },
    Alternate {
        name: "e3m2",
        exponent: 3,
        fraction: 2,
        numbers: 0x20,
        nan: 0x1f,
    },
    Alternate {
        name: "e2m3",
        exponent: 2,
        fraction: 3,
        numbers: 0x20,
        nan: 0x1f,
    },
    Alternate {
        name: "e2m1",
        exponent: 2,
        fraction: 1,
        numbers: 0x08,
        nan: 0x07,
    },
];

impl Alternate {
    fn width(&self) -> u32 {
        (1 + self.exponent + self.fraction) as u32
    }

    /// The width of its field in a packed register.
    fn field(&self) -> u32 {
        if self.width() == 4 { 4 } else { 8 }
    }

    fn value(&self, code: u64) -> f64 {
        let bias = (1 << (self.exponent - 1)) - 1;
        let field = (code >> self.fraction) as i32;
        let fraction = (code & ((1 << self.fraction) - 1)) as f64 / 2f64.powi(self.fraction);
        match field {
            0 => fraction * 2f64.powi(1 - bias),
            _ => (1.0 + fraction) * 2f64.powi(field - bias),
        }
    }

    /// The nearest code, by trying all.
    fn nearest(&self, value: f64, relu: bool) -> u64 {
        if value.is_nan() {
            return self.nan;
        }
        // What is too large is so by far.
        let magnitude = value.abs().min(1e6);
        let best = (0..self.numbers)
            .min_by(|&a, &b| {
                let distance = |code| (self.value(code) - magnitude).abs();
                distance(a)
                    .total_cmp(&distance(b))
                    .then((a & 1).cmp(&(b & 1)))
            })
            .unwrap();
        match value.is_sign_negative() {
            true if relu => 0,
            true => best | 1 << (self.width() - 1),
            false => best,
        }
    }
}

#[test]
fn narrow_formats_take_the_nearest_number() {
    let value16 = |code: u64| from::<Half>(code & 0xffff).to_bits() as u64;
    for format in ALTERNATES {
        let mut random = Random(34);
        let mut inputs: Vec<[u64; 2]> = Vec::new();
        for code in 0..format.numbers {
            // The numbers, the middles between them, and what lies beside those.
            let (here, next) = (format.value(code), format.value(code + 1));
            for value in [here, (here + next) / 2.0] {
                let bits = (value as f32).to_bits() as u64;
                for near in [bits, bits + 1, bits.saturating_sub(1)] {
                    inputs.push([near, near | 0x8000_0000]);
                }
            }
        }
        inputs.extend(edges(8, 23).into_iter().map(|a| [a, random.code(8, 23)]));
        inputs.extend((0..500).map(|_| [random.code(8, 23), random.code(8, 23)]));
        let of = |bits: u64| f32::from_bits(bits as u32) as f64;
        for (infix, relu) in [("rn.satfinite", false), ("rn.satfinite.relu", true)] {
            let spelling = format!("cvt.{infix}.{}x2", format.name);
            compare(&format!("{spelling}.f32"), inputs.clone(), |[a, b]| {
                format.nearest(of(a), relu) << format.field() | format.nearest(of(b), relu)
            });
            let halves = (0..0x10000u64).step_by(7).map(|a| [a << 16 | (a ^ 0x5a5a)]);
            compare(&format!("{spelling}.f16x2"), halves.clone(), |[a]| {
                let [low, high] = [a, a >> 16].map(|x| f64::from_bits(value16(x)));
                format.nearest(high, relu) << format.field() | format.nearest(low, relu)
            });
            compare(&format!("{spelling}.bf16x2"), halves, |[a]| {
                let [low, high] = [a << 16 & 0xffff_ffff, a & 0xffff_0000].map(of);
                format.nearest(high, relu) << format.field() | format.nearest(low, relu)
            });
        }
    }
}

/// Two of the formats are in the reference too.
#[test]
fn eight_bit_formats_agree_with_the_reference() {
    let mut random = Random(35);
    for (name, largest) in [("e4m3", 0x7e), ("e5m2", 0x7b)] {
        let inputs: Vec<[u64; 2]> = (0..20_000)
            .map(|_| [random.code(8, 23), random.code(8, 23)])
            .collect();
        compare(&format!("cvt.rn.satfinite.{name}x2.f32"), inputs, |pair| {
            let [a, b] = pair.map(|bits| {
                let value = Single::from_bits(bits as u128);
                let sign = bits >> 24 & 0x80;
                let code = match name {
                    "e4m3" => {
                        let code: Float8E4M3FN = value.convert(&mut false).value;
                        code.to_bits() as u64
                    }
                    _ => {
                        let code: Float8E5M2 = value.convert(&mut false).value;
                        code.to_bits() as u64
                    }
                };
                match () {
                    _ if value.is_nan() => 0x7f,
                    _ if code & 0x7f > largest => sign | largest,
                    _ => code,
                }
            });
            a << 8 | b
        });
    }
}

#[test]
fn narrow_formats_widen_exactly() {
    for format in ALTERNATES {
        let sign = 1 << (format.width() - 1);
        for (infix, relu) in [("rn", false), ("rn.relu", true)] {
            let op = op(&format!("cvt.{infix}.f16x2.{}x2", format.name), 1);
            for code in 0..2 * sign {
                let magnitude = format.value(code & (sign - 1));
                let value = if code & sign != 0 {
                    -magnitude
                } else {
                    magnitude
                };
                let infinite = format.name == "e5m2" && code & (sign - 1) == 0x7c;
                let want = match () {
                    _ if infinite => 0x7c00 | (code & sign) << 8,
                    _ if code & (sign - 1) >= format.numbers => 0x7fff,
                    _ => to::<Half>(
                        Double::from_bits(value.to_bits() as u128),
                        Round::TowardZero,
                    ),
                };
                let want = if relu && code & sign != 0 && want != 0x7fff {
                    0
                } else {
                    want
                };
                let packed = code << format.field() | code;
                assert_eq!(
                    lane(op, [packed]),
                    want << 16 | want,
                    "{} {code:#x} {infix}",
                    format.name
                );
            }
        }
    }
}

#[test]
fn scales_are_powers_of_two() {
    for (spelling, a, want) in [
        ("cvt.rz.ue8m0x2.f32", 0x3f80_0000, 0x7f),
        ("cvt.rz.ue8m0x2.f32", 0x3fff_ffff, 0x7f),
        ("cvt.rp.ue8m0x2.f32", 0x3f80_0001, 0x80),
        ("cvt.rp.ue8m0x2.f32", 0xbf80_0001, 0x80),
        ("cvt.rp.ue8m0x2.f32", 0x3f80_0000, 0x7f),
        ("cvt.rp.ue8m0x2.f32", 0x0040_0000, 0),
        ("cvt.rp.ue8m0x2.f32", 0x0040_0001, 1),
        ("cvt.rz.ue8m0x2.f32", 0x007f_ffff, 0),
        ("cvt.rp.ue8m0x2.f32", 0, 0),
        ("cvt.rp.ue8m0x2.f32", 0x7f7f_ffff, 0xff),
        ("cvt.rp.satfinite.ue8m0x2.f32", 0x7f7f_ffff, 0xfe),
        ("cvt.rz.ue8m0x2.f32", 0x7f80_0000, 0xff),
        ("cvt.rz.satfinite.ue8m0x2.f32", 0xff80_0000, 0xfe),
        ("cvt.rz.satfinite.ue8m0x2.f32", 0x7fc0_0000, 0xff),
    ] {
        assert_eq!(
            lane(op(spelling, 2), [a, 0x4000_0000]),
            want << 8 | 0x80,
            "{spelling} {a:#x}"
        );
        if a & 0xffff == 0 {
            let from_bf16 = spelling.replace(".f32", ".bf16x2");
            assert_eq!(
                lane(op(&from_bf16, 1), [a | 0x4000]),
                want << 8 | 0x80,
                "{from_bf16} {a:#x}"
            );
        }
    }
    let widen = op("cvt.rn.bf16x2.ue8m0x2", 1);
    assert_eq!(lane(widen, [0x7f00]), 0x3f80_0040);
    assert_eq!(lane(widen, [0xff01]), 0x7fff_0080);
}

/// With every value of the random bits, the share that rounds up is the part cut off.
#[test]
fn random_bits_round_up_in_proportion() {
    for (spelling, bits, value, cut) in [
        ("cvt.rs.f16x2.f32", 13, 0x3f80_0000 | 0x0abc, 0x0abc),
        ("cvt.rs.f16x2.f32", 13, 0x3300_0000, 0x1000),
        ("cvt.rs.bf16x2.f32", 16, 0x3f80_0000 | 0x1234, 0x1234),
        ("cvt.rs.bf16x2.f32", 16, 0x0000_8001, 0x8001),
    ] {
        let op = op(spelling, 3);
        let base = lane(op, [0, value, 0]);
        let mut up = 0;
        for random in 0..1u64 << bits {
            let result = lane(op, [0, value, random]);
            assert!(
                result == base || result == base + 1,
                "{spelling} {random:#x}"
            );
            up += result - base;
            let above = lane(op, [value | 0x8000_0000, 0, random << 16]);
            assert_eq!(above, (result | 0x8000) << 16, "{spelling} {random:#x}");
        }
        assert_eq!(up, cut, "{spelling} {value:#x}");
    }
    let clamps = op("cvt.rs.satfinite.f16x2.f32", 3);
    assert_eq!(
        lane(clamps, [0x7f80_0000, 0xc77f_ffff, 0x1fff]),
        0x7bff_fbff
    );
    assert_eq!(
        lane(
            op("cvt.rs.f16x2.f32", 3),
            [0x7f80_0000, 0xc77f_ffff, 0x1fff]
        ),
        0x7c00_fc00
    );
    assert_eq!(
        lane(
            op("cvt.rs.relu.bf16x2.f32", 3),
            [0xffc0_0000, 0xbf80_0000, 0]
        ),
        0x7fff_0000
    );
}

#[test]
fn four_values_take_their_own_random_byte() {
    let value = |x: f32| x.to_bits() as u64;
    // 1 + 1/32 is a quarter of a step of e4m3 (1/8): up when the byte is 192 or more.
    let a = value(1.0 + 1.0 / 32.0);
    let op8 = op("cvt.rs.satfinite.e4m3x4.f32", 5);
    assert_eq!(lane(op8, [a, a, a, a, 0xc0bf_ffbf]), 0x3938_3938);
    assert_eq!(
        lane(op8, [a, value(1e9), value(-1e9), value(f32::NAN), 0]),
        0x387e_fe7f
    );
    let rectified = op("cvt.rs.relu.satfinite.e5m2x4.f32", 5);
    assert_eq!(lane(rectified, [value(-1.0), a, a, a, 0]), 0x003c_3c3c);
    let op6 = op("cvt.rs.satfinite.e2m3x4.f32", 5);
    assert_eq!(
        lane(
            op6,
            [a, value(100.0), value(-100.0), value(f32::NAN), 0xc000_0000]
        ),
        0x091f_3f1f
    );
}

/// The spellings of conversions between the twelve scalar types that exist, exactly:
/// each line has results, operands, and alternatives of roundings and optional modifiers.
#[test]
fn scalar_spellings_are_those_that_exist() {
    const INTEGRAL: &str = "rni rzi rmi rpi";
    const IEEE: &str = "rn rz rm rp";
    let floats = ["f16", "bf16", "f32", "f64"];
    let mut expected = std::collections::BTreeSet::new();
    let mut allow = |to: &str, from: &str, roundings: &str, flags: &[&str]| {
        for rounding in roundings.split(' ') {
            for set in 0..1 << flags.len() {
                let mut parts = vec!["cvt"];
                parts.extend((rounding != "-").then_some(rounding));
                parts.extend(
                    (0..flags.len())
                        .filter(|i| set >> i & 1 == 1)
                        .map(|i| flags[i]),
                );
                parts.extend([to, from]);
                expected.insert(parts.join("."));
            }
        }
    };
    for (integer, width, signed) in INTEGERS {
        for (other, other_width, other_signed) in INTEGERS {
            let fits = match (other_signed, signed) {
                (true, false) => false,
                (false, true) => other_width < width,
                _ => other_width <= width,
            };
            allow(integer, other, "-", if fits { &[] } else { &["sat"] });
        }
        for float in floats {
            let flags: &[&str] = match float {
                "f32" => &["ftz", "sat"],
                "bf16" => &[],
                _ => &["sat"],
            };
            allow(integer, float, INTEGRAL, flags);
            allow(float, integer, IEEE, flags);
        }
    }
    for float in floats {
        let flags: &[&str] = match float {
            "f32" => &["ftz", "sat"],
            "bf16" => &[],
            _ => &["sat"],
        };
        allow(float, float, "-", flags);
        allow(float, float, INTEGRAL, flags);
    }
    allow("f32", "f64", IEEE, &["ftz", "sat"]);
    allow("f16", "f64", IEEE, &["sat"]);
    allow("bf16", "f64", IEEE, &[]);
    allow("f16", "f32", IEEE, &["ftz", "sat"]);
    allow("f16", "f32", "rn rz", &["relu", "satfinite"]);
    allow("bf16", "f32", IEEE, &["ftz"]);
    allow("bf16", "f32", "rn rz", &["relu", "satfinite"]);
    allow("f64", "f32", "-", &["ftz", "sat"]);
    allow("f32", "f16", "-", &["ftz", "sat"]);
    allow("f64", "f16", "-", &["sat"]);
    allow("f32", "bf16", "- rn rz rm rp", &["ftz"]);
    allow("f64", "bf16", "- rn rz rm rp", &[]);
    allow("f16", "bf16", "- rn rz rm rp", &[]);
    allow("bf16", "f16", "- rn rz rm rp", &[]);

    let types = INTEGERS.iter().map(|i| i.0).chain(floats);
    for to in types.clone() {
        for from in types.clone() {
            for rounding in "- rn rz rm rp rna rs rni rzi rmi rpi approx full".split(' ') {
                for set in 0..16 {
                    let all = ["ftz", "sat", "relu", "satfinite"];
                    let mut parts = vec!["cvt"];
                    parts.extend((rounding != "-").then_some(rounding));
                    parts.extend((0..4).filter(|i| set >> i & 1 == 1).map(|i| all[i]));
                    parts.extend([to, from]);
                    let spelling = parts.join(".");
                    let there = find(&spelling, 1).is_some();
                    assert_eq!(there, expected.contains(&spelling), "{spelling}");
                }
            }
        }
    }
}

/// The same for packed and narrow types.
#[test]
fn narrow_spellings_are_those_that_exist() {
    let mut expected = std::collections::BTreeSet::new();
    let mut allow = |to: &str, from: &str, inputs: usize, modifiers: &[&str]| {
        for modifier in modifiers {
            expected.insert((format!("cvt.{modifier}.{to}.{from}"), inputs));
        }
    };
    let halves = [
        "rn",
        "rn.relu",
        "rn.relu.satfinite",
        "rn.satfinite",
        "rz",
        "rz.relu",
        "rz.relu.satfinite",
        "rz.satfinite",
    ];
    for to in ["f16x2", "bf16x2"] {
        allow(to, "f32", 2, &halves);
        allow(
            to,
            "f32",
            3,
            &["rs", "rs.relu", "rs.relu.satfinite", "rs.satfinite"],
        );
    }
    allow("tf32", "f32", 1, &halves);
    allow("tf32", "f32", 1, &["rna", "rna.satfinite"]);
    for to in ["e4m3x2", "e5m2x2", "e3m2x2", "e2m3x2", "e2m1x2"] {
        let shrink = ["rn.satfinite", "rn.relu.satfinite"];
        allow(to, "f32", 2, &shrink);
        allow(to, "f16x2", 1, &shrink);
        allow(to, "bf16x2", 1, &shrink);
        allow("f16x2", to, 1, &["rn", "rn.relu"]);
    }
    for to in ["e4m3x4", "e5m2x4", "e3m2x4", "e2m3x4"] {
        allow(to, "f32", 2, &["rs.satfinite", "rs.relu.satfinite"]);
    }
    allow(
        "ue8m0x2",
        "f32",
        2,
        &["rz", "rp", "rz.satfinite", "rp.satfinite"],
    );
    allow(
        "ue8m0x2",
        "bf16x2",
        1,
        &["rz", "rp", "rz.satfinite", "rp.satfinite"],
    );
    allow("bf16x2", "ue8m0x2", 1, &["rn"]);

    let narrow = [
        "f16x2", "bf16x2", "tf32", "e4m3x2", "e5m2x2", "e3m2x2", "e2m3x2", "e2m1x2", "ue8m0x2",
        "e4m3x4", "e5m2x4", "e3m2x4", "e2m3x4", "e2m1x4", "s2f6x2",
    ];
    let wide = ["f32", "f16", "bf16", "f64", "u32", "s8", "b32"];
    let all = narrow.into_iter().chain(wide);
    for to in all.clone() {
        for from in all.clone() {
            if !narrow.contains(&to) && !narrow.contains(&from) {
                continue;
            }
            for rounding in "- rn rz rm rp rna rs rni rzi".split(' ') {
                for set in 0..16 {
                    let flags = ["ftz", "sat", "relu", "satfinite"];
                    let mut parts = vec!["cvt"];
                    parts.extend((rounding != "-").then_some(rounding));
                    parts.extend((0..4).filter(|i| set >> i & 1 == 1).map(|i| flags[i]));
                    parts.extend([to, from]);
                    let spelling = parts.join(".");
                    for inputs in 1..4 {
                        let there = find(&spelling, inputs).is_some();
                        let key = (spelling.clone(), inputs);
                        assert_eq!(there, expected.contains(&key), "{spelling} {inputs}");
                    }
                }
            }
        }
    }
    assert!(find("cvt.satfinite.rn.e4m3x2.f32", 2).is_some());
    assert!(find("cvt.rn.f16.f32", 2).is_none());
    assert!(find("cvt.rn.rz.f16.f32", 1).is_none());
    assert!(find("cvt.f32", 1).is_none());
    assert!(find("cvt.pack.u8.s32.b32", 3).is_none());
    assert!(find("cvt.pack.sat.u8.s32", 2).is_none());
    assert!(find("cvt.pack.sat.u16.s32.b32", 3).is_none());
    assert!(find("cvt.pack.sat.u32.s32", 2).is_none());
    assert!(find("cvt.pack.sat.rn.u16.s32", 2).is_none());
}
