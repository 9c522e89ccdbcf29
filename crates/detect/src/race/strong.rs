//! Strong accesses: atomics, `volatile`, `relaxed`, `acquire`, `release`.
//!
//! Two strong accesses that are morally strong don't race, so a granule has to remember
//! all that may still meet one that is not: a weak one, one of another size, one whose
//! scope leaves it out. One rule keeps this small: a read-modify-write comes after the
//! write that it reads in observation order, and whoever comes after the
//! read-modify-write comes after both (PTX ISA, "Causality Order"). So along a chain of
//! read-modify-writes of one size and scope, only the last is kept, and the last of
//! another block than that one's, for those whose scope ends at their block.

use super::access_shape::{AccessShape, StrongAccess, morally_strong, scopes_include};
use super::block::View;
use super::cells::Cells;
use super::entry::{Race, SLOW, Slot, lane_of, tag};
use super::strong_cell::{StrongCell, StrongRead, StrongWrite, is_unordered, unordered_readers};
use super::sync::Location;
use simt::ids::Site;
use std::borrow::Cow;

/// What becomes of the values of strong loads, by instruction.
#[derive(Clone, Copy, Debug)]
pub struct Loads<'a> {
    /// See [`simt::observer::LaunchShape::control_only`].
    pub control_only: &'a [bool],
    /// See [`simt::observer::LaunchShape::hands_on`].
    pub hands_on: &'a [bool],
}

impl Loads<'_> {
    /// Whether a load's value only steers branches.
    pub fn steers(&self, site: u32) -> bool {
        self.control_only.get(site as usize) == Some(&true)
    }
    /// Whether a load's value goes on untested.
    pub fn hands_on(&self, site: u32) -> bool {
        self.hands_on.get(site as usize) == Some(&true)
    }
}

impl Cells {
    /// Whether what came before allows a strong access.
    pub fn check_strong(
        &self,
        at: usize,
        a: &StrongAccess,
        v: &View<'_>,
        loads: &Loads<'_>,
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
                            .all(|r| clash_with_read(r, a, v, loads).is_none()))
            }
            // What is morally strong with the last of a chain is so with the one before, too, where its scope reaches that.
            _ if !a.hands_on
                && morally_strong(AccessShape(class), self.slots[at].warp, a.class, v)
                && (a.class.wide() || !self.has_far(at)) =>
            {
                true
            }
            _ => {
                let before = self.before_chain_end(at);
                let mut writes = before.into_iter().chain([self.chain_end(at)]);
                writes.all(|w| clash_with_write(&w, a, v).is_none())
            }
        };
        if clean { Ok(()) } else { Err(Race) }
    }

    /// An atomic that continues the chain in the granule's slot, or begins it, with nothing
    /// weak in sight. A chain whose scope reaches other blocks goes on there, as long as each block continues it once. An error
    /// means that nothing was done.
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
        if !(quiet(self.w_warp[at], self.w_stamp[at]) && quiet(self.r_warp[at], self.r_stamp[at])) {
            return Err(Race);
        }
        let last = self.slots[at];
        let begins = last.class == 0;
        let near = v.in_block(last.warp);
        let continues = last.class == class.0
            && match near {
                // Two of a block would have observed what came from another one, and there is room for one observer.
                true => !self.has_far(at),
                false => class.wide(),
            };
        if !begins && !continues {
            return Err(Race);
        }
        if !begins && !near {
            if self.far.is_empty() {
                self.far = vec![Slot::default(); self.slots.len()];
            }
            self.far[at] = last;
        }
        self.written = true;
        self.slots[at] = Slot {
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
        let chained =
            a.link && class == a.class.0 && v.in_block(self.slots[at].warp) && !self.has_far(at);
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
        let cell = match self.slots[at].class {
            0 => StrongCell::default(),
            _ => self.chain_of(at),
        };
        self.forget_far(at);
        let index = self.strong.insert(cell);
        self.slots[at].class = SLOW;
        self.slots[at].stamp = index;
        index
    }

    /// The last of a chain.
    fn chain_end(&self, at: usize) -> StrongWrite {
        StrongWrite::first(&self.slots[at])
    }

    /// The last one before it of another block, if that is kept; the last of all has observed it.
    fn before_chain_end(&self, at: usize) -> Option<StrongWrite> {
        self.has_far(at)
            .then(|| StrongWrite::observed(&self.far[at], &self.slots[at]))
    }

    /// A chain that is in the slots.
    fn chain_of(&self, at: usize) -> StrongCell {
        match self.before_chain_end(at) {
            None => StrongCell::of(self.chain_end(at)),
            Some(before) => StrongCell::of_two(before, self.chain_end(at)),
        }
    }

    /// Whether [`Cells::before_chain_end`] is kept.
    fn has_far(&self, at: usize) -> bool {
        self.far.get(at).is_some_and(|far| far.class != 0)
    }

    fn forget_far(&mut self, at: usize) {
        if let Some(far) = self.far.get_mut(at) {
            *far = Slot::default();
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
            // Who comes after the last of a chain comes after all of it.
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
            _ => Cow::Owned(self.chain_of(at)),
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
        self.forget_far(at);
    }

    /// Forgets all strong accesses, for a new block in an old window.
    pub fn forget_all_strong(&mut self) {
        self.slots.fill(Slot::default());
        self.far.clear();
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

/// Why two strong accesses that are not ordered can't stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// They overlap partially.
    Extent,
    /// A scope leaves the other thread out.
    Scope,
    /// They are of one warp, and nothing but lockstep orders them.
    Lockstep,
    /// Data passes between warps, and nothing orders it; or both store, and other values.
    Communication,
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
        let loads = !a.writes && !a.class.rmw();
        if w.warp != v.me {
            let late = || a.volatile && v.is_released_to_block(w.warp, 1 << w.lane, w.stamp);
            let other = matches!((w.value, a.value), (Some(x), Some(y)) if x != y);
            return (other || loads && a.hands_on && !late()).then_some(Clash::Communication);
        }
        (loads && !w.class.rmw() && !a.control_only).then_some(Clash::Lockstep)
    })
}

/// Whether a strong write may not follow a strong read as it does.
pub fn clash_with_read(
    r: &StrongRead,
    a: &StrongAccess,
    v: &View<'_>,
    loads: &Loads<'_>,
) -> Option<Clash> {
    let e = r.entry;
    if unordered_readers(r, a.lane, v) == 0 {
        return None;
    }
    clash(r.class, e.warp, a.class, v).or_else(|| {
        if e.warp != v.me {
            let handed_on = !r.class.rmw() && loads.hands_on(e.site);
            return handed_on.then_some(Clash::Communication);
        }
        let plain = !a.class.rmw() && !r.class.rmw();
        (plain && !loads.steers(e.site)).then_some(Clash::Lockstep)
    })
}
