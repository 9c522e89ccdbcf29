//! What is kept of atomics on shared memory that are set aside ([`super::atomics`]) when their log is full.
//!
//! Of each granule, [`super::contention`] asks which lanes updated it and when. Here are those sets, a mask of lanes for each granule, so that
//! a loop of any length takes memory for its threads and granules alone. The shadow keeps the last atomic on each granule, so it is told of
//! no others ([`last_of_each`]).

use super::aside::{Aside, FEW};
use super::block::lanes;
use super::clock::Stamp;
use simt::ids::{LANES, Mask};

/// Memory for the sets, of a block among few, and among many; bytes. The first is enough for 32 warps and 48 KiB of shared memory.
const MOST: usize = 1 << 21;
const MOST_OF_MANY: usize = 1 << 16;

/// The lanes of a warp that made updates at one stamp.
#[derive(Clone, Debug)]
pub struct Set {
    /// The warp.
    pub warp: u32,
    /// The stamp.
    pub stamp: Stamp,
    /// What one of the updates does, as [`super::contention`] has it. All that are set aside at a time are of one kind, so that one stands
    /// for all.
    pub role: u32,
    /// Which lanes, by granule.
    pub lanes: Vec<Mask>,
}

/// Updates, by warp and time, in the order in which these came first.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    sets: Vec<Set>,
    /// The latest set of each warp; beyond the end of `sets` if there is none.
    latest: Vec<usize>,
}

impl Folded {
    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// What one of them does.
    pub fn last_role(&self) -> Option<u32> {
        self.sets.last().map(|set| set.role)
    }

    /// Forgets all.
    #[inline(always)]
    pub fn clear(&mut self) {
        if !self.is_empty() {
            drop(self.take());
        }
    }

    /// Takes all out.
    pub fn take(&mut self) -> impl Iterator<Item = Set> {
        self.latest.clear();
        std::mem::take(&mut self.sets).into_iter()
    }

    /// Adds updates, in shared memory of so many granules, with so many blocks that run at the same time. False if that would take too
    /// much memory; then none is added.
    pub fn add(
        &mut self,
        updates: &[Aside],
        cells: &[[u16; LANES]],
        granules: usize,
        blocks: usize,
    ) -> bool {
        let bytes = if blocks <= FEW { MOST } else { MOST_OF_MANY };
        let most = match cfg!(test) {
            // So that random programs exceed it.
            true => 6,
            false => bytes / (granules * size_of::<Mask>()).max(1),
        };
        let before = self.sets.len();
        let mut places = Vec::with_capacity(updates.len());
        for update in updates {
            places.push(self.place(update, granules));
            if self.sets.len() > most {
                self.sets.truncate(before);
                return false;
            }
        }
        for ((update, cells), place) in updates.iter().zip(cells).zip(places) {
            let set = &mut self.sets[place].lanes;
            each(update.mask, cells, |lane, granule| {
                set[granule] |= 1 << lane
            });
        }
        true
    }

    /// The set that an update is of, made if there is none.
    fn place(&mut self, update: &Aside, granules: usize) -> usize {
        let is_of = |set: &Set| (set.warp, set.stamp) == (update.warp, update.stamp);
        let warp = update.warp as usize;
        if warp >= self.latest.len() {
            self.latest.resize(warp + 1, usize::MAX);
        }
        let latest = self.latest[warp];
        if self.sets.get(latest).is_some_and(is_of) {
            return latest;
        }
        let place = self.sets.iter().rposition(is_of).unwrap_or_else(|| {
            self.sets.push(Set {
                warp: update.warp,
                stamp: update.stamp,
                role: update.role,
                lanes: vec![0; granules],
            });
            self.sets.len() - 1
        });
        self.latest[warp] = place;
        place
    }
}

/// Of atomics on shared memory of so many granules, the last on each: calls `last(granule, number, lane)`, in the order of granules, until
/// that returns false. Whether it never did.
pub fn last_of_each(
    all: &[Aside],
    cells: &[[u16; LANES]],
    granules: usize,
    mut last: impl FnMut(usize, usize, u32) -> bool,
) -> bool {
    // Number and lane, plus one.
    let mut latest = vec![0u32; granules];
    for (number, (aside, cells)) in all.iter().zip(cells).enumerate() {
        let name = (number as u32) << 5;
        each(aside.mask, cells, |lane, granule| {
            latest[granule] = (name | lane) + 1
        });
    }
    let touched = latest
        .iter()
        .enumerate()
        .filter(|(_, latest)| **latest != 0);
    for (granule, latest) in touched {
        let latest = latest - 1;
        if !last(granule, (latest >> 5) as usize, latest & 31) {
            return false;
        }
    }
    true
}

/// Calls `each(lane, granule)` for the lanes of a mask, in their order.
#[inline(always)]
fn each(mask: Mask, cells: &[u16; LANES], mut each: impl FnMut(u32, usize)) {
    if mask == Mask::MAX {
        // Most are of whole warps: without a look at the mask.
        for (lane, granule) in cells.iter().enumerate() {
            each(lane as u32, usize::from(*granule));
        }
    } else {
        for lane in lanes(mask) {
            each(lane, usize::from(cells[lane as usize]));
        }
    }
}
