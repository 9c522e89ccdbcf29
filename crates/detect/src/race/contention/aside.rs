//! Updates of a block's shared memory that were set aside.

use super::super::clock::Stamp;
use simt::ids::{LANES, Mask};

/// Updates that are set aside at most.
const ROOM: usize = 2048;

/// An update by lanes of a warp, of one granule each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aside {
    pub role: u32,
    pub warp: u32,
    pub stamp: Stamp,
    pub mask: Mask,
}

/// The updates, in their order.
#[derive(Debug, Default)]
pub(super) struct Log {
    all: Vec<Aside>,
    /// The granules of each, lane by lane: apart, so that what is added is not copied twice.
    cells: Vec<u32>,
}

impl Log {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn has_room(&self) -> bool {
        self.all.len() < ROOM
    }

    pub fn last(&self) -> Option<&Aside> {
        self.all.last()
    }

    pub fn clear(&mut self) {
        self.all.clear();
        self.cells.clear();
    }

    /// Adds an update of the granules, of `1 << shift` bytes, at these addresses.
    pub fn add(&mut self, aside: Aside, addresses: &[u64; LANES], shift: u32) {
        self.all.push(aside);
        let cells = addresses.iter().map(|at| (at >> shift) as u32);
        self.cells.extend(cells);
    }

    /// The updates with their granules.
    pub fn each(&self) -> impl Iterator<Item = (&Aside, &[u32; LANES])> {
        self.all.iter().zip(self.cells.as_chunks::<LANES>().0)
    }
}
