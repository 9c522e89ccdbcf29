//! A copy that has begun, and what its lanes do to memory.

use crate::finding::Action;
use crate::race::block::lanes;
use crate::race::clock::Stamp;
use simt::ids::*;
use simt::observer::{Access, Space, WarpRef};

/// What the lanes of a copy do to one space.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) space: Space,
    pub(super) mask: Mask,
    pub(super) address: [u64; LANES],
    pub(super) bytes: u64,
}

impl Part {
    pub(super) fn of(access: &Access<'_>) -> Part {
        Part {
            space: access.space,
            mask: access.mask,
            address: *access.address,
            bytes: u64::from(access.bytes()),
        }
    }

    /// Whether one lane does here what another does in an access.
    pub(super) fn is_like(&self, lane: usize, access: &Access<'_>, other: usize) -> bool {
        (self.space, self.bytes) == (access.space, u64::from(access.bytes()))
            && self.address[lane] == access.address[other]
    }

    /// The lanes that touch any of these bytes, of those that are not over.
    pub(super) fn touching(&self, over: Mask, from: u64, to: u64) -> impl Iterator<Item = u32> {
        lanes(self.mask & !over).filter(move |l| {
            let start = self.address[*l as usize];
            start < to && from < start + self.bytes
        })
    }

    /// The lowest of them.
    pub(super) fn touches(&self, over: Mask, from: u64, to: u64) -> Option<usize> {
        self.touching(over, from, to).next().map(|l| l as usize)
    }

    /// For these lanes alone.
    pub(super) fn only(mut self, mask: Mask) -> Part {
        self.mask &= mask;
        self
    }
}

/// Which instruction has begun a copy, by whom, and what it is.
pub(super) type Blame = (Site, WarpRef, Action);

/// A copy that has begun.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) number: u64,
    pub(super) who: WarpRef,
    pub(super) site: Site,
    /// A copy, or a product.
    pub(super) action: Action,
    pub(super) reads: Vec<Part>,
    pub(super) writes: Vec<Part>,
    /// When it began.
    pub(super) stamp: Stamp,
    /// Bounds of what it reads and of what it writes in global memory.
    pub(super) source: (u64, u64),
    pub(super) target: (u64, u64),
    /// Lanes that have waited for it.
    pub(super) over: Mask,
    /// Lanes whose memory was touched in between.
    pub(super) touched: Mask,
    /// Of a product: who of its warpgroup has waited for it first, if anybody has. It is over for whoever comes after that.
    pub(super) awaited: Option<(WarpRef, Mask, Stamp)>,
}

impl Pending {
    /// Who has begun it.
    pub(super) fn blame(&self) -> Blame {
        (self.site, self.who, self.action)
    }

    /// All its lanes.
    pub(super) fn lanes(&self) -> Mask {
        let parts = self.reads.iter().chain(&self.writes);
        parts.fold(0, |mask, part| mask | part.mask)
    }

    /// What conflicts with an access to a space, and whether the copy reads there.
    pub(super) fn conflicting(
        &self,
        space: Space,
        writes: bool,
    ) -> impl Iterator<Item = (&Part, bool)> {
        let reads = self.reads.iter().filter(move |_| writes);
        let reads = reads.map(|part| (part, true));
        let parts = self.writes.iter().map(|part| (part, false)).chain(reads);
        parts.filter(move |(part, _)| part.space == space)
    }

    /// What of shared memory it touches, the lanes left out that are over.
    pub(super) fn shared(&self) -> impl Iterator<Item = (u64, u64)> {
        let parts = self.writes.iter().chain(&self.reads);
        let shared = parts.filter(|part| part.space == Space::Shared);
        shared.flat_map(|part| {
            let places = lanes(part.mask & !self.over).map(|l| part.address[l as usize]);
            places.map(|at| (at, part.bytes))
        })
    }
}

/// Bounds of what parts touch in global memory.
pub(super) fn bounds(parts: &[Part]) -> (u64, u64) {
    let global = parts.iter().filter(|part| part.space == Space::Global);
    let places = global.flat_map(|p| lanes(p.mask).map(|l| (p.address[l as usize], p.bytes)));
    places.fold((u64::MAX, 0), |(low, high), (at, bytes)| {
        (low.min(at), high.max(at + bytes))
    })
}
