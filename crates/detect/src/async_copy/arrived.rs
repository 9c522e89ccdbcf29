//! Copies that arrive at an mbarrier. One is complete for the threads that have waited for the phase in which it arrived, for its own thread where
//! that has waited for the copy, and for whatever comes after one of these (PTX ISA, "cp.async.mbarrier.arrive", "mbarrier.test_wait /
//! mbarrier.try_wait"). That the thread has executed the arrival says nothing: it is asynchronous, too.

use super::Pending;
use crate::race;
use crate::race::block::lanes;
use crate::race::clock::Stamp;
use simt::ids::*;
use simt::observer::WarpRef;

/// Copies of a block that are kept.
pub(super) const ROOM: usize = 1024;

/// A copy whose lanes have arrived.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    /// The copy, for these lanes alone.
    pub copy: Pending,
    /// When they did so.
    pub stamp: Stamp,
    /// For each lane, the mbarrier, by its address.
    object: [u64; LANES],
    /// Lanes whose mbarrier has been told.
    tracked: Mask,
    /// Lanes whose phase is complete.
    complete: Mask,
    seen: Vec<Seen>,
}

/// Who has waited.
#[derive(Clone, Copy, Debug)]
struct Seen {
    who: WarpRef,
    /// The lanes that have.
    lanes: Mask,
    /// When.
    stamp: Stamp,
    /// For the copies of which lanes.
    copied: Mask,
    /// Whether each lane has waited for its own copy only.
    each: bool,
}

impl Arrived {
    /// Some lanes of a copy arrive.
    pub fn new(copy: Pending, stamp: Stamp) -> Arrived {
        Arrived {
            copy,
            stamp,
            object: [0; LANES],
            tracked: 0,
            complete: 0,
            seen: Vec::new(),
        }
    }

    /// Where lanes arrive whose mbarrier was not known.
    pub fn at(&mut self, mask: Mask, object: u64) {
        let mask = mask & !self.tracked;
        lanes(mask).for_each(|l| self.object[l as usize] = object);
        self.tracked |= mask;
    }

    /// The phase of an mbarrier is complete in which its lanes have arrived.
    pub fn phase_completes(&mut self, object: u64) {
        self.complete |= self.lanes_at(object);
    }

    fn lanes_at(&self, object: u64) -> Mask {
        let here = |l: &u32| self.object[*l as usize] == object;
        lanes(self.tracked).filter(here).fold(0, |m, l| m | 1 << l)
    }

    /// Lanes of a warp have found a phase of an mbarrier complete.
    pub fn awaited(&mut self, who: WarpRef, by: Mask, object: u64, stamp: Stamp) {
        let copied = self.complete & self.lanes_at(object);
        self.see(Seen {
            who,
            lanes: by,
            stamp,
            copied,
            each: false,
        });
    }

    /// Lanes have waited for their own copies.
    pub fn ends(&mut self, mask: Mask, stamp: Stamp) {
        // Another copy may have replaced what it writes, and not what it reads.
        self.see(Seen {
            who: self.copy.who,
            lanes: mask,
            stamp,
            copied: mask & self.copy.lanes(),
            each: true,
        });
    }

    fn see(&mut self, new: Seen) {
        let known = |old: &Seen| {
            let covers =
                old.lanes & new.lanes == new.lanes && old.copied & new.copied == new.copied;
            covers && old.who == new.who && old.each == new.each
        };
        if new.copied == 0 || self.seen.iter().any(known) {
            return;
        }
        let alike = |old: &&mut Seen| {
            (old.who, old.stamp, old.copied, old.each) == (new.who, new.stamp, new.copied, false)
                && !new.each
        };
        match self.seen.iter_mut().find(alike) {
            Some(old) => old.lanes |= new.lanes,
            None => self.seen.push(new),
        }
    }

    /// Lanes whose copies somebody has waited for.
    pub fn seen(&self) -> Mask {
        self.seen.iter().fold(0, |m, seen| m | seen.copied)
    }

    /// Whether the copy of this lane is complete for what a thread does now.
    pub fn is_complete_for(
        &self,
        copied: u32,
        (who, lane): (WarpRef, u32),
        races: &mut race::Detector,
    ) -> bool {
        let of_it = self.seen.iter().filter(|s| s.copied >> copied & 1 == 1);
        of_it.into_iter().any(|seen| {
            let by = match seen.each {
                true => 1 << copied,
                false => seen.lanes,
            };
            seen.who == who && by >> lane & 1 == 1
                || races.is_after_any((who, lane), (seen.who, by), seen.stamp)
        })
    }

    /// Leaves out lanes, wherever they read and write.
    pub fn forget(&mut self, mask: Mask) {
        let parts = self.copy.reads.iter_mut().chain(&mut self.copy.writes);
        parts.for_each(|part| part.mask &= !mask);
    }

    /// Whether nothing is left of it.
    pub fn is_empty(&self) -> bool {
        self.copy.lanes() == 0
    }
}
