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

use super::block::View;
use super::clock::Stamp;
use simt::ids::{LANES, Mask, Site, WarpId};
use simt::observer::*;

/// Atomics that are set aside at most, of a block among few, and among many: each takes about 170 bytes.
const ROOM: usize = 2048;
const ROOM_OF_MANY: usize = 128;
/// Blocks that are few.
const FEW: usize = 16;

/// Lanes of a warp that performed an atomic on one granule each.
#[derive(Clone, Copy, Debug)]
pub struct Aside {
    /// When.
    pub stamp: Stamp,
    /// The floor of its warp.
    pub warp_floor: Stamp,
    /// The warp.
    pub warp: u32,
    site: Site,
    mask: Mask,
    kind: AccessKind,
    order: Order,
    scope: Scope,
    element: u32,
}

impl Aside {
    /// What was set aside, as the access that it was, of a warp of block `who`.
    pub fn access<'a>(&self, who: WarpRef, address: &'a [u64; LANES]) -> Access<'a> {
        Access {
            site: self.site,
            who: WarpRef {
                warp: WarpId(self.warp),
                ..who
            },
            mask: self.mask,
            space: Space::Shared,
            address,
            neighbours: None,
            element: self.element,
            elements: 1,
            kind: self.kind,
            non_coherent: false,
            fragment: false,
            asynchronous: false,
            order: self.order,
            scope: self.scope,
            wrote: self.mask,
            dropped: 0,
            initial: 0,
            stores: None,
        }
    }
}

/// The atomics of a block that were set aside since the last barrier.
#[derive(Debug, Default)]
pub struct AtomicLog {
    all: Vec<Aside>,
    /// First bytes, lane by lane, of each.
    addresses: Vec<u32>,
    /// Something else has accessed the block's shared memory since then.
    mixed: bool,
}

impl AtomicLog {
    /// Whether nothing is set aside.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A barrier has settled all that the block did to its shared memory.
    #[inline(always)]
    pub fn settle(&mut self) {
        self.clear();
        self.mixed = false;
    }

    /// Forgets what is set aside.
    pub fn clear(&mut self) {
        self.all.clear();
        self.addresses.clear();
    }

    /// Something else accesses the block's shared memory.
    #[inline(always)]
    pub fn mix(&mut self) {
        self.mixed = true;
    }

    /// What is set aside, with the lanes' addresses.
    pub fn each(&self) -> impl Iterator<Item = (&Aside, [u64; LANES])> {
        let addresses = self.addresses.as_chunks::<LANES>().0.iter();
        let wide = addresses.map(|row| row.map(u64::from));
        self.all.iter().zip(wide)
    }

    /// Whether there is room for one more, with so many blocks that run at the same time.
    #[inline(always)]
    pub fn has_room(&self, blocks: usize) -> bool {
        let room = if blocks <= FEW { ROOM } else { ROOM_OF_MANY };
        self.all.len() < room
    }

    /// Sets an access to shared memory aside, in granules of `1 << shift` bytes. False if it is none of those that can be.
    #[inline(always)]
    pub fn add(&mut self, access: &Access<'_>, v: &View<'_>, shift: u32) -> bool {
        let rmw = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        // Larger ones could overlap in part.
        let fits = rmw
            && !self.mixed
            && access.elements == 1
            && access.element >> shift == 1
            && access.wrote == access.mask
            && !v.fine_sync;
        if fits {
            self.all.push(Aside {
                stamp: v.now,
                warp_floor: v.warp_floor,
                warp: v.warp,
                site: access.site,
                mask: access.mask,
                kind: access.kind,
                order: access.order,
                scope: access.scope,
                element: access.element,
            });
            let narrow = access.address.iter().map(|at| *at as u32);
            self.addresses.extend(narrow);
        }
        fits
    }
}
