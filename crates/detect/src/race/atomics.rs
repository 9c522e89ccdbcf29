//! Atomics on shared memory that concern nobody but each other.
//!
//! Between two barriers most blocks that use atomics on shared memory do nothing else to it. Atomics of one size don't race with each
//! other within a block (PTX ISA, "Morally strong operations"), so as long as nothing else has accessed the block's shared memory since a
//! barrier settled all that came before, they are *set aside* in a log, without a look at the shadow, and the next such barrier empties the
//! log. Whatever could depend on them (any other access to the block's shared memory, a barrier or warp barrier that does more than raise a
//! floor) first has the log told to the shadow, atomic by atomic, with the stamp and floor that each had, as [`super::rows`] does with reads.
//! So the shadow is what it would be without a log.
//!
//! Only where nothing but barriers orders the threads of a block: what releases and acquires bring is not in a floor.
//!
//! The log has two readers: the shadow, and [`super::contention`], which can do without updates that commute. Each is told when something
//! depends on it for that reader, so that one may already know of an atomic that the other does not. What a reader does not know of is
//! always the end of the log.
//!
//! A log that is full is *folded* into what the readers would keep of it ([`super::folded`]), which the barrier empties as well.

use super::aside::{Aside, FEW};
use super::block::View;
use super::folded::{Folded, Set};
use simt::ids::LANES;
use simt::observer::*;

/// Atomics that are set aside at most, of a block among few, and among many: each takes 92 bytes. Tests fill it.
const ROOM: usize = if cfg!(test) { 4 } else { 2048 };
const ROOM_OF_MANY: usize = 128;
/// Granules of the largest shared memory whose atomics are set aside: a granule's number takes 16 bits.
const GRANULES: usize = 1 << 16;

/// The atomics of a block that were set aside since the last barrier.
#[derive(Clone, Debug, Default)]
pub struct AtomicLog {
    all: Vec<Aside>,
    /// Granules, lane by lane, of each.
    cells: Vec<[u16; LANES]>,
    /// So many, from the first one on, the shadow knows of.
    told_shadow: usize,
    /// So many [`super::contention`] knows of.
    told_order: usize,
    /// What the log had no room for, which [`super::contention`] does not know of.
    folded: Folded,
    /// Something else has accessed the block's shared memory since then.
    mixed: bool,
}

impl AtomicLog {
    /// Whether there are some that the shadow does not know of.
    #[inline(always)]
    pub fn concerns_shadow(&self) -> bool {
        self.told_shadow < self.all.len()
    }

    /// Whether there are some that [`super::contention`] does not know of.
    #[inline(always)]
    pub fn concerns_order(&self) -> bool {
        self.told_order < self.all.len() || !self.folded.is_empty()
    }

    /// What the last one does, of those that [`super::contention`] does not know of.
    #[inline(always)]
    pub fn last_role(&self) -> Option<u32> {
        match self.all.last() {
            Some(last) => (self.told_order < self.all.len()).then_some(last.role),
            None => self.folded.last_role(),
        }
    }

    /// A barrier has settled all that the block did to its shared memory.
    #[inline(always)]
    pub fn settle(&mut self) {
        self.clear();
        self.mixed = false;
    }

    /// Forgets what is set aside.
    pub fn clear(&mut self) {
        self.make_room();
        self.folded.clear();
    }

    /// Something else accesses the block's shared memory.
    #[inline(always)]
    pub fn mix(&mut self) {
        self.mixed = true;
    }

    /// What the shadow does not know of yet, with the lanes' granules. From then on it counts as told.
    pub fn tell_shadow(&mut self) -> impl Iterator<Item = (&Aside, &[u16; LANES])> {
        let from = std::mem::replace(&mut self.told_shadow, self.all.len());
        self.all[from..].iter().zip(&self.cells[from..])
    }

    /// What the log had no room for, before [`AtomicLog::tell_order`]. From then on it counts as told.
    pub fn tell_folded(&mut self) -> impl Iterator<Item = Set> {
        self.folded.take()
    }

    /// As [`AtomicLog::tell_shadow`], for [`super::contention`].
    pub fn tell_order(&mut self) -> impl Iterator<Item = (&Aside, &[u16; LANES])> {
        let from = std::mem::replace(&mut self.told_order, self.all.len());
        self.all[from..].iter().zip(&self.cells[from..])
    }

    /// Folds what [`super::contention`] does not know of, in shared memory of so many granules, with so many blocks that run at the same time. False
    /// if that would take too much memory; then nothing has happened.
    pub fn fold_order(&mut self, granules: usize, blocks: usize) -> bool {
        let from = self.told_order;
        let done = self
            .folded
            .add(&self.all[from..], &self.cells[from..], granules, blocks);
        if done {
            self.told_order = self.all.len();
        }
        done
    }

    /// What the shadow does not know of yet.
    pub fn of_shadow(&self) -> (&[Aside], &[[u16; LANES]]) {
        let from = self.told_shadow;
        (&self.all[from..], &self.cells[from..])
    }

    /// Makes room, when all that is in the log itself has been folded or told.
    pub fn make_room(&mut self) {
        self.all.clear();
        self.cells.clear();
        (self.told_shadow, self.told_order) = (0, 0);
    }

    /// Whether there is room for one more, with so many blocks that run at the same time.
    #[inline(always)]
    pub fn has_room(&self, blocks: usize) -> bool {
        let room = if blocks <= FEW { ROOM } else { ROOM_OF_MANY };
        self.all.len() < room
    }

    /// Whether an access, to shared memory of so many granules of `1 << shift` bytes, is an atomic on one granule in each lane, as those in
    /// the log are.
    #[inline(always)]
    pub fn fits(access: &Access<'_>, granules: usize, shift: u32) -> bool {
        let rmw = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        // Larger ones could overlap in part.
        rmw && access.elements == 1
            && access.element >> shift == 1
            && access.wrote == access.mask
            && granules <= GRANULES
    }

    /// Whether the shadow can do without an access that fits.
    #[inline(always)]
    pub fn spares_shadow(&self, v: &View<'_>) -> bool {
        !self.mixed && !v.fine_sync
    }

    /// Adds updates of granules, each named in place of a word: for the shadow, if `shadow`; for [`super::contention`], if there is a role.
    /// A reader that they are not for must have been told of all before them.
    #[inline(always)]
    pub fn add(
        &mut self,
        updates: &WordUpdates<'_>,
        v: &View<'_>,
        shadow: bool,
        role: Option<u32>,
    ) {
        self.all.push(Aside {
            stamp: v.now,
            warp_floor: v.warp_floor,
            warp: v.warp,
            mask: updates.mask,
            role: role.unwrap_or(u32::MAX),
            site: updates.site,
            kind: updates.kind,
            order: updates.order,
            scope: updates.scope,
        });
        self.cells.push(*updates.words);
        if !shadow {
            self.told_shadow = self.all.len();
        }
        if role.is_none() {
            self.told_order = self.all.len();
        }
    }
}
