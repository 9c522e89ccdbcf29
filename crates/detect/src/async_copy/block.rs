//! The copies of a block that are under way, and a mark for each word that they touch.

use super::arrived::Arrived;
use super::pending::{Part, Pending};
use crate::clusters::Clusters;
use crate::race::block::lanes;
use simt::ids::*;
use simt::observer::{Access, Space, WarpRef};
use std::collections::VecDeque;

/// What a block has begun.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// By warp, the oldest first.
    pub warps: Vec<VecDeque<Pending>>,
    /// How many these are.
    pub count: usize,
    /// Those that have arrived at an mbarrier, the oldest first.
    pub arrived: Vec<Arrived>,
    /// A bit for each word of shared memory that a copy is to read or to write.
    pub marks: Vec<u64>,
    /// The last exit.
    pub exit: Option<(WarpRef, Mask, Site)>,
}

impl Block {
    /// Sets or clears the marks of some memory.
    pub fn mark(&mut self, address: u64, bytes: u64, set: bool) {
        for word in address / 4..(address + bytes).div_ceil(4) {
            let at = (word / 64) as usize;
            if at >= self.marks.len() {
                self.marks.resize(at + 1, 0);
            }
            let bit = 1 << (word % 64);
            match set {
                true => self.marks[at] |= bit,
                false => self.marks[at] &= !bit,
            }
        }
    }

    /// Marks what is left to be marked, when copies have gone that may have lain over others.
    pub fn mark_anew(&mut self) {
        self.arrived.retain(|a| !a.is_empty());
        self.marks.clear();
        let pending = self.warps.iter().flatten();
        let arrived = self.arrived.iter().map(|a| &a.copy);
        let all = pending.chain(arrived);
        let places: Vec<(u64, u64)> = all.flat_map(Pending::shared).collect();
        for (at, bytes) in places {
            self.mark(at, bytes, true);
        }
    }

    /// A copy begins: what arrived at the same places before is its business from now on.
    pub fn replaced_by(&mut self, write: &Access<'_>, clusters: Option<&Clusters>) {
        if !is_shared(&Part::of(write), clusters) {
            return;
        }
        let bytes = u64::from(write.bytes());
        let new: Vec<u64> = lanes(write.mask)
            .map(|l| write.address[l as usize])
            .collect();
        let mut gone = false;
        for arrived in &mut self.arrived {
            let parts = arrived.copy.writes.iter_mut();
            for part in parts.filter(|part| part.space == write.space) {
                for lane in lanes(part.mask) {
                    let at = part.address[lane as usize];
                    if new.iter().any(|n| *n <= at && at + part.bytes <= n + bytes) {
                        part.mask &= !(1 << lane);
                        gone = true;
                    }
                }
            }
        }
        if gone {
            self.mark_anew();
        }
    }

    /// Whether there is any copy.
    pub fn is_busy(&self) -> bool {
        self.count > 0 || !self.arrived.is_empty()
    }

    /// Whether any word between two addresses is marked.
    pub fn is_marked(&self, from: u64, to: u64) -> bool {
        let (first, end) = (from / 4, to.div_ceil(4));
        (first / 64..end.div_ceil(64)).any(|at| {
            let Some(bits) = self.marks.get(at as usize) else {
                return false;
            };
            // The words of the range among these 64.
            let low = first.saturating_sub(64 * at);
            let high = (end - 64 * at).min(64);
            let range = (u64::MAX << low) & (u64::MAX >> (64 - high));
            bits & range != 0
        })
    }
}

/// Whether what lanes of a copy touch is shared memory.
pub fn is_shared(part: &Part, clusters: Option<&Clusters>) -> bool {
    let first = part.address[part.mask.trailing_zeros() as usize % LANES];
    part.space == Space::Shared
        || clusters.is_some_and(|c| part.space == Space::Global && c.is_shared(first))
}
