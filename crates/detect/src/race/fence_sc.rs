//! The order of `fence.sc`s that communication forces.
//!
//! After the section "Fence-SC Order" and the axioms of the PTX ISA's memory consistency model. Two `fence.sc` that
//! are morally strong are ordered one way or the other, and the first synchronises with the second. Let `F1` precede an access
//! `A` in base causality order, let `A` precede `B` in communication order (at one location), and let `B` precede `F2` in base
//! causality order. Were `F2` before `F1`, then `B` would precede `A` in causality order, which the axioms "Coherence" and "Causality"
//! forbid. So `F1` is before `F2`, whichever happened to run first.
//!
//! Base causality leads through program order, barriers of block and warp, release and acquire. So both halves travel
//! with what a thread knows ([`super::clock::Clock`]): the `fence.sc`s *before* its next access, which it leaves at each location
//! that it accesses; and those that are *due*, that must precede the next `fence.sc` after the accesses that it met there.
//!
//! A fence is kept as what was known when it was executed, which is what another one learns from it. Fences of one reach are joined:
//! *wide* ones (`.gpu`, `.sys`), and by block all those of its threads, whose scope includes each other.
//!
//! Blind spot: from a narrow fence another one learns of the wide fences before it, not of narrow ones in other blocks. What
//! only these would order is reported as unordered.

use super::clock::Clock;
use super::fences::{Events, FenceSet, Near};

impl FenceSet {
    /// Adds a fence of a thread of `block` that knew this.
    fn add(&mut self, block: u32, wide: bool, known: &Clock) {
        if wide {
            self.wide.join(known.events());
        }
        let wide = match known.fences() {
            Some(fences) => fences.before.wide.clone(),
            None => Events::default(),
        };
        let near = Near {
            events: known.events().clone(),
            wide,
        };
        self.near.raise(block, &near);
    }
}

impl Clock {
    /// A thread of `block` that knew `known` has executed a `fence.sc`.
    pub fn fenced(&mut self, block: u32, wide: bool, known: &Clock) {
        self.fences_mut().before.add(block, wide, known);
    }

    /// A `fence.sc` of a thread of `block`: what it learns from those that must precede it. Whether there was something.
    pub fn fence_learns(&mut self, block: u32, wide: bool) -> bool {
        let Some(fences) = self.fences().filter(|f| !f.due.is_empty()) else {
            return false;
        };
        let due = fences.due.clone();
        let near = due.near.get(block);
        let mut learnt = false;
        let mut wide_before = Events::default();
        if wide {
            learnt |= self.learn(&due.wide);
            wide_before.join(&due.wide);
        }
        if let Some(near) = near {
            learnt |= self.learn(&near.events);
            wide_before.join(&near.wide);
        }
        let fences = self.fences_mut();
        fences.before.wide.join(&wide_before);
        if wide {
            fences.due.wide = Events::default();
        }
        learnt
    }
}
