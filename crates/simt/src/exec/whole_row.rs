//! The common load and store: one 32-bit word of shared or global memory in each lane.
//!
//! Where all lanes are active and each half of the warp accesses adjacent words, or one word, the range is checked at the halves' ends and
//! the words are copied as a whole. Everything else, and whatever is wrong with an address, is left to
//! [`super::memory`], which knows all cases; nothing has been done or reported then.

use super::Core;
use crate::alu::{Mask, Row32, Row64};
use crate::ids::*;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::state::*;

/// Lanes of half a warp.
const HALF: usize = LANES / 2;

/// How the words of half a warp lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Adjacent,
    Same,
    Mixed,
}

macro_rules! half {
    ($name:ident, $word:ty) => {
        /// How the words of the half from a lane on lie, by the addresses' base row.
        #[inline(always)]
        fn $name(row: &[$word; LANES], from: usize) -> Half {
            let first = row[from];
            let (mut adjacent, mut same) = (0, 0);
            for i in 0..HALF {
                let at = row[from + i];
                adjacent |= at ^ first.wrapping_add(4 * i as $word);
                same |= at ^ first;
            }
            if adjacent == 0 {
                Half::Adjacent
            } else if same == 0 {
                Half::Same
            } else {
                Half::Mixed
            }
        }
    };
}

half!(half_of_words, u32);
half!(half_of_doubles, u64);

/// What [`Neighbours::of`] makes of the addresses of a full warp whose halves lie so.
#[inline(always)]
fn neighbours([low, high]: [Half; 2], address: &Row64) -> Neighbours {
    if low == Half::Mixed || high == Half::Mixed {
        return Neighbours::of(Mask::MAX, address, 4);
    }
    let step = address[HALF].wrapping_sub(address[HALF - 1]);
    let lanes = |of: Half, between: u64| -> Mask {
        let low = if low == of { 0x0000_fffe } else { 0 };
        let high = if high == of { 0xfffe_0000 } else { 0 };
        low | high | Mask::from(step == between) << HALF
    };
    Neighbours {
        next: lanes(Half::Adjacent, 4),
        same: lanes(Half::Same, 0),
    }
}

/// Loads the words of half a warp: the bytes that are valid in all of them.
#[inline(always)]
fn load_half<S: Words>(memory: &S, half: Half, from: usize, address: &Row64, to: &mut Row32) -> u8 {
    let word = (address[from] >> 2) as usize;
    let mut part = [0; HALF];
    let mut valid = 0xf;
    match half {
        Half::Adjacent => valid = memory.load_run(word, &mut part),
        Half::Same => {
            part = [memory.get(word, from); HALF];
            valid = memory.valid(word, from);
        }
        Half::Mixed => {
            for i in 0..HALF {
                let word = (address[from + i] >> 2) as usize;
                part[i] = memory.get(word, from + i);
                valid &= memory.valid(word, from + i);
            }
        }
    }
    to[from..from + HALF].copy_from_slice(&part);
    valid
}

/// Loads the words of a full warp. Whether all bytes had been written.
#[inline(always)]
fn load<S: Words>(
    memory: &S,
    [low, high]: [Half; 2],
    follows: bool,
    address: &Row64,
    to: &mut Row32,
) -> bool {
    let valid = if follows {
        memory.load_run((address[0] >> 2) as usize, to)
    } else {
        load_half(memory, low, 0, address, to) & load_half(memory, high, HALF, address, to)
    };
    valid == 0xf
}

/// Whether a word can't be accessed.
#[inline(always)]
fn wrong(at: u64, start: u64, last: u64) -> bool {
    (at < start) | (at > last) | (at & 3 != 0)
}

/// Stores the words of a full warp, lowest lane first.
#[inline(always)]
fn store<S: Words>(memory: &S, follows: bool, address: &Row64, from: &Row32) {
    if follows {
        return memory.store_run((address[0] >> 2) as usize, from);
    }
    for lane in 0..LANES {
        let word = (address[lane] >> 2) as usize;
        memory.set(word, lane, from[lane]);
        memory.mark(word, lane, 0xf);
    }
}

/// A row of words that is about to be stored: memory, words and addresses.
#[derive(Debug)]
struct StoredRow<'a, S>(&'a S, &'a Row32, &'a Row64);

impl<S: Words + std::fmt::Debug> StoredValues for StoredRow<'_, S> {
    fn stored(&self, lane: usize, at: u64) -> u8 {
        self.1[lane].to_le_bytes()[((at - self.2[lane]) & 3) as usize]
    }
    fn before(&self, at: u64) -> u8 {
        self.0.read(at, 1, 0) as u8
    }
}

/// The load of a full warp.
#[inline(always)]
fn access<'a>(
    op: &MemoryOp,
    who: WarpRef,
    address: &'a Row64,
    neighbours: Neighbours,
    site: Site,
) -> Access<'a> {
    Access {
        site,
        who,
        mask: Mask::MAX,
        space: match op.space {
            AddressSpace::Global => Space::Global,
            _ => Space::Shared,
        },
        address,
        neighbours: Some(neighbours),
        element: 4,
        elements: 1,
        kind: AccessKind::Read,
        non_coherent: op.non_coherent,
        order: op.order,
        scope: op.scope,
        wrote: 0,
        dropped: 0,
        stores: None,
    }
}

impl<O: Observer> Core<'_, O> {
    /// Performs an access of a full warp. False if it is for others to perform.
    #[inline(always)]
    pub(super) fn whole_row(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &MemoryOp,
        dead: Mask,
        site: Site,
    ) -> bool {
        let global = op.space == AddressSpace::Global;
        let plain = op.element == 4 && op.count == 1 && op.class == RegisterClass::W(32);
        if !plain || !(global || op.space == AddressSpace::Shared) {
            return false;
        }
        if self.history.is_some() || op.used_if != Slot::TRUE {
            return false;
        }
        let warp = &block.warps[w];
        let halves = match op.base {
            Base::W(slot) => {
                let base = row(&warp.w, self.const_w, slot);
                let offset = op.offset as u32;
                for l in 0..LANES {
                    self.address[l] = u64::from(base[l].wrapping_add(offset));
                }
                [half_of_words(base, 0), half_of_words(base, HALF)]
            }
            Base::D(slot) => {
                let base = row(&warp.d, self.const_d, slot);
                let window = if global { GLOBAL_BASE } else { 0 };
                let offset = (op.offset as u64).wrapping_sub(window);
                for l in 0..LANES {
                    self.address[l] = base[l].wrapping_add(offset);
                }
                [half_of_doubles(base, 0), half_of_doubles(base, HALF)]
            }
            _ => return false,
        };
        let (start, end) = if global {
            let recent = &self.recent[site.0 as usize];
            (recent.start, recent.end)
        } else {
            (0, block.shared.bytes)
        };
        if end - start < 4 {
            return false;
        }
        let last = end - 4;
        let address = &self.address;
        let bad = if halves[0] == Half::Mixed || halves[1] == Half::Mixed {
            let mut bad = false;
            for l in 0..LANES {
                bad |= wrong(address[l], start, last);
            }
            bad
        } else {
            // A half that wraps around the end of the addresses is not adjacent after all.
            let (a, b) = (address[0], address[HALF - 1]);
            let (c, d) = (address[HALF], address[LANES - 1]);
            let any = wrong(a, start, last) | wrong(b, start, last);
            let any = any | wrong(c, start, last) | wrong(d, start, last);
            any | (a > b) | (c > d)
        };
        if bad {
            return false;
        }
        let neighbours = neighbours(halves, address);
        let follows = neighbours.next == Mask::MAX - 1;
        if op.store {
            let from = row(&warp.w, self.const_w, op.regs[0]);
            if O::WATCHES {
                let (arena, shared) = (&self.device.arena, &block.shared);
                let stores: &dyn StoredValues = match global {
                    true => &StoredRow(arena, from, address),
                    false => &StoredRow(shared, from, address),
                };
                self.observer.access(&Access {
                    kind: AccessKind::Write,
                    wrote: Mask::MAX,
                    stores: Some(stores),
                    ..access(op, block.who(w), address, neighbours, site)
                });
            }
            if global {
                store(&self.device.arena, follows, address, from);
            } else {
                store(&block.shared, follows, address, from);
            }
            return true;
        }
        let mut to = [0; LANES];
        let written = if global {
            load(&self.device.arena, halves, follows, address, &mut to)
        } else {
            load(&block.shared, halves, follows, address, &mut to)
        };
        if op.regs[0] != Slot::NONE {
            let register = &mut block.warps[w].w[op.regs[0].0 as usize];
            blend(register, &to, Mask::MAX, dead);
        }
        if O::WATCHES {
            let space = if global { Space::Global } else { Space::Shared };
            if !written {
                let padded = op.copies.then_some(4);
                self.uninitialized(block, w, space, Mask::MAX, 4, padded, site);
            }
            self.observer
                .access(&access(op, block.who(w), &self.address, neighbours, site));
        }
        true
    }
}
