//! `d = a × b + d` of matrices that a warpgroup holds (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operation using wgmma").
//!
//! Of the 64 rows each of the four warps has 16 in its registers, by its rank in the warpgroup ("Register Fragments"). So the instruction is taken
//! apart into four products, one of each warp, which need not meet. Sums are exact to 53 bits and are rounded once, as those of `mma` ([`super::product`]).

use super::descriptor::Descriptor;
use super::product::{Registers, e4m3_value};
use super::{Arrangement, Element, Fragment};
use crate::alu::{half_value, to_half};
use crate::ids::LANES;
use crate::op::Slot;
use crate::simd::{Work, at_best};
use crate::slot::row;
use std::ops::Range;

/// Rows of a warp.
pub const ROWS: usize = 16;
/// Warps of a warpgroup.
pub const WARPS: usize = 4;
/// Columns of the largest product.
pub const MOST_COLUMNS: usize = 256;
/// Bits of a row of A, whatever its elements.
pub const DEPTH: u32 = 256;

/// Where the first factor is.
#[derive(Clone, Debug)]
pub enum First {
    /// In W rows, as that of `mma`.
    Registers(Box<[Slot]>),
    /// In shared memory: the D row of its descriptor.
    Shared(Slot),
}

/// `wgmma.mma_async`, as one warp executes it.
#[derive(Clone, Debug)]
pub struct GroupProduct {
    /// Columns of the sum.
    pub n: usize,
    /// Columns of the first factor; of bits, words.
    pub k: usize,
    /// First factor.
    pub a: First,
    /// Second factor: the D row of its descriptor.
    pub b: Slot,
    /// Types of the factors' elements.
    pub elements: [Element; 2],
    /// Whether the factors are negated (`imm-scale-a`, `imm-scale-b`).
    pub negated: [bool; 2],
    /// Whether the factors are MN-major (`imm-trans-a`, `imm-trans-b`).
    pub across: [bool; 2],
    /// Type of the sums.
    pub sum: Element,
    /// W rows of the sums.
    pub d: Box<[Slot]>,
    /// Whether the product is added to what is there (`scale-d`).
    pub adds: Slot,
    /// `.satfinite`: integers stop at the ends of their range.
    pub saturates: bool,
}

/// The pieces of a factor that a warp reads, each by its address, in the order in which they are put together.
pub(crate) type Pieces = Vec<u64>;

/// Four words of shared memory.
pub(crate) type Piece = [u32; 4];

impl GroupProduct {
    /// The pieces of the first factor that the warp of this rank reads, if they are in shared memory.
    pub(crate) fn first_pieces(&self, descriptor: &Descriptor, rank: usize) -> Pieces {
        let rows = ROWS * rank..ROWS * (rank + 1);
        self.pieces(0, descriptor, rows)
    }

    /// The pieces of the second factor.
    pub(crate) fn second_pieces(&self, descriptor: &Descriptor) -> Pieces {
        self.pieces(1, descriptor, 0..self.n)
    }

    fn pieces(&self, factor: usize, descriptor: &Descriptor, lines: Range<usize>) -> Pieces {
        let mut pieces = Vec::new();
        if self.across[factor] {
            for k in 0..self.k as u64 {
                let numbers = lines.start as u64 / 8..lines.end as u64 / 8;
                pieces.extend(numbers.map(|number| descriptor.across(k, number)));
            }
        } else {
            for line in lines {
                let numbers = 0..u64::from(DEPTH / 128);
                pieces.extend(numbers.map(|number| descriptor.along_k(line as u64, number)));
            }
        }
        pieces
    }

    /// Calls `put` with line, place along K and bits of each element of a factor.
    fn each(&self, factor: usize, pieces: &[Piece], mut put: impl FnMut(usize, usize, u32)) {
        let bits = self.elements[factor].bits() as usize;
        let (each, parts) = (128 / bits, 32 / bits);
        let mask = u32::MAX >> (32 - bits);
        let lines = pieces.len() * each / self.k;
        for (number, piece) in pieces.iter().enumerate() {
            for i in 0..each {
                let value = piece[i / parts] >> (i % parts * bits) & mask;
                let at = number * each + i;
                match self.across[factor] {
                    true => put(at % lines, at / lines, value),
                    false => put(at / self.k, at % self.k, value),
                }
            }
        }
    }

    /// Row and column of an element of a lane's sums, counted through its registers ("Register Fragments for wgmma.mma_async.m64nNk16").
    fn place(lane: usize, index: usize) -> (usize, usize) {
        let row = lane / 4 + 8 * (index / 2 % 2);
        (row, 8 * (index / 4) + 2 * (lane % 4) + index % 2)
    }

    /// The first factor row by row, the second one row by row, as `value` makes it of its bits.
    fn factors<T: Copy + Default>(
        &self,
        registers: Registers<'_>,
        (a, b): (&[Piece], &[Piece]),
        value: impl Fn(Element, u32) -> T,
    ) -> (Vec<T>, Vec<T>) {
        let mut first = vec![T::default(); ROWS * self.k];
        let mut second = vec![T::default(); self.k * self.n];
        let [of_a, of_b] = self.elements;
        match &self.a {
            First::Shared(_) => self.each(0, a, |row, k, bits| {
                first[row * self.k + k] = value(of_a, bits);
            }),
            First::Registers(slots) => {
                let parts = of_a.parts();
                let fragment = Fragment {
                    rows: ROWS,
                    columns: self.k,
                    each: slots.len() * parts,
                    parts,
                    arrangement: Arrangement::First,
                };
                each_held(slots, of_a, registers, |lane, index, code| {
                    let (row, k) = fragment.place(lane, index);
                    first[row * self.k + k] = value(of_a, code);
                });
            }
        }
        self.each(1, b, |column, k, bits| {
            second[k * self.n + column] = value(of_b, bits);
        });
        (first, second)
    }

    /// What is added, row by row, as `value` makes it of its bits.
    fn sums<T: Copy + Default>(
        &self,
        registers: Registers<'_>,
        adds: bool,
        value: impl Fn(u32) -> T,
    ) -> Vec<T> {
        let mut sums = vec![T::default(); ROWS * self.n];
        if adds {
            each_held(&self.d, self.sum, registers, |lane, index, code| {
                let (row, column) = GroupProduct::place(lane, index);
                sums[row * self.n + column] = value(code);
            });
        }
        sums
    }

    /// The new words of the sums' rows, of factors in these pieces.
    pub(crate) fn compute(
        &self,
        registers: Registers<'_>,
        pieces: (&[Piece], &[Piece]),
        adds: bool,
    ) -> Vec<[u32; LANES]> {
        let codes: Vec<u32> = match self.elements[0] {
            Element::S8 | Element::U8 => self.of_integers(registers, pieces, adds),
            Element::Bits => self.of_bits(registers, pieces, adds),
            _ => self.of_singles(registers, pieces, adds),
        };
        let (parts, bits) = (self.sum.parts(), self.sum.bits());
        let word = |r: usize, lane: usize| {
            (0..parts).fold(0, |word, part| {
                let (row, column) = GroupProduct::place(lane, r * parts + part);
                word | codes[row * self.n + column] << (part as u32 * bits)
            })
        };
        let rows = 0..self.d.len();
        rows.map(|r| std::array::from_fn(|lane| word(r, lane)))
            .collect()
    }

    fn of_singles(
        &self,
        registers: Registers<'_>,
        pieces: (&[Piece], &[Piece]),
        adds: bool,
    ) -> Vec<u32> {
        let (mut a, b) = self.factors(registers, pieces, single);
        // The sign of a product is that of both factors together.
        if self.negated[0] != self.negated[1] {
            a.iter_mut().for_each(|x| *x = -*x);
        }
        let mut sums = self.sums(registers, adds, |code| single(self.sum, code));
        at_best(Multiply {
            a: &a,
            b: &b,
            sums: &mut sums,
            k: self.k,
            n: self.n,
            step: |x: f64, y: f64, sum: f64| sum + x * y,
            fused: |x: f64, y: f64, sum: f64| x.mul_add(y, sum),
        });
        let code = |sum: &f64| match self.sum {
            Element::F16 if sum.is_nan() => 0x7fff,
            Element::F16 => to_half(*sum),
            _ if sum.is_nan() => 0x7fff_ffff,
            _ => (*sum as f32).to_bits(),
        };
        sums.iter().map(code).collect()
    }

    fn of_integers(
        &self,
        registers: Registers<'_>,
        pieces: (&[Piece], &[Piece]),
        adds: bool,
    ) -> Vec<u32> {
        let (a, b) = self.factors(registers, pieces, |element, bits| match element {
            Element::S8 => i32::from(bits as i8),
            _ => bits as i32,
        });
        let before = self.sums(registers, adds, |code| code as i32);
        let mut sums = vec![0i32; before.len()];
        let step = |x: i32, y: i32, sum: i32| sum + x * y;
        at_best(Multiply {
            a: &a,
            b: &b,
            sums: &mut sums,
            k: self.k,
            n: self.n,
            step,
            fused: step,
        });
        let all = before.iter().zip(&sums);
        let all = all.map(|(c, sum)| match self.saturates {
            true => c.saturating_add(*sum),
            false => c.wrapping_add(*sum),
        });
        all.map(|sum| sum as u32).collect()
    }

    /// `.and.popc`, the only one there is.
    fn of_bits(
        &self,
        registers: Registers<'_>,
        pieces: (&[Piece], &[Piece]),
        adds: bool,
    ) -> Vec<u32> {
        let (a, b) = self.factors(registers, pieces, |_, bits| bits);
        let mut sums = self.sums(registers, adds, |code| code);
        let step = |x: u32, y: u32, sum: u32| sum.wrapping_add((x & y).count_ones());
        at_best(Multiply {
            a: &a,
            b: &b,
            sums: &mut sums,
            k: self.k,
            n: self.n,
            step,
            fused: step,
        });
        sums
    }

    /// Whether the types go together, and registers and shape with them ("wgmma.mma_async").
    pub fn is_sound(&self) -> bool {
        use Element::*;
        let [a, b] = self.elements;
        let types = match (a, b) {
            (F16, F16) | (E4m3 | E5m2, E4m3 | E5m2) => matches!(self.sum, F16 | F32),
            (Bf16, Bf16) | (Tf32, Tf32) => self.sum == F32,
            (S8 | U8, S8 | U8) | (Bits, Bits) => self.sum == S32,
            _ => false,
        };
        let integers = matches!(a, S8 | U8 | Bits);
        let columns = (8..=MOST_COLUMNS).contains(&self.n)
            && self.n.is_multiple_of(8)
            && !(integers && self.n > 32 && !self.n.is_multiple_of(16));
        let held = self.d.len() * self.sum.parts() * 2 == self.n;
        let first = match &self.a {
            First::Registers(slots) => slots.len() == 4 && !self.across[0],
            First::Shared(_) => true,
        };
        let turned = self.across == [false; 2] || a.bits() == 16;
        types && columns && held && first && turned && self.k as u32 * a.bits() == DEPTH
    }

    /// Whether another one's sums are the same matrix if they are in the same registers.
    pub fn is_shaped_as(&self, other: &GroupProduct) -> bool {
        self.n == other.n && self.sum == other.sum
    }
}

/// Calls `put` with lane, number in the lane and bits of each element that registers hold.
fn each_held(
    slots: &[Slot],
    element: Element,
    registers: Registers<'_>,
    mut put: impl FnMut(usize, usize, u32),
) {
    let (bits, parts) = (element.bits(), element.parts());
    for (r, slot) in slots.iter().enumerate() {
        let words = row(registers.w, registers.const_w, *slot);
        for (lane, word) in words.iter().enumerate() {
            for part in 0..parts {
                let code = word >> (part as u32 * bits) & (u32::MAX >> (32 - bits));
                put(lane, r * parts + part, code);
            }
        }
    }
}

/// The value of an element of at most single precision.
fn single(element: Element, code: u32) -> f64 {
    f64::from(match element {
        Element::F16 => half_value(code),
        Element::Bf16 => f32::from_bits(code << 16),
        // What is below its digits is not looked at.
        Element::Tf32 => f32::from_bits(code & !0x1fff),
        Element::E4m3 => e4m3_value(code),
        Element::E5m2 => half_value(code << 8),
        _ => f32::from_bits(code),
    })
}

/// Sums of products, along `k`.
struct Multiply<'m, T, F, G> {
    a: &'m [T],
    b: &'m [T],
    sums: &'m mut [T],
    k: usize,
    n: usize,
    step: F,
    fused: G,
}

impl<T: Copy, F: Fn(T, T, T) -> T, G: Fn(T, T, T) -> T> Work for Multiply<'_, T, F, G> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = self.sums.chunks_exact_mut(self.n);
        for (sums, a) in rows.zip(self.a.chunks_exact(self.k)) {
            for (x, b) in a.iter().zip(self.b.chunks_exact(self.n)) {
                for (sum, y) in sums.iter_mut().zip(b) {
                    // The product of any two of these types is exact: it is the same with one rounding or two.
                    *sum = match FMA {
                        true => (self.fused)(*x, *y, *sum),
                        false => (self.step)(*x, *y, *sum),
                    };
                }
            }
        }
    }
}
