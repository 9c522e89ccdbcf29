//! What a location's value carries from those who release to those who acquire, by how far their scopes reach (PTX ISA, "Release and Acquire
//! Patterns", "Scope").

use super::clock::{Clock, Knowledge};
use super::trie::Trie;
use simt::observer::Scope;

/// Whether a scope reaches beyond the cluster.
pub fn is_wide(scope: Scope) -> bool {
    matches!(scope, Scope::Gpu | Scope::Sys)
}

/// How far a scope reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// To the block.
    Block,
    /// To the blocks of the cluster.
    Cluster,
    /// To all of the launch.
    Grid,
}

impl Reach {
    /// That of a scope.
    pub fn of(scope: Scope) -> Reach {
        match scope {
            Scope::Cta => Reach::Block,
            Scope::Cluster => Reach::Cluster,
            Scope::Gpu | Scope::Sys => Reach::Grid,
        }
    }

    /// All of them.
    pub(super) const ALL: [Reach; 3] = [Reach::Block, Reach::Cluster, Reach::Grid];
}

/// What a location's value carries to those who acquire it.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// From release patterns whose first operation has a wide scope: for everybody who
    /// acquires at a wide scope.
    pub(super) wide: Clock,
    /// From all release patterns, by block: for this block's threads. The releaser's own one, and those of its cluster if the scope reaches them.
    pub(super) by_block: Trie<Clock>,
    /// From all, as if every scope were wide.
    pub(super) ideal: Clock,
}

impl Message {
    /// Whether it carries nothing.
    pub fn is_empty(&self) -> bool {
        self.ideal.is_empty()
    }

    /// Adds another message.
    pub fn join(&mut self, other: &Message) {
        self.wide.join(&other.wide);
        self.by_block.join(&other.by_block);
        self.ideal.join(&other.ideal);
    }

    /// Adds what a thread of a block, of the cluster with these members, released at a scope.
    pub fn release(&mut self, block: u32, members: &[u32], reach: Reach, known: &Knowledge) {
        if reach == Reach::Grid {
            self.wide.join(&known.real);
        }
        self.by_block.raise(block, &known.real);
        if reach != Reach::Block {
            let others = members.iter().filter(|other| **other != block);
            others.for_each(|other| self.by_block.raise(*other, &known.real));
        }
        self.ideal.join(&known.ideal);
    }

    /// The part that passes where a scope is too narrow: none, but for the idea of it.
    pub fn beyond_scope(&self) -> Message {
        Message {
            ideal: self.ideal.clone(),
            ..Message::default()
        }
    }

    /// What a thread of `block` learns when it acquires at a scope (PTX ISA, "Memory
    /// synchronization": the first operation of the release pattern and the last of the
    /// acquire pattern must be morally strong).
    pub(super) fn acquire(&self, block: u32, wide: bool, known: &mut Knowledge) {
        if wide {
            known.real.join(&self.wide);
        }
        if let Some(clock) = self.by_block.get(block) {
            known.real.join(clock);
        }
        known.ideal.join(&self.ideal);
    }
}
