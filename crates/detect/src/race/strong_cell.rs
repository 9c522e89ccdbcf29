//! What is remembered of the strong accesses to a granule where one slot does not hold it.

use super::access_shape::{AccessShape, StrongAccess};
use super::block::View;
use super::clock::Stamp;
use super::entry::{Entry, Slot, lane_of, site_of};
use super::sync::Location;
use simt::ids::Mask;

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
    /// What it stored, if it is a store and that is known.
    pub value: Option<u64>,
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

impl StrongWrite {
    /// The first one that a granule remembers.
    pub(super) fn first(slot: &Slot) -> StrongWrite {
        StrongWrite {
            warp: slot.warp,
            lane: lane_of(slot.tag),
            stamp: slot.stamp,
            site: site_of(slot.tag),
            class: AccessShape(slot.class),
            value: None,
            id: 1,
            under: 1,
            seen: Observers::default(),
        }
    }

    /// One that a later one has observed, which is [`StrongCell::of_two`]'s second.
    pub(super) fn observed(slot: &Slot, by: &Slot) -> StrongWrite {
        StrongWrite {
            under: 2,
            seen: Observers(vec![(by.warp, by.stamp, 1 << lane_of(by.tag))]),
            ..StrongWrite::first(slot)
        }
    }
}

impl StrongCell {
    /// A cell with its first write.
    pub fn of(write: StrongWrite) -> StrongCell {
        StrongCell {
            latest: write.id,
            writes: vec![write],
            ..StrongCell::default()
        }
    }

    /// A cell with its first two writes, of which the second has observed the first.
    pub(super) fn of_two(first: StrongWrite, second: StrongWrite) -> StrongCell {
        let second = StrongWrite {
            id: 2,
            under: 2,
            ..second
        };
        StrongCell {
            latest: second.id,
            writes: vec![first, second],
            ..StrongCell::default()
        }
    }

    /// Remembers an access.
    pub fn add(&mut self, a: &StrongAccess, v: &View<'_>) {
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
            value: a.value,
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
