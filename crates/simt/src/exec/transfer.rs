//! Moves elements between registers and memory.

use crate::alu::{Mask, Row64};
use crate::ids::*;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
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

/// A vector of 32-bit words: word by word, all lanes at once. Whether all bytes had been written.
fn load_vector<S: Words>(
    memory: &S,
    warp: &mut Warp,
    op: &MemoryOp,
    active: Mask,
    address: &Row64,
) -> bool {
    let mut valid = 0xf;
    for (k, slot) in op.regs[..usize::from(op.count)].iter().enumerate() {
        let mut words = [0; LANES];
        for l in lanes_of(active) {
            let word = (address[l] >> 2) as usize + k;
            words[l] = memory.get(word, l);
            valid &= memory.valid(word, l);
        }
        if *slot != Slot::NONE {
            blend(&mut warp.w[slot.0 as usize], &words, active, 0);
        }
    }
    valid == 0xf
}

/// Any load. Whether all bytes had been written.
pub(super) fn load<S: Words>(
    memory: &S,
    warp: &mut Warp,
    op: &MemoryOp,
    active: Mask,
    address: &Row64,
) -> bool {
    if op.element == 4 && op.class == RegisterClass::W(32) {
        return load_vector(memory, warp, op, active, address);
    }
    let element = u32::from(op.element);
    let mut valid = true;
    for k in 0..usize::from(op.count) {
        for l in lanes_of(active) {
            let at = address[l] + k as u64 * u64::from(element);
            let value = if element == 16 {
                [memory.read(at, 8, l), memory.read(at + 8, 8, l)]
            } else {
                [memory.read(at, element, l), 0]
            };
            valid &= memory.is_valid(at, element, l);
            store_register(warp, op, k, l, value);
        }
    }
    valid
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
    pub cw: &'a [[u32; LANES]],
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

#[inline(always)]
pub(super) fn store<S: Words>(
    memory: &S,
    warp: &Warp,
    op: &MemoryOp,
    active: Mask,
    address: &Row64,
    cw: &[[u32; LANES]],
    cd: &[Row64],
) {
    let element = u32::from(op.element);
    if element == 4 && matches!(op.class, RegisterClass::W(_)) {
        for (k, slot) in op.regs[..usize::from(op.count)].iter().enumerate() {
            let from = row(&warp.w, cw, *slot);
            let mut put = |l: usize| {
                let word = (address[l] >> 2) as usize + k;
                memory.set(word, l, from[l]);
                memory.mark(word, l, 0xf);
            };
            if active == Mask::MAX {
                (0..LANES).for_each(put);
            } else {
                lanes_of(active).for_each(&mut put);
            }
        }
        return;
    }
    for k in 0..usize::from(op.count) {
        let slot = op.regs[k];
        for l in lanes_of(active) {
            let at = address[l] + k as u64 * u64::from(element);
            match op.class {
                RegisterClass::W(_) => {
                    memory.write(at, element, l, u64::from(row(&warp.w, cw, slot)[l]))
                }
                RegisterClass::Q => {
                    let high = Slot(slot.0 + 1);
                    memory.write(at, 8, l, row(&warp.d, cd, slot)[l]);
                    memory.write(at + 8, 8, l, row(&warp.d, cd, high)[l]);
                }
                _ => memory.write(at, element, l, row(&warp.d, cd, slot)[l]),
            }
        }
    }
}
