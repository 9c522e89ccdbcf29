//! `d = a × b + c` of matrices that a warp holds.
//!
//! The manual fixes the result of integers and of `.f64`: of a chain of fused operations, whose order it leaves open, along `k` here, as
//! an H200 does. Of other floating-point types it leaves order, rounding and precision of sums open (PTX ISA, "wmma.mma", "mma": at least
//! single precision for `.f32`, half for `.f16`): here sums are exact to 53 bits and are rounded once, to the nearest.

use super::{Element, Fragment};
use crate::alu::{Row32, Row64, half_value, to_half};
use crate::ids::LANES;
use crate::op::Slot;
use crate::simd::{Work, at_best};
use crate::state::row;

/// Elements of the largest factor, and of the largest sum.
const FACTOR: usize = 1024;
const SUM: usize = 256;
/// Elements that the lanes of a warp hold of a matrix at most, copies included.
const HELD: usize = 1024;
/// Elements of the factors of most products.
const SMALL: usize = 256;

/// What is done with bits before they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BitOperation {
    Xor,
    And,
}

/// A matrix in registers.
#[derive(Clone, Debug)]
pub struct Held {
    /// The type of its elements.
    pub element: Element,
    /// Who holds what.
    pub fragment: Fragment,
    /// The registers: W rows, D rows for `.f64`.
    pub slots: Box<[Slot]>,
    /// For each element of each lane, lanes first, its place in the matrix, row by row.
    pub places: std::sync::Arc<[u16]>,
    /// For each place of the matrix, which of these elements is there: the last, where several lanes hold it.
    pub sources: std::sync::Arc<[u16]>,
}

/// `wmma.mma`, `mma`.
#[derive(Clone, Debug)]
pub struct Product {
    /// Rows of the sum.
    pub m: usize,
    /// Columns of the sum.
    pub n: usize,
    /// Columns of the first factor; of bits, words.
    pub k: usize,
    /// First factor, `m` × `k`.
    pub a: Held,
    /// Second factor, `k` × `n`.
    pub b: Held,
    /// What is added, `m` × `n`.
    pub c: Held,
    /// The result.
    pub d: Held,
    /// `.satfinite`: integers stop at the ends of their range.
    pub saturates: bool,
    /// For bits.
    pub bits: Option<BitOperation>,
}

/// The registers of a warp, and the constants.
#[derive(Clone, Copy)]
pub(crate) struct Registers<'r> {
    pub w: &'r [Row32],
    pub d: &'r [Row64],
    pub const_w: &'r [Row32],
    pub const_d: &'r [Row64],
}

/// The result, row by row: in the lower halves `.f16` codes, `.f32` bits and integers; whole `.f64`.
pub(crate) type Sums = [u64; SUM];

impl Held {
    /// A matrix in registers, with its fragment's [`Held::places`].
    pub fn new(
        element: Element,
        fragment: Fragment,
        slots: Box<[Slot]>,
        places: std::sync::Arc<[u16]>,
    ) -> Held {
        let mut sources = vec![0; fragment.rows * fragment.columns];
        for (source, place) in places.iter().enumerate() {
            sources[usize::from(*place)] = source as u16;
        }
        Held {
            element,
            fragment,
            slots,
            places,
            sources: sources.into(),
        }
    }

    /// The places of a fragment's elements, as [`Held::places`] has them.
    pub fn places(fragment: &Fragment) -> std::sync::Arc<[u16]> {
        let places = (0..fragment.each).flat_map(|index| {
            (0..LANES).map(move |lane| {
                let (row, column) = fragment.place(lane, index);
                (row * fragment.columns + column) as u16
            })
        });
        places.collect()
    }

    /// Puts every element in its place, as `value` makes it of its bits.
    #[inline(always)]
    fn words<T: Copy + Default, const N: usize>(
        &self,
        registers: Registers<'_>,
        to: &mut [T; N],
        value: impl Fn(u32) -> T,
    ) {
        let parts = self.element.parts();
        let bits = self.element.bits();
        let mask = u32::MAX >> (32 - bits.min(32));
        let mut held = [T::default(); HELD];
        for (r, slot) in self.slots.iter().enumerate() {
            let row = row(registers.w, registers.const_w, *slot);
            for part in 0..parts {
                let first = (r * parts + part) * LANES;
                let shift = part as u32 * bits;
                let held = &mut held[first..first + LANES];
                for l in 0..LANES {
                    held[l] = value(row[l] >> shift & mask);
                }
            }
        }
        for (to, source) in to.iter_mut().zip(&self.sources[..]) {
            // Sources are within the array: the remainder changes nothing and needs no check.
            *to = held[usize::from(*source) % HELD];
        }
    }

    #[inline(always)]
    fn doubles(&self, registers: Registers<'_>, to: &mut [f64]) {
        for (r, slot) in self.slots.iter().enumerate() {
            let row = row(registers.d, registers.const_d, *slot);
            for l in 0..LANES {
                to[usize::from(self.places[r * LANES + l])] = f64::from_bits(row[l]);
            }
        }
    }

    /// Values of at most single precision. Compiled once, whatever the shape of the product.
    #[inline(never)]
    fn singles<const N: usize>(&self, registers: Registers<'_>, to: &mut [f64; N]) {
        at_best(Singles(self, registers, to));
    }

    #[inline(always)]
    fn singles_at_best<const N: usize>(&self, registers: Registers<'_>, to: &mut [f64; N]) {
        let single = f32::from_bits;
        let mut values = [0f32; N];
        let all = &mut values;
        match self.element {
            Element::F16 => self.words(registers, all, half_value),
            Element::Bf16 => self.words(registers, all, |w| single(w << 16)),
            // What is below its digits is not looked at.
            Element::Tf32 => self.words(registers, all, |w| single(w & !0x1fff)),
            Element::E4m3 => self.words(registers, all, e4m3_value),
            Element::E5m2 => self.words(registers, all, |w| half_value(w << 8)),
            _ => self.words(registers, all, single),
        }
        for i in 0..N {
            to[i] = f64::from(values[i]);
        }
    }

    /// Integers. Compiled once, whatever the shape of the product.
    #[inline(never)]
    fn integers<const N: usize>(&self, registers: Registers<'_>, to: &mut [i32; N]) {
        at_best(Integers(self, registers, to));
    }

    #[inline(always)]
    fn integers_at_best<const N: usize>(&self, registers: Registers<'_>, to: &mut [i32; N]) {
        match self.element {
            Element::S8 => self.words(registers, to, |w| i32::from(w as i8)),
            Element::S4 => self.words(registers, to, |w| (w << 28) as i32 >> 28),
            _ => self.words(registers, to, |w| w as i32),
        }
    }
}

/// The value of an `.e4m3` code: digits and exponents of `.f16`, whose exponents are 8 lower.
#[inline(always)]
pub(super) fn e4m3_value(code: u32) -> f32 {
    let value = half_value((code & 0x7f) << 7 | (code & 0x80) << 8);
    if code & 0x7f == 0x7f {
        f32::NAN
    } else {
        value * 256.0
    }
}

/// [`Held::singles`] as work for [`at_best`].
struct Singles<'r, const N: usize>(&'r Held, Registers<'r>, &'r mut [f64; N]);

impl<const N: usize> Work for Singles<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        self.0.singles_at_best(self.1, self.2);
    }
}

/// [`Held::integers`] as work for [`at_best`].
struct Integers<'r, const N: usize>(&'r Held, Registers<'r>, &'r mut [i32; N]);

impl<const N: usize> Work for Integers<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        self.0.integers_at_best(self.1, self.2);
    }
}

struct Compute<'p>(&'p Product, Registers<'p>);

impl Work for Compute<'_> {
    type Output = Sums;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Sums {
        let Compute(product, registers) = self;
        match product.a.element {
            Element::F64 => product.of_doubles(registers),
            Element::Bits => product.of_bits(registers),
            Element::S8 | Element::U8 | Element::S4 | Element::U4 | Element::S32 => {
                match (product.n, product.is_small()) {
                    (16, true) => product.of_integers::<SMALL, 16>(registers),
                    (8, _) => product.of_integers::<FACTOR, 8>(registers),
                    (16, _) => product.of_integers::<FACTOR, 16>(registers),
                    _ => product.of_integers::<FACTOR, 32>(registers),
                }
            }
            _ => match (product.n, product.is_small()) {
                (8, true) => product.of_singles::<SMALL, 8, FMA>(registers),
                (16, true) => product.of_singles::<SMALL, 16, FMA>(registers),
                (8, _) => product.of_singles::<FACTOR, 8, FMA>(registers),
                (16, _) => product.of_singles::<FACTOR, 16, FMA>(registers),
                _ => product.of_singles::<FACTOR, 32, FMA>(registers),
            },
        }
    }
}

impl Product {
    /// The result.
    pub(crate) fn compute(&self, registers: Registers<'_>) -> Sums {
        at_best(Compute(self, registers))
    }

    /// Whether the types go together.
    pub fn is_of_one_kind(&self) -> bool {
        use Element::*;
        let sums = [self.c.element, self.d.element];
        match (self.a.element, self.b.element) {
            (F16, F16) => sums.iter().all(|s| matches!(s, F16 | F32)),
            (Bf16, Bf16) | (Tf32, Tf32) => sums == [F32; 2],
            (E4m3 | E5m2, E4m3 | E5m2) => sums.iter().all(|s| matches!(s, F16 | F32)),
            (F64, F64) => sums == [F64; 2],
            (S8 | U8, S8 | U8) | (S4 | U4, S4 | U4) => sums == [S32; 2],
            (Bits, Bits) => sums == [S32; 2] && self.bits.is_some(),
            _ => false,
        }
    }

    /// Whether everything fits the arrays that it is computed in.
    pub fn is_bounded(&self) -> bool {
        let factors = [self.m * self.k, self.k * self.n];
        let held = |h: &Held| h.slots.len() * h.element.parts() * LANES;
        factors.iter().all(|f| *f <= FACTOR)
            && self.m * self.n <= SUM
            && matches!(self.n, 8 | 16 | 32)
            && [&self.a, &self.b, &self.c]
                .into_iter()
                .all(|h| held(h) <= HELD)
    }

    fn is_small(&self) -> bool {
        self.m * self.k <= SMALL && self.k * self.n <= SMALL
    }

    #[inline(always)]
    fn of_singles<const F: usize, const N: usize, const FMA: bool>(
        &self,
        registers: Registers<'_>,
    ) -> Sums {
        let (mut a, mut b, mut c) = ([0f64; F], [0f64; F], [0f64; SUM]);
        self.a.singles(registers, &mut a);
        self.b.singles(registers, &mut b);
        self.c.singles(registers, &mut c);
        let (b, _) = b.as_chunks::<N>();
        let (c, _) = c.as_chunks_mut::<N>();
        for (of_row, a) in c.iter_mut().zip(a.chunks_exact(self.k)).take(self.m) {
            let mut sums = *of_row;
            for (x, b) in a.iter().zip(b) {
                for (sum, y) in sums.iter_mut().zip(b) {
                    // The product of any two of these types is exact: it is the same with one rounding or two.
                    *sum = match FMA {
                        true => x.mul_add(*y, *sum),
                        false => *sum + x * y,
                    };
                }
            }
            *of_row = sums;
        }
        let sums = c.as_flattened();
        let mut words = [0; SUM];
        if self.d.element == Element::F16 {
            for (word, sum) in words.iter_mut().zip(sums) {
                *word = u64::from(if sum.is_nan() { 0x7fff } else { to_half(*sum) });
            }
        } else {
            for (word, sum) in words.iter_mut().zip(sums) {
                let bits = (*sum as f32).to_bits();
                *word = u64::from(if sum.is_nan() { 0x7fff_ffff } else { bits });
            }
        }
        words
    }

    #[inline(always)]
    fn of_doubles(&self, registers: Registers<'_>) -> Sums {
        let (mut a, mut b, mut c) = ([0f64; SUM], [0f64; SUM], [0f64; SUM]);
        self.a.doubles(registers, &mut a);
        self.b.doubles(registers, &mut b);
        self.c.doubles(registers, &mut c);
        let (n, k) = (self.n, self.k);
        for i in 0..self.m {
            for j in 0..k {
                let x = a[i * k + j];
                for (sum, y) in c[i * n..][..n].iter_mut().zip(&b[j * n..]) {
                    *sum = x.mul_add(*y, *sum);
                }
            }
        }
        let mut words = [0; SUM];
        for (word, sum) in words.iter_mut().zip(&c) {
            *word = sum.to_bits();
        }
        words
    }

    #[inline(always)]
    fn of_integers<const F: usize, const N: usize>(&self, registers: Registers<'_>) -> Sums {
        let (mut a, mut b, mut c) = ([0i32; F], [0i32; F], [0i32; SUM]);
        self.a.integers(registers, &mut a);
        self.b.integers(registers, &mut b);
        self.c.integers(registers, &mut c);
        let mut words = [0; SUM];
        let (b, _) = b.as_chunks::<N>();
        let (c, _) = c.as_chunks::<N>();
        let (rows, _) = words.as_chunks_mut::<N>();
        let all = rows.iter_mut().zip(c).zip(a.chunks_exact(self.k));
        for ((words, c), a) in all.take(self.m) {
            // At most 128 products of 16 bits.
            let mut sums = [0i32; N];
            for (x, b) in a.iter().zip(b) {
                for (sum, y) in sums.iter_mut().zip(b) {
                    *sum += x * y;
                }
            }
            for ((word, sum), c) in words.iter_mut().zip(&sums).zip(c) {
                let all = match self.saturates {
                    true => c.saturating_add(*sum),
                    false => c.wrapping_add(*sum),
                };
                *word = u64::from(all as u32);
            }
        }
        words
    }

    #[inline(always)]
    fn of_bits(&self, registers: Registers<'_>) -> Sums {
        let (mut a, mut b, mut words) = ([0i32; FACTOR], [0i32; FACTOR], [0u32; SUM]);
        self.a.integers(registers, &mut a);
        self.b.integers(registers, &mut b);
        self.c.words(registers, &mut words, |w| w);
        let (n, k) = (self.n, self.k);
        for i in 0..self.m {
            for j in 0..k {
                let x = a[i * k + j];
                for (sum, y) in words[i * n..][..n].iter_mut().zip(&b[j * n..]) {
                    let bits = match self.bits {
                        Some(BitOperation::And) => x & y,
                        _ => x ^ y,
                    };
                    *sum = sum.wrapping_add(bits.count_ones());
                }
            }
        }
        let mut sums = [0; SUM];
        for (sum, word) in sums.iter_mut().zip(&words) {
            *sum = u64::from(*word);
        }
        sums
    }
}
