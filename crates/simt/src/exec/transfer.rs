//! Moves elements between registers and memory.

use crate::alu::{Mask, Row32, Row64};
use crate::ids::*;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::simd::{Work, at_best};
use crate::state::*;

/// The common load: one 32-bit word a lane. Whether all bytes had been written.
#[inline(always)]
pub(super) fn load_words<S: Words>(
    memory: &S,
    warp: &mut Warp,
    op: &MemoryOp,
    active: Mask,
    dead: Mask,
    address: &Row64,
    t32: &mut [u32; LANES],
) -> bool {
    let mut valid = 0xf;
    if active == Mask::MAX {
        for l in 0..LANES {
            let word = (address[l] >> 2) as usize;
            t32[l] = memory.get(word, l);
            valid &= memory.valid(word, l);
        }
    } else {
        for l in lanes_of(active) {
            let word = (address[l] >> 2) as usize;
            t32[l] = memory.get(word, l);
            valid &= memory.valid(word, l);
        }
    }
    if op.regs[0] != Slot::NONE {
        let to = &mut warp.w[op.regs[0].0 as usize];
        if active | dead == Mask::MAX {
            *to = *t32;
        } else {
            lanes_of(active).for_each(|l| to[l] = t32[l]);
        }
    }
    valid == 0xf
}

/// Any load. Whether all bytes had been written.
///
/// Compiled once for each kind of memory, whoever watches.
#[inline(never)]
pub(super) fn load<S: Words>(
    memory: &S,
    warp: &mut Warp,
    op: &MemoryOp,
    active: Mask,
    dead: Mask,
    address: &Row64,
) -> bool {
    at_best(Load {
        memory,
        warp,
        op,
        active,
        dead,
        address,
    })
}

/// [`load`] as work for [`at_best`].
struct Load<'r, S> {
    memory: &'r S,
    warp: &'r mut Warp,
    op: &'r MemoryOp,
    active: Mask,
    dead: Mask,
    address: &'r Row64,
}

impl<S: Words> Work for Load<'_, S> {
    type Output = bool;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        // Of a lane, as many bytes as its elements have together: a power of two.
        match u32::from(self.op.element) * u32::from(self.op.count) {
            1 => self.narrow::<1, 8>(),
            2 => self.narrow::<2, 16>(),
            4 => self.words::<1>(),
            8 => self.words::<2>(),
            16 => self.words::<4>(),
            _ => self.words::<8>(),
        }
    }
}

impl<S: Words> Load<'_, S> {
    /// Lanes of one or two bytes; those of a warp are `RUN` words where they lie side by side.
    #[inline(always)]
    fn narrow<const BYTES: usize, const RUN: usize>(self) -> bool {
        let bits = 8 * BYTES as u32;
        let mut to = [0; LANES];
        let all = if !S::PRIVATE && self.active == Mask::MAX && is_run::<BYTES>(self.address) {
            let mut words = [0; RUN];
            let valid = (self.memory).load_run((self.address[0] >> 2) as usize, &mut words);
            for l in 0..LANES {
                to[l] = words[l * BYTES / 4] >> (l * BYTES % 4 * 8) & (u32::MAX >> (32 - bits));
            }
            valid == 0xf
        } else {
            let mut all = true;
            for l in lanes_of(self.active) {
                let (word, byte) = ((self.address[l] >> 2) as usize, self.address[l] & 3);
                let need = (u8::MAX >> (8 - BYTES)) << byte;
                all &= self.memory.valid(word, l) & need == need;
                to[l] = self.memory.get(word, l) >> (8 * byte) & (u32::MAX >> (32 - bits));
            }
            all
        };
        deliver(self.warp, self.op, &[to], self.active, self.dead);
        all
    }

    /// Lanes of `N` words.
    #[inline(always)]
    fn words<const N: usize>(self) -> bool {
        let mut rows = [[0; LANES]; N];
        let mut valid = 0xf;
        // Loops that the compiler sees through: an iterator's are compiled for any processor.
        for l in 0..LANES {
            if self.active >> l & 1 == 0 {
                continue;
            }
            let word = (self.address[l] >> 2) as usize;
            let (words, bytes) = self.memory.lane_words::<N>(word, l);
            valid &= bytes;
            for k in 0..N {
                rows[k][l] = words[k];
            }
        }
        deliver(self.warp, self.op, &rows, self.active, self.dead);
        valid == 0xf
    }
}

/// Whether the lanes' bytes lie side by side from the beginning of a word on.
#[inline(always)]
fn is_run<const BYTES: usize>(address: &Row64) -> bool {
    let first = address[0];
    let mut not = first & 3;
    for l in 0..LANES {
        not |= address[l] ^ first.wrapping_add((l * BYTES) as u64);
    }
    not == 0
}

/// Puts loaded elements into their registers, extended to the registers' width (PTX ISA, "Operand Size Exceeding Instruction-Type
/// Size"); [`store_register`] for all lanes at once. Compiled once for each number of words, whatever the memory.
#[inline(never)]
fn deliver<const N: usize>(
    warp: &mut Warp,
    op: &MemoryOp,
    rows: &[Row32; N],
    active: Mask,
    dead: Mask,
) {
    at_best(Deliver {
        warp,
        op,
        rows,
        active,
        dead,
    });
}

/// [`deliver`] as work for [`at_best`].
struct Deliver<'r, const N: usize> {
    warp: &'r mut Warp,
    op: &'r MemoryOp,
    rows: &'r [Row32; N],
    active: Mask,
    dead: Mask,
}

impl<const N: usize> Work for Deliver<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        deliver_at_best(self.warp, self.op, self.rows, self.active, self.dead);
    }
}

#[inline(always)]
fn deliver_at_best<const N: usize>(
    warp: &mut Warp,
    op: &MemoryOp,
    rows: &[Row32; N],
    active: Mask,
    dead: Mask,
) {
    let bits = u32::from(op.element) * 8;
    for (k, slot) in op.regs[..usize::from(op.count)].iter().enumerate() {
        if *slot == Slot::NONE {
            continue;
        }
        let at = slot.0 as usize;
        let double = |word: usize| -> Row64 {
            let (low, high) = (&rows[word % N], &rows[(word + 1) % N]);
            let mut to = [0; LANES];
            for l in 0..LANES {
                to[l] = u64::from(low[l]) | u64::from(high[l]) << 32;
            }
            to
        };
        match (op.class, op.element) {
            (RegisterClass::W(32), 4) => blend(&mut warp.w[at], &rows[k % N], active, dead),
            (RegisterClass::D, 8) => blend(&mut warp.d[at], &double(2 * k), active, dead),
            (RegisterClass::Q, _) => {
                blend(&mut warp.d[at], &double(4 * k), active, dead);
                blend(&mut warp.d[at + 1], &double(4 * k + 2), active, dead);
            }
            (class, element) => {
                let byte = k * usize::from(element);
                let (row, shift) = (&rows[byte / 4 % N], (byte % 4 * 8) as u32);
                // To the upper end, and back with the sign or with zeros.
                let up = 32 - bits.min(32);
                let mut value = [0; LANES];
                for l in 0..LANES {
                    let high = row[l] >> shift << up;
                    value[l] = match op.signed {
                        true => (high as i32 >> up) as u32,
                        false => high >> up,
                    };
                }
                match class {
                    RegisterClass::W(width) => {
                        let keep = u32::MAX >> (32 - u32::from(width).clamp(1, 32));
                        for value in &mut value {
                            *value &= keep;
                        }
                        blend(&mut warp.w[at], &value, active, dead);
                    }
                    _ => {
                        let mut wide = [0; LANES];
                        for l in 0..LANES {
                            wide[l] = match op.signed {
                                true => i64::from(value[l] as i32) as u64,
                                false => u64::from(value[l]),
                            };
                        }
                        blend(&mut warp.d[at], &wide, active, dead);
                    }
                }
            }
        }
    }
}

/// Puts a loaded element into its register, extended to the register's width
/// (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
pub(super) fn store_register(warp: &mut Warp, op: &MemoryOp, k: usize, l: usize, value: [u64; 2]) {
    let slot = op.regs[k];
    if slot == Slot::NONE {
        return;
    }
    let bits = u32::from(op.element) * 8;
    let wide = if op.signed && bits < 64 {
        let up = 64 - bits;
        ((value[0] << up) as i64 >> up) as u64
    } else {
        value[0]
    };
    match op.class {
        RegisterClass::W(width) => {
            let keep = if width >= 32 {
                u32::MAX
            } else {
                (1 << width) - 1
            };
            warp.w[slot.0 as usize][l] = wide as u32 & keep;
        }
        RegisterClass::D => warp.d[slot.0 as usize][l] = wide,
        RegisterClass::Q => {
            warp.d[slot.0 as usize][l] = value[0];
            warp.d[slot.0 as usize + 1][l] = value[1];
        }
        RegisterClass::P => {}
    }
}

/// What a store is about to write.
#[derive(Debug)]
pub(super) struct Stored<'a, S> {
    pub memory: &'a S,
    pub warp: &'a Warp,
    pub op: &'a MemoryOp,
    pub address: &'a Row64,
    pub cw: &'a [Row32],
    pub cd: &'a [Row64],
}

impl<S: Words + std::fmt::Debug> StoredValues for Stored<'_, S> {
    fn stored(&self, lane: usize, at: u64) -> u8 {
        let into = at - self.address[lane];
        let element = u64::from(self.op.element);
        let slot = self.op.regs[(into / element) as usize % self.op.regs.len()];
        let byte = into % element;
        let word = match self.op.class {
            RegisterClass::W(_) => u64::from(row(&self.warp.w, self.cw, slot)[lane]),
            RegisterClass::Q if byte >= 8 => row(&self.warp.d, self.cd, Slot(slot.0 + 1))[lane],
            _ => row(&self.warp.d, self.cd, slot)[lane],
        };
        (word >> (8 * (byte % 8))) as u8
    }
    fn before(&self, at: u64) -> u8 {
        self.memory.read(at, 1, 0) as u8
    }
    fn is_written(&self, at: u64) -> bool {
        self.memory.is_valid(at, 1, 0)
    }
}

/// Any store.
///
/// Compiled once for each kind of memory, whoever watches.
#[inline(never)]
pub(super) fn store<S: Words>(
    memory: &S,
    warp: &Warp,
    op: &MemoryOp,
    active: Mask,
    address: &Row64,
    cw: &[Row32],
    cd: &[Row64],
) {
    at_best(Store {
        memory,
        warp,
        op,
        active,
        address,
        cw,
        cd,
    });
}

/// [`store`] as work for [`at_best`].
struct Store<'r, S> {
    memory: &'r S,
    warp: &'r Warp,
    op: &'r MemoryOp,
    active: Mask,
    address: &'r Row64,
    cw: &'r [Row32],
    cd: &'r [Row64],
}

impl<S: Words> Work for Store<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        match u32::from(self.op.element) * u32::from(self.op.count) {
            1 => self.narrow::<1, 8>(),
            2 => self.narrow::<2, 16>(),
            4 => self.words::<1>(),
            8 => self.words::<2>(),
            16 => self.words::<4>(),
            _ => self.words::<8>(),
        }
    }
}

impl<S: Words> Store<'_, S> {
    /// What all lanes store, `N` words a lane; of what is shorter, the low bits of one.
    #[inline(always)]
    fn rows<const N: usize>(&self) -> [Row32; N] {
        let (warp, element) = (self.warp, usize::from(self.op.element));
        let mut rows = [[0; LANES]; N];
        let put = |rows: &mut [Row32; N], word: usize, from: &Row64| {
            for l in 0..LANES {
                rows[word % N][l] = from[l] as u32;
                rows[(word + 1) % N][l] = (from[l] >> 32) as u32;
            }
        };
        for (k, slot) in self.op.regs[..usize::from(self.op.count)]
            .iter()
            .enumerate()
        {
            let double = |slot: Slot| row(&warp.d, self.cd, slot);
            match (self.op.class, element) {
                (RegisterClass::Q, _) => {
                    put(&mut rows, 4 * k, double(*slot));
                    put(&mut rows, 4 * k + 2, double(Slot(slot.0 + 1)));
                }
                (RegisterClass::D, 8) => put(&mut rows, 2 * k, double(*slot)),
                (class, _) => {
                    let mut value = [0; LANES];
                    if let RegisterClass::W(_) = class {
                        value = *row(&warp.w, self.cw, *slot);
                    } else {
                        let wide = double(*slot);
                        for l in 0..LANES {
                            value[l] = wide[l] as u32;
                        }
                    }
                    let (byte, keep) = (k * element, u32::MAX >> (32 - 8 * element.min(4)));
                    let to = &mut rows[byte / 4 % N];
                    for l in 0..LANES {
                        to[l] |= (value[l] & keep) << (byte % 4 * 8);
                    }
                }
            }
        }
        rows
    }

    /// As [`Load::narrow`].
    #[inline(always)]
    fn narrow<const BYTES: usize, const RUN: usize>(self) {
        let [from] = self.rows::<1>();
        if !S::PRIVATE && self.active == Mask::MAX && is_run::<BYTES>(self.address) {
            let mut words = [0; RUN];
            for l in 0..LANES {
                words[l * BYTES / 4] |= from[l] << (l * BYTES % 4 * 8);
            }
            return (self.memory).store_run((self.address[0] >> 2) as usize, &words);
        }
        for l in lanes_of(self.active) {
            let value = u64::from(from[l]);
            self.memory.write(self.address[l], BYTES as u32, l, value);
        }
    }

    /// Lanes of `N` words, lowest lane first.
    #[inline(always)]
    fn words<const N: usize>(self) {
        let rows = self.rows::<N>();
        for l in 0..LANES {
            if self.active >> l & 1 == 0 {
                continue;
            }
            let mut words = [0; N];
            for k in 0..N {
                words[k] = rows[k][l];
            }
            let word = (self.address[l] >> 2) as usize;
            self.memory.set_lane_words::<N>(word, l, words);
        }
    }
}
