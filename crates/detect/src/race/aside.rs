//! An atomic on shared memory that is set aside ([`super::atomics`]).

use super::clock::Stamp;
use simt::ids::{LANES, Mask, Site, WarpId};
use simt::observer::*;

/// Blocks that are few.
pub const FEW: usize = 16;

/// Lanes of a warp that performed an atomic on one granule each.
#[derive(Clone, Copy, Debug)]
pub struct Aside {
    /// When.
    pub stamp: Stamp,
    /// The floor of its warp.
    pub warp_floor: Stamp,
    /// The warp.
    pub warp: u32,
    /// Which lanes.
    pub mask: Mask,
    /// What it does, as [`super::contention`] has it, if that is to be told.
    pub role: u32,
    pub(super) site: Site,
    pub(super) kind: AccessKind,
    pub(super) order: Order,
    /// Its scope.
    pub scope: Scope,
}

const _: () = assert!(size_of::<Aside>() + size_of::<[u16; LANES]>() == 92);

impl Aside {
    /// What was set aside, as the access that it was, of a warp of block `who`, to elements of `1 << shift` bytes.
    pub fn access<'a>(&self, who: WarpRef, address: &'a [u64; LANES], shift: u32) -> Access<'a> {
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
            element: 1 << shift,
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
