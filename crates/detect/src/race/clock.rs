//! Exact vector clocks, sparse and shared: what a thread knows beyond what the
//! barriers of its own block tell it.
//!
//! A [`Clock`] maps blocks to [`BlockClock`]s, these have a floor for the whole
//! block, floors for warps and bounds for single lanes. A *bound* `b` means:
//! every event stamped below `b` is known to have happened before.

pub use super::block_clock::{BlockClock, Stamp};
use super::fences::{Events, Fences};
use super::trie::Join;
use simt::ids::Mask;
use std::sync::Arc;

/// What is known of all blocks, and of their `fence.sc`s.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    events: Events,
    fences: Option<Arc<Fences>>,
}

impl Clock {
    /// Whether it knows nothing.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.fences.is_none()
    }
    /// Whether the two share their nodes, hence are equal.
    pub fn same(&self, other: &Clock) -> bool {
        let fences = match (&self.fences, &other.fences) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a.same(b),
            _ => false,
        };
        fences && self.events.same(&other.events)
    }
    /// Learns all that the other knows; whether that told it anything.
    pub fn join(&mut self, other: &Clock) -> bool {
        let learnt = self.events.join(&other.events);
        let of_fences = match (&mut self.fences, &other.fences) {
            (_, None) => false,
            (none @ None, Some(theirs)) => {
                *none = Some(theirs.clone());
                true
            }
            (Some(ours), Some(theirs)) => {
                !Arc::ptr_eq(ours, theirs) && !ours.same(theirs) && Arc::make_mut(ours).join(theirs)
            }
        };
        learnt || of_fences
    }
    /// Learns of events; whether that told it anything.
    pub fn learn(&mut self, events: &Events) -> bool {
        self.events.join(events)
    }
    /// The events.
    pub fn events(&self) -> &Events {
        &self.events
    }
    /// The `fence.sc`s, if there are any.
    pub fn fences(&self) -> Option<&Fences> {
        self.fences.as_deref()
    }
    /// The `fence.sc`s.
    pub fn fences_mut(&mut self) -> &mut Fences {
        Arc::make_mut(self.fences.get_or_insert_default())
    }
    /// Learns of one block.
    pub fn raise(&mut self, block: u32, known: &BlockClock) {
        self.events.raise(block, known);
    }
    /// The lanes of a warp whose events at `stamp` are known.
    pub fn covered(&self, block: u32, warp: u32, stamp: Stamp) -> Mask {
        self.events.get(block).map_or(0, |b| b.covered(warp, stamp))
    }
}

impl Join for Clock {
    fn join(&mut self, other: &Clock) -> bool {
        Clock::join(self, other)
    }

    fn covers(&self, other: &Clock) -> bool {
        self.events.covers(&other.events)
            && match (&self.fences, &other.fences) {
                (_, None) => true,
                (None, Some(theirs)) => theirs.is_empty(),
                (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs) || ours.covers(theirs),
            }
    }
}

/// A clock as the scopes have it, and as it would be if every scope were wide enough.
///
/// What only the second one orders is a matter of too narrow a scope.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// What has been synchronised.
    pub real: Clock,
    /// What would have been, with all scopes at `.sys`. Never less than `real`.
    pub ideal: Clock,
}

impl Knowledge {
    /// Whether it knows nothing.
    pub fn is_empty(&self) -> bool {
        self.ideal.is_empty()
    }
    /// Whether the two share their nodes.
    pub fn same(&self, other: &Knowledge) -> bool {
        self.real.same(&other.real) && self.ideal.same(&other.ideal)
    }
    /// Learns all that the other knows.
    pub fn join(&mut self, other: &Knowledge) {
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        let shared = self.real.same(&self.ideal) && other.real.same(&other.ideal);
        self.real.join(&other.real);
        if shared {
            self.ideal = self.real.clone();
        } else {
            self.ideal.join(&other.ideal);
        }
    }
    /// A thread of `block` that knew `known` has executed a `fence.sc`.
    pub fn fenced(&mut self, block: u32, wide: bool, known: &Knowledge) {
        self.real.fenced(block, wide, &known.real);
        self.ideal.fenced(block, true, &known.ideal);
    }
    /// A `fence.sc` of a thread of `block`: what it learns from those that must precede it. Whether there was something.
    pub fn fence_learns(&mut self, block: u32, wide: bool) -> bool {
        let real = self.real.fence_learns(block, wide);
        self.ideal.fence_learns(block, true) || real
    }
    /// Whether some `fence.sc` precedes.
    pub fn has_fences(&self) -> bool {
        let fences = self.ideal.fences();
        fences.is_some_and(|f| !f.before.is_empty())
    }
    /// Learns of one block.
    pub fn raise(&mut self, block: u32, known: &BlockClock) {
        let shared = self.real.same(&self.ideal);
        self.real.raise(block, known);
        if shared {
            self.ideal = self.real.clone();
        } else {
            self.ideal.raise(block, known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_covers_what_is_stamped_below_it() {
        let mut clock = Clock::default();
        let mut block = BlockClock::floor(3);
        block.raise_warp(1, 5);
        block.raise_lanes(2, 0b11, 7);
        clock.raise(9, &block);
        assert_eq!(clock.covered(9, 0, 2), u32::MAX);
        assert_eq!(clock.covered(9, 0, 3), 0);
        assert_eq!(clock.covered(9, 1, 4), u32::MAX);
        assert_eq!(clock.covered(9, 2, 6), 0b11);
        assert_eq!(clock.covered(9, 2, 7), 0);
        assert_eq!(clock.covered(8, 0, 0), 0);
    }

    #[test]
    fn joining_what_is_known_keeps_the_nodes() {
        let mut a = Clock::default();
        let mut block = BlockClock::floor(3);
        block.raise_lanes(2, 0b11, 7);
        a.raise(1, &block);
        let mut b = Clock::default();
        b.raise(1, &BlockClock::floor(2));
        let before = a.clone();
        a.join(&b);
        assert!(a.same(&before));
    }
}
