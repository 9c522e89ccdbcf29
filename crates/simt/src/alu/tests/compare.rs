//! Comparisons against numbers decoded by hand.

use super::*;
use crate::alu::compare::{set_truth, write_set, write_set_pair};
use std::cmp::Ordering;

const INTEGER: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const UNSIGNED: [(&str, &str); 4] = [("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")];
const FLOAT: [&str; 14] = [
    "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

/// Special words of all floating-point types.
fn float_edges() -> Vec<u64> {
    let f16 = [
        0, 1, 2, 0x3ff, 0x400, 0x401, 0x3c00, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff,
    ];
    let bf16 = [0x7f, 0x80, 0x3f80, 0x7f7f, 0x7f80, 0x7f81];
    let f32 = [
        0,
        1,
        0x7f_ffff,
        0x80_0000,
        0x3f80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7f80_0001,
        0x7fc0_0000,
    ];
    let f64 = [
        0u64,
        1,
        0x000f_ffff_ffff_ffff,
        0x0010_0000_0000_0000,
        0x3ff0_0000_0000_0000,
        0x7fef_ffff_ffff_ffff,
        0x7ff0_0000_0000_0000,
        0x7ff0_0000_0000_0001,
        0x7ff8_0000_0000_0000,
    ];
    let halves = f16.into_iter().chain(bf16).flat_map(|h| [h, h | 0x8000]);
    // Both halves of the word, so that packed types meet special values in both.
    let halves = halves.map(|h: u64| h | h << 16);
    let f32 = f32.into_iter().flat_map(|f| [f, f | 1 << 31]);
    let f64 = f64.into_iter().flat_map(|f| [f, f | 1 << 63]);
    halves.chain(f32).chain(f64).collect()
}

/// Sign, exponent and fraction turned into an integer that orders like the
/// number (all formats hold it in their bits below the sign); `None` for NaN.
fn order(word: u64, ty: &str, ftz: bool) -> Option<i128> {
    let (exponent, fraction) = match ty.trim_end_matches("x2") {
        "f16" => (5, 10),
        "bf16" => (8, 7),
        "f32" => (8, 23),
        _ => (11, 52),
    };
    let field = |from: u32, bits: u32| word >> from & ((1 << bits) - 1);
    let (e, f) = (field(fraction, exponent), field(0, fraction));
    if e == (1 << exponent) - 1 && f != 0 {
        return None;
    }
    let f = if ftz && e == 0 { 0 } else { f };
    let magnitude = ((e as i128) << fraction) + f as i128;
    Some(if field(exponent + fraction, 1) == 1 {
        -magnitude
    } else {
        magnitude
    })
}

fn holds(relation: &str, a: Option<i128>, b: Option<i128>) -> bool {
    let ordering = match (a, b) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            return matches!(
                relation,
                "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu" | "nan"
            );
        }
    };
    match relation.trim_end_matches('u') {
        "eq" => ordering == Ordering::Equal,
        "ne" => ordering != Ordering::Equal,
        "lt" => ordering == Ordering::Less,
        "le" => ordering != Ordering::Greater,
        "gt" => ordering == Ordering::Greater,
        "ge" => ordering != Ordering::Less,
        "num" => true,
        "nan" => false,
        _ => unreachable!("{relation}"),
    }
}

#[test]
fn reference_agrees_with_the_host_on_f32() {
    for a in float_edges() {
        for b in float_edges() {
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            let (m, n) = (order(a, "f32", false), order(b, "f32", false));
            assert_eq!(holds("lt", m, n), x < y);
            assert_eq!(holds("neu", m, n), x != y);
            assert_eq!(holds("ge", m, n), x >= y);
        }
    }
}

fn check_setp(spelling: &str, edges: &[u64], reference: impl Fn(&[u64]) -> bool) {
    let expect = |w: &[u64], _| Answer {
        p: reference(w),
        ..Answer::default()
    };
    check_flags(&format!("setp.{spelling}"), 3, 2, edges, &expect);
}

#[test]
fn setp_of_integers() {
    for ty in ["u16", "u32", "u64", "s16", "s32", "s64"] {
        let n = |w: u64| Some(number(w, ty));
        for relation in INTEGER {
            check_setp(&format!("{relation}.{ty}"), &EDGES, |w| {
                holds(relation, n(w[0]), n(w[1]))
            });
        }
        for (name, relation) in UNSIGNED {
            if !is_signed(ty) {
                check_setp(&format!("{name}.{ty}"), &EDGES, |w| {
                    holds(relation, n(w[0]), n(w[1]))
                });
            }
        }
    }
    for ty in ["b16", "b32", "b64"] {
        let n = |w: u64| Some(number(w, ty));
        for relation in ["eq", "ne"] {
            check_setp(&format!("{relation}.{ty}"), &EDGES, |w| {
                holds(relation, n(w[0]), n(w[1]))
            });
        }
    }
}

#[test]
fn setp_of_floats() {
    let edges = float_edges();
    for (ty, ftz) in [
        ("f16", ""),
        ("f16", ".ftz"),
        ("bf16", ""),
        ("f32", ""),
        ("f32", ".ftz"),
        ("f64", ""),
    ] {
        let n = |w: u64| order(w, ty, !ftz.is_empty());
        for relation in FLOAT {
            check_setp(&format!("{relation}{ftz}.{ty}"), &edges, |w| {
                holds(relation, n(w[0]), n(w[1]))
            });
        }
    }
}

#[test]
fn setp_of_packed_halves_gives_two_predicates() {
    let edges = float_edges();
    for (ty, ftz) in [("f16x2", ""), ("f16x2", ".ftz"), ("bf16x2", "")] {
        let n = |w: u64| order(w & 0xffff, ty, !ftz.is_empty());
        for relation in FLOAT {
            check_flags(
                &format!("setp.{relation}{ftz}.{ty}"),
                3,
                2,
                &edges,
                &|w, _| Answer {
                    value: 0,
                    p: holds(relation, n(w[0]), n(w[1])),
                    q: holds(relation, n(w[0] >> 16), n(w[1] >> 16)),
                },
            );
        }
    }
}

#[test]
fn every_half_compares_with_its_neighbours() {
    let all = |offset: u64| -> Vec<Vec<u64>> {
        (0..0x1_0000)
            .map(|h: u64| vec![h, (h + offset) & 0xffff])
            .collect()
    };
    for (spelling, ty, ftz) in [
        ("f16", "f16", false),
        ("ftz.f16", "f16", true),
        ("bf16", "bf16", false),
    ] {
        let op = resolve(&format!("setp.lt.{spelling}"), 3);
        for offset in [0, 1, 0xffff, 0x8000, 0x8001] {
            let reference = |w: &[u64], _| Answer {
                p: holds("lt", order(w[0], ty, ftz), order(w[1], ty, ftz)),
                ..Answer::default()
            };
            difference(spelling, op, &all(offset), 0, &reference).unwrap();
        }
    }
}

#[test]
fn set_compares_like_setp_and_writes_the_truth() {
    let edges = float_edges();
    for (spelling, source, ftz) in [
        ("lt.u32.s32", "s32", false),
        ("geu.f32.f64", "f64", false),
        ("ltu.ftz.f32.f32", "f32", true),
        ("gt.ftz.u16.f16", "f16", true),
        ("num.bf16.f32", "f32", false),
    ] {
        let relation = spelling.split('.').next().unwrap();
        let n = |w: u64| match source {
            "s32" => Some(number(w, source)),
            _ => order(w, source, ftz),
        };
        check_flags(&format!("set.{spelling}"), 3, 2, &edges, &|w, _| Answer {
            p: holds(relation, n(w[0]), n(w[1])),
            ..Answer::default()
        });
    }
    for (spelling, truth) in [
        ("lt.u32.s32", 0xffff_ffff),
        ("lt.and.s32.f64", 0xffff_ffff),
        ("lt.f32.u64", 0x3f80_0000),
        ("eq.u16.f16", 0xffff),
        ("eq.ftz.s16.f16", 0xffff),
        ("eq.f16.f16", 0x3c00),
        ("eq.f16.b64", 0x3c00),
        ("eq.bf16.s16", 0x3f80),
        ("eq.f16x2.f16x2", 0x3c00_3c00),
        ("eq.or.bf16x2.bf16x2", 0x3f80_3f80),
        ("eq.u32.f16x2", 0xffff_ffff),
    ] {
        let (_, modifiers) = ptx::semantics::spelled(&format!("set.{spelling}"));
        assert_eq!(set_truth(&modifiers), Some(truth), "{spelling}");
    }
    for spelling in ["set.lt.u16.s32", "set.lt.s32"] {
        assert_eq!(set_truth(&ptx::semantics::spelled(spelling).1), None);
    }

    let mut d = [7; 32];
    write_set(0x3f80_0000, 0x8000_0001, &mut d);
    assert_eq!((d[0], d[1], d[31]), (0x3f80_0000, 0, 0x3f80_0000));
    write_set_pair(0x3c00_3c01, 0b0101, 0b0011, &mut d);
    assert_eq!(d[..4], [0x3c00_3c01, 0x3c00_0000, 0x3c01, 0]);
}

#[test]
fn selp_follows_the_predicate() {
    for ty in [
        "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64",
    ] {
        check_flags(&format!("selp.{ty}"), 4, 2, &EDGES, &|w, p| Answer {
            value: word(w[!p as usize] as i128, ty.trim_start_matches('s')),
            ..Answer::default()
        });
    }
}

#[test]
fn slct_follows_the_sign() {
    let edges = [&EDGES[18..], &float_edges()[36..54]].concat();
    for ty in [
        "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64",
    ] {
        for (ftz, selector) in [("", "s32"), ("", "f32"), (".ftz", "f32")] {
            check_flags(
                &format!("slct{ftz}.{ty}.{selector}"),
                4,
                3,
                &edges,
                &|w, _| {
                    let c = match selector {
                        "s32" => Some(number(w[2], "s32")),
                        _ => order(w[2], "f32", ftz == ".ftz"),
                    };
                    let first = c.is_some_and(|c| c >= 0);
                    Answer {
                        value: word(w[!first as usize] as i128, ty.trim_start_matches('s')),
                        ..Answer::default()
                    }
                },
            );
        }
    }
}

#[test]
fn testp_by_exponent_and_fraction() {
    for (ty, exponent, fraction) in [("f32", 8u32, 23u32), ("f64", 11, 52)] {
        for property in [
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal",
        ] {
            check_flags(
                &format!("testp.{property}.{ty}"),
                2,
                1,
                &float_edges(),
                &|w, _| {
                    let e = w[0] >> fraction & ((1 << exponent) - 1);
                    let f = w[0] & ((1 << fraction) - 1);
                    let special = e == (1 << exponent) - 1;
                    let p = match property {
                        "finite" => !special,
                        "infinite" => special && f == 0,
                        "number" => !(special && f != 0),
                        "notanumber" => special && f != 0,
                        "normal" => !special && (e != 0 || f == 0),
                        _ => e == 0 && f != 0,
                    };
                    Answer {
                        p,
                        ..Answer::default()
                    }
                },
            );
        }
    }
}

#[test]
fn copysign_takes_the_sign_of_the_first() {
    check("copysign.f32", 2, |w| {
        (w[0] & 0x8000_0000) | (w[1] & 0x7fff_ffff)
    });
    check("copysign.f64", 2, |w| {
        (w[0] & 1 << 63) | (w[1] & !(1 << 63))
    });
}
