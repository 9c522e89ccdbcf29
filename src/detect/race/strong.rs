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
use super::cells::{Cells, Entry, Race, SLOW, lane_of, site_of};
use super::clock::Stamp;
use super::sync::Location;
use crate::simt::ids::Mask;

/// Size, position and scope of a strong access, as far as moral strength needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class(pub u16);

const WIDE: u16 = 1 << 3;
const RMW: u16 = 1 << 4;
const PRESENT: u16 = 1 << 15;

impl Class {
    /// Of the granule that is number `position` in an element of `bytes` bytes.
    pub fn new(bytes: u32, position: u32, wide: bool, rmw: bool) -> Class {
        let flags = if wide { WIDE } else { 0 } | if rmw { RMW } else { 0 };
        Class(bytes.trailing_zeros() as u16 | flags | (position as u16) << 5 | PRESENT)
    }
    /// Whether the scope reaches beyond the block.
    pub fn wide(self) -> bool {
        self.0 & WIDE != 0
    }
    /// Whether it is a read-modify-write.
    pub fn rmw(self) -> bool {
        self.0 & RMW != 0
    }
    /// The granule's number in its element.
    pub fn position(self) -> u32 {
        u32::from(self.0 >> 5 & 31)
    }
    /// Whether two accesses overlap completely (PTX ISA, "Overlap").
    pub fn same_extent(self, other: Class) -> bool {
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
    pub class: Class,
    /// Writes of one chain of read-modify-writes have one number.
    chain: u32,
    /// The reads that come after it in observation order: for each lane the earliest.
    seen: Vec<(u32, Stamp, Mask)>,
}

/// A strong read that later writes may have to be compared with.
#[derive(Clone, Copy, Debug)]
pub struct StrongRead {
    /// Who, when, where.
    pub entry: Entry,
    /// Size and scope.
    pub class: Class,
}

/// Everything strong that happened to a granule, where one slot does not hold it.
#[derive(Clone, Debug, Default)]
pub struct StrongCell {
    /// In the order of the interleaving: the last one is the one whose value is there.
    pub writes: Vec<StrongWrite>,
    /// Sorted by warp.
    pub reads: Vec<StrongRead>,
    chains: u32,
    /// What the location that starts here carries.
    pub location: Option<Box<Location>>,
}

/// Whether an access of the viewing warp's block and an earlier one of `warp` are morally
/// strong, both being strong (PTX ISA, "Morally strong operations").
pub fn morally_strong(theirs: Class, warp: u32, ours: Class, v: &View<'_>) -> bool {
    ours.same_extent(theirs) && scopes_include(theirs, warp, ours, v)
}

/// Whether each one's scope includes the other's thread.
pub fn scopes_include(theirs: Class, warp: u32, ours: Class, v: &View<'_>) -> bool {
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
    pub class: Class,
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
        let class = self.s_class[at];
        let clean = match class {
            0 => true,
            SLOW => {
                let cell = self.strong.get(self.s_stamp[at]);
                cell.writes
                    .iter()
                    .all(|w| clash_with_write(w, a, v).is_none())
                    && (!a.writes
                        || cell
                            .reads
                            .iter()
                            .all(|r| clash_with_read(r, a, v, control_only).is_none()))
            }
            _ if morally_strong(Class(class), self.s_warp[at], a.class, v) => true,
            _ => clash_with_write(&self.chain_end(at), a, v).is_none(),
        };
        if clean { Ok(()) } else { Err(Race) }
    }

    /// Remembers a strong access.
    pub fn add_strong(&mut self, at: usize, a: &StrongAccess, v: &View<'_>) {
        self.written = true;
        let class = self.s_class[at];
        let chained = a.link && class == a.class.0 && v.in_block(self.s_warp[at]);
        if a.writes && a.class.rmw() && (class == 0 || chained) {
            self.s_class[at] = a.class.0;
            self.s_stamp[at] = v.now;
            self.s_warp[at] = v.me;
            self.s_tag[at] = a.site << 5 | a.lane;
        } else {
            let index = self.strong_cell_mut(at);
            self.strong.get_mut(index).add(a, v);
        }
    }

    /// The index of a granule's strong cell, made from its slot on first use.
    pub(super) fn strong_cell_mut(&mut self, at: usize) -> u32 {
        if self.s_class[at] == SLOW {
            return self.s_stamp[at];
        }
        let mut cell = StrongCell::default();
        if self.s_class[at] != 0 {
            cell.writes.push(self.chain_end(at));
        }
        let index = self.strong.insert(cell);
        self.s_class[at] = SLOW;
        self.s_stamp[at] = index;
        index
    }

    fn chain_end(&self, at: usize) -> StrongWrite {
        StrongWrite {
            warp: self.s_warp[at],
            lane: lane_of(self.s_tag[at]),
            stamp: self.s_stamp[at],
            site: site_of(self.s_tag[at]),
            class: Class(self.s_class[at]),
            chain: 0,
            seen: Vec::new(),
        }
    }

    /// Whether all strong writes are ordered before a weak access of `lane`.
    pub(super) fn check_strong_writes(
        &self,
        at: usize,
        lane: u32,
        v: &View<'_>,
    ) -> Result<(), Race> {
        let clean = match self.s_class.get(at) {
            None | Some(0) => true,
            Some(&SLOW) => self
                .strong
                .get(self.s_stamp[at])
                .writes
                .iter()
                .all(|w| !is_unordered(w, lane, v)),
            Some(_) => {
                let bit = 1 << lane_of(self.s_tag[at]);
                v.unordered(lane, self.s_warp[at], bit, self.s_stamp[at]) == 0
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
        let clean = match self.s_class.get(at) {
            Some(&SLOW) => self
                .strong
                .get(self.s_stamp[at])
                .reads
                .iter()
                .all(|r| v.unordered(lane, r.entry.warp, r.entry.mask, r.entry.stamp) == 0),
            _ => true,
        };
        if clean { Ok(()) } else { Err(Race) }
    }

    /// The strong accesses that are remembered.
    pub(super) fn strong_accesses(&self, at: usize) -> (Vec<StrongWrite>, Vec<StrongRead>) {
        match self.s_class.get(at) {
            None | Some(0) => (Vec::new(), Vec::new()),
            Some(&SLOW) => {
                let cell = self.strong.get(self.s_stamp[at]);
                (cell.writes.clone(), cell.reads.clone())
            }
            Some(_) => (vec![self.chain_end(at)], Vec::new()),
        }
    }

    /// A weak write replaces the value and dominates what came before.
    pub(super) fn forget_strong(&mut self, at: usize) {
        let Some(class) = self.s_class.get_mut(at) else {
            return;
        };
        if *class == SLOW {
            self.strong.remove(self.s_stamp[at]);
        }
        *class = 0;
        self.s_stamp[at] = 0;
    }

    /// Forgets all strong accesses, for a new block in an old window.
    pub fn forget_all_strong(&mut self) {
        self.s_class.fill(0);
        self.s_stamp.fill(0);
        self.strong = Default::default();
    }

    /// What the location that starts at a granule carries, taken out.
    pub(super) fn take_location(&mut self, at: usize) -> Option<Box<Location>> {
        match self.s_class[at] {
            SLOW => self.strong.get_mut(self.s_stamp[at]).location.take(),
            _ => None,
        }
    }

    /// Puts back what a location carries.
    pub(super) fn put_location(&mut self, at: usize, location: Box<Location>) {
        let index = self.strong_cell_mut(at);
        self.strong.get_mut(index).location = Some(location);
    }

    /// A strong write of this class is about to replace part of the value of a location of
    /// another size or position, which then carries nothing any more.
    pub(super) fn break_location(&mut self, at: usize, class: Class) {
        let last = match self.s_class[at] {
            SLOW => match self.strong.get(self.s_stamp[at]).writes.last() {
                Some(w) => w.class,
                None => return,
            },
            0 => return,
            class => Class(class),
        };
        if !last.same_extent(class) {
            self.take_location(at - last.position() as usize);
        }
    }

    /// Whether an access of this class reads the value of a write it is morally strong with.
    pub(super) fn links(&self, at: usize, class: Class, v: &View<'_>) -> bool {
        match self.s_class[at] {
            0 => false,
            SLOW => {
                let last = self.strong.get(self.s_stamp[at]).writes.last();
                last.is_some_and(|w| morally_strong(w.class, w.warp, class, v))
            }
            theirs => morally_strong(Class(theirs), self.s_warp[at], class, v),
        }
    }
}

/// Whether a strong write is ordered before an access of `lane`: by happens-before, or
/// because a read that observed it is.
pub fn is_unordered(w: &StrongWrite, lane: u32, v: &View<'_>) -> bool {
    v.unordered(lane, w.warp, 1 << w.lane, w.stamp) != 0
        && w.seen
            .iter()
            .all(|&(warp, stamp, mask)| v.unordered(lane, warp, mask, stamp) == mask)
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

fn clash(theirs: Class, warp: u32, ours: Class, v: &View<'_>) -> Option<Clash> {
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
    if v.unordered(a.lane, e.warp, e.mask, e.stamp) == 0 {
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

    /// The reading lane comes after the current value's chain in observation order.
    fn observe(&mut self, lane: u32, v: &View<'_>) {
        let chain = self.writes.last().expect("a write to read from").chain;
        for w in self.writes.iter_mut().filter(|w| w.chain == chain) {
            if (w.warp, w.lane) == (v.me, lane) {
                continue;
            }
            let known = w
                .seen
                .iter()
                .any(|&(warp, _, mask)| warp == v.me && mask >> lane & 1 == 1);
            if known {
                continue;
            }
            match w
                .seen
                .iter_mut()
                .find(|(warp, stamp, _)| (*warp, *stamp) == (v.me, v.now))
            {
                Some((_, _, mask)) => *mask |= 1 << lane,
                None => w.seen.push((v.me, v.now, 1 << lane)),
            }
        }
    }

    fn add_write(&mut self, a: &StrongAccess, v: &View<'_>) {
        let me = (v.me, a.lane);
        let chained = a.reads && a.link;
        let chain = match self.writes.last() {
            Some(last) if chained => last.chain,
            _ => {
                self.chains += 1;
                self.chains
            }
        };
        let last = self.writes.len().wrapping_sub(1);
        match self.writes.last() {
            Some(w) if !chained || w.class != a.class => {}
            Some(w) if v.in_block(w.warp) => {
                self.writes.pop();
            }
            _ => {
                let mut index = 0;
                self.writes.retain(|w| {
                    index += 1;
                    index > last || w.chain != chain || w.class != a.class
                });
            }
        }
        // What the thread did before is ordered before this, and of the same kind.
        self.writes
            .retain(|w| (w.warp, w.lane) != me || w.class != a.class);
        if !v.global {
            self.writes
                .retain(|w| w.stamp >= v.block_floor || w.chain == chain);
        }
        self.writes.push(StrongWrite {
            warp: v.me,
            lane: a.lane,
            stamp: v.now,
            site: a.site,
            class: a.class,
            chain,
            seen: Vec::new(),
        });
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
            if e.stamp == v.now && e.site == a.site {
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
                },
            );
        }
        if spent {
            self.reads.retain(|r| r.entry.mask != 0);
        }
    }
}
