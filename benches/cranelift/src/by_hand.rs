//! The ceiling: the blocks by hand, in vectors of 512 bits, of which a row has two. Only that loads are in range is checked.

use crate::block::{Block, Row};
use std::arch::x86_64::*;

/// A block by hand: rows, shared memory, and the registers that it names.
#[derive(Clone, Copy)]
pub enum ByHand {
    /// [`crate::block::adds`]
    Adds([usize; 4]),
    /// [`crate::block::fmas`]
    Fmas([usize; 4], [usize; 2]),
    /// [`crate::block::loads`]
    Loads([usize; 4], usize, usize),
    /// [`crate::block::product`]
    Product { x: usize, y: usize, sum: usize },
}

impl ByHand {
    /// The block of a name, if the processor has AVX-512.
    pub fn new(name: &str, block: &Block) -> Option<ByHand> {
        if !is_x86_feature_detected!("avx512f") {
            return None;
        }
        let register = |name: &str| block.register(name);
        let four = |kind: &str| [0, 1, 2, 3].map(|i| register(&format!("%{kind}{i}")));
        Some(match name {
            "add.s32" => ByHand::Adds(four("r")),
            "fma.rn.f32" => ByHand::Fmas(four("f"), [register("%f31"), register("%f30")]),
            "ld.shared.f32 + fma.rn.f32" => {
                ByHand::Loads(four("f"), register("%f31"), register("%r20"))
            }
            _ => ByHand::Product {
                x: register("%r7"),
                y: register("%r8"),
                sum: register("%f56"),
            },
        })
    }

    /// Runs the block once.
    pub fn run(self, rows: &mut [Row], shared: &[u32]) {
        // SAFETY: `new` has seen that the processor has AVX-512.
        unsafe {
            match self {
                ByHand::Adds(r) => adds(rows, r),
                ByHand::Fmas(f, [by, plus]) => fmas(rows, f, by, plus),
                ByHand::Loads(f, by, at) => loads(rows, shared, f, by, at),
                ByHand::Product { x, y, sum } => product(rows, shared, x, y, sum),
            }
        }
    }
}

#[target_feature(enable = "avx512f")]
fn get(row: &Row, half: usize) -> __m512i {
    // SAFETY: a row has 32 words.
    unsafe { _mm512_load_si512(row.0.as_ptr().add(16 * half).cast()) }
}

#[target_feature(enable = "avx512f")]
fn put(row: &mut Row, half: usize, value: __m512i) {
    // SAFETY: a row has 32 words.
    unsafe { _mm512_store_si512(row.0.as_mut_ptr().add(16 * half).cast(), value) }
}

#[target_feature(enable = "avx512f")]
fn get_floats(row: &Row) -> [__m512; 2] {
    [
        _mm512_castsi512_ps(get(row, 0)),
        _mm512_castsi512_ps(get(row, 1)),
    ]
}

#[target_feature(enable = "avx512f")]
fn put_floats(row: &mut Row, [low, high]: [__m512; 2]) {
    put(row, 0, _mm512_castps_si512(low));
    put(row, 1, _mm512_castps_si512(high));
}

/// Sixteen words of shared memory.
#[target_feature(enable = "avx512f")]
fn words(shared: &[u32], address: usize) -> __m512 {
    let words = &shared[address / 4..][..16];
    // SAFETY: it is 16 words long.
    unsafe { _mm512_loadu_ps(words.as_ptr().cast()) }
}

#[inline(never)]
#[target_feature(enable = "avx512f")]
fn adds(rows: &mut [Row], r: [usize; 4]) {
    let mut value = [[_mm512_setzero_si512(); 2]; 4];
    for i in 0..4 {
        value[i] = [get(&rows[r[i]], 0), get(&rows[r[i]], 1)];
    }
    for _ in 0..16 {
        for i in 0..4 {
            for half in 0..2 {
                value[i][half] = _mm512_add_epi32(value[i][half], value[(i + 3) % 4][half]);
            }
        }
    }
    for i in 0..4 {
        put(&mut rows[r[i]], 0, value[i][0]);
        put(&mut rows[r[i]], 1, value[i][1]);
    }
}

#[inline(never)]
#[target_feature(enable = "avx512f")]
fn fmas(rows: &mut [Row], f: [usize; 4], by: usize, plus: usize) {
    let (by, plus) = (get_floats(&rows[by]), get_floats(&rows[plus]));
    let mut value = [[_mm512_setzero_ps(); 2]; 4];
    for i in 0..4 {
        value[i] = get_floats(&rows[f[i]]);
    }
    for _ in 0..16 {
        for i in 0..4 {
            for half in 0..2 {
                value[i][half] = _mm512_fmadd_ps(value[i][half], by[half], plus[half]);
            }
        }
    }
    for i in 0..4 {
        put_floats(&mut rows[f[i]], value[i]);
    }
}

#[inline(never)]
#[target_feature(enable = "avx512f")]
fn loads(rows: &mut [Row], shared: &[u32], f: [usize; 4], by: usize, at: usize) {
    let by = get_floats(&rows[by]);
    let at = [0, 16].map(|lane| rows[at].0[lane] as usize);
    let mut value = [[_mm512_setzero_ps(); 2]; 4];
    for i in 0..4 {
        value[i] = get_floats(&rows[f[i]]);
    }
    let shared = [0, 1].map(|half| &shared[at[half] / 4..][..31 * 16 + 16]);
    for step in 0..8 {
        for i in 0..4 {
            for half in 0..2 {
                let words = words(shared[half], 64 * (4 * step + i));
                value[i][half] = _mm512_fmadd_ps(words, by[half], value[i][half]);
            }
        }
    }
    for i in 0..4 {
        put_floats(&mut rows[f[i]], value[i]);
    }
}

#[inline(never)]
#[target_feature(enable = "avx512f")]
fn product(rows: &mut [Row], shared: &[u32], x: usize, y: usize, sum: usize) {
    let at = |row: usize, lane: usize| rows[row].0[lane] as usize / 4;
    let mut value = get_floats(&rows[sum]);
    for half in 0..2 {
        let x = &shared[at(x, 16 * half)..][..16];
        let y = &shared[at(y, 16 * half)..][..256];
        for step in 0..16 {
            let left = _mm512_set1_ps(f32::from_bits(x[step]));
            value[half] = _mm512_fmadd_ps(left, words(y, 64 * step), value[half]);
        }
    }
    put_floats(&mut rows[sum], value);
}
