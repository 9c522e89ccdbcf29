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

use super::clock::{BlockClock, Clock};
use super::trie::{Join, Trie};

/// What threads did, by block.
pub type Events = Trie<BlockClock>;

/// What fences of the threads of one block knew.
#[derive(Clone, Debug, Default)]
struct Near {
    events: Events,
    /// What the wide fences before them knew.
    wide: Events,
}

impl Join for Near {
    fn join(&mut self, other: &Near) -> bool {
        let events = self.events.join(&other.events);
        self.wide.join(&other.wide) || events
    }

    fn covers(&self, other: &Near) -> bool {
        self.events.covers(&other.events) && self.wide.covers(&other.wide)
    }
}

/// What some fences knew when they were executed.
#[derive(Clone, Debug, Default)]
pub struct FenceSet {
    wide: Events,
    near: Trie<Near>,
}

impl FenceSet {
    /// Whether there is no fence in it.
    pub fn is_empty(&self) -> bool {
        self.wide.is_empty() && self.near.is_empty()
    }

    /// Adds the fences of another set; whether that told it anything.
    pub fn join(&mut self, other: &FenceSet) -> bool {
        let wide = self.wide.join(&other.wide);
        self.near.join(&other.near) || wide
    }

    fn covers(&self, other: &FenceSet) -> bool {
        self.wide.covers(&other.wide) && self.near.covers(&other.near)
    }

    fn same(&self, other: &FenceSet) -> bool {
        self.wide.same(&other.wide) && self.near.same(&other.near)
    }

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

/// The `fence.sc`s that matter to a thread.
#[derive(Clone, Debug, Default)]
pub struct Fences {
    /// Those that precede it in base causality order.
    pub before: FenceSet,
    /// Those that must precede its next one.
    pub due: FenceSet,
}

impl Fences {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.due.is_empty()
    }
    /// Adds what another thread knows; whether that told it anything.
    pub fn join(&mut self, other: &Fences) -> bool {
        let before = self.before.join(&other.before);
        self.due.join(&other.due) || before
    }
    /// Whether another thread knows no more.
    pub fn covers(&self, other: &Fences) -> bool {
        self.before.covers(&other.before) && self.due.covers(&other.due)
    }
    /// Whether the two share their nodes.
    pub fn same(&self, other: &Fences) -> bool {
        self.before.same(&other.before) && self.due.same(&other.due)
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
