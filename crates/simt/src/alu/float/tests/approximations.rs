//! Approximate instructions: the manual's special values and error bounds.

use super::super::super::testing::{lane, op};
use super::random;

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
