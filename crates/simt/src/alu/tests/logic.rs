//! Logic, shifts, `lop3`, `prmt`, `mov`, bit by bit and byte by byte.

use super::*;

const ANY_AMOUNT: [u64; 12] = [
    127,
    128,
    255,
    256,
    257,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
];

fn amounts() -> impl Iterator<Item = u64> {
    (0..70).chain(ANY_AMOUNT)
}

#[test]
fn bitwise() {
    for ty in ["b16", "b32", "b64"] {
        let w = |n: u64| word(n as i128, ty);
        check(&format!("and.{ty}"), 2, |x| w(x[0] & x[1]));
        check(&format!("or.{ty}"), 2, |x| w(x[0] | x[1]));
        check(&format!("xor.{ty}"), 2, |x| w(x[0] ^ x[1]));
        check(&format!("not.{ty}"), 1, |x| w(!x[0]));
        check(&format!("cnot.{ty}"), 1, |x| (w(x[0]) == 0) as u64);
    }
}

#[test]
fn predicates() {
    for (a, b) in [(0, 0), (!0, 0x1234_5678), (0x8000_0001, 0xf0f0_f0f0)] {
        let p = |spelling, operands| apply(resolve(spelling, operands), &[[b as u64; 32]], a).p;
        assert_eq!(p("and.pred", 3), a & b);
        assert_eq!(p("or.pred", 3), a | b);
        assert_eq!(p("xor.pred", 3), a ^ b);
        assert_eq!(p("not.pred", 2), !a);
        assert_eq!(p("mov.pred", 2), a);
    }
}

#[test]
fn mov_copies_its_width() {
    for ty in [
        "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64",
    ] {
        check(&format!("mov.{ty}"), 1, |x| {
            word(x[0] as i128, ty.trim_start_matches('s'))
        });
    }
}

#[test]
fn shifts_clamp_their_amount() {
    for ty in [
        "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64",
    ] {
        let width = bits(ty);
        let amount = |word: u64| (word as u32).min(width);
        let right = |x: &[u64]| word(number(x[0], ty) >> amount(x[1]), ty);
        let lanes: Vec<Vec<u64>> = amounts()
            .flat_map(|amount| EDGES.map(|edge| vec![edge, amount]))
            .collect();
        check(&format!("shr.{ty}"), 2, right);
        check_on(&format!("shr.{ty}"), &lanes, right);
        if ty.starts_with('b') {
            let left = |x: &[u64]| word(number(x[0], ty) << amount(x[1]), ty);
            check(&format!("shl.{ty}"), 2, left);
            check_on(&format!("shl.{ty}"), &lanes, left);
        }
    }
}

#[test]
fn funnel_shifts_take_from_the_pair() {
    for mode in ["clamp", "wrap"] {
        let amount = |word: u64| {
            let word = word as u32;
            if mode == "clamp" {
                word.min(32)
            } else {
                word % 32
            }
        };
        let pair = |x: &[u64]| (x[1] as u32 as i128) << 32 | x[0] as u32 as i128;
        let left = |x: &[u64]| word((pair(x) << amount(x[2])) >> 32, "b32");
        let right = |x: &[u64]| word(pair(x) >> amount(x[2]), "b32");
        let lanes: Vec<Vec<u64>> = amounts()
            .flat_map(|amount| EDGES.map(|edge| vec![edge, edge ^ 0x5555_3333, amount]))
            .collect();
        for (name, reference) in [("l", &left as &dyn Fn(&[u64]) -> u64), ("r", &right)] {
            let name = format!("shf.{name}.{mode}.b32");
            check(&name, 3, reference);
            check_on(&name, &lanes, reference);
        }
    }
}

#[test]
fn lop3_in_all_tables() {
    // Bit k of these is bit 2, 1 and 0 of k: the manual's ta, tb and tc in each byte.
    let (a, b, c) = (0xf0f0_f0f0u64, 0xcccc_cccc, 0xaaaa_aaaa);
    for table in 0..=255u64 {
        let every_byte = table * 0x0101_0101;
        check_on("lop3.b32", &[vec![a, b, c, table]], |_| every_byte);
    }
    let words = proptest::array::uniform4(any::<u32>());
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(
            &(words, any::<u8>(), any::<Mask>()),
            |([a, b, c, other], table, q)| {
                let reference = |i: usize| {
                    // Every lane another word.
                    let [a, b, c] = [a, b, c].map(|w| w.rotate_left(i as u32) ^ (other >> (i % 7)));
                    let bit = |k: u32| {
                        let index = (a >> k & 1) << 2 | (b >> k & 1) << 1 | c >> k & 1;
                        (table as u32 >> index & 1) << k
                    };
                    ([a, b, c].map(u64::from), (0..32).map(bit).sum::<u32>())
                };
                let rows: [Row64; 4] = std::array::from_fn(|input| {
                    std::array::from_fn(|i| {
                        if input == 3 {
                            table as u64
                        } else {
                            reference(i).0[input]
                        }
                    })
                });
                let want: Row64 = std::array::from_fn(|i| reference(i).1 as u64);
                let nonzero = (0..32).fold(0, |mask, i| mask | u32::from(want[i] != 0) << i);
                prop_assert_eq!(apply(resolve("lop3.b32", 5), &rows, q).d, want);
                let and = apply(resolve("lop3.and.b32", 6), &rows, q);
                prop_assert_eq!((and.d, and.p), (want, nonzero & q));
                let or = apply(resolve("lop3.or.b32", 6), &rows, q);
                prop_assert_eq!((or.d, or.p), (want, nonzero | q));
                Ok(())
            },
        )
        .unwrap();
    // The predicate form where d is zero in some lanes.
    let rows = [
        std::array::from_fn(|i| (i % 3 == 0) as u64),
        [!0; 32],
        [!0; 32],
        [0x80; 32],
    ];
    let every_third = (0..32).step_by(3).fold(0, |mask, i| mask | 1 << i);
    assert_eq!(apply(resolve("lop3.and.b32", 6), &rows, !0).p, every_third);
    assert_eq!(apply(resolve("lop3.or.b32", 6), &rows, 0).p, every_third);
}

#[test]
fn prmt_selects_bytes_and_signs() {
    let bytes = |x: &[u64]| -> [u8; 8] {
        let (a, b) = ((x[0] as u32).to_le_bytes(), (x[1] as u32).to_le_bytes());
        std::array::from_fn(|i| if i < 4 { a[i] } else { b[i - 4] })
    };
    let generic = |x: &[u64]| {
        let bytes = bytes(x);
        let select = |i: usize| {
            let selector = (x[2] >> (4 * i) & 0xf) as usize;
            let byte = bytes[selector % 8];
            match (selector < 8, byte < 0x80) {
                (true, _) => byte,
                (false, true) => 0,
                (false, false) => 0xff,
            }
        };
        u32::from_le_bytes(std::array::from_fn(select)) as u64
    };
    check("prmt.b32", 3, generic);
    let all: Vec<Vec<u64>> = (0..0x1_0000)
        .map(|c| vec![0x8102_c304, 0x0586_07f8, c | 0xabcd_0000])
        .collect();
    check_on("prmt.b32", &all, generic);

    // Bytes from d.b0 up, for the shift or address s.
    type Sources = fn(usize) -> [usize; 4];
    let modes: [(&str, Sources); 6] = [
        ("f4e", |s| std::array::from_fn(|i| s + i)),
        ("b4e", |s| std::array::from_fn(|i| (8 + s - i) % 8)),
        ("rc8", |s| [s; 4]),
        ("ecl", |s| std::array::from_fn(|i| i.max(s))),
        ("ecr", |s| std::array::from_fn(|i| i.min(s))),
        ("rc16", |s| std::array::from_fn(|i| i % 2 + s % 2 * 2)),
    ];
    for (mode, sources) in modes {
        let reference = |x: &[u64]| {
            let bytes = bytes(x);
            u32::from_le_bytes(sources(x[2] as usize & 3).map(|i| bytes[i])) as u64
        };
        check(&format!("prmt.b32.{mode}"), 3, reference);
    }
}
