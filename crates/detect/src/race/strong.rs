//! Strong accesses: atomics, `volatile`, `relaxed`, `acquire`, `release`.
//!
//! Two strong accesses that are morally strong don't race, so a granule has to remember
//! all that may still meet one that is not: a weak one, one of another size, one whose
//! scope leaves it out. One rule keeps this small: a read-modify-write comes after the
//! write that it reads in observation order, and whoever comes after the
//! read-modify-write comes after both (PTX ISA, "Causality Order"). So along a chain of
//! read-modify-writes of one size and scope, only the last is kept, and the last of
//! another block than that one's, for those whose scope ends at their block.

use super::block::View;
use super::cells::{Cells, Entry, Race, SLOW, Slot, lane_of, site_of, tag};
use super::clock::Stamp;
use super::sync::Location;
use simt::ids::{Mask, Site};
use std::borrow::Cow;

/// Size, position and scope of a strong access, as far as moral strength needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessShape(pub u16);

const WIDE: u16 = 1 << 3;
const RMW: u16 = 1 << 4;
const PRESENT: u16 = 1 << 15;

impl AccessShape {
    /// Of the granule that is number `position` in an element of `bytes` bytes.
    pub fn new(bytes: u32, position: u32, wide: bool, rmw: bool) -> AccessShape {
        let flags = if wide { WIDE } else { 0 } | if rmw { RMW } else { 0 };
        AccessShape(bytes.trailing_zeros() as u16 | flags | (position as u16) << 5 | PRESENT)
    }
    /// Whether the scope reaches beyond the block.
    pub fn wide(self) -> bool {
        self.0 & WIDE != 0
    }
    /// Whether it is a read-modify-write.
    pub fn rmw(self) -> bool {
        self.0 & RMW != 0
    }
    /// Whether two accesses overlap completely (PTX ISA, "Overlap").
    pub fn same_extent(self, other: AccessShape) -> bool {
        (self.0 ^ other.0) & !(WIDE | RMW) == 0
    }
}

/// A strong write that later accesses may have to be compared with.
#[derive(Clone, Debug)]
pub struct StrongWrite {
    /// Warp, in the shadow's numbering.
    pub warp: u32,
    /// Its lane.
    pub lane: u32,
    /// When.
    pub stamp: Stamp,
    /// The instruction.
    pub site: u32,
    /// Size and scope.
    pub class: AccessShape,
    /// Its number at this granule.
    id: u32,
    /// The latest write that it precedes in observation order, or itself.
    under: u32,
    /// Who observed that.
    seen: Observers,
}

/// The reads that are ordered after something because of what they observed: warp, stamp
/// and lanes, of each lane the earliest.
#[derive(Clone, Debug, Default)]
struct Observers(Vec<(u32, Stamp, Mask)>);

impl Observers {
    fn add(&mut self, lane: u32, v: &View<'_>) {
        let mut slot = None;
        for (i, &(warp, stamp, mask)) in self.0.iter().enumerate() {
            if warp == v.me {
                if mask >> lane & 1 == 1 {
                    return;
                }
                if stamp == v.now {
                    slot = Some(i);
                }
            }
        }
        match slot {
            Some(i) => self.0[i].2 |= 1 << lane,
            None => self.0.push((v.me, v.now, 1 << lane)),
        }
    }
    /// Whether whoever comes after one of these also comes after one of `others`.
    fn imply(&self, others: &Observers) -> bool {
        self.0.iter().all(|&(warp, stamp, mask)| {
            let earlier = others.0.iter().filter(|o| o.0 == warp && o.1 <= stamp);
            mask & !earlier.fold(0, |all, o| all | o.2) == 0
        })
    }
    /// Whether one of them is ordered before an access of `lane`.
    fn before(&self, lane: u32, v: &View<'_>) -> bool {
        self.0
            .iter()
            .any(|&(warp, stamp, mask)| v.unordered(lane, warp, mask, stamp) != mask)
    }
}

/// A strong read that later writes may have to be compared with.
#[derive(Clone, Debug)]
pub struct StrongRead {
    /// Who, when, where.
    pub entry: Entry,
    /// Size and scope.
    pub class: AccessShape,
    /// The latest write that it is known to be ordered before; 0 if there is none.
    under: u32,
}

/// Accesses of one kind that are remembered one by one. Beyond it, those that a later access of the same block is ordered after are
/// forgotten.
const REMEMBERED: usize = 64;

/// Everything strong that happened to a granule, where one slot does not hold it.
#[derive(Clone, Debug, Default)]
pub struct StrongCell {
    /// In the order of the interleaving: the last one is the one whose value is there.
    pub writes: Vec<StrongWrite>,
    /// Sorted by warp.
    pub reads: Vec<StrongRead>,
    /// The number of the latest write.
    latest: u32,
    /// What the locations that start here carry: one of each size.
    pub locations: Vec<Location>,
}

/// Whether an access of the viewing warp's block and an earlier one of `warp` are morally
/// strong, both being strong (PTX ISA, "Morally strong operations").
pub fn morally_strong(theirs: AccessShape, warp: u32, ours: AccessShape, v: &View<'_>) -> bool {
    ours.same_extent(theirs) && scopes_include(theirs, warp, ours, v)
}

/// Whether each one's scope includes the other's thread.
pub fn scopes_include(theirs: AccessShape, warp: u32, ours: AccessShape, v: &View<'_>) -> bool {
    ours.wide() && theirs.wide() || v.in_block(warp)
}

/// One lane's strong access to a granule.
#[derive(Clone, Copy, Debug)]
pub struct StrongAccess {
    /// The lane.
    pub lane: u32,
    /// The instruction.
    pub site: u32,
    /// Size and scope.
    pub class: AccessShape,
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
    /// What it reads only steers branches.
    pub control_only: bool,
    /// It is morally strong with the write whose value is there, the whole of it
    /// (PTX ISA, "Observation Order").
    pub link: bool,
}

impl Cells {
    /// Whether what came before allows a strong access.
    pub fn check_strong(
        &self,
        at: usize,
        a: &StrongAccess,
        v: &View<'_>,
        control_only: &[bool],
    ) -> Result<(), Race> {
        self.check_write(at, a.lane, v)?;
        if a.writes {
            self.check_readers(at, a.lane, v)?;
        }
        let class = self.slots[at].class;
        let clean = match class {
            0 => true,
            SLOW => {
                let cell = self.strong.get(self.slots[at].stamp);
                cell.writes
                    .iter()
                    .all(|w| clash_with_write(w, a, v).is_none())
                    && (!a.writes
                        || cell
                            .reads
                            .iter()
                            .all(|r| clash_with_read(r, a, v, control_only).is_none()))
            }
            _ if morally_strong(AccessShape(class), self.slots[at].warp, a.class, v) => true,
            _ => clash_with_write(&self.chain_end(at), a, v).is_none(),
        };
        if clean { Ok(()) } else { Err(Race) }
    }

    /// An atomic that continues the chain in the granule's slot, or begins it, with nothing
    /// weak in sight. An error means that nothing was done.
    #[inline]
    pub fn chain(
        &mut self,
        at: usize,
        lane: u32,
        class: AccessShape,
        site: Site,
        v: &View<'_>,
    ) -> Result<(), Race> {
        let quiet = |warp, stamp| stamp == 0 || v.in_block(warp) && stamp < v.block_floor;
        let slot = &mut self.slots[at];
        if !(quiet(self.w_warp[at], self.w_stamp[at]) && quiet(self.r_warp[at], self.r_stamp[at]))
            || slot.class != 0 && !(slot.class == class.0 && v.in_block(slot.warp))
        {
            return Err(Race);
        }
        self.written = true;
        *slot = Slot {
            stamp: v.now,
            warp: v.me,
            tag: tag(site, lane),
            class: class.0,
        };
        Ok(())
    }

    /// Remembers a strong access.
    pub fn add_strong(&mut self, at: usize, a: &StrongAccess, v: &View<'_>) {
        self.written = true;
        let class = self.slots[at].class;
        let chained = a.link && class == a.class.0 && v.in_block(self.slots[at].warp);
        if a.writes && a.class.rmw() && (class == 0 || chained) {
            self.slots[at].class = a.class.0;
            self.slots[at].stamp = v.now;
            self.slots[at].warp = v.me;
            self.slots[at].tag = a.site << 5 | a.lane;
        } else {
            let index = self.strong_cell_mut(at);
            self.strong.get_mut(index).add(a, v);
        }
    }

    /// The class of the granule's slot; 0 where there is nothing strong.
    fn class(&self, at: usize) -> u16 {
        self.slots.get(at).map_or(0, |slot| slot.class)
    }

    /// The index of a granule's strong cell, made from its slot on first use.
    pub(super) fn strong_cell_mut(&mut self, at: usize) -> u32 {
        if self.slots[at].class == SLOW {
            return self.slots[at].stamp;
        }
        let mut cell = StrongCell::default();
        if self.slots[at].class != 0 {
            cell.latest = 1;
            cell.writes.push(self.chain_end(at));
        }
        let index = self.strong.insert(cell);
        self.slots[at].class = SLOW;
        self.slots[at].stamp = index;
        index
    }

    fn chain_end(&self, at: usize) -> StrongWrite {
        StrongWrite {
            warp: self.slots[at].warp,
            lane: lane_of(self.slots[at].tag),
            stamp: self.slots[at].stamp,
            site: site_of(self.slots[at].tag),
            class: AccessShape(self.slots[at].class),
            id: 1,
            under: 1,
            seen: Observers::default(),
        }
    }

    /// Whether all strong writes are ordered before a weak access of `lane`.
    pub(super) fn check_strong_writes(
        &self,
        at: usize,
        lane: u32,
        v: &View<'_>,
    ) -> Result<(), Race> {
        let clean = match self.class(at) {
            0 => true,
            SLOW => self
                .strong
                .get(self.slots[at].stamp)
                .writes
                .iter()
                .all(|w| !is_unordered(w, lane, v)),
            _ => {
                let bit = 1 << lane_of(self.slots[at].tag);
                v.unordered(lane, self.slots[at].warp, bit, self.slots[at].stamp) == 0
            }
        };
        if clean { Ok(()) } else { Err(Race) }
    }

    /// Whether all strong reads are ordered before a weak write of `lane`.
    pub(super) fn check_strong_reads(
        &self,
        at: usize,
        lane: u32,
        v: &View<'_>,
    ) -> Result<(), Race> {
        let clean = match self.class(at) {
            SLOW => {
                let cell = self.strong.get(self.slots[at].stamp);
                cell.reads
                    .iter()
                    .all(|r| unordered_readers(r, lane, v) == 0)
            }
            _ => true,
        };
        if clean { Ok(()) } else { Err(Race) }
    }

    /// The strong accesses that are remembered.
    pub(super) fn strong_accesses(&self, at: usize) -> Cow<'_, StrongCell> {
        match self.class(at) {
            0 => Cow::Owned(StrongCell::default()),
            SLOW => Cow::Borrowed(self.strong.get(self.slots[at].stamp)),
            _ => Cow::Owned(StrongCell {
                writes: vec![self.chain_end(at)],
                ..StrongCell::default()
            }),
        }
    }

    /// A weak write replaces the value and dominates what came before.
    pub(super) fn forget_strong(&mut self, at: usize) {
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        let old = std::mem::take(slot);
        if old.class == SLOW {
            self.strong.remove(old.stamp);
        }
    }

    /// Forgets all strong accesses, for a new block in an old window.
    pub fn forget_all_strong(&mut self) {
        self.slots.fill(Slot::default());
        self.strong = Default::default();
        self.nothing_strong();
    }

    /// What a location carries, taken out.
    pub(super) fn take_location(&mut self, at: usize, cells: u32) -> Option<Location> {
        if self.slots[at].class != SLOW {
            return None;
        }
        let all = &mut self.strong.get_mut(self.slots[at].stamp).locations;
        let index = all.iter().position(|l| l.cells == cells)?;
        Some(all.swap_remove(index))
    }

    /// Puts back what a location carries.
    pub(super) fn put_location(&mut self, at: usize, location: Location) {
        let index = self.strong_cell_mut(at);
        self.strong.get_mut(index).locations.push(location);
    }

    /// `n` granules from `at` on are about to be written: locations that overlap them,
    /// other than the one that is just these if `keep`, carry nothing any more.
    pub(super) fn break_locations(&mut self, at: usize, n: usize, keep: bool) {
        // No element is larger than 16 granules.
        for start in at.saturating_sub(15)..at + n {
            if self.slots[start].class != SLOW {
                continue;
            }
            let all = &mut self.strong.get_mut(self.slots[start].stamp).locations;
            all.retain(|l| {
                let cells = l.cells as usize;
                start + cells <= at || keep && start == at && cells == n
            });
        }
    }

    /// Whether an access of this class reads the value of a write it is morally strong with.
    pub(super) fn links(&self, at: usize, class: AccessShape, v: &View<'_>) -> bool {
        match self.slots[at].class {
            0 => false,
            SLOW => {
                let last = self.strong.get(self.slots[at].stamp).writes.last();
                last.is_some_and(|w| morally_strong(w.class, w.warp, class, v))
            }
            theirs => morally_strong(AccessShape(theirs), self.slots[at].warp, class, v),
        }
    }
}

/// Whether a strong write is ordered before an access of `lane`: by happens-before, or
/// because a read that observed it is.
pub fn is_unordered(w: &StrongWrite, lane: u32, v: &View<'_>) -> bool {
    v.unordered(lane, w.warp, 1 << w.lane, w.stamp) != 0 && !w.seen.before(lane, v)
}

/// The lanes of a strong read that are not ordered before an access of `lane`. Nothing comes after a read in observation order.
pub fn unordered_readers(r: &StrongRead, lane: u32, v: &View<'_>) -> Mask {
    let e = r.entry;
    v.unordered(lane, e.warp, e.mask, e.stamp)
}

/// Why two strong accesses that are not ordered can't stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// They overlap partially.
    Extent,
    /// A scope leaves the other thread out.
    Scope,
    /// They are of one warp, and nothing but lockstep orders them.
    Lockstep,
}

fn clash(theirs: AccessShape, warp: u32, ours: AccessShape, v: &View<'_>) -> Option<Clash> {
    if !ours.same_extent(theirs) {
        Some(Clash::Extent)
    } else if !scopes_include(theirs, warp, ours, v) {
        Some(Clash::Scope)
    } else {
        None
    }
}

/// Whether a strong access may not follow a strong write as it does.
pub fn clash_with_write(w: &StrongWrite, a: &StrongAccess, v: &View<'_>) -> Option<Clash> {
    if !is_unordered(w, a.lane, v) {
        return None;
    }
    clash(w.class, w.warp, a.class, v).or_else(|| {
        let plain = !a.writes && !a.class.rmw() && !w.class.rmw();
        (plain && w.warp == v.me && !a.control_only).then_some(Clash::Lockstep)
    })
}

/// Whether a strong write may not follow a strong read as it does.
pub fn clash_with_read(
    r: &StrongRead,
    a: &StrongAccess,
    v: &View<'_>,
    control_only: &[bool],
) -> Option<Clash> {
    let e = r.entry;
    if unordered_readers(r, a.lane, v) == 0 {
        return None;
    }
    clash(r.class, e.warp, a.class, v).or_else(|| {
        let steers = control_only
            .get(e.site as usize)
            .copied()
            .unwrap_or_default();
        let plain = !a.class.rmw() && !r.class.rmw();
        (plain && e.warp == v.me && !steers).then_some(Clash::Lockstep)
    })
}

impl StrongCell {
    fn add(&mut self, a: &StrongAccess, v: &View<'_>) {
        if a.reads && a.link {
            self.observe(a.lane, v);
        }
        if a.writes {
            self.add_write(a, v);
        } else {
            self.add_read(a, v);
        }
    }

    /// The reading lane comes after the write whose value it reads, in observation order,
    /// and after what that observed.
    fn observe(&mut self, lane: u32, v: &View<'_>) {
        let last = self.writes.last().expect("a write to read from").id;
        for w in self.writes.iter_mut().filter(|w| w.under == last) {
            if (w.warp, w.lane) != (v.me, lane) {
                w.seen.add(lane, v);
            }
        }
    }

    /// Adds a write. What it observed, if it is a read-modify-write, goes under it and is dropped where it is of the same class and
    /// block: who is unordered with it, is unordered with the new write in the same way. What is only ordered before it stays: whoever
    /// observes the new write comes after that one alone (PTX ISA, "Causality Order").
    fn add_write(&mut self, a: &StrongAccess, v: &View<'_>) {
        self.latest += 1;
        let id = self.latest;
        let observed = match self.writes.last() {
            Some(w) if a.reads && a.link => w.id,
            _ => 0,
        };
        // The last write, if it is of another block and read: it stays, and stands for what
        // is under it.
        let far = match self.writes.last() {
            Some(w) if observed != 0 && !v.in_block(w.warp) => w.id,
            _ => 0,
        };
        let many = self.writes.len() > REMEMBERED;
        self.writes.retain_mut(|w| {
            if is_unordered(w, a.lane, v) {
                return true;
            }
            let observed = observed != 0 && w.under == observed;
            // Lanes of a warp may clash with a plain one where others don't.
            let near = v.in_block(w.warp) && (w.class.rmw() || w.warp == v.me);
            let stood_for = near && (observed || many) || w.under == far && w.id != far;
            // Whoever observes a read-modify-write comes after what that observed.
            if observed {
                w.under = id;
            }
            w.class != a.class || !stood_for
        });
        self.forget_implied(id);
        self.put_reads_under(id, far, a, v);
        self.writes.push(StrongWrite {
            warp: v.me,
            lane: a.lane,
            stamp: v.now,
            site: a.site,
            class: a.class,
            id,
            under: id,
            seen: Observers::default(),
        });
    }

    /// Of the writes of one thread that nobody will observe any more, as `latest` has replaced them, a later one stands for an earlier
    /// one if who comes after the later one comes after the earlier one.
    fn forget_implied(&mut self, latest: u32) {
        let mut at = 0;
        while at < self.writes.len() {
            let w = &self.writes[at];
            let stands = |later: &StrongWrite| {
                (later.warp, later.lane, later.class) == (w.warp, w.lane, w.class)
                    && later.under != latest
                    && later.seen.imply(&w.seen)
            };
            match w.under != latest && self.writes[at + 1..].iter().any(stands) {
                true => drop(self.writes.remove(at)),
                false => at += 1,
            }
        }
    }

    fn put_reads_under(&mut self, id: u32, far: u32, a: &StrongAccess, v: &View<'_>) {
        let mut split = Vec::new();
        let many = self.reads.len() > REMEMBERED;
        self.reads.retain_mut(|r| {
            let left = unordered_readers(r, a.lane, v);
            let e = &mut r.entry;
            if left == e.mask {
                return true;
            }
            let stood_for = v.in_block(e.warp) || far != 0 && r.under == far;
            let drop = many && r.class == a.class && r.class.rmw() && stood_for;
            if left == 0 {
                r.under = id;
                return !drop;
            }
            if !drop {
                let mut after = r.clone();
                after.entry.mask &= !left;
                after.under = id;
                split.push(after);
            }
            r.entry.mask = left;
            true
        });
        for r in split {
            let at = self
                .reads
                .partition_point(|other| other.entry.warp < r.entry.warp);
            self.reads.insert(at, r);
        }
    }

    fn add_read(&mut self, a: &StrongAccess, v: &View<'_>) {
        let bit = 1 << a.lane;
        let from = self.reads.partition_point(|r| r.entry.warp < v.me);
        let to = self.reads.partition_point(|r| r.entry.warp <= v.me);
        let mut same = None;
        let mut spent = false;
        for (i, r) in self.reads[from..to].iter_mut().enumerate() {
            if r.class != a.class {
                continue;
            }
            let e = &mut r.entry;
            if e.stamp == v.now && e.site == a.site && r.under == 0 {
                same = Some(from + i);
                e.mask |= bit;
            } else {
                e.mask &= !bit;
                spent |= e.mask == 0;
            }
        }
        if same.is_none() {
            self.reads.insert(
                to,
                StrongRead {
                    entry: Entry {
                        warp: v.me,
                        stamp: v.now,
                        mask: bit,
                        site: a.site,
                    },
                    class: a.class,
                    under: 0,
                },
            );
        }
        if spent {
            self.reads.retain(|r| r.entry.mask != 0);
        }
    }
}
