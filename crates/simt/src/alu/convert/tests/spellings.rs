//! Which spellings of `cvt` exist.

use super::super::super::testing::{all_are_listed, find};
use super::INTEGERS;

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

    all_are_listed(expected.iter().map(|s| (s.as_str(), 1)));

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

    all_are_listed(expected.iter().map(|(s, inputs)| (s.as_str(), *inputs)));

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
