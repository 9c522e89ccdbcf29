//! Every operation against `rustc_apfloat`, at the edges and at random.

use proptest::prelude::*;
use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::super::testing::{Random, compare, edges, find, lane, op};

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

/// The code of a result, with the simulator's NaN of these operands.
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
            double_code(double(a).add_r(double(b), round).value, [a, b])
        });
        compare(&format!("sub.{name}.f64"), inputs.clone(), |[a, b]| {
            double_code(double(a).sub_r(double(b), round).value, [a, b])
        });
        compare(&format!("mul.{name}.f64"), inputs.clone(), |[a, b]| {
            double_code(double(a).mul_r(double(b), round).value, [a, b])
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
                    double_code(sum, [a, b, c])
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

#[test]
fn saturation_clamps_and_makes_nan_zero() {
    for (a, b, want) in [
        (1.5, 1.0, 1.0f32),
        (0.25, 0.5, 0.75),
        (-0.0, -0.0, 0.0),
        (-3.0, 1.0, 0.0),
        (f32::INFINITY, f32::NEG_INFINITY, 0.0),
        (f32::NAN, 1.0, 0.0),
        (f32::INFINITY, 1.0, 1.0),
    ] {
        for name in ["add.sat.f32", "add.rz.ftz.sat.f32", "add.sat.rm.f32"] {
            let got = lane(op(name, 2), [a.to_bits() as u64, b.to_bits() as u64]);
            assert_eq!(got, want.to_bits() as u64, "{name} {a} {b}");
        }
        let fused = lane(
            op("fma.rn.sat.f32", 3),
            [a, 1.0, b].map(|x| x.to_bits() as u64),
        );
        assert_eq!(fused, want.to_bits() as u64);
    }
}

/// The manual's `min_num` and `min_nan`, −0 below +0.
fn minimum(a: u64, b: u64, nan: bool) -> u64 {
    let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => 0x7fff_ffff,
        (true, false) | (false, true) if nan => 0x7fff_ffff,
        (true, false) => b,
        (false, true) => a,
        _ if x == y => a | b,
        _ => {
            if x < y {
                a
            } else {
                b
            }
        }
    }
}

fn maximum(a: u64, b: u64, nan: bool) -> u64 {
    const SIGN: u64 = 0x8000_0000;
    let result = minimum(a ^ SIGN, b ^ SIGN, nan);
    if result == 0x7fff_ffff {
        result
    } else {
        result ^ SIGN
    }
}

#[test]
fn f32_min_and_max_in_every_form() {
    const ABS: u64 = 0x7fff_ffff;
    let mut inputs = pairs(&f32_edges());
    inputs.extend(random::<2>(11, 10_000, 8, 23));
    let flush = |a: u64| {
        if a & 0x7f80_0000 == 0 {
            a & 0x8000_0000
        } else {
            a
        }
    };
    let pick = |max: bool, a, b, nan| {
        if max {
            maximum(a, b, nan)
        } else {
            minimum(a, b, nan)
        }
    };
    for (opcode, max) in [("min", false), ("max", true)] {
        for (infix, nan) in [("", false), (".NaN", true)] {
            compare(&format!("{opcode}{infix}.f32"), inputs.clone(), |[a, b]| {
                pick(max, a, b, nan)
            });
            compare(
                &format!("{opcode}.ftz{infix}.f32"),
                inputs.clone(),
                |[a, b]| pick(max, flush(a), flush(b), nan),
            );
            compare(
                &format!("{opcode}{infix}.xorsign.abs.f32"),
                inputs.clone(),
                |[a, b]| {
                    let magnitude = pick(max, a & ABS, b & ABS, nan);
                    if magnitude == ABS {
                        ABS
                    } else {
                        magnitude | (a ^ b) & !ABS
                    }
                },
            );
            let three = triples(&f32_edges());
            compare(
                &format!("{opcode}{infix}.f32"),
                three.clone(),
                |[a, b, c]| pick(max, pick(max, a, b, nan), c, nan),
            );
            compare(&format!("{opcode}{infix}.abs.f32"), three, |[a, b, c]| {
                pick(max, pick(max, a & ABS, b & ABS, nan), c & ABS, nan)
            });
        }
    }
}

#[test]
fn f64_min_and_max() {
    let code = |x: f64| x.to_bits();
    let nan = 0x7ff0_0000_0000_0001;
    for (spelling, a, b, want) in [
        ("min.f64", code(0.0), code(-0.0), code(-0.0)),
        ("max.f64", code(-0.0), code(0.0), code(0.0)),
        ("min.f64", code(-1.0), code(-2.0), code(-2.0)),
        ("max.f64", code(f64::NEG_INFINITY), code(-2.0), code(-2.0)),
        ("min.f64", nan, code(7.0), code(7.0)),
        ("max.f64", code(7.0), nan, code(7.0)),
        ("max.f64", nan, nan + 1, (nan + 1) | (1 << 51)),
    ] {
        assert_eq!(lane(op(spelling, 2), [a, b]), want, "{spelling}");
    }
}

#[test]
fn signs() {
    for (spelling, a, want) in [
        ("neg.f32", 0x3f80_0000, 0xbf80_0000),
        ("neg.f32", 0x0000_0001, 0x8000_0001),
        ("neg.ftz.f32", 0x0000_0001, 0x8000_0000),
        ("neg.f32", 0x7fc0_1234, 0x7fff_ffff),
        ("abs.f32", 0xff80_0000, 0x7f80_0000),
        ("abs.ftz.f32", 0x8000_0001, 0),
        ("abs.f32", 0xffc0_0000, 0x7fff_ffff),
        ("neg.f64", 0x7ff0_0000_0000_0001, 0xfff0_0000_0000_0001),
        ("abs.f64", 0xfff0_0000_0000_0001, 0x7ff0_0000_0000_0001),
    ] {
        assert_eq!(lane(op(spelling, 1), [a]), want, "{spelling} {a:#x}");
    }
    assert_eq!(
        lane(op("copysign.f32", 2), [0x8000_0000, 0x4000_0000]),
        0xc000_0000
    );
    assert_eq!(
        lane(op("copysign.f32", 2), [0x3f80_0000, 0xffc1_2345]),
        0x7fc1_2345
    );
    assert_eq!(
        lane(op("copysign.f64", 2), [1 << 63, (2.5f64).to_bits()]),
        (-2.5f64).to_bits()
    );
}

#[test]
fn pairs_of_f32_work_on_each_half() {
    let mut random = Random(12);
    for infix in ["", ".rz", ".rm.ftz", ".rp", ".rn.ftz"] {
        for (opcode, inputs) in [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)] {
            let infix = if inputs == 3 && infix.is_empty() {
                ".rn"
            } else {
                infix
            };
            let one = op(&format!("{opcode}{infix}.f32"), inputs);
            let two = op(&format!("{opcode}{infix}.f32x2"), inputs);
            for _ in 0..300 {
                let operands: [u64; 3] =
                    std::array::from_fn(|_| random.code(8, 23) | random.code(8, 23) << 32);
                let want = lane(one, operands.map(|x| x & 0xffff_ffff))
                    | lane(one, operands.map(|x| x >> 32)) << 32;
                assert_eq!(lane(two, operands), want, "{opcode}{infix} {operands:x?}");
            }
        }
    }
}

#[test]
fn mixed_precision_widens_first() {
    let mut random = Random(13);
    for suffix in ["f16", "bf16"] {
        let widen = op(&format!("cvt.f32.{suffix}"), 1);
        for infix in [".rn", ".rz.sat", ".rm", ".rp"] {
            for opcode in ["add", "sub"] {
                let mixed = op(&format!("{opcode}{infix}.f32.{suffix}"), 2);
                let plain = op(&format!("{opcode}{infix}.f32"), 2);
                for _ in 0..300 {
                    let (a, c) = (random.bits() & 0xffff, random.code(8, 23));
                    assert_eq!(lane(mixed, [a, c]), lane(plain, [lane(widen, [a]), c]));
                }
            }
            let mixed = op(&format!("fma{infix}.f32.{suffix}"), 3);
            let plain = op(&format!("fma{infix}.f32"), 3);
            for _ in 0..300 {
                let (a, b, c) = (
                    random.bits() & 0xffff,
                    random.bits() & 0xffff,
                    random.code(8, 23),
                );
                let want = lane(plain, [lane(widen, [a]), lane(widen, [b]), c]);
                assert_eq!(lane(mixed, [a, b, c]), want);
            }
        }
    }
    assert!(find("add.f32.bf16", 2).is_some());
}

/// The manual's tables of special inputs.
#[test]
fn approximations_of_special_values() {
    const NAN: u64 = 0x7fff_ffff;
    const INF: u64 = 0x7f80_0000;
    const MINUS: u64 = 0x8000_0000;
    const ONE: u64 = 0x3f80_0000;
    let table: &[(&str, &[(u64, u64)])] = &[
        (
            "rcp.approx.f32",
            &[
                (INF | MINUS, MINUS),
                (MINUS, INF | MINUS),
                (0, INF),
                (INF, 0),
                (NAN, NAN),
                (1, INF),
            ],
        ),
        (
            "rcp.approx.ftz.f32",
            &[
                (1, INF),
                (MINUS | 1, INF | MINUS),
                (0x7f00_0000, 0),
                (0x7e80_0000, 0x0080_0000),
            ],
        ),
        (
            "sqrt.approx.f32",
            &[
                (INF | MINUS, NAN),
                (ONE | MINUS, NAN),
                (MINUS, MINUS),
                (0, 0),
                (INF, INF),
                (NAN, NAN),
                (MINUS | 1, NAN),
            ],
        ),
        ("sqrt.approx.ftz.f32", &[(MINUS | 1, MINUS), (1, 0)]),
        (
            "rsqrt.approx.f32",
            &[
                (INF | MINUS, NAN),
                (ONE | MINUS, NAN),
                (MINUS, INF | MINUS),
                (0, INF),
                (INF, 0),
                (NAN, NAN),
            ],
        ),
        (
            "rsqrt.approx.ftz.f32",
            &[(MINUS | 1, INF | MINUS), (1, INF)],
        ),
        (
            "sin.approx.f32",
            &[
                (INF | MINUS, NAN),
                (MINUS, MINUS),
                (0, 0),
                (INF, NAN),
                (NAN, NAN),
                (1, 1),
            ],
        ),
        ("sin.approx.ftz.f32", &[(MINUS | 1, MINUS), (1, 0)]),
        (
            "cos.approx.f32",
            &[
                (INF | MINUS, NAN),
                (MINUS, ONE),
                (0, ONE),
                (INF, NAN),
                (NAN, NAN),
                (1, ONE),
            ],
        ),
        (
            "lg2.approx.f32",
            &[
                (INF | MINUS, NAN),
                (ONE | MINUS, NAN),
                (MINUS, INF | MINUS),
                (0, INF | MINUS),
                (INF, INF),
                (NAN, NAN),
                (1, 0xc315_0000),
            ],
        ),
        (
            "lg2.approx.ftz.f32",
            &[(1, INF | MINUS), (MINUS | 1, INF | MINUS)],
        ),
        (
            "ex2.approx.f32",
            &[
                (INF | MINUS, 0),
                (MINUS, ONE),
                (0, ONE),
                (INF, INF),
                (NAN, NAN),
                (1, ONE),
                (0xc315_0000, 1),
                (0x4300_0000, INF),
            ],
        ),
        ("ex2.approx.ftz.f32", &[(0xc315_0000, 0), (MINUS | 1, ONE)]),
        (
            "tanh.approx.f32",
            &[
                (INF | MINUS, ONE | MINUS),
                (MINUS, MINUS),
                (0, 0),
                (INF, ONE),
                (NAN, NAN),
                (1, 1),
            ],
        ),
    ];
    for (spelling, cases) in table {
        for &(a, want) in *cases {
            let got = lane(op(spelling, 1), [a]);
            assert_eq!(got, want, "{spelling} {a:#x}: {got:#x}");
        }
    }
    for (spelling, a, b, want) in [
        ("div.approx.f32", INF, 0x7e80_0001, NAN),
        ("div.approx.f32", MINUS | ONE, 0x7e80_0001, MINUS),
        ("div.approx.f32", 0x7e80_0000, 0x7e80_0000, ONE),
        ("div.approx.f32", ONE, 0, INF),
        ("div.approx.ftz.f32", ONE, 1, INF),
        ("div.approx.ftz.f32", 1, 1, NAN),
        ("div.full.f32", 0x7f00_0000, 0x7f00_0000, ONE),
        ("div.full.f32", 3, 1, 0x4040_0000),
        ("div.full.ftz.f32", 0, 1, NAN),
        ("div.full.f32", INF, INF, NAN),
    ] {
        let got = lane(op(spelling, 2), [a, b]);
        assert_eq!(got, want, "{spelling} {a:#x} {b:#x}: {got:#x}");
    }
    const WIDE_NAN: u64 = 0x7fff_ffff_0000_0000;
    const WIDE_INF: u64 = 0x7ff0_0000_0000_0000;
    const WIDE_MINUS: u64 = 1 << 63;
    for (spelling, a, want) in [
        ("rcp.approx.ftz.f64", WIDE_INF | WIDE_MINUS, WIDE_MINUS),
        (
            "rcp.approx.ftz.f64",
            WIDE_MINUS | 1 << 40,
            WIDE_INF | WIDE_MINUS,
        ),
        ("rcp.approx.ftz.f64", 0, WIDE_INF),
        ("rcp.approx.ftz.f64", WIDE_INF, 0),
        ("rcp.approx.ftz.f64", WIDE_INF | 1, WIDE_NAN),
        (
            "rcp.approx.ftz.f64",
            (3f64).to_bits() | 0xffff,
            0x3fd5_5555_0000_0000,
        ),
        ("rcp.approx.ftz.f64", 0x7fe0_0000_0000_0000, 0),
        ("rsqrt.approx.ftz.f64", WIDE_INF | WIDE_MINUS, WIDE_NAN),
        (
            "rsqrt.approx.ftz.f64",
            WIDE_MINUS | 1 << 40,
            WIDE_INF | WIDE_MINUS,
        ),
        ("rsqrt.approx.ftz.f64", 1 << 40, WIDE_INF),
        ("rsqrt.approx.ftz.f64", WIDE_INF, 0),
        ("rsqrt.approx.ftz.f64", (4f64).to_bits(), (0.5f64).to_bits()),
        ("rsqrt.approx.f64", (4f64).to_bits(), (0.5f64).to_bits()),
        ("rsqrt.approx.f64", WIDE_MINUS, WIDE_INF | WIDE_MINUS),
        ("rsqrt.approx.f64", (-4f64).to_bits(), 0xfff8_0000_0000_0000),
    ] {
        let got = lane(op(spelling, 1), [a]);
        assert_eq!(got, want, "{spelling} {a:#x}: {got:#x}");
    }
}

/// The manual's error bounds, against `f64`.
#[test]
fn approximations_are_within_their_bounds() {
    use std::f64::consts::PI;
    fn ulp(x: f64) -> f64 {
        let x = x.abs() as f32;
        (f32::from_bits(x.to_bits() + 1) as f64) - x as f64
    }
    /// The largest error allowed for an input and its true result.
    type Bound = fn(f64, f64) -> f64;
    type Row = (&'static str, fn(f64) -> f64, Bound);
    let table: &[Row] = &[
        ("rcp.approx.f32", |x| 1.0 / x, |_, y| ulp(y)),
        ("sqrt.approx.f32", f64::sqrt, |_, y| y * 2f64.powi(-23)),
        (
            "rsqrt.approx.f32",
            |x| 1.0 / x.sqrt(),
            |_, y| y * 2f64.powf(-22.9),
        ),
        ("sin.approx.f32", f64::sin, |x, _| {
            if x.abs() <= 2.0 * PI {
                2f64.powf(-20.5)
            } else {
                2f64.powf(-14.7)
            }
        }),
        ("cos.approx.f32", f64::cos, |x, _| {
            if x.abs() <= 2.0 * PI {
                2f64.powf(-20.5)
            } else {
                2f64.powf(-14.7)
            }
        }),
        ("lg2.approx.f32", f64::log2, |x, y| {
            if x > 0.5 && x < 2.0 {
                2f64.powi(-22)
            } else {
                y.abs() * 2f64.powi(-22)
            }
        }),
        ("ex2.approx.f32", f64::exp2, |_, y| 2.0 * ulp(y)),
        ("tanh.approx.f32", f64::tanh, |_, y| {
            y.abs() * 2f64.powi(-11)
        }),
    ];
    for (spelling, function, bound) in table {
        let op = op(spelling, 1);
        for [bits] in random::<1>(14, 20_000, 8, 23) {
            let a = f32::from_bits(bits as u32) as f64;
            let want = function(a);
            let trigonometric = spelling.starts_with("sin") || spelling.starts_with("cos");
            if !want.is_finite()
                || want.abs() > f32::MAX as f64
                || trigonometric && a.abs() > 100.0 * PI
            {
                continue;
            }
            let got = f32::from_bits(lane(op, [bits]) as u32) as f64;
            assert!(
                (got - want).abs() <= bound(a, want),
                "{spelling} {bits:#x}: {got}, not {want}"
            );
        }
    }
}

/// Every spelling of these opcodes that `ptxas` accepts, and no other but the legacy
/// `mad` without a rounding: each line has opcodes, types, numbers of inputs, and alternatives of
/// a rounding (`-` for none) with optional modifiers.
#[test]
fn spellings_are_those_that_exist() {
    const IEEE: &str = "rn rz rm rp";
    const DEFAULT: &str = "- rn rz rm rp";
    let table: &[(&str, &str, usize, &str, &[&str])] = &[
        ("add sub mul", "f32", 2, DEFAULT, &["ftz", "sat"]),
        ("add sub mul", "f32x2", 2, DEFAULT, &["ftz"]),
        ("add sub mul", "f64", 2, DEFAULT, &[]),
        ("add sub", "f32.f16 f32.bf16", 2, DEFAULT, &["sat"]),
        ("add sub mul", "f16 f16x2", 2, "- rn", &["ftz", "sat"]),
        ("add sub mul", "bf16 bf16x2", 2, "- rn", &[]),
        ("fma", "f32", 3, IEEE, &["ftz", "sat"]),
        ("mad", "f32", 3, DEFAULT, &["ftz", "sat"]),
        ("fma", "f32x2", 3, IEEE, &["ftz"]),
        ("fma", "f64", 3, IEEE, &[]),
        ("mad", "f64", 3, DEFAULT, &[]),
        ("fma", "f32.f16 f32.bf16", 3, IEEE, &["sat"]),
        ("fma", "f16 f16x2", 3, "rn", &["ftz", "sat"]),
        ("fma", "f16 f16x2", 3, "rn", &["ftz", "relu"]),
        ("fma", "bf16 bf16x2", 3, "rn", &["relu"]),
        ("div", "f32", 2, "approx full rn rz rm rp", &["ftz"]),
        ("div", "f64", 2, IEEE, &[]),
        ("rcp sqrt", "f32", 1, "approx rn rz rm rp", &["ftz"]),
        ("rcp sqrt", "f64", 1, IEEE, &[]),
        ("rsqrt sin cos lg2 ex2", "f32", 1, "approx", &["ftz"]),
        ("rsqrt", "f64", 1, "approx", &["ftz"]),
        ("tanh", "f32 f16 f16x2 bf16 bf16x2", 1, "approx", &[]),
        ("ex2", "f16 f16x2", 1, "approx", &[]),
        ("neg abs", "f32 f16 f16x2", 1, "-", &["ftz"]),
        ("neg abs", "f64 bf16 bf16x2", 1, "-", &[]),
        ("copysign", "f32 f64", 2, "-", &[]),
        ("min max", "f32 f16 f16x2", 2, "-", &["ftz", "NaN"]),
        (
            "min max",
            "f32 f16 f16x2",
            2,
            "-",
            &["ftz", "NaN", "xorsign.abs"],
        ),
        ("min max", "bf16 bf16x2", 2, "-", &["NaN", "xorsign.abs"]),
        ("min max", "f64", 2, "-", &[]),
        ("min max", "f32", 3, "-", &["ftz", "NaN", "abs"]),
    ];
    let mut expected = std::collections::BTreeSet::new();
    let mut allow = |opcode: &str, ty: &str, inputs: usize, rounding: &str, flags: &[&str]| {
        for set in 0..1 << flags.len() {
            let mut parts = vec![opcode];
            parts.extend((rounding != "-").then_some(rounding));
            parts.extend(
                (0..flags.len())
                    .filter(|i| set >> i & 1 == 1)
                    .map(|i| flags[i]),
            );
            parts.push(ty);
            expected.insert((parts.join("."), inputs));
        }
    };
    for (opcodes, types, inputs, roundings, flags) in table {
        for opcode in opcodes.split(' ') {
            for ty in types.split(' ') {
                for rounding in roundings.split(' ') {
                    allow(opcode, ty, *inputs, rounding, flags);
                }
            }
        }
    }
    expected.insert((String::from("rcp.approx.ftz.f64"), 1));
    expected.insert((String::from("ex2.approx.ftz.bf16"), 1));
    expected.insert((String::from("ex2.approx.ftz.bf16x2"), 1));

    let opcodes =
        "add sub mul fma mad div neg abs min max rcp sqrt rsqrt sin cos lg2 ex2 tanh copysign";
    let types = "f16 f16x2 bf16 bf16x2 f32 f32x2 f64 f32.f16 f32.bf16 f16.f32 f32.f64 f64.f32 tf32";
    let flags = ["ftz", "sat", "NaN", "xorsign", "abs", "relu", "oob"];
    for opcode in opcodes.split(' ') {
        for ty in types.split(' ') {
            for rounding in "- rn rz rm rp rna rni approx full rs".split(' ') {
                for set in 0..1 << flags.len() {
                    let mut parts = vec![opcode];
                    parts.extend((rounding != "-").then_some(rounding));
                    parts.extend(
                        (0..flags.len())
                            .filter(|i| set >> i & 1 == 1)
                            .map(|i| flags[i]),
                    );
                    parts.push(ty);
                    let spelling = parts.join(".");
                    for inputs in 0..=4 {
                        let there = find(&spelling, inputs).is_some();
                        let key = (spelling.clone(), inputs);
                        assert_eq!(there, expected.contains(&key), "{spelling} {inputs}");
                    }
                }
            }
        }
    }
}

#[test]
fn modifiers_stand_in_any_order_but_once() {
    for spelling in ["add.sat.rn.ftz.f32", "add.f32.sat", "add.ftz.f32.rn"] {
        assert!(find(spelling, 2).is_some(), "{spelling}");
    }
    for spelling in [
        "add",
        "add.rn",
        "add.rn.rn.f32",
        "add.rn.rz.f32",
        "add.ftz.ftz.f32",
        "add.f32.f32",
        "add.wide.f32",
        "add.F32",
        "add..f32",
    ] {
        assert!(find(spelling, 2).is_none(), "{spelling}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

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
        prop_assert_eq!(lane(op(&format!("add.{name}.f64"), 2), [a, b]), double_code(sum, [a, b]));
        let product = double(a).mul_r(double(b), round).value;
        prop_assert_eq!(lane(op(&format!("mul.{name}.f64"), 2), [a, b]), double_code(product, [a, b]));
        let quotient = double(a).div_r(double(b), round).value;
        prop_assert_eq!(lane(op(&format!("div.{name}.f64"), 2), [a, b]), double_code(quotient, [a, b]));
        let fused = double(a).mul_add_r(double(b), double(c), round).value;
        prop_assert_eq!(lane(op(&format!("fma.{name}.f64"), 3), [a, b, c]), double_code(fused, [a, b, c]));
    }
}
