//! Copies that nobody has waited for when their block ended: they may write global memory until the launch ends.
//!
//! For whoever comes after their beginning they are under way all that time. What they write is kept by its first byte; of several with the same one, the
//! last. Blind spot: behind [`ROOM`] pieces no further one is kept.

use super::pending::{Blame, Pending};
use crate::clusters::Clusters;
use crate::race::block::lanes;
use crate::race::clock::Stamp;
use simt::observer::{Space, WarpRef};
use std::collections::BTreeMap;

/// Pieces that are kept.
const ROOM: usize = 1 << 16;

/// A piece of memory that a copy may still write.
#[derive(Clone, Debug)]
pub struct Piece {
    end: u64,
    /// Who has begun the copy: lane and time.
    pub blame: Blame,
    pub who: WarpRef,
    pub lane: u32,
    pub stamp: Stamp,
}

/// Those of a launch.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    pieces: BTreeMap<u64, Piece>,
    longest: u64,
    end: u64,
}

impl Ended {
    /// A block has ended that had begun this.
    pub fn keep(&mut self, copy: &Pending, clusters: Option<&Clusters>) {
        for part in copy.writes.iter().filter(|p| p.space == Space::Global) {
            for lane in lanes(part.mask & !copy.over & !copy.touched) {
                let at = part.address[lane as usize];
                if clusters.is_some_and(|c| c.is_shared(at)) || self.pieces.len() >= ROOM {
                    continue;
                }
                self.longest = self.longest.max(part.bytes);
                self.end = self.end.max(at + part.bytes);
                let piece = Piece {
                    end: at + part.bytes,
                    blame: copy.blame(),
                    who: copy.who,
                    lane,
                    stamp: copy.stamp,
                };
                self.pieces.insert(at, piece);
            }
        }
    }

    /// Whether any of it may be between two addresses.
    pub fn is_near(&self, from: u64, to: u64) -> bool {
        from < self.end && self.touching(from, to).next().is_some()
    }

    /// What lies between two addresses, each with the first byte of it.
    pub fn touching(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, &Piece)> {
        let first = from.saturating_sub(self.longest);
        let near = self.pieces.range(first..to.max(first));
        let there = near.filter(move |(_, piece)| from < piece.end);
        there.map(|(at, piece)| (*at, piece))
    }
}
