//! The inputs: special values of each type among random ones.
//!
//! Specials are where instructions change what they do: zeros, ones and largest numbers of both signs, subnormals,
//! infinities, NaN of both sorts with payloads, and the ends of what other types can hold. Random ones are bits as
//! they come, numbers of moderate size that interact, neighbours of specials, and significands halfway between two of a
//! narrower type.

use super::kind::Kind;
use catalog::draw::mix;

/// Threads of a program.
pub const THREADS: usize = 1024;

/// A stream of random numbers: SplitMix64, which is the same in every version and on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of some seeds.
    pub fn new(seeds: &[u64]) -> Random {
        Random(seeds.iter().fold(0, |hash, &seed| mix(hash ^ mix(seed))))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Whether something of a probability in percent happens.
    pub fn percent(&mut self, probability: usize) -> bool {
        self.below(100) < probability
    }

    /// One of several.
    pub fn choose<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A column of inputs: what each thread has for operand `index` of a kind.
pub fn column(kind: Kind, index: u8, seed: u64) -> Vec<u64> {
    let stream = |index: u8| Random::new(&[seed, tag(kind), u64::from(index)]);
    let mut first = stream(0);
    let mut own = stream(index);
    (0..THREADS)
        .map(|_| {
            let leader = value(kind, &mut first);
            if index == 0 {
                return leader;
            }
            let mine = value(kind, &mut own);
            // Equal, opposite and neighbouring operands.
            match own.below(16) {
                0 => leader,
                1 => leader.wrapping_add(1),
                2 => leader ^ sign(kind),
                _ => mine,
            }
        })
        .collect()
}

fn tag(kind: Kind) -> u64 {
    match kind {
        Kind::Int(bits) => 0x100 + u64::from(bits),
        Kind::Packed(bits, count) => 0x1000 + (u64::from(bits) << 4) + u64::from(count),
        Kind::F16 => 1,
        Kind::Bf16 => 2,
        Kind::F16x2 => 3,
        Kind::Bf16x2 => 4,
        Kind::F32 => 5,
        Kind::F32x2 => 6,
        Kind::F64 => 7,
        Kind::Codes => 8,
        Kind::Position => 9,
        Kind::Small => 10,
        Kind::Pred => 11,
    }
}

fn sign(kind: Kind) -> u64 {
    match kind {
        Kind::Int(bits) => 1 << (bits - 1),
        Kind::F16 | Kind::Bf16 => 0x8000,
        Kind::F32 => 0x8000_0000,
        Kind::F64 => 1 << 63,
        Kind::Packed(..) | Kind::F16x2 | Kind::Bf16x2 => 0x8000_8000,
        Kind::F32x2 => 0x8000_0000_8000_0000,
        Kind::Codes => 0x8080,
        Kind::Position | Kind::Small | Kind::Pred => 0,
    }
}

/// One value.
pub fn value(kind: Kind, random: &mut Random) -> u64 {
    match kind {
        Kind::Pred => random.bits() & 1,
        Kind::Int(bits) => integer(u32::from(bits), random),
        Kind::Packed(bits, count) => (0..count).fold(0, |all, _| {
            all << bits | integer(u32::from(bits), random) & ((1 << bits) - 1)
        }),
        Kind::Position => match random.below(8) {
            0 => integer(32, random),
            1 => random.bits() & 0x1ff,
            _ => random.below(70) as u64,
        },
        Kind::Small => match random.below(8) {
            0 => integer(32, random),
            _ => (random.below(69) as i64 - 34) as u64,
        },
        Kind::Codes => random.bits() & 0xffff,
        Kind::F16 => float(&HALF, random),
        Kind::Bf16 => float(&BFLOAT, random),
        Kind::F32 => float(&SINGLE, random),
        Kind::F64 => float(&DOUBLE, random),
        Kind::F16x2 => float(&HALF, random) << 16 | float(&HALF, random),
        Kind::Bf16x2 => float(&BFLOAT, random) << 16 | float(&BFLOAT, random),
        Kind::F32x2 => float(&SINGLE, random) << 32 | float(&SINGLE, random),
    }
}

fn integer(bits: u32, random: &mut Random) -> u64 {
    let top = 1u64 << (bits - 1);
    let mask = top | (top - 1);
    match random.below(10) {
        // Above the type's bits: what must be ignored.
        0 => random.bits(),
        1 | 2 => random.bits() & mask,
        3 => random.below(12) as u64,
        4 => mask - random.below(12) as u64,
        5 => top.wrapping_add(random.below(5) as u64).wrapping_sub(2) & mask,
        6 => {
            let power = 1u64 << random.below(bits as usize);
            power.wrapping_add(random.below(3) as u64).wrapping_sub(1) & mask
        }
        // Of some magnitude, of either sign.
        7 | 8 => {
            let small = random.bits() & mask & (mask >> random.below(bits as usize));
            if random.percent(50) {
                small
            } else {
                small.wrapping_neg() & mask
            }
        }
        _ => {
            // Runs of ones.
            let (from, to) = (random.below(bits as usize), random.below(bits as usize));
            (mask >> from) & (mask << to) & mask
        }
    }
}

/// A binary floating-point format, and its specials.
struct Format {
    /// Bits of the significand's fraction.
    fraction: u32,
    /// Bits of the exponent.
    exponent: u32,
    /// Fraction bits of narrower formats that it is rounded to.
    narrower: &'static [u32],
    /// Unbiased exponents near which other types begin or end.
    edges: &'static [i32],
}

const HALF: Format = Format {
    fraction: 10,
    exponent: 5,
    narrower: &[2, 3, 7],
    edges: &[-14, -9, -6, 0, 7, 8, 15],
};
const BFLOAT: Format = Format {
    fraction: 7,
    exponent: 8,
    narrower: &[2, 3],
    edges: &[-126, -24, -14, -9, -6, 7, 8, 15, 16, 31, 32, 63, 64],
};
const SINGLE: Format = Format {
    fraction: 23,
    exponent: 8,
    narrower: &[2, 3, 7, 10],
    edges: &[
        -126, -125, -24, -14, -9, -6, 7, 8, 15, 16, 23, 24, 31, 32, 63, 64, 126,
    ],
};
const DOUBLE: Format = Format {
    fraction: 52,
    exponent: 11,
    narrower: &[7, 10, 23],
    edges: &[
        -1022, -149, -126, -24, -14, 7, 8, 15, 16, 23, 31, 32, 52, 53, 63, 64, 127, 128, 1022,
    ],
};

fn float(format: &Format, random: &mut Random) -> u64 {
    let Format {
        fraction,
        exponent,
        narrower,
        edges,
    } = *format;
    let bias = (1i32 << (exponent - 1)) - 1;
    let top = (1u64 << exponent) - 1;
    let infinity = top << fraction;
    let quiet = 1u64 << (fraction - 1);
    let ones = (1u64 << fraction) - 1;
    let sign = (random.bits() & 1) << (fraction + exponent);
    let of = |e: i32, f: u64| ((e + bias).clamp(0, top as i32 - 1) as u64) << fraction | f & ones;
    let magnitude = match random.below(20) {
        0 => 0,
        1 => infinity,
        2 => {
            infinity
                | quiet
                | if random.percent(50) {
                    0
                } else {
                    random.bits() & ones
                }
        }
        3 => infinity | (random.bits() & (quiet - 1)).max(1),
        4 => *random.choose(&[1, 2, ones, ones - 1, ones + 1, ones + 2, quiet, ones / 2]),
        5 => infinity - 1 - random.below(3) as u64,
        6 => of(0, 0),
        7 => of(
            *random.choose(&[-2, -1, 0, 1, 2, 3]),
            quiet * random.below(2) as u64,
        ),
        // Small numbers and halves.
        8 | 9 => {
            let n = random.below(1 << (fraction.min(9))) as u64 + 1;
            let e = 63 - n.leading_zeros();
            let f = if e <= fraction {
                n << (fraction - e)
            } else {
                n >> (e - fraction)
            };
            of(e as i32 - random.below(4) as i32, f)
        }
        // Around the ends of other types.
        10..=12 => {
            let at = of(*random.choose(edges), 0);
            let by = random.below(7) as u64;
            let step = 1u64 << random.below(fraction as usize);
            (at + by * step).saturating_sub(3 * step).min(infinity - 1)
        }
        // Halfway between two of a narrower type, or next to it.
        13..=15 => {
            let keep = *random.choose(narrower);
            let half = 1u64 << (fraction - keep - 1);
            let f = random.bits() & !(2 * half - 1) | half;
            let f = f.wrapping_add(random.below(3) as u64).wrapping_sub(1);
            let e = match random.below(3) {
                0 => *random.choose(edges) - random.below(12) as i32,
                _ => random.below(24) as i32 - 12,
            };
            of(e, f)
        }
        16 | 17 => of(random.below(24) as i32 - 12, random.bits()),
        18 => random.bits() & ones,
        _ => random.bits() & (infinity | ones),
    };
    sign | magnitude
}
