//! Sets of `fence.sc`s, each as what was known when it was executed ([`super::fence_sc`]).

use super::block_clock::BlockClock;
use super::trie::{Join, Trie};

/// What threads did, by block.
pub type Events = Trie<BlockClock>;

/// What fences of the threads of one block knew.
#[derive(Clone, Debug, Default)]
pub(super) struct Near {
    pub(super) events: Events,
    /// What the wide fences before them knew.
    pub(super) wide: Events,
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
    pub(super) wide: Events,
    pub(super) near: Trie<Near>,
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
