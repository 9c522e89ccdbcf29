//! What a launch does to memory before it has waited for the launch that it depends on, for `missing-dependency-wait`.
//!
//! A programmatically dependent launch may begin when the one before has said so (PTX ISA, "griddepcontrol"), and nothing orders the two but
//! `griddepcontrol.wait`. So its accesses are kept in two [footprints](crate::footprint): all of them, for the launch that comes after it, and those
//! of threads that have not waited and come behind nobody who has. The latter are compared with all that the launch before did.
//!
//! A thread comes behind one that has waited if it meets it at a barrier of the block or of the warp afterwards. Blind spots: all who wait at a barrier
//! are taken to come behind all who arrive; and what orders threads otherwise (flags, mbarriers) is not followed, so once somebody of a block has waited,
//! a fence or a complete phase counts as if all of the block had.

use crate::footprint::{Footprint, Recorder};
use simt::ids::*;
use simt::observer::{Access, BlockBarrier, LaunchShape, Space, WarpRef};
use std::collections::HashMap;

/// Watches one launch.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    early: Recorder,
    all: Recorder,
    blocks: HashMap<BlockId, Block>,
}

/// Who of a block has waited.
#[derive(Clone, Debug, Default)]
struct Block {
    /// By warp.
    waited: HashMap<WarpId, Mask>,
    /// Everybody has.
    whole: bool,
}

impl Watch {
    /// For a launch of this shape.
    pub fn begin(shape: &LaunchShape) -> Watch {
        let recorder = || Recorder::default().begin(shape);
        Watch {
            early: recorder(),
            all: recorder(),
            blocks: HashMap::new(),
        }
    }

    /// For another core's share of the same launch.
    pub fn fork(&self) -> Watch {
        Watch {
            early: self.early.fork(),
            all: self.all.fork(),
            blocks: HashMap::new(),
        }
    }

    /// Takes a fork back.
    pub fn merge(&mut self, fork: Watch) {
        self.early.merge(fork.early);
        self.all.merge(fork.all);
    }

    /// See [`simt::observer::Events::dependency_wait`].
    pub fn waits(&mut self, who: WarpRef, mask: Mask) {
        let block = self.blocks.entry(who.block).or_default();
        *block.waited.entry(who.warp).or_default() |= mask;
    }

    /// See [`simt::observer::Events::block_barrier`].
    pub fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let Some(block) = self.blocks.get_mut(&barrier.block) else {
            return;
        };
        let waited = |w: &WarpId, mask: Mask| block.waited.get(w).is_some_and(|m| m & mask != 0);
        if !barrier.arrived.iter().any(|p| waited(&p.warp, p.mask)) {
            return;
        }
        block.whole |= barrier.full;
        for party in barrier.waited {
            *block.waited.entry(party.warp).or_default() |= party.mask;
        }
    }

    /// Lanes of a warp meet.
    pub fn warp_barrier(&mut self, who: WarpRef, lanes: Mask) {
        let block = self.blocks.get_mut(&who.block);
        if let Some(waited) = block.and_then(|b| b.waited.get_mut(&who.warp))
            && *waited & lanes != 0
        {
            *waited |= lanes;
        }
    }

    /// Something may hand on in a block what one of its threads has waited for.
    pub fn hands_on(&mut self, block: BlockId) {
        if let Some(block) = self.blocks.get_mut(&block) {
            block.whole = true;
        }
    }

    /// See [`simt::observer::Events::access`].
    pub fn access(&mut self, access: &Access<'_>) {
        if !matches!(access.space, Space::Global | Space::Const) {
            return;
        }
        self.all.access(access);
        let waited = match self.blocks.get(&access.who.block) {
            Some(block) if block.whole => Mask::MAX,
            Some(block) => block.waited.get(&access.who.warp).copied().unwrap_or(0),
            None => 0,
        };
        let mask = access.mask & !waited;
        if mask != 0 {
            self.early.access(&Access { mask, ..*access });
        }
    }

    /// What the launch did: what came too early to be ordered, and all of it.
    pub fn finish(self) -> (Footprint, Footprint) {
        (self.early.finish(), self.all.finish())
    }
}

#[cfg(test)]
mod tests;
