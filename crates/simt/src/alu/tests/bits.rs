//! `popc` to `bmsk`, against the manual's pseudocode, bit by bit.

use super::*;

fn bit(word: u64, i: u32) -> u64 {
    word >> i & 1
}

/// All positions and lengths that matter with a few words each.
fn fields(words: &[u64]) -> Vec<Vec<u64>> {
    let amounts = (0..70).chain([
        127,
        128,
        254,
        255,
        256,
        257,
        287,
        288,
        0xffff_ff00,
        0xffff_ffff,
    ]);
    let amounts: Vec<u64> = amounts.collect();
    let mut lanes = vec![];
    for &word in words {
        for &position in &amounts {
            for &length in &amounts {
                lanes.push(vec![word, position, length]);
            }
        }
    }
    lanes
}

const PATTERNS: [u64; 5] = [
    0x8000_0000_8000_0000,
    0x7fff_ffff_7fff_ffff,
    0xa5a5_5a5a_c3c3_3c3c,
    0x0123_4567_89ab_cdef,
    0xffff_ffff_ffff_ffff,
];

#[test]
fn counts() {
    for (ty, width) in [("b32", 32), ("b64", 64)] {
        check(&format!("popc.{ty}"), 1, |w| {
            (0..width).map(|i| bit(w[0], i)).sum()
        });
        check(&format!("clz.{ty}"), 1, |w| {
            (0..width).rev().take_while(|&i| bit(w[0], i) == 0).count() as u64
        });
        check(&format!("brev.{ty}"), 1, |w| {
            (0..width).map(|i| bit(w[0], i) << (width - 1 - i)).sum()
        });
    }
}

#[test]
fn bfind_finds_the_highest_non_sign_bit() {
    for ty in ["u32", "s32", "u64", "s64"] {
        let top = bits(ty) - 1;
        let find = |w: &[u64]| {
            let negative = is_signed(ty) && bit(w[0], top) == 1;
            (0..=top).rev().find(|&i| bit(w[0], i) != negative as u64)
        };
        check(&format!("bfind.{ty}"), 1, |w| {
            find(w).map_or(0xffff_ffff, u64::from)
        });
        check(&format!("bfind.shiftamt.{ty}"), 1, |w| {
            find(w).map_or(0xffff_ffff, |i| u64::from(top - i))
        });
    }
    let op = resolve("bfind.u32", 2);
    assert_eq!(apply(op, &[[0; 32]], 0).d, [0xffff_ffff; 32]);
}

#[test]
fn fns_walks_from_the_base() {
    let reference = |w: &[u64]| {
        let (mask, base, offset) = (w[0], w[1] as u32, w[2] as u32 as i32);
        // As an H200 has it.
        if offset == i32::MIN {
            return 0;
        }
        if base > 31 {
            return 0xffff_ffff;
        }
        let mut left = offset.unsigned_abs().max(1);
        let mut position = base as i32;
        while (0..32).contains(&position) {
            left -= bit(mask, position as u32) as u32;
            if left == 0 {
                return position as u64;
            }
            if offset == 0 {
                break;
            }
            position += offset.signum();
        }
        0xffff_ffff
    };
    check("fns.b32", 3, reference);
    let mut lanes = vec![];
    for mask in PATTERNS {
        for base in 0..33 {
            for offset in -34i64..=34 {
                lanes.push(vec![mask, base, offset as u64]);
            }
        }
    }
    check_on("fns.b32", &lanes, reference);
    // The manual's examples.
    for (base, offset, found) in [(3, 1, 3), (3, -1i64, 3), (2, 1, 3), (2, -1, 1)] {
        check_on("fns.b32", &[vec![0xaaaa_aaaa, base, offset as u64]], |_| {
            found
        });
    }
}

/// Position and length of a bit field: their lowest bytes for 32 bits, all of them for 64.
fn field(ty: &str, position: u64, length: u64) -> (u32, u32) {
    let mask = if bits(ty) == 32 { 0xff } else { u32::MAX };
    (position as u32 & mask, length as u32 & mask)
}

/// Values of an H200: of 64 bits, also a position or length above 255 counts.
#[test]
fn bit_fields_of_64_bits_reach_no_further_than_the_hardware_says() {
    check_on(
        "bfe.s64",
        &[vec![0xf0dc_7084_9079_9f52, 0x104, 0x3b]],
        |_| u64::MAX,
    );
    check_on(
        "bfe.u64",
        &[vec![0xfff0_0000_0000_0000, 0x40_0000, 0x1eb]],
        |_| 0,
    );
    check_on(
        "bfi.b64",
        &[vec![
            0xffff_ffff_ffff_fff5,
            0xffff_ffff_cd56_ae66,
            0x12a,
            0x12a,
        ]],
        |_| 0xffff_ffff_cd56_ae66,
    );
}

#[test]
fn bfe_extracts_and_extends() {
    for ty in ["u32", "s32", "u64", "s64"] {
        let msb = bits(ty) - 1;
        let reference = |w: &[u64]| {
            let (position, length) = field(ty, w[1], w[2]);
            let sign = if !is_signed(ty) || length == 0 {
                0
            } else {
                bit(w[0], (position.saturating_add(length - 1)).min(msb))
            };
            let source = |i| {
                if i < length && position <= msb - i {
                    bit(w[0], position + i)
                } else {
                    sign
                }
            };
            (0..=msb).map(|i| source(i) << i).sum()
        };
        check(&format!("bfe.{ty}"), 3, reference);
        check_on(&format!("bfe.{ty}"), &fields(&PATTERNS), reference);
    }
}

#[test]
fn bfi_inserts_what_fits() {
    for ty in ["b32", "b64"] {
        let msb = bits(ty) - 1;
        let reference = |w: &[u64]| {
            let (position, length) = field(ty, w[2], w[3]);
            let source = |i: u32| {
                let inserted = i >= position && i - position < length;
                if inserted {
                    bit(w[0], i - position)
                } else {
                    bit(w[1], i)
                }
            };
            (0..=msb).map(|i| source(i) << i).sum()
        };
        check(&format!("bfi.{ty}"), 4, reference);
        let lanes: Vec<Vec<u64>> = fields(&PATTERNS)
            .into_iter()
            .map(|lane| vec![lane[0], !lane[0] ^ 0x1111_0000_0000_1111, lane[1], lane[2]])
            .collect();
        check_on(&format!("bfi.{ty}"), &lanes, reference);
    }
}

#[test]
fn szext_follows_the_manual() {
    for ty in ["u32", "s32"] {
        for mode in ["clamp", "wrap"] {
            let reference = |w: &[u64]| {
                let (a, b) = (w[0] as u32, w[1] as u32);
                let low = b & 0x1f;
                let too_large = b >= 32 && mode == "clamp";
                let mask = if too_large { 0 } else { !0 << low };
                let sign = !(low == 0 || too_large || ty != "s32")
                    && a >> (low.wrapping_sub(1) & 0x1f) & 1 == 1;
                u64::from(a & !mask | if sign { mask } else { 0 })
            };
            let name = format!("szext.{mode}.{ty}");
            check(&name, 2, reference);
            let lanes: Vec<_> = fields(&PATTERNS).iter().map(|l| l[..2].to_vec()).collect();
            check_on(&name, &lanes, reference);
        }
    }
}

#[test]
fn bmsk_follows_the_manual() {
    for mode in ["clamp", "wrap"] {
        let reference = |w: &[u64]| {
            let (a, b) = (w[0] as u32, w[1] as u32);
            let clamp = mode == "clamp";
            let sum = (a & 0x1f) + (b & 0x1f);
            let mask0 = if clamp && a >= 32 {
                0
            } else {
                !0u32 << (a & 0x1f)
            };
            let overflow = sum >= 32 || clamp && (a >= 32 || b >= 32);
            let mask1 = if overflow {
                0
            } else if b & 0x1f == 0 {
                !0
            } else {
                !0u32 << sum
            };
            u64::from(mask0 & !mask1)
        };
        let name = format!("bmsk.{mode}.b32");
        check(&name, 2, reference);
        let lanes: Vec<_> = fields(&[0]).iter().map(|l| l[1..].to_vec()).collect();
        check_on(&name, &lanes, reference);
    }
    check_on("bmsk.wrap.b32", &[vec![1, 2]], |_| 6);
}
