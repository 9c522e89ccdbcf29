//! Rows of shared memory whose races are known, set aside.
//!
//! Warps that exchange data through `volatile` memory as if they ran in lockstep do so again and again, in every block. Once all that can be found
//! about it has been counted often enough ([`super::known`]), their accesses are *set aside* in a log, as [`super::rows`] does with reads, and
//! the barrier that settles them empties it without a look at the shadow.
//!
//! A row is an access of all lanes of a warp, one word each, of which those of half a warp are adjacent. It is set aside if nothing else has
//! touched its lines since the block's last barrier, and if with each row in the log, and each read that was set aside before, one of these holds:
//!
//! * they have no word in common, or each lane has its own;
//! * the pair of instructions is known to race;
//! * what the lanes have read orders the two (as [`super::strong`] has it).
//!
//! So judging it would find nothing that is new. Anything that is not such a row first has the log told to the shadow, row by row, with the
//! stamp, floor and values that each had: what is found is what would be found without a log.
//!
//! Only where nothing but barriers orders the threads of a block: what is known then can be nothing else in another place.
//!
//! What it brings (`cargo bench --bench instructions -- "scan with races"`, one core): once its races are known, a scan that relies on lockstep
//! takes 230 ns for each warp-instruction instead of 1,150; nobody watching, 190.

use super::block::View;
use super::clock::Stamp;
use super::known::Known;
use super::rows::ReadLog;
use simt::ids::{BlockId, LANES, Mask, Site, WarpId};
use simt::observer::*;

/// Rows that are set aside at most.
const ROOM: usize = 64;
/// Reads that were set aside before, at most, that each row is compared with.
const READS: usize = 32;

/// How often rows are set aside in vain before others are not for a while, and for how many.
const VAIN: u32 = if cfg!(test) { 1 << 30 } else { 16 };
const REST: u32 = 2048;

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct RacingRow {
    /// When.
    pub stamp: Stamp,
    /// The floor of its warp.
    pub warp_floor: Stamp,
    /// The warp.
    pub warp: u32,
    site: Site,
    /// First byte of each half.
    first: [u32; 2],
    write: bool,
    order: Order,
    scope: Scope,
    /// What a strong write stores.
    values: [u32; LANES],
}

impl RacingRow {
    /// An access, if it is a row.
    fn of(access: &Access<'_>, v: &View<'_>) -> Option<RacingRow> {
        let write = match access.kind {
            AccessKind::Read => false,
            AccessKind::Write => true,
            _ => return None,
        };
        let ordered = matches!(access.order, Order::Weak | Order::Volatile | Order::Relaxed);
        if access.mask != Mask::MAX
            || (access.element, access.elements) != (4, 1)
            || access.initial != 0
            || access.asynchronous
            || !ordered
        {
            return None;
        }
        let neighbours =
            (access.neighbours).unwrap_or_else(|| Neighbours::of(access.mask, access.address, 4));
        let first = [access.address[0] as u32, access.address[HALF] as u32];
        let apart = first[0].abs_diff(first[1]) >= 4 * HALF as u32;
        // Whatever the step from one half to the other is.
        if neighbours.next | 1 | 1 << HALF != Mask::MAX || !apart {
            return None;
        }
        Some(RacingRow {
            stamp: v.now,
            warp_floor: v.warp_floor,
            warp: v.warp,
            site: access.site,
            first,
            write,
            order: access.order,
            scope: access.scope,
            values: [0; LANES],
        })
    }

    /// Whether some word of these two halves is one of the row's.
    fn overlaps(&self, others: [(u32, u32); 2]) -> bool {
        let ends = |first: u32| (first, first + 4 * HALF as u32);
        let meets = |a: (u32, u32), b: (u32, u32)| a.0 < b.1 && b.0 < a.1;
        let mut own = self.first.into_iter().map(ends);
        own.any(|half| others.iter().any(|other| meets(half, *other)))
    }

    /// Whether another row is a strong read of the same words by the same lanes.
    fn reads_as(&self, other: &RacingRow) -> bool {
        let strong = self.order != Order::Weak && other.order != Order::Weak;
        let same = (self.warp, self.first, self.scope) == (other.warp, other.first, other.scope);
        !other.write && strong && same
    }

    /// Whether a strong read of the same words by the same lanes came earlier.
    fn observes_as(&self, earlier: &RacingRow) -> bool {
        let strong = earlier.order != Order::Weak;
        !earlier.write && strong && (self.warp, self.first) == (earlier.warp, earlier.first)
    }

    /// Whether all that it may find by meeting an earlier row is known.
    fn meets_known(&self, old: &RacingRow, known: &Known, v: &View<'_>) -> bool {
        let near = old.warp == v.warp;
        if !(self.write || old.write)
            || near && (old.stamp < v.warp_floor || old.first == self.first)
        {
            return true;
        }
        let half = |first: u32| (first, first + 4 * HALF as u32);
        if !self.overlaps(old.first.map(half)) {
            return true;
        }
        let (a, b) = (self.site.0, old.site.0);
        match self.order == Order::Weak || old.order == Order::Weak {
            true => known.races.has(a, b),
            // What lanes of a warp store in no order is no exchange.
            false => near && (self.write && old.write || known.lockstep.has(a, b)),
        }
    }

    /// The same, of a weak read that was set aside as such.
    fn meets_known_read(
        &self,
        warp: u32,
        stamp: Stamp,
        read: &SharedRead,
        known: &Known,
        v: &View<'_>,
    ) -> bool {
        let near = warp == v.warp;
        let adjacent = read.layout == [Layout::Adjacent; 2];
        if !self.write || near && (stamp < v.warp_floor || adjacent && read.first == self.first) {
            return true;
        }
        let half = |half: usize| match read.layout[half] {
            Layout::Adjacent => (read.first[half], read.first[half] + 4 * HALF as u32),
            Layout::Same => (read.first[half], read.first[half] + 4),
        };
        !self.overlaps([half(0), half(1)]) || known.races.has(self.site.0, read.site.0)
    }

    /// First and last granule of each half, of 4 bytes.
    pub fn granules(&self) -> [(usize, usize); 2] {
        self.first
            .map(|at| (at as usize / 4, at as usize / 4 + HALF - 1))
    }

    /// The row as the access that it was, of a block.
    pub fn tell(&self, block: BlockId, each: impl FnOnce(&Access<'_>)) {
        let row = RowAccess {
            site: self.site,
            who: WarpRef {
                block,
                warp: WarpId(self.warp),
            },
            space: Space::Shared,
            first: self.first.map(u64::from),
            layout: [Layout::Adjacent; 2],
            write: self.write,
            non_coherent: false,
            order: self.order,
            scope: self.scope,
            // Of a weak write that meets what is known nobody asks what it stores.
            stores: match self.write && self.order != Order::Weak {
                true => Some(self),
                false => None,
            },
        };
        let address = row.addresses();
        each(&row.expanded(&address));
    }
}

impl StoredValues for RacingRow {
    fn stored(&self, lane: usize, at: u64) -> u8 {
        self.values[lane].to_le_bytes()[(at & 3) as usize]
    }
    fn before(&self, _: u64) -> u8 {
        0
    }
    fn is_written(&self, _: u64) -> bool {
        true
    }
}

/// Rows that were set aside since the last barrier of a block.
#[derive(Clone, Debug, Default)]
pub struct RacingRows {
    rows: Vec<RacingRow>,
    /// How often in a row they had to be told.
    vain: u32,
    /// So many rows are not looked at: to set them aside in vain takes as long as to judge them.
    rest: u32,
}

impl RacingRows {
    /// Whether nothing is set aside.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A barrier has settled all of them.
    #[inline(always)]
    pub fn clear(&mut self) {
        if !self.rows.is_empty() {
            self.rows.clear();
            self.vain = 0;
        }
    }

    /// The rows, which end the log.
    pub fn take(&mut self) -> Vec<RacingRow> {
        self.vain += 1;
        if self.vain >= VAIN {
            self.rest = REST;
        }
        std::mem::take(&mut self.rows)
    }

    /// The access as a row, if it can be set aside as far as the two logs are concerned.
    pub fn fits(
        &mut self,
        access: &Access<'_>,
        reads: &ReadLog,
        known: &Known,
        v: &View<'_>,
    ) -> Option<RacingRow> {
        if self.rest > 0 {
            self.rest -= 1;
            return None;
        }
        if self.rows.len() >= ROOM {
            return None;
        }
        let row = RacingRow::of(access, v)?;
        let meets = |(at, old): (usize, &RacingRow)| {
            row.meets_known(old, known, v) || self.is_replaced(at) || self.is_observed(at, &row)
        };
        let meets_read =
            |warp, stamp, read: &SharedRead| row.meets_known_read(warp, stamp, read, known, v);
        (self.rows.iter().enumerate().all(meets) && reads.all_of_few(READS, meets_read))
            .then_some(row)
    }

    /// Whether a strong read is one that the same lanes have made again since: the shadow remembers the later one.
    fn is_replaced(&self, at: usize) -> bool {
        let old = &self.rows[at];
        !old.write && self.rows[at + 1..].iter().any(|later| old.reads_as(later))
    }

    /// Whether each lane has read what a strong write of its warp wrote where the row is about to access it: then it comes after that write in
    /// observation order.
    fn is_observed(&self, at: usize, row: &RacingRow) -> bool {
        let old = &self.rows[at];
        if !old.write || old.order == Order::Weak || old.warp != row.warp {
            return false;
        }
        let half = |first: u32| (first, first + 4 * HALF as u32);
        let others = |later: &&RacingRow| later.write && later.overlaps(old.first.map(half));
        let until = self.rows[at + 1..].iter().position(|later| others(&later));
        let until = until.map_or(self.rows.len(), |n| at + 1 + n);
        self.rows[at + 1..until]
            .iter()
            .any(|later| row.observes_as(later))
    }

    /// Sets a row aside that fits.
    pub fn add(&mut self, row: RacingRow, stores: Option<&dyn StoredValues>) {
        self.rows.push(row);
        let (Some(row), Some(stores)) = (self.rows.last_mut(), stores) else {
            return;
        };
        if row.order == Order::Weak || !row.write {
            return;
        }
        match stores.words() {
            Some(words) => row.values = *words,
            None => {
                for lane in 0..LANES {
                    let (half, number) = (lane / HALF, (lane % HALF) as u64);
                    let at = u64::from(row.first[half]) + 4 * number;
                    let bytes = std::array::from_fn(|k| stores.stored(lane, at + k as u64));
                    row.values[lane] = u32::from_le_bytes(bytes);
                }
            }
        }
    }
}
