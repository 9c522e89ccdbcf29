//! Which spellings of floating-point instructions exist.

use super::super::super::testing::{all_are_listed, find};

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
    // `ptxas` wants a rounding for `mad`.
    let all = expected.iter().map(|(s, inputs)| (s.as_str(), *inputs));
    all_are_listed(all.filter(|(s, _)| !s.starts_with("mad.") || s.contains(".r")));

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
