//! The common load and store: one 32-bit word of shared or global memory in each lane of a full warp.
//!
//! Where the words of each half of the warp are adjacent, or one word, the range is checked at the halves' ends, the words are copied
//! as a whole, and the observer is told of a [`RowAccess`]. Other full warps ([`Scattered`]) are checked lane by lane. Everything
//! else, and whatever is wrong with an address, is left to
//! [`super::memory`], which knows all cases; nothing has been done or reported then.

use super::Core;
use crate::alu::{Mask, Row32, Row64};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::simd::{Work, at_best};
use crate::state::*;

macro_rules! layouts {
    ($name:ident, $word:ty) => {
        /// How the words of both halves lie, by the addresses' base row. One loop over all lanes and one word of flags:
        /// that is what the compiler makes good vector instructions of.
        #[inline(always)]
        fn $name(row: &[$word; LANES]) -> [Option<Layout>; 2] {
            let (low, high) = (row[0], row[HALF]);
            let mut not = 0;
            for l in 0..LANES {
                let (first, place) = if l < HALF { (low, 0) } else { (high, 2) };
                let after = first.wrapping_add(4 * (l % HALF) as $word);
                not |= (Mask::from(row[l] != after) | Mask::from(row[l] != first) << 1) << place;
            }
            let layout = |not: Mask| match not & 3 {
                0 | 2 => Some(Layout::Adjacent),
                1 => Some(Layout::Same),
                _ => None,
            };
            [layout(not), layout(not >> 2)]
        }
    };
}

layouts!(layouts_of_words, u32);
layouts!(layouts_of_doubles, u64);

/// Loads the words of half a warp: the bytes that are valid in all of them.
#[inline(always)]
fn load_half<S: Words>(memory: &S, layout: Layout, at: u64, to: &mut [u32; HALF]) -> u8 {
    let word = (at >> 2) as usize;
    match layout {
        Layout::Adjacent => memory.load_run(word, to),
        Layout::Same => {
            *to = [memory.get(word, 0); HALF];
            memory.valid(word, 0)
        }
    }
}

/// Loads the words of a full warp, and whether all bytes had been written.
#[inline(always)]
pub(super) fn load<S: Words>(memory: &S, access: &RowAccess<'_>) -> (Row32, bool) {
    let mut to = [0; LANES];
    let written = load_into(memory, access, &mut to);
    (to, written)
}

/// [`load`], straight to where the words belong.
#[inline(always)]
fn load_into<S: Words>(memory: &S, access: &RowAccess<'_>, to: &mut Row32) -> bool {
    let valid = if access.is_adjacent() {
        memory.load_run((access.first[0] >> 2) as usize, to)
    } else {
        let (mut low, mut high) = ([0; HALF], [0; HALF]);
        let valid = load_half(memory, access.layout[0], access.first[0], &mut low)
            & load_half(memory, access.layout[1], access.first[1], &mut high);
        to[..HALF].copy_from_slice(&low);
        to[HALF..].copy_from_slice(&high);
        valid
    };
    valid == 0xf
}

/// Stores the words of a full warp, lowest lane first.
#[inline(always)]
fn store<S: Words>(memory: &S, access: &RowAccess<'_>, from: &Row32) {
    if access.is_adjacent() {
        return memory.store_run((access.first[0] >> 2) as usize, from);
    }
    store_lanes(memory, &access.addresses(), from);
}

#[inline(always)]
fn store_lanes<S: Words>(memory: &S, address: &Row64, from: &Row32) {
    for lane in 0..LANES {
        let word = (address[lane] >> 2) as usize;
        memory.set(word, lane, from[lane]);
        memory.mark(word, lane, 0xf);
    }
}

#[inline(always)]
fn load_lanes<S: Words>(memory: &S, address: &Row64) -> (Row32, bool) {
    let mut to = [0; LANES];
    let mut valid = 0xf;
    for lane in 0..LANES {
        let word = (address[lane] >> 2) as usize;
        to[lane] = memory.get(word, lane);
        valid &= memory.valid(word, lane);
    }
    (to, valid == 0xf)
}

/// A row of words that is about to be stored in some memory.
#[derive(Debug)]
struct StoredRow<'a, S>(&'a S, &'a Row32);

impl<S: Words + std::fmt::Debug> StoredValues for StoredRow<'_, S> {
    fn stored(&self, lane: usize, at: u64) -> u8 {
        self.1[lane].to_le_bytes()[(at & 3) as usize]
    }
    fn before(&self, at: u64) -> u8 {
        self.0.read(at, 1, 0) as u8
    }
    fn is_written(&self, at: u64) -> bool {
        self.0.is_valid(at, 1, 0)
    }
}

/// A full warp whose words lie anyhow, at [`Core::address`], as work for [`at_best`]. False if it is for others to perform.
struct Scattered<'r, 'a, O: Hooks> {
    core: &'r mut Core<'a, O>,
    block: &'r mut Block,
    w: usize,
    op: &'r MemoryOp,
    dead: Mask,
    site: Site,
}

impl<O: Hooks> Work for Scattered<'_, '_, O> {
    type Output = bool;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        let Scattered {
            core,
            block,
            w,
            op,
            dead,
            site,
        } = self;
        let Some((start, last)) = core.bounds(block, op, site) else {
            return false;
        };
        let mut bad = false;
        for at in core.address {
            bad |= (at < start) | (at > last) | (at & 3 != 0);
        }
        if bad {
            return false;
        }
        let global = op.space == AddressSpace::Global;
        let address = core.address;
        let access = Access {
            site,
            who: block.who(w),
            mask: Mask::MAX,
            space: if global { Space::Global } else { Space::Shared },
            address: &address,
            neighbours: Some(Neighbours::of(Mask::MAX, &address, 4)),
            element: 4,
            elements: 1,
            kind: if op.store {
                AccessKind::Write
            } else {
                AccessKind::Read
            },
            non_coherent: op.non_coherent,
            fragment: false,
            asynchronous: false,
            order: op.order,
            scope: op.scope,
            wrote: if op.store { Mask::MAX } else { 0 },
            dropped: 0,
            initial: 0,
            stores: None,
        };
        if op.store {
            let from = row(&block.warps[w].w, core.const_w, op.regs[0]);
            if O::WATCHES {
                let stores: &dyn StoredValues = match global {
                    true => &StoredRow(&core.device.arena, from),
                    false => &StoredRow(&block.shared, from),
                };
                core.observer.access(&Access {
                    stores: Some(stores),
                    ..access
                });
            }
            match global {
                true => store_lanes(&core.device.arena, &address, from),
                false => store_lanes(&block.shared, &address, from),
            }
            return true;
        }
        let (to, written) = match global {
            true => load_lanes(&core.device.arena, &address),
            false => load_lanes(&block.shared, &address),
        };
        if op.regs[0] != Slot::NONE {
            let register = &mut block.warps[w].w[op.regs[0].0 as usize];
            blend(register, &to, Mask::MAX, dead);
        }
        if O::WATCHES {
            if !written {
                let padded = op.copies.then_some(4);
                core.uninitialized(block, w, access.space, Mask::MAX, 4, padded, site);
            }
            core.observer.access(&access);
        }
        true
    }
}

/// How the addresses in a register lie.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BaseRow {
    /// Of each half of the warp.
    pub(super) layouts: [Option<Layout>; 2],
    /// The register in the first lane of each half.
    pub(super) first: [u64; 2],
}

impl<O: Hooks> Core<'_, O> {
    /// How the words of a full warp's access lie but for its offset; none where its base is no register. Looked at anew for each access: a
    /// register may have changed since the last one.
    #[inline(always)]
    pub(super) fn base_row(&self, warp: &Warp, base: Base) -> Option<BaseRow> {
        let (layouts, first) = match base {
            Base::W(slot) => {
                let base = row(&warp.w, self.const_w, slot);
                (
                    layouts_of_words(base),
                    [u64::from(base[0]), u64::from(base[HALF])],
                )
            }
            Base::D(slot) => {
                let base = row(&warp.d, self.const_d, slot);
                (layouts_of_doubles(base), [base[0], base[HALF]])
            }
            _ => return None,
        };
        Some(BaseRow { layouts, first })
    }

    /// First and last address that a word may have, as far as that is known without a search.
    #[inline(always)]
    fn bounds(&self, block: &Block, op: &MemoryOp, site: Site) -> Option<(u64, u64)> {
        let (start, end) = if op.space == AddressSpace::Global {
            let recent = &self.recent[site.0 as usize];
            (recent.start, recent.end)
        } else {
            (0, block.shared.bytes)
        };
        (end - start >= 4).then(|| (start, end - 4))
    }

    #[inline(never)]
    fn scattered(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &MemoryOp,
        dead: Mask,
        site: Site,
    ) -> bool {
        self.addresses(&block.warps[w], 0, op.base, op.offset);
        if op.space == AddressSpace::Global {
            for at in &mut self.address {
                *at = at.wrapping_sub(GLOBAL_BASE);
            }
        }
        at_best(Scattered {
            core: self,
            block,
            w,
            op,
            dead,
            site,
        })
    }

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
        if !op.word || self.history.is_some() || self.changes.is_some() || op.used_if != Slot::TRUE
        {
            return false;
        }
        let global = op.space == AddressSpace::Global;
        let Some(base) = self.base_row(&block.warps[w], op.base) else {
            return false;
        };
        let warp = &block.warps[w];
        let [Some(low), Some(high)] = base.layouts else {
            return self.scattered(block, w, op, dead, site);
        };
        let first = base.first.map(|base| match op.base {
            Base::W(_) => u64::from((base as u32).wrapping_add(op.offset as u32)),
            _ => {
                let window = if global { GLOBAL_BASE } else { 0 };
                base.wrapping_add((op.offset as u64).wrapping_sub(window))
            }
        });
        let Some((start, last)) = self.bounds(block, op, site) else {
            return false;
        };
        // No memory reaches the end of the addresses, so that one which wraps around is outside.
        let end = |half: usize, layout: Layout| match layout {
            Layout::Adjacent => first[half].saturating_add(4 * (HALF as u64 - 1)),
            Layout::Same => first[half],
        };
        let [a, c] = first;
        let outside = (a < start) | (end(0, low) > last) | (c < start) | (end(1, high) > last);
        if outside | ((a | c) & 3 != 0) {
            return false;
        }
        let access = RowAccess {
            site,
            who: block.who(w),
            space: if global { Space::Global } else { Space::Shared },
            first,
            layout: [low, high],
            write: op.store,
            non_coherent: op.non_coherent,
            order: op.order,
            scope: op.scope,
            stores: None,
        };
        if op.store {
            let from = row(&warp.w, self.const_w, op.regs[0]);
            if O::WATCHES {
                let stores: &dyn StoredValues = match global {
                    true => &StoredRow(&self.device.arena, from),
                    false => &StoredRow(&block.shared, from),
                };
                self.observer.row_access(&RowAccess {
                    stores: Some(stores),
                    ..access
                });
            }
            match global {
                true => store(&self.device.arena, &access, from),
                false => store(&block.shared, &access, from),
            }
            return true;
        }
        let mut nowhere = [0; LANES];
        let to = match op.regs[0] {
            Slot::NONE => &mut nowhere,
            slot => &mut block.warps[w].w[slot.0 as usize],
        };
        let written = match global {
            true => load_into(&self.device.arena, &access, to),
            false => load_into(&block.shared, &access, to),
        };
        if O::WATCHES {
            if !written {
                self.unwritten(block, w, op, &access);
            }
            self.observer.row_access(&access);
        }
        true
    }

    #[cold]
    fn unwritten(&mut self, block: &mut Block, w: usize, op: &MemoryOp, access: &RowAccess<'_>) {
        self.address = access.addresses();
        let padded = op.copies.then_some(4);
        self.uninitialized(block, w, access.space, Mask::MAX, 4, padded, access.site);
    }
}
