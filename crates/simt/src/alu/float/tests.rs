//! Every operation against `rustc_apfloat`, at the edges and at random.

mod approximations;
mod selections;
mod spellings;

use proptest::prelude::*;
use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::super::testing::{Random, compare, edges, lane, op};

const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

fn f32_edges() -> Vec<u64> {
    edges(8, 23)
}

fn f64_edges() -> Vec<u64> {
    edges(11, 52)
}

fn pairs(values: &[u64]) -> Vec<[u64; 2]> {
    values
        .iter()
        .flat_map(|&a| values.iter().map(move |&b| [a, b]))
        .collect()
}

/// Edge cases, all triples of a thinned list, and random ones.
fn triples(values: &[u64]) -> Vec<[u64; 3]> {
    let thin: Vec<u64> = values.iter().copied().step_by(3).collect();
    thin.iter()
        .flat_map(|&a| thin.iter().map(move |&b| (a, b)))
        .flat_map(|(a, b)| thin.iter().map(move |&c| [a, b, c]))
        .collect()
}

fn random<const N: usize>(seed: u64, count: usize, exponent: u32, fraction: u32) -> Vec<[u64; N]> {
    let mut random = Random(seed);
    (0..count)
        .map(|_| std::array::from_fn(|_| random.code(exponent, fraction)))
        .collect()
}

/// Triples whose sum nearly cancels.
fn cancelling(seed: u64, count: usize) -> Vec<[u64; 3]> {
    let mut random = Random(seed);
    (0..count)
        .map(|_| {
            let a = f32::from_bits(random.code(8, 23) as u32);
            let b = f32::from_bits(random.code(8, 23) as u32);
            let c = -(a * b);
            let step = (random.bits() % 5) as u32;
            [
                a,
                b,
                f32::from_bits(c.to_bits().wrapping_add(step).wrapping_sub(2)),
            ]
            .map(|x| x.to_bits() as u64)
        })
        .collect()
}

fn single(bits: u64) -> Single {
    Single::from_bits(bits as u128 & 0xffff_ffff)
}

fn double(bits: u64) -> Double {
    Double::from_bits(bits as u128)
}

fn single_code(value: Single) -> u64 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits() as u64
    }
}

/// The code of a result; NaN operands in the order in which one is kept.
fn double_code<const N: usize>(value: Double, operands: [u64; N]) -> u64 {
    if !value.is_nan() {
        return value.to_bits() as u64;
    }
    let nan = operands
        .into_iter()
        .find(|bits| bits & !(1 << 63) > 0x7ff0_0000_0000_0000);
    nan.map_or(0xfff8_0000_0000_0000, |bits| bits | 1 << 51)
}

#[test]
fn f32_sums_products_and_quotients_in_every_rounding() {
    let mut inputs = pairs(&f32_edges());
    inputs.extend(random::<2>(1, 40_000, 8, 23));
    for (name, round) in ROUNDINGS {
        compare(&format!("add.{name}.f32"), inputs.clone(), |[a, b]| {
            single_code(single(a).add_r(single(b), round).value)
        });
        compare(&format!("sub.{name}.f32"), inputs.clone(), |[a, b]| {
            single_code(single(a).sub_r(single(b), round).value)
        });
        compare(&format!("mul.{name}.f32"), inputs.clone(), |[a, b]| {
            single_code(single(a).mul_r(single(b), round).value)
        });
        compare(&format!("div.{name}.f32"), inputs.clone(), |[a, b]| {
            single_code(single(a).div_r(single(b), round).value)
        });
        compare(
            &format!("rcp.{name}.f32"),
            inputs.iter().map(|[a, _]| [*a]),
            |[a]| single_code(single(0x3f80_0000).div_r(single(a), round).value),
        );
    }
}

#[test]
fn f32_fma_in_every_rounding() {
    let mut inputs = triples(&f32_edges());
    inputs.extend(random::<3>(2, 60_000, 8, 23));
    inputs.extend(cancelling(3, 20_000));
    for (name, round) in ROUNDINGS {
        compare(&format!("fma.{name}.f32"), inputs.clone(), |[a, b, c]| {
            single_code(single(a).mul_add_r(single(b), single(c), round).value)
        });
    }
}

#[test]
fn f32_fma_to_nearest_is_the_host_libraries() {
    let mut inputs = random::<3>(4, 1_000_000, 8, 23);
    inputs.extend(cancelling(5, 200_000));
    let value = |bits: u64| f32::from_bits(bits as u32);
    compare("fma.rn.f32", inputs, |[a, b, c]| {
        let sum = value(a).mul_add(value(b), value(c));
        if sum.is_nan() {
            0x7fff_ffff
        } else {
            sum.to_bits() as u64
        }
    });
}

#[test]
fn f64_sums_products_and_quotients_in_every_rounding() {
    let mut inputs = pairs(&f64_edges());
    inputs.extend(random::<2>(6, 20_000, 11, 52));
    for (name, round) in ROUNDINGS {
        compare(&format!("add.{name}.f64"), inputs.clone(), |[a, b]| {
            double_code(double(a).add_r(double(b), round).value, [b, a])
        });
        compare(&format!("sub.{name}.f64"), inputs.clone(), |[a, b]| {
            double_code(double(a).sub_r(double(b), round).value, [b, a])
        });
        compare(&format!("mul.{name}.f64"), inputs.clone(), |[a, b]| {
            double_code(double(a).mul_r(double(b), round).value, [b, a])
        });
        compare(&format!("div.{name}.f64"), inputs.clone(), |[a, b]| {
            double_code(double(a).div_r(double(b), round).value, [a, b])
        });
        compare(
            &format!("rcp.{name}.f64"),
            inputs.iter().map(|[a, _]| [*a]),
            |[a]| {
                double_code(
                    double(0x3ff0_0000_0000_0000).div_r(double(a), round).value,
                    [a],
                )
            },
        );
    }
}

#[test]
fn f64_fma_in_every_rounding() {
    let mut inputs = triples(&f64_edges());
    inputs.extend(random::<3>(7, 20_000, 11, 52));
    for (name, round) in ROUNDINGS {
        for opcode in ["fma", "mad"] {
            compare(
                &format!("{opcode}.{name}.f64"),
                inputs.clone(),
                |[a, b, c]| {
                    let sum = double(a).mul_add_r(double(b), double(c), round).value;
                    double_code(sum, [b, c, a])
                },
            );
        }
    }
}

/// Square roots have no counterpart in the reference: they are checked by
/// squaring their neighbours, which four times the digits hold exactly.
#[test]
fn square_roots_lie_between_their_neighbours() {
    let quad = |value: Double| -> Quad { value.convert(&mut false).value };
    let mut inputs = edges(11, 52);
    inputs.extend(random::<1>(8, 3_000, 11, 52).iter().flatten());
    for bits in inputs {
        let a = double(bits);
        if a.is_nan() || a.is_negative() && !a.is_zero() || a.is_zero() || a.is_infinite() {
            continue;
        }
        let down = double(lane(op("sqrt.rm.f64", 1), [bits]));
        let zero = double(lane(op("sqrt.rz.f64", 1), [bits]));
        let up = double(lane(op("sqrt.rp.f64", 1), [bits]));
        let near = double(lane(op("sqrt.rn.f64", 1), [bits]));
        let square = |x: Double| (quad(x) * quad(x)).value;
        assert!(zero.bitwise_eq(down));
        assert!(
            square(down) <= quad(a) && quad(a) <= square(up),
            "sqrt {bits:#x}"
        );
        assert!(
            down.bitwise_eq(up) || down.next_up().value.bitwise_eq(up),
            "sqrt {bits:#x}"
        );
        assert!(
            near.bitwise_eq(down) || near.bitwise_eq(up),
            "sqrt {bits:#x}"
        );
        assert_eq!(
            down.bitwise_eq(up),
            square(down) == quad(a),
            "sqrt {bits:#x}"
        );
    }
}

#[test]
fn f32_square_roots_are_the_rounded_f64_ones() {
    let mut inputs: Vec<[u64; 1]> = f32_edges().into_iter().map(|a| [a]).collect();
    inputs.extend(random::<1>(9, 60_000, 8, 23));
    for (name, round) in ROUNDINGS {
        compare(&format!("sqrt.{name}.f32"), inputs.clone(), |[a]| {
            let root = (f32::from_bits(a as u32) as f64).sqrt();
            let rounded: Single = double(root.to_bits()).convert_r(round, &mut false).value;
            single_code(rounded)
        });
    }
}

#[test]
fn square_roots_of_special_values() {
    for name in ["rn", "rz", "rm", "rp"] {
        for (a, want) in [
            (0xff80_0000, 0x7fff_ffff),
            (0xbf80_0000, 0x7fff_ffff),
            (0x8000_0000, 0x8000_0000),
            (0, 0),
            (0x7f80_0000, 0x7f80_0000),
            (0xffc0_0001, 0x7fff_ffff),
        ] {
            assert_eq!(lane(op(&format!("sqrt.{name}.f32"), 1), [a]), want);
        }
        let root = op(&format!("sqrt.{name}.f64"), 1);
        assert_eq!(lane(root, [1 << 63]), 1 << 63);
        assert_eq!(lane(root, [(-1f64).to_bits()]), 0xfff8_0000_0000_0000);
        assert_eq!(lane(root, [0x7ff0_0000_0000_0001]), 0x7ff8_0000_0000_0001);
    }
}

/// `.ftz` by computing with a scaled exponent, so that nothing is subnormal.
#[test]
fn ftz_decides_after_rounding() {
    let mut random = Random(10);
    let mut near_tiny = Vec::new();
    for _ in 0..100_000 {
        let a = random.code(8, 23) & 0x807f_ffff | (random.bits() % 200 + 20) << 23;
        let exponent =
            (128 - ((a >> 23) & 0xff) as i64 + (random.bits() % 4) as i64 - 2).clamp(0, 254);
        let b = random.code(8, 23) & 0x807f_ffff | (exponent as u64) << 23;
        near_tiny.push([a, b]);
    }
    near_tiny.push([0x0080_0001, 0x3f7f_fffe]);
    near_tiny.push([0x0080_0000, 0x3f7f_ffff]);
    let wide = |bits: u64| -> Quad {
        let a = single(bits);
        let a = if a.is_denormal() {
            Single::ZERO.copy_sign(a)
        } else {
            a
        };
        a.convert(&mut false).value
    };
    let scaled = |a: Quad| a.scalbn(100);
    for (name, round) in ROUNDINGS {
        let finish = |exact: Quad, scaled: Quad| {
            let rounded: Single = scaled.convert_r(round, &mut false).value;
            let tiny = rounded.is_finite()
                && !rounded.is_zero()
                && rounded
                    .abs()
                    .partial_cmp(&Single::from_bits(0x3280_0000))
                    .unwrap()
                    .is_lt();
            let result: Single = exact.convert_r(round, &mut false).value;
            let result = if tiny {
                Single::ZERO.copy_sign(result)
            } else {
                result
            };
            single_code(result)
        };
        compare(
            &format!("mul.{name}.ftz.f32"),
            near_tiny.clone(),
            |[a, b]| {
                let (a, b) = (wide(a), wide(b));
                finish((a * b).value, (scaled(a) * b).value)
            },
        );
        compare(
            &format!("fma.{name}.ftz.f32"),
            near_tiny.iter().map(|[a, b]| [*a, *b, 0x8000_0000]),
            |[a, b, c]| {
                let (a, b, c) = (wide(a), wide(b), wide(c));
                finish(
                    a.mul_add_r(b, c, round).value,
                    scaled(a).mul_add_r(b, c, round).value,
                )
            },
        );
        compare(
            &format!("add.{name}.ftz.f32"),
            near_tiny.iter().map(|[a, b]| [*b, a ^ b]),
            |[a, b]| {
                let (a, b) = (wide(a), wide(b));
                finish(
                    a.add_r(b, round).value,
                    scaled(a).add_r(scaled(b), round).value,
                )
            },
        );
    }
    assert_eq!(
        lane(op("mul.ftz.f32", 2), [0x0080_0001, 0x3f7f_fffe]),
        0x0080_0000
    );
    assert_eq!(lane(op("mul.ftz.f32", 2), [0x0080_0000, 0x3f7f_ffff]), 0);
    assert_eq!(
        lane(op("mul.ftz.f32", 2), [0x8000_0001, 0x3f80_0000]),
        0x8000_0000
    );
}

proptest! {
    #![proptest_config(testing::random(2000))]

    #[test]
    fn any_f32(bits in any::<[u32; 3]>(), which in 0..4usize) {
        let [a, b, c] = bits.map(u64::from);
        let (name, round) = ROUNDINGS[which];
        let sum = single(a).add_r(single(b), round).value;
        prop_assert_eq!(lane(op(&format!("add.{name}.f32"), 2), [a, b]), single_code(sum));
        let product = single(a).mul_r(single(b), round).value;
        prop_assert_eq!(lane(op(&format!("mul.{name}.f32"), 2), [a, b]), single_code(product));
        let quotient = single(a).div_r(single(b), round).value;
        prop_assert_eq!(lane(op(&format!("div.{name}.f32"), 2), [a, b]), single_code(quotient));
        let fused = single(a).mul_add_r(single(b), single(c), round).value;
        prop_assert_eq!(lane(op(&format!("fma.{name}.f32"), 3), [a, b, c]), single_code(fused));
    }

    #[test]
    fn any_f64([a, b, c] in any::<[u64; 3]>(), which in 0..4usize) {
        let (name, round) = ROUNDINGS[which];
        let sum = double(a).add_r(double(b), round).value;
        prop_assert_eq!(lane(op(&format!("add.{name}.f64"), 2), [a, b]), double_code(sum, [b, a]));
        let product = double(a).mul_r(double(b), round).value;
        prop_assert_eq!(lane(op(&format!("mul.{name}.f64"), 2), [a, b]), double_code(product, [b, a]));
        let quotient = double(a).div_r(double(b), round).value;
        prop_assert_eq!(lane(op(&format!("div.{name}.f64"), 2), [a, b]), double_code(quotient, [a, b]));
        let fused = double(a).mul_add_r(double(b), double(c), round).value;
        prop_assert_eq!(lane(op(&format!("fma.{name}.f64"), 3), [a, b, c]), double_code(fused, [b, c, a]));
    }
}
