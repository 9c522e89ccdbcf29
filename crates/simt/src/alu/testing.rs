//! What the tests of the tables share: calling an operation by its spelling,
//! interesting inputs, and a source of random ones.

use super::{AluOp, lookup};

/// The operation of `add.rn.f32` and such with that number of inputs.
pub(super) fn op(spelling: &str, inputs: usize) -> AluOp {
    find(spelling, inputs).unwrap_or_else(|| panic!("{spelling} is not there"))
}

/// As [`op`], or `None`.
pub(super) fn find(spelling: &str, inputs: usize) -> Option<AluOp> {
    let (opcode, modifiers) = ptx::semantics::spelled(spelling);
    lookup(&opcode, &modifiers, inputs + 1)
}

/// Applies an operation to 32 lanes of inputs.
pub(super) fn row<const N: usize>(op: AluOp, inputs: &[[u64; N]; 32]) -> [u64; 32] {
    let wide = |n: usize| std::array::from_fn(|lane| inputs[lane][n]);
    let word = |n: usize| std::array::from_fn(|lane| inputs[lane][n] as u32);
    let (mut w, mut d) = ([0u32; 32], [0u64; 32]);
    match op {
        AluOp::W_W(f) => f(&word(0), &mut w),
        AluOp::WW_W(f) => f(&word(0), &word(1), &mut w),
        AluOp::WWW_W(f) => f(&word(0), &word(1), &word(2), &mut w),
        AluOp::D_W(f) => f(&wide(0), &mut w),
        AluOp::WWWWW_W(f) => f(&word(0), &word(1), &word(2), &word(3), &word(4), &mut w),
        AluOp::D_D(f) => f(&wide(0), &mut d),
        AluOp::DD_D(f) => f(&wide(0), &wide(1), &mut d),
        AluOp::DDD_D(f) => f(&wide(0), &wide(1), &wide(2), &mut d),
        AluOp::W_D(f) => f(&word(0), &mut d),
        _ => panic!("no test calls this shape"),
    }
    match op {
        AluOp::D_D(_) | AluOp::DD_D(_) | AluOp::DDD_D(_) | AluOp::W_D(_) => d,
        _ => w.map(u64::from),
    }
}

/// Applies an operation to one lane.
pub(super) fn lane<const N: usize>(op: AluOp, inputs: [u64; N]) -> u64 {
    row(op, &[inputs; 32])[0]
}

/// Compares an operation with a reference on many inputs, 32 at a time.
pub(super) fn compare<const N: usize>(
    spelling: &str,
    inputs: impl IntoIterator<Item = [u64; N]>,
    reference: impl Fn([u64; N]) -> u64,
) {
    let op = op(spelling, N);
    let mut inputs = inputs.into_iter();
    loop {
        let mut block = [[0; N]; 32];
        let mut count = 0;
        for (slot, input) in block.iter_mut().zip(&mut inputs) {
            *slot = input;
            count += 1;
        }
        let results = row(op, &block);
        for i in 0..count {
            let want = reference(block[i]);
            assert!(
                results[i] == want,
                "{spelling} {:x?}: {:#x}, not {want:#x}",
                block[i],
                results[i]
            );
        }
        if count < 32 {
            return;
        }
    }
}

/// A small deterministic generator (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    /// Any 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A code of a format with these field widths: sometimes any bits, sometimes a
    /// number near 1 or near another one's exponent, sometimes with few digits.
    pub(super) fn code(&mut self, exponent_bits: u32, fraction_bits: u32) -> u64 {
        let width = 1 + exponent_bits + fraction_bits;
        let any = self.bits() & (u64::MAX >> (64 - width));
        let bias = (1u64 << (exponent_bits - 1)) - 1;
        let fraction = any & ((1 << fraction_bits) - 1);
        let sign = any & (1 << (width - 1));
        let choice = self.bits();
        let near = |exponent: u64| exponent.min((1 << exponent_bits) - 1) << fraction_bits;
        let sparse = fraction & fraction.rotate_left(3) & (self.bits() | self.bits());
        let dense = if choice & 8 == 0 { fraction } else { sparse };
        match choice & 7 {
            0..3 => any,
            3 => sign | near(bias - 3 + (choice >> 8) % 7) | dense,
            4 => sign | near(bias + (choice >> 8) % 60) | dense,
            5 => sign | near((choice >> 8) % (4 + fraction_bits as u64)) | dense,
            6 => sign | near(bias.saturating_sub((choice >> 8) % 60)) | dense,
            _ => sign | near((choice >> 8) % (2 << exponent_bits)) | (dense & 7),
        }
    }
}

/// Codes at the edges of a format: zeros, the smallest and largest numbers,
/// around 1, 2 and powers of 2, halves, infinities, quiet and signalling NaN.
pub(super) fn edges(exponent_bits: u32, fraction_bits: u32) -> Vec<u64> {
    let one = ((1u64 << (exponent_bits - 1)) - 1) << fraction_bits;
    let unit = 1u64 << fraction_bits;
    let infinity = ((1u64 << exponent_bits) - 1) << fraction_bits;
    let sign = 1u64 << (exponent_bits + fraction_bits);
    let mut magnitudes = vec![
        0,
        1,
        2,
        3,
        unit / 2,
        unit - 2,
        unit - 1,
        unit,
        unit + 1,
        unit + 2,
        2 * unit - 1,
        2 * unit,
        one - unit,
        one - unit / 2,
        one - 2,
        one - 1,
        one,
        one + 1,
        one + 2,
        one + unit / 2,
        one + unit - 1,
        one + unit,
        one + unit + unit / 2,
        infinity - 2 * unit,
        infinity - unit,
        infinity - unit + 1,
        infinity - 2,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + unit / 2,
        infinity + unit / 2 + 1,
        infinity + unit - 1,
    ];
    for power in [3, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64] {
        let code = one + power * unit;
        if code < infinity {
            magnitudes.extend([code - 1, code, code + 1]);
            if one > power * unit {
                magnitudes.push(one - power * unit);
            }
        }
    }
    magnitudes.iter().flat_map(|&m| [m, m | sign]).collect()
}

/// Demands that each of these spellings is in the list of all of them, of which the conformance programs (crate `evidence`) are
/// tested to try every one that an `sm_90` has.
pub(super) fn all_are_listed<'a>(spellings: impl IntoIterator<Item = (&'a str, usize)>) {
    let listed = ptx::semantics::spellings::arithmetic().into_iter();
    let listed: std::collections::BTreeSet<_> = listed.map(|s| (s.text, s.operands - 1)).collect();
    let missing: Vec<_> = spellings
        .into_iter()
        .map(|(spelling, inputs)| (spelling.to_owned(), inputs))
        .filter(|one| !listed.contains(one))
        .collect();
    assert!(missing.is_empty(), "not listed: {missing:?}");
}
