//! Saturation, signs, `min` and `max`, and the forms that are others side by side.

use super::super::super::testing::{Random, compare, find, lane, op};
use super::{f32_edges, pairs, random, triples};

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
        ("neg.f64", 1, 1 << 63 | 1),
        ("abs.f64", 1 << 63 | 1, 1),
        // As an H200 has them.
        ("neg.f64", 0xfff2_b365_55a0_0e79, 0xfffa_b365_55a0_0e79),
        ("neg.f64", 0x7ff8_0000_0000_0000, 0x7ff8_0000_0000_0000),
        ("abs.f64", 0xfff2_cf48_401d_5b52, 0xfffa_cf48_401d_5b52),
        ("abs.f64", 0x7ff5_7746_da7d_b5d5, 0x7ffd_7746_da7d_b5d5),
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

/// Values of an H200.
#[test]
fn which_nan_of_f64_is_kept() {
    let (first, second) = (0xfff4_ef38_0d9c_da9f, 0x7ff0_0550_e0f7_05e1);
    for opcode in ["add", "sub", "mul"] {
        let got = lane(op(&format!("{opcode}.f64"), 2), [first, second]);
        assert_eq!(got, 0x7ff8_0550_e0f7_05e1, "{opcode}");
    }
    for (a, b, c, want) in [
        // The second before the others, the third before the first.
        (
            0x7ffb_70a3_1fe6_68d7,
            0x7ff8_0000_0000_0000,
            0x7ff7_e43f_1f1d_6ff9,
            0x7ff8_0000_0000_0000,
        ),
        (
            0x7ff5_6d64_c4b7_96d4,
            0xbff0_0000_0000_0000,
            0xfff8_0000_0000_0000,
            0xfff8_0000_0000_0000,
        ),
    ] {
        assert_eq!(lane(op("fma.rn.f64", 3), [a, b, c]), want);
    }
    let atomic = |word, operand, shared| {
        let [word, operand] = [word, operand].map(f64::from_bits);
        super::super::atomic_add(word, operand, shared).to_bits()
    };
    let (word, operand) = (0xfff6_e999_aea5_55b2, 0x7ff8_0000_0000_0000);
    assert_eq!(atomic(word, operand, true), 0xfffe_e999_aea5_55b2);
    // In global memory signaling NaN stay so.
    let (word, operand) = (0x7ff2_db33_07aa_8344, 0xfff2_db33_07aa_8344);
    assert_eq!(atomic(word, operand, false), operand);
    let (word, operand) = (0xfff0_0ec4_00e9_14d8, 0xbfa3_c827_3e84_fd5a);
    assert_eq!(atomic(word, operand, false), word);
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
