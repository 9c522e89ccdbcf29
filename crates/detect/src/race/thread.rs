//! The exact state of a thread: what it knows beyond the floors of its block, and what it knew at moments that others may learn of.

use super::clock::{BlockClock, Knowledge, Stamp};
use super::message::{Message, Reach};
use std::collections::HashMap;
use std::sync::Arc;

/// What a thread knew at some moment, put together only when it is needed.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) base: Knowledge,
    pub(super) known: Knowledge,
    pub(super) block_floor: Stamp,
    pub(super) warp_floor: Stamp,
    /// Its own events below this are included.
    pub(super) bound: Stamp,
    /// Its own last `fence.sc`.
    pub(super) sc: Option<LastSc>,
}

/// A thread's last `fence.sc`: whether its scope is wide, and what was known then. Those before it are
/// part of what was known.
#[derive(Clone, Debug)]
pub struct LastSc {
    pub(super) wide: bool,
    pub(super) at: Arc<Snapshot>,
}

impl Snapshot {
    /// As one piece.
    pub fn knowledge(&self, block: u32, warp: u32, lane: u32) -> Knowledge {
        let mut all = self.base.clone();
        all.join(&self.known);
        let mut own = BlockClock::floor(self.block_floor);
        self.add_own(&mut own, warp, lane);
        all.raise(block, &own);
        if let Some(sc) = &self.sc {
            let known = sc.at.knowledge(block, warp, lane);
            all.fenced(block, sc.wide, &known);
        }
        all
    }

    fn add_own(&self, own: &mut BlockClock, warp: u32, lane: u32) {
        own.raise_warp(warp, self.warp_floor);
        own.raise_lanes(warp, 1 << lane, self.bound);
    }
}

/// The `fence.sc`s of several threads of a block, put together: what all of them knew counts as known by one, since whoever
/// collects them comes after all.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Those so far.
    all: Knowledge,
    /// A group that knows the same of others: the first of them, and what they did.
    group: Option<(LastSc, BlockClock)>,
}

impl Collected {
    /// Adds the last `fence.sc` of a thread.
    pub fn add(&mut self, block: u32, warp: u32, lane: u32, sc: &LastSc) {
        if let Some((first, own)) = &mut self.group {
            let same = first.wide == sc.wide
                && first.at.block_floor == sc.at.block_floor
                && first.at.base.same(&sc.at.base)
                && first.at.known.same(&sc.at.known);
            if same {
                sc.at.add_own(own, warp, lane);
                return;
            }
        }
        self.end_group(block);
        let mut own = BlockClock::floor(sc.at.block_floor);
        sc.at.add_own(&mut own, warp, lane);
        self.group = Some((sc.clone(), own));
    }

    fn end_group(&mut self, block: u32) {
        if let Some((sc, own)) = self.group.take() {
            let mut known = sc.at.base.clone();
            known.join(&sc.at.known);
            known.raise(block, &own);
            self.all.fenced(block, sc.wide, &known);
        }
    }

    /// What comes after all of them knows.
    pub fn finish(mut self, block: u32) -> Knowledge {
        self.end_group(block);
        self.all
    }
}

/// The last release fence of each width that a thread has executed.
#[derive(Clone, Debug, Default)]
pub struct ReleaseFences([Option<Snapshot>; 3]);

impl ReleaseFences {
    pub(super) fn set(&mut self, reach: Reach, snapshot: Snapshot) {
        self.0[reach as usize] = Some(snapshot);
    }
    /// Whether none was executed.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
    /// What those that reach beyond the block published: for who meets the thread at a barrier of the cluster that orders nothing itself.
    pub fn for_cluster(&self, block: u32, warp: u32, lane: u32) -> Knowledge {
        let mut all = Knowledge::default();
        for reach in [Reach::Cluster, Reach::Grid] {
            if let Some(snapshot) = &self.0[reach as usize] {
                all.join(&snapshot.knowledge(block, warp, lane));
            }
        }
        all
    }

    /// Adds what they published to a message.
    pub(super) fn publish(
        &self,
        (block, members): (u32, &[u32]),
        (warp, lane): (u32, u32),
        message: &mut Message,
    ) {
        for (reach, snapshot) in Reach::ALL.into_iter().zip(&self.0) {
            if let Some(snapshot) = snapshot {
                let known = snapshot.knowledge(block, warp, lane);
                message.release(block, members, reach, &known);
            }
        }
    }
}

/// The exact state of a thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// What it knows beyond the block's floors and base.
    pub known: Knowledge,
    /// Its release fences: a later strong write completes the pattern.
    pub release: ReleaseFences,
    /// Its last `fence.sc`, if no barrier came since.
    pub sc: Option<LastSc>,
    /// What it published by release operations, by location: its later strong writes there
    /// carry it on (PTX ISA, "Release and Acquire Patterns", second form).
    pub(super) releases: HashMap<(u64, Reach), Knowledge>,
    /// What its strong reads have brought, by location: a later acquire fence (or acquire
    /// operation on the location) completes the pattern.
    pub(super) pending: Vec<Pending>,
    /// The read of a location that it has last told of fences, and been told.
    pub(super) met: Option<Met>,
}

impl Thread {
    /// Its strong reads that no acquire has followed, by instruction, each with what an acquire would bring.
    pub fn unacquired(&self, block: u32) -> impl Iterator<Item = (u32, Knowledge)> + '_ {
        self.pending.iter().map(move |pending| {
            let mut known = Knowledge::default();
            pending.message.acquire(block, true, &mut known);
            (pending.site, known)
        })
    }

    /// What an acquire fence would bring now, if anything.
    pub fn would_acquire(&self, block: u32) -> Option<Knowledge> {
        let mut known = Knowledge::default();
        for Pending { message, .. } in &self.pending {
            message.acquire(block, true, &mut known);
        }
        (!known.is_empty()).then_some(known)
    }
}

/// What strong reads of a location have brought.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) name: u64,
    pub(super) message: Message,
    /// The last read, by instruction.
    pub(super) site: u32,
    /// Of the last read, if it was morally strong with the write.
    pub(super) epoch: Option<Arc<()>>,
}

/// A read that would find and leave nothing new if nothing has changed since.
#[derive(Clone, Debug)]
pub(super) struct Met {
    pub(super) name: u64,
    pub(super) epoch: Arc<()>,
    pub(super) base: Knowledge,
    pub(super) known: Knowledge,
    pub(super) sc: Option<LastSc>,
}

impl Met {
    pub(super) fn again(
        &self,
        name: u64,
        epoch: &Arc<()>,
        base: &Knowledge,
        thread: &Thread,
    ) -> bool {
        let sc = match (&self.sc, &thread.sc) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(&a.at, &b.at),
            _ => false,
        };
        sc && self.name == name
            && Arc::ptr_eq(&self.epoch, epoch)
            && self.base.same(base)
            && self.known.same(&thread.known)
    }
}
