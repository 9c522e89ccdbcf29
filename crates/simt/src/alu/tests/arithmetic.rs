//! `add` to `max`, `dp4a`, `dp2a`, against 128-bit integers.

use super::*;

const SCALARS: [&str; 6] = ["u16", "u32", "u64", "s16", "s32", "s64"];
const SIGNED: [&str; 3] = ["s16", "s32", "s64"];
const PACKED: [&str; 4] = ["u16x2", "s16x2", "u8x4", "s8x4"];

/// Checks `op.ty` for each type: the reference works on numbers and its result
/// wraps.
fn check_types(op: &str, types: &[&str], inputs: usize, reference: impl Fn(&[i128], &str) -> i128) {
    for ty in types {
        check(&format!("{op}.{ty}"), inputs, |words| {
            elementwise_or_scalar(words, ty, &reference)
        });
    }
}

fn elementwise_or_scalar(
    words: &[u64],
    ty: &str,
    reference: &impl Fn(&[i128], &str) -> i128,
) -> u64 {
    if ty.contains('x') {
        elementwise(words, ty, |n| reference(n, ty))
    } else {
        let numbers: Vec<i128> = words.iter().map(|w| number(*w, ty)).collect();
        word(reference(&numbers, ty), ty)
    }
}

#[test]
fn add_and_sub_wrap() {
    check_types("add", &SCALARS, 2, |n, _| n[0] + n[1]);
    check_types("add", &PACKED, 2, |n, _| n[0] + n[1]);
    check_types("sub", &SCALARS, 2, |n, _| n[0] - n[1]);
    check_types("sub", &["u8x4", "s8x4"], 2, |n, _| n[0] - n[1]);
}

#[test]
fn saturated_sums_stay_in_range() {
    check_types("add.sat", &["u32", "s32"], 2, |n, ty| {
        saturate(n[0] + n[1], ty)
    });
    check_types("add.sat", &PACKED, 2, |n, ty| saturate(n[0] + n[1], ty));
    check_types("sub.sat", &["s32", "u8x4", "s8x4"], 2, |n, ty| {
        saturate(n[0] - n[1], ty)
    });
}

#[test]
fn packed_bytes_in_all_their_values() {
    let pairs: Vec<Vec<u64>> = (0..1u64 << 14)
        .map(|i| {
            // Four consecutive left bytes against one right byte in each word.
            let (left, right) = (i % 64 * 4, i / 64);
            let bytes = |f: &dyn Fn(u64) -> u64| (0..4).map(|k| f(k) << (8 * k)).sum();
            vec![bytes(&|k| left + k), bytes(&|_| right)]
        })
        .collect();
    type Reference = fn(&[i128], &str) -> i128;
    let operations: [(&str, &[&str], Reference); 7] = [
        ("add", &["u8x4", "s8x4"], |n, _| n[0] + n[1]),
        ("sub", &["u8x4", "s8x4"], |n, _| n[0] - n[1]),
        ("add.sat", &["u8x4", "s8x4"], |n, ty| {
            saturate(n[0] + n[1], ty)
        }),
        ("sub.sat", &["u8x4", "s8x4"], |n, ty| {
            saturate(n[0] - n[1], ty)
        }),
        ("min", &["u8x4", "s8x4"], |n, _| n[0].min(n[1])),
        ("max", &["u8x4", "s8x4"], |n, _| n[0].max(n[1])),
        ("max.relu", &["s8x4"], |n, _| n[0].max(n[1]).max(0)),
    ];
    for (op, types, reference) in operations {
        for ty in types {
            check_on(&format!("{op}.{ty}"), &pairs, |words| {
                elementwise(words, ty, |n| reference(n, ty))
            });
        }
    }
}

#[test]
fn products_in_all_modes() {
    for ty in SCALARS {
        let product = |w: &[u64]| number(w[0], ty) * number(w[1], ty);
        // The product of two 64-bit numbers can need 128 bits and a sign.
        let low = |w: &[u64]| (w[0] as u128).wrapping_mul(w[1] as u128) as u64;
        let high = |w: &[u64]| {
            if ty == "u64" {
                ((w[0] as u128 * w[1] as u128) >> 64) as u64
            } else {
                word(product(w) >> bits(ty), ty)
            }
        };
        check(&format!("mul.lo.{ty}"), 2, |w| word(low(w) as i128, ty));
        check(&format!("mul.hi.{ty}"), 2, high);
        check(&format!("mad.lo.{ty}"), 3, |w| {
            word(low(w) as i128 + w[2] as i128, ty)
        });
        check(&format!("mad.hi.{ty}"), 3, |w| {
            word(high(w) as i128 + w[2] as i128, ty)
        });
        if bits(ty) < 64 {
            let wide = if bits(ty) == 16 { "u32" } else { "u64" };
            check(&format!("mul.wide.{ty}"), 2, |w| word(product(w), wide));
            check(&format!("mad.wide.{ty}"), 3, |w| {
                word(product(w) + w[2] as i128, wide)
            });
        }
    }
    check("mad.hi.sat.s32", 3, |w| {
        let high = (number(w[0], "s32") * number(w[1], "s32")) >> 32;
        word(saturate(high + number(w[2], "s32"), "s32"), "s32")
    });
}

#[test]
fn products_of_24_bits() {
    for ty in ["u32", "s32"] {
        let cut = |word: u64| {
            let low = word as i128 & 0xff_ffff;
            if is_signed(ty) && low >> 23 == 1 {
                low - (1 << 24)
            } else {
                low
            }
        };
        let low = |w: &[u64]| cut(w[0]) * cut(w[1]);
        let high = |w: &[u64]| number(word(low(w) >> 16, ty), ty);
        check(&format!("mul24.lo.{ty}"), 2, |w| word(low(w), ty));
        check(&format!("mul24.hi.{ty}"), 2, |w| word(high(w), ty));
        check(&format!("mad24.lo.{ty}"), 3, |w| {
            word(low(w) + number(w[2], ty), ty)
        });
        check(&format!("mad24.hi.{ty}"), 3, |w| {
            word(high(w) + number(w[2], ty), ty)
        });
        if is_signed(ty) {
            check("mad24.hi.sat.s32", 3, |w| {
                word(saturate(high(w) + number(w[2], ty), ty), ty)
            });
        }
    }
}

#[test]
fn sum_of_absolute_differences() {
    check_types("sad", &SCALARS, 3, |n, _| {
        n[2] + if n[0] < n[1] {
            n[1] - n[0]
        } else {
            n[0] - n[1]
        }
    });
}

#[test]
fn quotients_and_remainders() {
    check_types(
        "div",
        &SCALARS,
        2,
        |n, _| if n[1] == 0 { -1 } else { n[0] / n[1] },
    );
    check_types(
        "rem",
        &SCALARS,
        2,
        |n, _| if n[1] == 0 { -1 } else { n[0] % n[1] },
    );
}

#[test]
fn signs() {
    check_types("abs", &SIGNED, 1, |n, _| n[0].abs());
    check_types("neg", &SIGNED, 1, |n, _| -n[0]);
    check_types("neg", &["s8x4"], 1, |n, _| -n[0]);
    let all: Vec<Vec<u64>> = (0..0x1_0000).map(|w| vec![w | 0xabcd_0000]).collect();
    check_on("abs.s16", &all, |w| word(number(w[0], "s16").abs(), "s16"));
    check_on("neg.s16", &all, |w| word(-number(w[0], "s16"), "s16"));
}

#[test]
fn minima_and_maxima() {
    check_types("min", &SCALARS, 2, |n, _| n[0].min(n[1]));
    check_types("max", &SCALARS, 2, |n, _| n[0].max(n[1]));
    check_types("min", &PACKED, 2, |n, _| n[0].min(n[1]));
    check_types("max", &PACKED, 2, |n, _| n[0].max(n[1]));
    let relu = ["s32", "s16x2", "s8x4"];
    check_types("min.relu", &relu, 2, |n, _| n[0].min(n[1]).max(0));
    check_types("max.relu", &relu, 2, |n, _| n[0].max(n[1]).max(0));
}

#[test]
fn dot_products() {
    let element = |word: u64, i: u32, bits: u32, ty: &str| {
        number(
            word >> (i * bits),
            if is_signed(ty) {
                ["s8", "s16"]
            } else {
                ["u8", "u16"]
            }[(bits / 16) as usize],
        )
    };
    for a in ["u32", "s32"] {
        for b in ["u32", "s32"] {
            check(&format!("dp4a.{a}.{b}"), 3, |w| {
                let sum: i128 = (0..4)
                    .map(|i| element(w[0], i, 8, a) * element(w[1], i, 8, b))
                    .sum();
                word(sum + w[2] as i128, "u32")
            });
            for (mode, first) in [("lo", 0), ("hi", 2)] {
                check(&format!("dp2a.{mode}.{a}.{b}"), 3, |w| {
                    let term = |i| element(w[0], i, 16, a) * element(w[1], first + i, 8, b);
                    word(term(0) + term(1) + w[2] as i128, "u32")
                });
            }
        }
    }
}
