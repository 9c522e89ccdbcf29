//! `.tf32` and the formats of 8 bits and fewer, against their definition.

use rustc_apfloat::ieee::{Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::super::super::testing::{Random, compare, edges, lane, op};
use super::{from, to};

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
        // NaN as an H200 has them.
        ("cvt.rna.tf32.f32", 0xff80_1180, 0xff80_0000),
        ("cvt.rna.satfinite.tf32.f32", 0x7f80_0001, 0x7f7f_e000),
        ("cvt.rna.satfinite.tf32.f32", 0x7fc0_0000, 0x7fbf_e000),
        ("cvt.rna.satfinite.tf32.f32", 0xffc2_ad76, 0xffc2_8000),
        ("cvt.rn.tf32.f32", 0xffcf_6ea7, 0x7fff_e000),
        ("cvt.rz.relu.tf32.f32", 0x7f8c_7a7b, 0x7fff_e000),
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
