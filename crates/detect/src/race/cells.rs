//! The open half of the shadow: what is remembered of each granule of memory.
//!
//! It holds what does not fit in the packed lines ([`super::lines`]), and takes memory only
//! once there is such a thing. Structure of arrays, so that a warp's access to adjacent memory is a loop over slices
//! that the compiler vectorises. For each granule: the last weak write; the weak readers;
//! and, where the program can make strong accesses, the strong ones.
//!
//! The weak readers ([`super::readers`]) are in one of these states, told by `r_stamp` and the low bits of `r_tag`:
//!
//! | state | means | encoding |
//! |---|---|---|
//! | none | nobody has read | `r_stamp` 0 |
//! | single | some lanes of one warp, at one stamp and instruction | |
//! | twin | the same at two instructions | [`TWIN`]; `r_mask` all lanes, `r_mask2` those of the second |
//! | pair | two or more warps of a block; two are kept | [`PAIR`]; `r_stamp` the earlier of the two, `r_mask2` the second's warp |
//! | far pair | warps of two or more blocks; two of different blocks are kept | [`PAIR`]; `r_stamp` [`FAR`] |
//! | list | everybody, exactly | `r_stamp` [`LIST`], `r_mask` 0, `r_tag` the index |
//!
//! Pairs are used where threads of different warps can only be ordered by the floor that a barrier of the
//! whole block raises ([`View::fine_sync`] is false): then whoever writes later, one of the two is
//! in another warp and as unordered as all those that were forgotten.
//! Blind spot: a reader that exits before a barrier which the others pass stays unordered with them, and may be
//! among the forgotten.

use super::block::View;
use super::clock::Stamp;
use super::entry::{Entry, FAR, LIST, Race, SLOW, Slot, lane_of, site_of, tag};
use super::known::Partners;
use super::line::Line;
use super::reads::Reads;
use super::slab::Slab;
use super::span::LINE;
use super::strong_cell::StrongCell;
use simt::ids::{Mask, Site};

/// In `r_tag`: some of the lanes read at a second instruction.
pub const TWIN: u32 = 1;
/// In `r_tag`: two of several warps.
pub const PAIR: u32 = 2;
/// Stamps stay below this.
pub const LAST_STAMP: Stamp = u32::MAX - 2;

const _: () =
    assert!(size_of::<Line>() == 48 && size_of::<Reads>() == 104 && size_of::<Slot>() == 16);

/// The shadow of a shared-memory window, or of a page of global memory.
///
/// For each granule 1.5 bytes as long as all its lines are packed, and 3.25 more once one has been read twice; once one has been opened,
/// 36 more, 52 where strong accesses are possible, 68 where atomics of several blocks form chains, and what the lists and strong cells take.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    pub(super) lines: Vec<Line>,
    /// Of each line, once one of them has more than one read.
    pub(super) reads: Vec<Reads>,
    has_strong: bool,
    pub(super) w_stamp: Vec<Stamp>,
    pub(super) w_warp: Vec<u32>,
    /// Instruction and lane.
    pub(super) w_tag: Vec<u32>,
    pub(super) r_stamp: Vec<Stamp>,
    pub(super) r_warp: Vec<u32>,
    pub(super) r_mask: Vec<Mask>,
    /// Instruction, [`TWIN`], [`PAIR`].
    pub(super) r_tag: Vec<u32>,
    /// The second of a pair: its warp; of a twin: its lanes.
    pub(super) r_mask2: Vec<u32>,
    /// The second's instruction, and in pairs the lane.
    pub(super) r_tag2: Vec<u32>,
    /// What is strong; none if there can be no strong accesses.
    pub(super) slots: Vec<Slot>,
    /// Of a chain of read-modify-writes that went on from one block to another, the last one of another block than the slot's. None as long
    /// as there is no such chain.
    pub(super) far: Vec<Slot>,
    pub(super) lists: Slab<Vec<Entry>>,
    pub(super) strong: Slab<StrongCell>,
    /// Whether anything but weak reads has happened.
    pub(super) written: bool,
}

/// Lane numbers and bits of the cells of an access to adjacent memory with `K` cells a lane.
struct Lanes<const N: usize> {
    number: [u32; N],
    bit: [u32; N],
}

const fn lane_table<const N: usize>() -> Lanes<N> {
    let mut table = Lanes {
        number: [0; N],
        bit: [0; N],
    };
    let mut i = 0;
    while i < N {
        table.number[i] = (i * 32 / N) as u32;
        table.bit[i] = 1 << (i * 32 / N);
        i += 1;
    }
    table
}

static ONE: Lanes<32> = lane_table();
static TWO: Lanes<64> = lane_table();
static FOUR: Lanes<128> = lane_table();
static EIGHT: Lanes<256> = lane_table();
static SIXTEEN: Lanes<512> = lane_table();
static THIRTY_TWO: Lanes<1024> = lane_table();

/// For each cell of 32 lanes with `cells` adjacent cells each: its lane, and that lane's bit.
pub fn lane_tables(cells: usize) -> (&'static [u32], &'static [u32]) {
    match cells {
        1 => (&ONE.number, &ONE.bit),
        2 => (&TWO.number, &TWO.bit),
        4 => (&FOUR.number, &FOUR.bit),
        8 => (&EIGHT.number, &EIGHT.bit),
        16 => (&SIXTEEN.number, &SIXTEEN.bit),
        _ => (&THIRTY_TWO.number, &THIRTY_TWO.bit),
    }
}

/// What a block's floor covers, as 0 or 1, for loops that the compiler vectorises.
struct Floor<const GLOBAL: bool> {
    block_floor: Stamp,
    first: u32,
    width: u32,
}

impl<const GLOBAL: bool> Floor<GLOBAL> {
    fn of(v: &View<'_>) -> Self {
        Floor {
            block_floor: v.block_floor,
            first: v.first,
            width: v.width,
        }
    }
    /// In shared memory everybody is in the block, or was before it began.
    #[inline(always)]
    fn in_block(&self, warp: u32) -> u32 {
        if GLOBAL {
            u32::from(warp.wrapping_sub(self.first) < self.width)
        } else {
            1
        }
    }
    #[inline(always)]
    fn covers(&self, stamp: Stamp, warp: u32) -> u32 {
        let below = u32::from(stamp < self.block_floor);
        if GLOBAL {
            u32::from(stamp == 0) | self.in_block(warp) & below
        } else {
            below
        }
    }
    /// Whether a pair that the floor does not cover stays as it is when the block reads.
    #[inline(always)]
    fn pair_stays(&self, stamp: Stamp, warp: u32) -> u32 {
        u32::from(stamp == FAR) | self.in_block(warp)
    }
}

impl Cells {
    /// A fresh shadow of `cells` granules; `strong` if there can be strong accesses.
    pub fn new(cells: usize, strong: bool) -> Cells {
        Cells {
            lines: vec![Line::default(); cells.div_ceil(LINE)],
            has_strong: strong,
            ..Cells::default()
        }
    }

    /// Granules.
    pub fn granules(&self) -> usize {
        self.lines.len() * LINE
    }

    /// Makes the arrays, when the first line is opened.
    pub(super) fn make_room(&mut self) {
        if !self.w_stamp.is_empty() {
            return;
        }
        let cells = self.granules();
        for row in [
            &mut self.w_stamp,
            &mut self.w_warp,
            &mut self.w_tag,
            &mut self.r_stamp,
            &mut self.r_warp,
            &mut self.r_mask,
            &mut self.r_tag,
            &mut self.r_mask2,
            &mut self.r_tag2,
        ] {
            *row = vec![0; cells];
        }
        if self.has_strong {
            self.slots = vec![Slot::default(); cells];
        }
    }

    /// A weak read of adjacent cells from `at` on, cell `i` by lane `lane[i]`. An error
    /// means that nothing was done.
    pub fn read_run<const GLOBAL: bool>(
        &mut self,
        at: usize,
        lane: &[u32],
        bit: &[u32],
        v: &View<'_>,
        site: Site,
        known: Partners,
    ) -> Result<(), Race> {
        let n = lane.len();
        let end = at + n;
        let bit = &bit[..n];
        let (me, now, warp_floor) = (v.me, v.now, v.warp_floor);
        let floor = Floor::<GLOBAL>::of(v);
        let tag = tag(site, 0);
        self.strong_run(at, n, v, false)?;
        let mut bad = self.write_hazards::<GLOBAL>(at, lane, v, known);
        let (rs, rw) = (&mut self.r_stamp[at..end], &mut self.r_warp[at..end]);
        let (rm, rt) = (&mut self.r_mask[at..end], &mut self.r_tag[at..end]);
        let (rt2, rm2) = (&mut self.r_tag2[at..end], &mut self.r_mask2[at..end]);
        let regular = u32::from(!v.fine_sync);
        let (mut kept, mut rare) = (1, 0);
        for i in 0..n {
            let dead = floor.covers(rs[i], rw[i]);
            let one = u32::from(rm[i] != 0) & u32::from(rt[i] & PAIR == 0);
            let mine = u32::from(rw[i] == me);
            let own = one & mine;
            let current = own & u32::from(rs[i] == now) & (dead ^ 1);
            let first = u32::from(rt[i] & !31 == tag);
            let replace = own & (u32::from(rs[i] < warp_floor) | u32::from(rm[i] == bit[i]));
            let room = u32::from(rt[i] & TWIN == 0) | u32::from(rt2[i] == tag);
            let fits = current & (first | room);
            let pair = regular & u32::from(rt[i] & PAIR != 0) & floor.pair_stays(rs[i], rw[i]);
            let other = u32::from(rm[i] != 0) & u32::from(rt[i] & (PAIR | TWIN) == 0) & (mine ^ 1);
            let meets = regular & other & floor.in_block(rw[i]) & (dead ^ 1);
            bad |= (dead | replace | fits | pair | meets) ^ 1;
            kept &= pair & (dead ^ 1);
            rare |= current & (first ^ 1) | meets;
        }
        if bad != 0 {
            return Err(Race);
        }
        if kept != 0 {
            return Ok(());
        }
        for i in 0..n {
            let dead = floor.covers(rs[i], rw[i]) != 0;
            let pair = !dead & (rt[i] & PAIR != 0);
            let current = !dead & !pair & (rw[i] == me) & (rs[i] == now);
            if rare != 0 {
                let first = rt[i] & !31 == tag;
                let meets = !dead & !pair & (rw[i] != me);
                let second = current & !first;
                let lanes = if rt[i] & TWIN != 0 { rm2[i] } else { 0 };
                rm2[i] = if meets {
                    me
                } else if second {
                    lanes | bit[i]
                } else if current {
                    lanes & !bit[i]
                } else {
                    rm2[i]
                };
                rt2[i] = if meets {
                    tag | lane[i]
                } else if second {
                    tag
                } else {
                    rt2[i]
                };
                rt[i] |= if meets { PAIR } else { 0 } | if second { TWIN } else { 0 };
                if meets {
                    rs[i] = rs[i].min(now);
                    continue;
                }
            }
            let old = pair | current;
            rm[i] = if pair {
                rm[i]
            } else {
                bit[i] | if current { rm[i] } else { 0 }
            };
            rs[i] = if pair { rs[i] } else { now };
            rw[i] = if pair { rw[i] } else { me };
            rt[i] = if old { rt[i] } else { tag };
        }
        Ok(())
    }

    /// A weak write of adjacent cells; as [`Cells::read_run`].
    pub fn write_run<const GLOBAL: bool>(
        &mut self,
        at: usize,
        lane: &[u32],
        bit: &[u32],
        v: &View<'_>,
        site: Site,
        known: Partners,
    ) -> Result<(), Race> {
        let n = lane.len();
        let end = at + n;
        let bit = &bit[..n];
        let (me, warp_floor) = (v.me, v.warp_floor);
        let floor = Floor::<GLOBAL>::of(v);
        self.strong_run(at, n, v, v.fine_sync)?;
        let mut bad = self.write_hazards::<GLOBAL>(at, lane, v, known);
        let (rs, rw) = (&self.r_stamp[at..end], &self.r_warp[at..end]);
        let (rm, rt) = (&self.r_mask[at..end], &self.r_tag[at..end]);
        let mut races = 0;
        for i in 0..n {
            let own = u32::from(rw[i] == me) & u32::from(rt[i] & PAIR == 0);
            let own = own & (u32::from(rs[i] < warp_floor) | u32::from(rm[i] == bit[i]));
            let ordered = floor.covers(rs[i], rw[i]) | own;
            // One reader, and a known one.
            let one = u32::from(rt[i] & (TWIN | PAIR) == 0) & u32::from(rs[i] < LAST_STAMP);
            let reader = one & known.has(site_of(rt[i]));
            bad |= (ordered | reader) ^ 1;
            races |= ordered ^ 1;
        }
        if bad != 0 {
            return Err(Race);
        }
        if races != 0 {
            // As `add_write` does it.
            self.r_stamp[at..end].fill(0);
            self.r_warp[at..end].fill(0);
            self.r_mask[at..end].fill(0);
            self.r_tag[at..end].fill(0);
        }
        self.written = true;
        self.w_stamp[at..end].fill(v.now);
        self.w_warp[at..end].fill(me);
        for (slot, lane) in self.w_tag[at..end].iter_mut().zip(lane) {
            *slot = tag(site, *lane);
        }
        Ok(())
    }

    /// A weak access of one lane to one cell of an open line that nobody but the lane has accessed, and whose reads are of one instruction: as
    /// [`Cells::add_reader`] or [`Cells::add_write`] remember it. An error means that nothing was done.
    ///
    /// What it brings (`cargo bench --bench instructions -- updates`, one core): records that each thread updates take 330 ns for each
    /// warp-instruction instead of 740; nobody watching, 52.
    #[inline(always)]
    pub fn take_own(
        &mut self,
        at: usize,
        lane: u32,
        read: bool,
        v: &View<'_>,
        site: Site,
    ) -> Result<(), Race> {
        let strong = |slot: &Slot| slot.class != 0 || v.fine_sync;
        if !self.lines[at / LINE].is_open_global(v) || self.slots.get(at).is_some_and(strong) {
            return Err(Race);
        }
        let (me, bit) = (v.me, 1 << lane);
        let own_write =
            self.w_stamp[at] == 0 || self.w_warp[at] == me && lane_of(self.w_tag[at]) == lane;
        let (r_stamp, r_tag) = (self.r_stamp[at], self.r_tag[at]);
        let own_read = r_stamp == 0
            || self.r_warp[at] == me
                && self.r_mask[at] == bit
                && r_tag & (TWIN | PAIR) == 0
                && r_stamp < LIST;
        if !(own_write && own_read) {
            return Err(Race);
        }
        if read {
            let tag = site.0 << 5;
            if r_stamp == v.now && r_tag != tag {
                return Err(Race);
            }
            (self.r_stamp[at], self.r_warp[at]) = (v.now, me);
            (self.r_mask[at], self.r_tag[at]) = (bit, tag);
            return Ok(());
        }
        self.written = true;
        (self.w_stamp[at], self.w_warp[at]) = (v.now, me);
        self.w_tag[at] = tag(site, lane);
        (self.r_stamp[at], self.r_warp[at]) = (0, 0);
        (self.r_mask[at], self.r_tag[at]) = (0, 0);
        Ok(())
    }

    /// 1 if some cell's last weak write may be unordered before the lane's access, and that is not known.
    fn write_hazards<const GLOBAL: bool>(
        &self,
        at: usize,
        lane: &[u32],
        v: &View<'_>,
        known: Partners,
    ) -> u32 {
        let n = lane.len();
        let (ws, ww) = (&self.w_stamp[at..at + n], &self.w_warp[at..at + n]);
        let wt = &self.w_tag[at..at + n];
        let (me, warp_floor) = (v.me, v.warp_floor);
        let floor = Floor::<GLOBAL>::of(v);
        let mut bad = 0;
        for i in 0..n {
            let same = u32::from(ws[i] < warp_floor) | u32::from(lane_of(wt[i]) == lane[i]);
            let own = u32::from(ww[i] == me) & same;
            bad |= (floor.covers(ws[i], ww[i]) | own | known.has(site_of(wt[i]))) ^ 1;
        }
        bad
    }

    /// Whether no strong access matters to a weak one, or at all if `none`.
    fn strong_run(&self, at: usize, n: usize, v: &View<'_>, none: bool) -> Result<(), Race> {
        if self.slots.is_empty() {
            return Ok(());
        }
        let mut bad = 0;
        for slot in &self.slots[at..at + n] {
            let dead =
                !none & (slot.class != SLOW) & v.in_block(slot.warp) & (slot.stamp < v.block_floor);
            bad |= u32::from(!((slot.class == 0) | dead));
        }
        if bad == 0 { Ok(()) } else { Err(Race) }
    }

    /// Whether what came before allows a weak read of one cell by one lane.
    pub fn check_read(&self, at: usize, lane: u32, v: &View<'_>) -> Result<(), Race> {
        self.check_write(at, lane, v)
            .and(self.check_strong_writes(at, lane, v))
    }

    /// Whether what came before allows a weak write of one cell by one lane.
    pub fn check_overwrite(&self, at: usize, lane: u32, v: &View<'_>) -> Result<(), Race> {
        self.check_write(at, lane, v)
            .and(self.check_readers(at, lane, v))
            .and(self.check_strong_writes(at, lane, v))
            .and(self.check_strong_reads(at, lane, v))
    }

    /// Whether all writes are ordered before whatever the block does now.
    pub fn is_quiet(&self, at: usize, v: &View<'_>) -> bool {
        let write = self.w_stamp[at] == 0
            || v.in_block(self.w_warp[at]) && self.w_stamp[at] < v.block_floor;
        write && self.strong_run(at, 1, v, false).is_ok()
    }

    /// Remembers a weak write of one cell by one lane.
    pub fn add_write(&mut self, at: usize, lane: u32, v: &View<'_>, site: Site) {
        self.written = true;
        self.w_stamp[at] = v.now;
        self.w_warp[at] = v.me;
        self.w_tag[at] = tag(site, lane);
        // Whatever is unordered with what came before is unordered with this write too.
        if self.r_stamp[at] == LIST {
            self.lists.remove(site_of(self.r_tag[at]));
        }
        self.r_tag[at] = 0;
        self.r_stamp[at] = 0;
        self.r_mask[at] = 0;
        self.r_warp[at] = 0;
        if v.fine_sync && !self.slots.is_empty() {
            self.break_locations(at, 1, false);
        }
        self.forget_strong(at);
    }

    /// Whether the last weak write is ordered before an access of `lane`.
    pub(super) fn check_write(&self, at: usize, lane: u32, v: &View<'_>) -> Result<(), Race> {
        let tag = self.w_tag[at];
        match v.unordered(lane, self.w_warp[at], 1 << lane_of(tag), self.w_stamp[at]) {
            0 => Ok(()),
            _ => Err(Race),
        }
    }

    /// Whether all weak readers are ordered before a write of `lane`.
    pub(super) fn check_readers(&self, at: usize, lane: u32, v: &View<'_>) -> Result<(), Race> {
        let clean = self
            .readers(at)
            .all(|e| v.unordered(lane, e.warp, e.mask, e.stamp) == 0);
        if clean { Ok(()) } else { Err(Race) }
    }
}
