//! What the threads of a resident block know of each other: stamps, floors, and
//! exact clocks where those don't suffice.

use super::clock::{BlockClock, Knowledge, Stamp};
use super::thread::{Collected, Snapshot, Thread};
use simt::ids::Mask;
use simt::observer::{BlockBarrier, Party};

/// A warp of a resident block.
#[derive(Clone, Copy, Debug)]
pub struct Warp {
    /// Stamp of its current events.
    pub now: Stamp,
    /// Its events below this are ordered before whatever its threads do next.
    pub floor: Stamp,
    /// Lanes that exist.
    pub exists: Mask,
    /// Lanes that have touched memory since the block's floor was raised.
    pub touched: Mask,
    /// Lanes that exited.
    pub exited: Mask,
}

/// A resident block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its index in the grid.
    pub id: u32,
    /// The blocks of its cluster, where there are several.
    pub members: Vec<u32>,
    /// Events in the block below this are ordered before whatever it does next.
    pub floor: Stamp,
    /// Its warps.
    pub warps: Vec<Warp>,
    /// What all its threads know beyond the floors.
    pub base: Knowledge,
    /// What single threads know beyond that; empty until one of them does.
    pub threads: Vec<Thread>,
    /// Whether some thread's [`Thread::known`] is not empty.
    dirty: bool,
    /// Whether some thread's [`Thread::sc`] may be there.
    pub fenced: bool,
    /// Whether a thread has learnt something of others by what it read, or by `fence.sc`.
    pub communicated: bool,
    /// A thread has exited after touching memory that no barrier has ordered since.
    uncovered: bool,
    /// What those who executed `bar.arrive` published, by barrier.
    arrivals: Vec<(u32, Knowledge)>,
}

impl Block {
    /// A fresh block of `threads` threads whose stamps start above `stamp`.
    pub fn begin(&mut self, id: u32, threads: u32, stamp: Stamp) {
        let floor = stamp + 1;
        *self = Block {
            id,
            floor,
            warps: std::mem::take(&mut self.warps),
            ..Block::default()
        };
        self.warps.clear();
        self.warps
            .extend((0..threads.div_ceil(32)).map(|warp| Warp {
                now: floor,
                floor,
                exists: match threads - warp * 32 {
                    0..32 => (1 << (threads % 32)) - 1,
                    _ => u32::MAX,
                },
                touched: 0,
                exited: 0,
            }));
    }

    /// The largest stamp in use.
    pub fn latest(&self) -> Stamp {
        self.warps.iter().map(|w| w.now).max().unwrap_or(0)
    }

    /// The exact state of a thread, made on first use.
    pub fn thread_mut(&mut self, warp: u32, lane: u32) -> &mut Thread {
        if self.threads.is_empty() {
            self.threads
                .resize_with(self.warps.len() * 32, Thread::default);
        }
        &mut self.threads[(warp * 32 + lane) as usize]
    }

    /// The exact state of a thread, if any thread of the block has some.
    pub fn thread(&self, warp: u32, lane: u32) -> Option<&Thread> {
        self.threads.get((warp * 32 + lane) as usize)
    }

    /// What a thread knows now, its current stamp included.
    pub fn snapshot(&self, warp: u32, lane: u32) -> Snapshot {
        let w = &self.warps[warp as usize];
        let thread = self.thread(warp, lane);
        Snapshot {
            base: self.base.clone(),
            known: thread.map(|t| t.known.clone()).unwrap_or_default(),
            block_floor: self.floor,
            warp_floor: w.floor,
            bound: w.now + 1,
            sc: thread.and_then(|t| t.sc.clone()),
        }
    }

    /// To be called when a thread has learnt something by itself.
    pub fn learnt(&mut self) {
        self.dirty = true;
    }

    /// Lanes exited.
    pub fn exits(&mut self, warp: u32, mask: Mask) {
        let w = &mut self.warps[warp as usize];
        w.exited |= mask;
        self.uncovered |= w.touched & mask != 0;
        if !self.threads.is_empty() {
            // Nobody learns from it any more.
            for lane in lanes(mask) {
                let thread = self.thread_mut(warp, lane);
                thread.known = Knowledge::default();
                thread.sc = None;
            }
        }
    }

    /// A barrier completed (PTX ISA, "bar, barrier": it orders the prior accesses of those
    /// who arrive before the later accesses of those who wait).
    ///
    /// Threads that have exited took no part, so their accesses stay unordered. That is
    /// what [`Block::uncovered`] is for: floors then can't tell, and clocks must.
    pub fn barrier(&mut self, barrier: &BlockBarrier<'_>) {
        if self.only_raises_floor(barrier) {
            self.arrivals.retain(|(id, _)| *id != barrier.id);
            return self.raise_floor();
        }
        let mut joined = self.publish(barrier.waited);
        self.arrivals.retain(|(id, knowledge)| {
            let ours = *id == barrier.id;
            if ours {
                joined.join(knowledge);
            }
            !ours
        });
        if barrier.full {
            self.base.join(&joined);
            for t in &mut self.threads {
                t.known = Knowledge::default();
                t.sc = None;
            }
            (self.dirty, self.fenced) = (false, false);
        } else {
            self.teach(barrier.waited, &joined);
        }
    }

    /// Whether a barrier does no more than raise the block's floor.
    pub fn only_raises_floor(&self, barrier: &BlockBarrier<'_>) -> bool {
        barrier.full && !self.uncovered
    }

    /// Whether a warp barrier does no more than raise the warp's floor.
    pub fn only_raises_warp_floor(&self, party: &Party) -> bool {
        let w = &self.warps[party.warp.0 as usize];
        let absent = w.exists & !party.mask & !(w.exited & !w.touched);
        absent == 0 && !self.fenced && !self.dirty
    }

    fn raise_floor(&mut self) {
        let floor = self.latest() + 1;
        self.floor = floor;
        for w in &mut self.warps {
            (w.now, w.floor, w.touched) = (floor, floor, 0);
        }
        if std::mem::take(&mut self.fenced) {
            let all = (0..self.threads.len() as u32).map(|t| (t / 32, t % 32));
            let fences = self.collect_fences(all, true);
            self.base.join(&fences);
        }
        if std::mem::take(&mut self.dirty) {
            let mut last = Knowledge::default();
            for thread in &mut self.threads {
                let known = std::mem::take(&mut thread.known);
                if !known.is_empty() && !known.same(&last) {
                    self.base.join(&known);
                    last = known;
                }
            }
        }
    }

    /// Lanes executed `bar.arrive` (PTX ISA, "bar, barrier": arrival releases, and does not wait).
    pub fn arrives(&mut self, id: u32, party: Party) {
        let knowledge = self.publish(&[party]);
        self.arrivals.push((id, knowledge));
    }

    /// `bar.warp.sync` (PTX ISA, "bar.warp.sync": it orders memory accesses among the
    /// participating threads).
    pub fn warp_sync(&mut self, party: Party) {
        let at = party.warp.0 as usize;
        let w = &mut self.warps[at];
        // An exited lane that touched memory was not there to be ordered.
        let absent = w.exists & !party.mask & !(w.exited & !w.touched);
        if absent != 0 {
            let joined = self.publish(&[party]);
            return self.teach(&[party], &joined);
        }
        w.now += 1;
        w.floor = w.now;
        let mut joined = Knowledge::default();
        if self.fenced {
            let warp = party.warp.0;
            joined = self.collect_fences(lanes(party.mask).map(|l| (warp, l)), true);
            self.dirty |= !joined.is_empty();
        }
        if self.dirty {
            let lanes = at * 32..at * 32 + 32;
            for thread in &self.threads[lanes.clone()] {
                joined.join(&thread.known);
            }
            for thread in &mut self.threads[lanes] {
                thread.known = joined.clone();
            }
        }
    }

    /// What whoever comes after these threads knows of their `fence.sc`s, which are forgotten if `taken`.
    fn collect_fences(
        &mut self,
        threads: impl Iterator<Item = (u32, u32)>,
        taken: bool,
    ) -> Knowledge {
        let mut all = Collected::default();
        for (warp, lane) in threads {
            let Some(thread) = self.threads.get_mut((warp * 32 + lane) as usize) else {
                continue;
            };
            if let Some(sc) = &thread.sc {
                all.add(self.id, warp, lane, sc);
            }
            if taken {
                thread.sc = None;
            }
        }
        all.finish(self.id)
    }

    /// Threads learn, beyond what they know.
    pub fn learns(&mut self, party: Party, known: &Knowledge) {
        for lane in lanes(party.mask) {
            self.thread_mut(party.warp.0, lane).known.join(known);
        }
        self.dirty = true;
    }

    /// What some threads know together, and a new stamp for what they do next.
    ///
    /// All their warps get the same stamp, so that one bound serves them all.
    pub fn publish(&mut self, parties: &[Party]) -> Knowledge {
        let mut joined = self.base.clone();
        if self.dirty {
            let mut last = Knowledge::default();
            for party in parties {
                for lane in lanes(party.mask) {
                    let known = &self.threads[(party.warp.0 * 32 + lane) as usize].known;
                    if !known.is_empty() && !known.same(&last) {
                        last = known.clone();
                        joined.join(known);
                    }
                }
            }
        }
        if self.fenced {
            let all = parties
                .iter()
                .flat_map(|p| lanes(p.mask).map(|l| (p.warp.0, l)));
            let fences = self.collect_fences(all, false);
            joined.join(&fences);
        }
        // Two readers that are kept as a pair have the later one's stamp, which may be another warp's.
        let bound = 1 + self.latest();
        let mut own = BlockClock::floor(self.floor);
        for party in parties {
            let warp = party.warp.0;
            let w = &self.warps[warp as usize];
            own.raise_warp(warp, w.floor);
        }
        for party in parties {
            // One warp may come in several parties, from several instructions.
            let all = parties
                .iter()
                .filter(|p| p.warp == party.warp)
                .fold(0, |m, p| m | p.mask);
            let w = &mut self.warps[party.warp.0 as usize];
            own.raise_lanes(party.warp.0, all | !w.exists | w.exited & !w.touched, bound);
        }
        for party in parties {
            self.warps[party.warp.0 as usize].now = bound;
        }
        joined.raise(self.id, &own);
        joined
    }

    fn teach(&mut self, parties: &[Party], joined: &Knowledge) {
        for party in parties {
            for lane in lanes(party.mask) {
                // What it knew is part of what was published.
                let thread = self.thread_mut(party.warp.0, lane);
                thread.known = joined.clone();
                thread.sc = None;
            }
        }
        self.dirty |= !parties.is_empty();
    }
}

/// The lanes of a mask, lowest first.
pub fn lanes(mut mask: Mask) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros();
            mask &= mask - 1;
            lane
        })
    })
}

/// A warp's point of view while it executes one instruction: what is ordered before it.
pub struct View<'a> {
    /// The block.
    pub block: &'a Block,
    /// The warp in its block.
    pub warp: u32,
    /// Number of the block's first warp in the shadow's numbering: 0 in shared memory,
    /// counted through the grid in global memory.
    pub first: u32,
    /// Warps of a block.
    pub width: u32,
    /// Number of this warp in the shadow's numbering.
    pub me: u32,
    /// Stamp of this instruction.
    pub now: Stamp,
    /// The block's floor.
    pub block_floor: Stamp,
    /// The warp's floor.
    pub warp_floor: Stamp,
    /// Whether the shadow is one of global memory.
    pub global: bool,
    /// Whether threads may be ordered other than by the block's floor and within warps.
    pub fine_sync: bool,
}

impl View<'_> {
    /// Whether a warp belongs to this block.
    pub fn in_block(&self, warp: u32) -> bool {
        warp.wrapping_sub(self.first) < self.width
    }

    /// Of some lanes of a warp that did something at `stamp`: those for which it is not
    /// ordered before this instruction of `lane`. A lane is ordered with itself.
    pub fn unordered(&self, lane: u32, warp: u32, lanes: Mask, stamp: Stamp) -> Mask {
        let left = self.beyond_floors(lane, warp, lanes, stamp);
        if left == 0 {
            return 0;
        }
        self.beyond_clocks(left, lane, warp, stamp, |k| &k.real)
    }

    /// The same as it would be if all scopes were wide enough.
    pub fn unordered_at_any_scope(&self, lane: u32, warp: u32, lanes: Mask, stamp: Stamp) -> Mask {
        let left = self.beyond_floors(lane, warp, lanes, stamp);
        if left == 0 {
            return 0;
        }
        self.beyond_clocks(left, lane, warp, stamp, |k| &k.ideal)
    }

    /// Whether some thread of the block has seen what was released after something that happened at `stamp`, so that nothing but its
    /// acquire is missing.
    pub fn is_released_to_block(&self, warp: u32, lanes: Mask, stamp: Stamp) -> bool {
        let (block, warp) = self.locate(warp);
        let would_know = |t: &Thread| t.would_acquire(self.block.id);
        let all = self.block.threads.iter().filter_map(would_know);
        all.into_iter()
            .any(|known| known.real.covered(block, warp, stamp) & lanes == lanes)
    }

    /// The strong read of `lane`, or else of another thread of the block, by instruction, that has seen what was released after something
    /// that happened at `stamp`, and that no acquire has followed.
    pub fn unacquired(&self, lane: u32, warp: u32, lanes: Mask, stamp: Stamp) -> Option<u32> {
        let (block, warp) = self.locate(warp);
        let own = self.block.thread(self.warp, lane);
        let mut reads = own.into_iter().chain(&self.block.threads);
        reads.find_map(|t| {
            let mut all = t.unacquired(self.block.id);
            let found = all.find(|(_, k)| k.ideal.covered(block, warp, stamp) & lanes == lanes);
            Some(found?.0)
        })
    }

    fn beyond_floors(&self, lane: u32, warp: u32, lanes: Mask, stamp: Stamp) -> Mask {
        if stamp == 0 || self.in_block(warp) && stamp < self.block_floor {
            0
        } else if warp != self.me {
            lanes
        } else if stamp < self.warp_floor {
            0
        } else {
            lanes & !(1 << lane)
        }
    }

    fn beyond_clocks(
        &self,
        mut left: Mask,
        lane: u32,
        warp: u32,
        stamp: Stamp,
        clock: impl Fn(&Knowledge) -> &super::clock::Clock,
    ) -> Mask {
        let (block, warp) = self.locate(warp);
        let base = clock(&self.block.base);
        if !base.is_empty() {
            left &= !base.covered(block, warp, stamp);
        }
        if let Some(thread) = self.block.thread(self.warp, lane) {
            let own = clock(&thread.known);
            if !own.is_empty() {
                left &= !own.covered(block, warp, stamp);
            }
        }
        left
    }

    /// Whether a warp belongs to a block of this one's cluster.
    pub fn in_cluster(&self, warp: u32) -> bool {
        let members = &self.block.members;
        !members.is_empty() && members.contains(&self.locate(warp).0)
    }

    /// Block and warp in it, from the shadow's numbering.
    pub fn locate(&self, warp: u32) -> (u32, u32) {
        if self.global {
            (warp / self.width, warp % self.width)
        } else {
            (self.block.id, warp)
        }
    }
}
