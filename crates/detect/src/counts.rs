//! Counts what a run does: what can be compared without a clock.

use crate::{banks, coalescing};
use serde::{Deserialize, Serialize};
use simt::observer::{Access, AccessKind, BlockBarrier, Divergence, Events, Space};

/// The sums of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests of warps to global memory.
    pub requests: u64,
    /// Sectors of 32 bytes that they move.
    pub sectors: u64,
    /// Passes of shared memory beyond those that a request needs at least.
    pub conflicts: u64,
    /// Branches that split a warp.
    pub divergent: u64,
    /// Elements that threads read from global memory.
    pub reads: u64,
    /// Elements that threads write there.
    pub writes: u64,
    /// Atomic operations of threads.
    pub atomics: u64,
    /// Block barriers, once a block.
    pub barriers: u64,
}

impl Counts {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Counts) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.conflicts += other.conflicts;
        self.divergent += other.divergent;
        self.reads += other.reads;
        self.writes += other.writes;
        self.atomics += other.atomics;
        self.barriers += other.barriers;
    }
}

impl Events for Counts {
    fn access(&mut self, access: &Access<'_>) {
        let lanes = access.performed();
        let elements = u64::from(lanes.count_ones() * access.elements);
        let atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        match access.space {
            _ if atomic => self.atomics += elements,
            Space::Global => {
                match access.kind {
                    AccessKind::Read => self.reads += elements,
                    _ => self.writes += elements,
                }
                if !access.fragment {
                    let (moved, _) = coalescing::sectors(access.address, lanes, access.bytes());
                    self.requests += 1;
                    self.sectors += moved;
                }
            }
            Space::Shared if !access.fragment => {
                let (least, passes, _) = banks::passes(access.address, lanes, access.bytes());
                self.conflicts += u64::from(passes.saturating_sub(least));
            }
            _ => {}
        }
    }

    fn block_barrier(&mut self, _: &BlockBarrier<'_>) {
        self.barriers += 1;
    }

    fn diverges(&mut self, _: &Divergence) {
        self.divergent += 1;
    }
}
