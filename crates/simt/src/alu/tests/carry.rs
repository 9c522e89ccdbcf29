//! Carry chains, step by step and as the wide arithmetic that they implement.

use super::*;

#[test]
fn steps_add_with_the_carry() {
    for ty in ["u32", "s32", "u64", "s64"] {
        let unsigned = if bits(ty) == 32 { "u32" } else { "u64" };
        let n = |word: u64| number(word, unsigned);
        let answer = |name: &str, sum: i128, flag: bool| Answer {
            value: word(sum, unsigned),
            p: if name.ends_with(".cc") {
                sum >> bits(ty) != 0
            } else {
                flag
            },
            q: false,
        };
        let complement = |word: u64| n(!word);
        let step = |name: &str, sum: &dyn Fn(&[u64], i128) -> i128| {
            check_flags(&format!("{name}.{ty}"), 3, 2, &EDGES, &|w, cf| {
                answer(name, sum(w, cf as i128), cf)
            });
        };
        step("add.cc", &|w, _| n(w[0]) + n(w[1]));
        step("addc", &|w, cf| n(w[0]) + n(w[1]) + cf);
        step("addc.cc", &|w, cf| n(w[0]) + n(w[1]) + cf);
        step("sub.cc", &|w, _| n(w[0]) + complement(w[1]) + 1);
        step("subc", &|w, cf| n(w[0]) + complement(w[1]) + cf);
        step("subc.cc", &|w, cf| n(w[0]) + complement(w[1]) + cf);
        let low = |w: &[u64]| n(w[0].wrapping_mul(w[1]));
        let high = |w: &[u64]| match ty {
            "u64" => ((w[0] as u128 * w[1] as u128) >> 64) as i128,
            _ => n(word((number(w[0], ty) * number(w[1], ty)) >> bits(ty), ty)),
        };
        let step = |name: &str, sum: &dyn Fn(&[u64], i128) -> i128| {
            check_flags(&format!("{name}.{ty}"), 4, 3, &EDGES, &|w, cf| {
                answer(name, sum(w, cf as i128), cf)
            });
        };
        step("mad.lo.cc", &|w, _| low(w) + n(w[2]));
        step("mad.hi.cc", &|w, _| high(w) + n(w[2]));
        step("madc.lo", &|w, cf| low(w) + n(w[2]) + cf);
        step("madc.hi", &|w, cf| high(w) + n(w[2]) + cf);
        step("madc.lo.cc", &|w, cf| low(w) + n(w[2]) + cf);
        step("madc.hi.cc", &|w, cf| high(w) + n(w[2]) + cf);
    }
}

/// One lane's worth of a chain, splatted over the row.
struct Chain {
    carry: Mask,
}

impl Chain {
    fn step(&mut self, spelling: &str, inputs: &[u64]) -> u64 {
        let rows: Vec<Row64> = inputs.iter().map(|&word| [word; 32]).collect();
        let answers = apply(resolve(spelling, inputs.len() + 1), &rows, self.carry);
        if !spelling.starts_with("mul") {
            self.carry = answers.p;
        }
        answers.d[7]
    }
}

proptest! {
    #![proptest_config(testing::random(256))]

    #[test]
    fn four_words_subtract_as_128_bits(a: u128, b: u128) {
        let mut chain = Chain { carry: 0 };
        let word = |n: u128, i: u32| (n >> (32 * i)) as u64 & 0xffff_ffff;
        let mut difference = 0;
        for (i, op) in ["sub.cc.u32", "subc.cc.u32", "subc.cc.u32", "subc.u32"].iter().enumerate() {
            let i = i as u32;
            difference |= (chain.step(op, &[word(a, i), word(b, i)]) as u128) << (32 * i);
        }
        prop_assert_eq!(difference, a.wrapping_sub(b));
    }

    #[test]
    fn two_words_add_as_128_bits(a: u128, b: u128) {
        let mut chain = Chain { carry: !0 };
        let low = chain.step("add.cc.u64", &[a as u64, b as u64]);
        let high = chain.step("addc.u64", &[(a >> 64) as u64, (b >> 64) as u64]);
        prop_assert_eq!((high as u128) << 64 | low as u128, a.wrapping_add(b));
    }

    /// The manual's extended-precision multiplication ("Extended-Precision
    /// Arithmetic Instructions: madc", Examples).
    #[test]
    fn two_words_multiply_as_128_bits(a: u64, b: u64) {
        let mut chain = Chain { carry: 0 };
        let (r4, r5, r6, r7) = (a & 0xffff_ffff, a >> 32, b & 0xffff_ffff, b >> 32);
        let r0 = chain.step("mul.lo.u32", &[r4, r6]);
        let mut r1 = chain.step("mul.hi.u32", &[r4, r6]);
        r1 = chain.step("mad.lo.cc.u32", &[r5, r6, r1]);
        let mut r2 = chain.step("madc.hi.u32", &[r5, r6, 0]);
        r1 = chain.step("mad.lo.cc.u32", &[r4, r7, r1]);
        r2 = chain.step("madc.hi.cc.u32", &[r4, r7, r2]);
        let mut r3 = chain.step("addc.u32", &[0, 0]);
        r2 = chain.step("mad.lo.cc.u32", &[r5, r7, r2]);
        r3 = chain.step("madc.hi.u32", &[r5, r7, r3]);
        let product = [r3, r2, r1, r0].iter().fold(0u128, |n, &r| n << 32 | r as u128);
        prop_assert_eq!(product, a as u128 * b as u128);
    }
}
