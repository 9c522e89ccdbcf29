//! Memory that an asynchronous copy is about to read or write: `async-copy-hazard`.
//!
//! A copy is performed as if by a thread of its own, which begins when its thread executes `cp.async` and ends when that thread has waited
//! for it (PTX ISA, "Asynchronous operations", "cp.async"). An access is ordered with it if it happens before the beginning, or after the
//! end. What comes in between, in the order of the run, is neither, whoever makes it: the copy's own thread, another one, or another copy.
//! So the memory is marked for that time, and whoever touches its destination, or writes its source, is a finding.
//!
//! Accesses before the beginning and after the end are left to the race detector ([`super::race`]), which is told of the copy's accesses
//! at both; so are those in between that not even the beginning is ordered with, unless they are of the same warp. A copy that something has
//! touched in between is not told of at its end: the same mistake would be found again.
//!
//! A copy that arrives at an mbarrier ends in another way: see [`arrived`]. What is not even ordered with the arrival is left to the race
//! detector, which is told of the copy's accesses there.
//!
//! Writes of a source by a block on another core are left to the race detector, too: blocks are not ordered there.

mod arrived;

use crate::finding::{Action, Detail, End, Finding, Findings, Place};
use crate::race;
use crate::race::block::lanes;
use crate::race::clock::Stamp;
use crate::rules::Rule;
use arrived::Arrived;
use simt::ids::*;
use simt::observer::{Access, AccessKind, AsyncCopy, BlockBarrier, LaunchShape, Space, WarpRef};
use std::collections::{HashMap, VecDeque};

/// What the lanes of a copy do to one space.
#[derive(Clone, Debug)]
struct Part {
    mask: Mask,
    address: [u64; LANES],
    bytes: u64,
}

impl Part {
    fn of(access: &Access<'_>) -> Part {
        Part {
            mask: access.mask,
            address: *access.address,
            bytes: u64::from(access.bytes()),
        }
    }

    /// The lanes that touch any of these bytes, of those that are not over.
    fn touching(&self, over: Mask, from: u64, to: u64) -> impl Iterator<Item = u32> {
        lanes(self.mask & !over).filter(move |l| {
            let start = self.address[*l as usize];
            start < to && from < start + self.bytes
        })
    }

    /// The lowest of them.
    fn touches(&self, over: Mask, from: u64, to: u64) -> Option<usize> {
        self.touching(over, from, to).next().map(|l| l as usize)
    }

    /// For these lanes alone.
    fn only(mut self, mask: Mask) -> Part {
        self.mask &= mask;
        self
    }
}

/// A copy that has begun.
#[derive(Clone, Debug)]
struct Pending {
    number: u64,
    who: WarpRef,
    site: Site,
    reads: Vec<Part>,
    writes: Part,
    /// When it began.
    stamp: Stamp,
    /// Bounds of what it reads.
    source: (u64, u64),
    /// Lanes that have waited for it.
    over: Mask,
    /// Lanes whose memory was touched in between.
    touched: Mask,
}

/// What a block has begun.
#[derive(Debug, Default)]
struct Block {
    /// By warp, the oldest first.
    warps: Vec<VecDeque<Pending>>,
    count: usize,
    /// Those that have arrived at an mbarrier, the oldest first.
    arrived: Vec<Arrived>,
    /// A bit for each word of shared memory that a copy is to write.
    marks: Vec<u64>,
}

impl Block {
    fn mark(&mut self, address: u64, bytes: u64, set: bool) {
        for word in address / 4..(address + bytes).div_ceil(4) {
            let at = (word / 64) as usize;
            if at >= self.marks.len() {
                self.marks.resize(at + 1, 0);
            }
            let bit = 1 << (word % 64);
            match set {
                true => self.marks[at] |= bit,
                false => self.marks[at] &= !bit,
            }
        }
    }

    /// Marks what is left to be marked, when copies have gone that may have lain over others.
    fn mark_anew(&mut self) {
        self.arrived.retain(|a| !a.is_empty());
        self.marks.clear();
        let pending = self.warps.iter().flatten().map(|c| (&c.writes, c.over));
        let arrived = self.arrived.iter().map(|a| (&a.copy.writes, 0));
        let places: Vec<(u64, u64)> = pending
            .chain(arrived)
            .flat_map(|(part, over)| {
                let places = lanes(part.mask & !over).map(|l| part.address[l as usize]);
                places.map(|at| (at, part.bytes))
            })
            .collect();
        for (at, bytes) in places {
            self.mark(at, bytes, true);
        }
    }

    /// A copy begins: what arrived at the same places before is its business from now on.
    fn replaced_by(&mut self, write: &Access<'_>) {
        let bytes = u64::from(write.bytes());
        let new: Vec<u64> = lanes(write.mask)
            .map(|l| write.address[l as usize])
            .collect();
        let mut gone = false;
        for arrived in &mut self.arrived {
            let part = &mut arrived.copy.writes;
            for lane in lanes(part.mask) {
                let at = part.address[lane as usize];
                if new.iter().any(|n| *n <= at && at + part.bytes <= n + bytes) {
                    part.mask &= !(1 << lane);
                    gone = true;
                }
            }
        }
        if gone {
            self.mark_anew();
        }
    }

    /// Whether there is any copy.
    fn is_busy(&self) -> bool {
        self.count > 0 || !self.arrived.is_empty()
    }

    fn is_marked(&self, from: u64, to: u64) -> bool {
        let (first, end) = (from / 4, to.div_ceil(4));
        (first / 64..end.div_ceil(64)).any(|at| {
            let Some(bits) = self.marks.get(at as usize) else {
                return false;
            };
            // The words of the range among these 64.
            let low = first.saturating_sub(64 * at);
            let high = (end - 64 * at).min(64);
            let range = (u64::MAX << low) & (u64::MAX >> (64 - high));
            bits & range != 0
        })
    }
}

/// Who has begun what in this launch.
#[derive(Debug, Default)]
pub struct Detector {
    findings: Findings,
    launch: u32,
    blocks: HashMap<BlockId, Block>,
    /// What the copy that ends touches no more, for the accesses that follow its end.
    ending: Mask,
}

impl Detector {
    /// For a launch of a program with asynchronous copies.
    pub fn new(shape: &LaunchShape) -> Detector {
        Detector {
            launch: shape.launch,
            ..Detector::default()
        }
    }

    /// See [`simt::observer::Observer::fork`].
    pub fn fork(&self) -> Detector {
        Detector {
            launch: self.launch,
            ..Detector::default()
        }
    }

    /// See [`simt::observer::Events::copy_begins`].
    pub fn begins(&mut self, copy: &AsyncCopy<'_>, races: &mut race::Detector) {
        let write = &copy.write;
        // Two copies to one place are not ordered with each other either (PTX ISA, "cp.async").
        self.look(write, races);
        copy.reads.iter().for_each(|read| self.look(read, races));
        let block = self.blocks.entry(write.who.block).or_default();
        block.replaced_by(write);
        for lane in lanes(write.mask) {
            let at = write.address[lane as usize];
            block.mark(at, u64::from(write.bytes()), true);
        }
        let reads: Vec<Part> = copy.reads.iter().map(Part::of).collect();
        let starts = reads
            .iter()
            .flat_map(|r| lanes(r.mask).map(|l| (r.address[l as usize], r.bytes)));
        let source = starts.fold((u64::MAX, 0), |(low, high), (at, bytes)| {
            (low.min(at), high.max(at + bytes))
        });
        let warp = write.who.warp.0 as usize;
        if block.warps.len() <= warp {
            block.warps.resize_with(warp + 1, VecDeque::new);
        }
        block.count += 1;
        block.warps[warp].push_back(Pending {
            number: copy.number,
            who: write.who,
            site: write.site,
            reads,
            writes: Part::of(write),
            stamp: races.now(write.who),
            source,
            over: 0,
            touched: 0,
        });
    }

    /// See [`simt::observer::Events::copy_ends`].
    pub fn ends(&mut self, who: WarpRef, number: u64, mask: Mask, races: &mut race::Detector) {
        self.ending = 0;
        let Some(block) = self.blocks.get_mut(&who.block) else {
            return;
        };
        let of_it = |a: &&mut Arrived| a.copy.who == who && a.copy.number == number;
        for arrived in block.arrived.iter_mut().filter(of_it) {
            arrived.ends(mask, races.now(who));
        }
        let Some(warp) = block.warps.get_mut(who.warp.0 as usize) else {
            return;
        };
        let Some(at) = warp.iter().position(|c| c.number == number) else {
            return;
        };
        let copy = &mut warp[at];
        copy.over |= mask;
        self.ending = copy.touched;
        let ended: Vec<u64> = lanes(mask & copy.writes.mask)
            .map(|l| copy.writes.address[l as usize])
            .collect();
        let bytes = copy.writes.bytes;
        if copy.writes.mask & !copy.over == 0 {
            warp.remove(at);
            block.count -= 1;
        }
        for address in ended {
            block.mark(address, bytes, false);
        }
    }

    /// See [`simt::observer::Events::copy_arrives`].
    pub fn arrives(&mut self, who: WarpRef, number: u64, mask: Mask, races: &mut race::Detector) {
        self.ending = 0;
        let Some(block) = self.blocks.get_mut(&who.block) else {
            return;
        };
        let Some(warp) = block.warps.get_mut(who.warp.0 as usize) else {
            return;
        };
        let Some(at) = warp.iter().position(|c| c.number == number) else {
            return;
        };
        let copy = &mut warp[at];
        self.ending = copy.touched;
        let left = mask & !copy.over & !copy.touched;
        copy.over |= mask;
        let arrived = Pending {
            reads: copy.reads.iter().map(|r| r.clone().only(left)).collect(),
            writes: copy.writes.clone().only(left),
            over: 0,
            ..copy.clone()
        };
        if copy.writes.mask & !copy.over == 0 {
            warp.remove(at);
            block.count -= 1;
        }
        block.arrived.push(Arrived::new(arrived, races.now(who)));
        if block.arrived.len() > arrived::ROOM {
            block.arrived.remove(0);
        }
        if self.ending & mask != 0 {
            block.mark_anew();
        }
    }

    /// See [`simt::observer::Events::copies_arrive_at`].
    pub fn arrive_at(&mut self, who: WarpRef, mask: Mask, object: u64) {
        if let Some(block) = self.blocks.get_mut(&who.block) {
            let own = block.arrived.iter_mut().filter(|a| a.copy.who == who);
            own.for_each(|a| a.at(mask, object));
        }
    }

    /// See [`simt::observer::Events::phase_completes`].
    pub fn phase_completes(&mut self, block: BlockId, object: u64) {
        if let Some(block) = self.blocks.get_mut(&block) {
            let all = block.arrived.iter_mut();
            all.for_each(|a| a.phase_completes(object));
        }
    }

    /// See [`simt::observer::Events::phase_awaited`].
    pub fn awaited(
        &mut self,
        who: WarpRef,
        mask: Mask,
        objects: &[u64; LANES],
        races: &mut race::Detector,
    ) {
        let Some(block) = self.blocks.get_mut(&who.block) else {
            return;
        };
        if block.arrived.is_empty() {
            return;
        }
        let stamp = races.now(who);
        let mut left = mask;
        while left != 0 {
            let object = objects[left.trailing_zeros() as usize];
            let same = lanes(left).filter(|l| objects[*l as usize] == object);
            let same = same.fold(0, |m, l| m | 1 << l);
            left &= !same;
            let all = block.arrived.iter_mut();
            all.for_each(|a| a.awaited(who, same, object, stamp));
        }
    }

    /// See [`simt::observer::Events::block_barrier`]: what somebody has waited for is complete for all then.
    pub fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let Some(block) = self.blocks.get_mut(&barrier.block) else {
            return;
        };
        if !barrier.full || block.arrived.is_empty() {
            return;
        }
        for arrived in &mut block.arrived {
            arrived.forget(arrived.seen());
        }
        block.mark_anew();
    }

    /// Of the accesses of the copy that has ended last, the lanes that nothing had touched in between.
    pub fn untouched(&self, mask: Mask) -> Mask {
        mask & !self.ending
    }

    /// See [`simt::observer::Events::block_ends`].
    pub fn block_ends(&mut self, block: BlockId) {
        self.blocks.remove(&block);
    }

    /// Whether an access to this range may touch what a copy of the block is about to touch.
    pub fn concerns(&self, block: BlockId, space: Space, from: u64, to: u64, writes: bool) -> bool {
        match space {
            Space::Shared => self
                .blocks
                .get(&block)
                .is_some_and(|b| b.is_busy() && b.is_marked(from, to)),
            Space::Global => {
                let pending = |b: &Block| {
                    let copies = || {
                        let arrived = b.arrived.iter().map(|a| &a.copy);
                        b.warps.iter().flatten().chain(arrived)
                    };
                    b.is_busy() && copies().any(|c| c.source.0 < to && from < c.source.1)
                };
                writes && self.blocks.values().any(pending)
            }
            _ => false,
        }
    }

    /// See [`simt::observer::Events::access`].
    pub fn access(&mut self, access: &Access<'_>, races: &mut race::Detector) {
        if !access.asynchronous {
            self.look(access, races);
        }
    }

    fn look(&mut self, access: &Access<'_>, races: &mut race::Detector) {
        let bytes = u64::from(access.bytes());
        let writes = !matches!(access.kind, AccessKind::Read);
        let concerned = match writes {
            true if access.space == Space::Global => access.wrote & access.mask,
            _ => access.mask,
        };
        let start = |lane: u32| access.address[lane as usize];
        let (block, space) = (access.who.block, access.space);
        // Nearly always nothing is near, and one look at all lanes together says so.
        let (Some(low), Some(high)) = (
            lanes(concerned).map(start).min(),
            lanes(concerned).map(start).max(),
        ) else {
            return;
        };
        if !self.concerns(block, space, low, high + bytes, writes) {
            return;
        }
        for lane in lanes(concerned) {
            let (from, to) = (start(lane), start(lane) + bytes);
            if self.concerns(block, space, from, to, writes) {
                self.touched(access, lane, (from, to), races);
            }
        }
    }

    /// A lane touches these bytes.
    #[cold]
    fn touched(
        &mut self,
        access: &Access<'_>,
        lane: u32,
        (from, to): (u64, u64),
        races: &mut race::Detector,
    ) {
        let shared = access.space == Space::Shared;
        let mut guilty = Vec::new();
        let blocks = self.blocks.iter_mut();
        for (_, block) in blocks.filter(|(id, _)| !shared || **id == access.who.block) {
            for arrived in &block.arrived {
                let copy = &arrived.copy;
                let parts = match shared {
                    true => std::slice::from_ref(&copy.writes),
                    false => &copy.reads[..],
                };
                for part in parts {
                    for other in part.touching(0, from, to) {
                        let me = (access.who, lane);
                        if races.is_after(me, (copy.who, other), arrived.stamp)
                            && !arrived.is_complete_for(other, me, races)
                        {
                            let at = part.address[other as usize].max(from);
                            guilty.push((copy.site, copy.who, other as usize, at));
                        }
                    }
                }
            }
            for copy in block.warps.iter_mut().flatten() {
                let parts = match shared {
                    true => std::slice::from_ref(&copy.writes),
                    false => &copy.reads[..],
                };
                for part in parts {
                    if let Some(other) = part.touches(copy.over, from, to) {
                        let theirs = (copy.who, other as u32);
                        if access.who != copy.who
                            && !races.is_after((access.who, lane), theirs, copy.stamp)
                        {
                            continue;
                        }
                        copy.touched |= 1 << other;
                        let at = part.address[other].max(from);
                        guilty.push((copy.site, copy.who, other, at));
                    }
                }
            }
        }
        // The order of blocks in the table is nobody's business.
        guilty.sort_by_key(|(site, who, other, _)| (*site, who.block.0, who.warp.0, *other));
        for (site, who, other, at) in guilty {
            self.report(access, lane as usize, (site, who, other), at);
        }
    }

    fn report(
        &mut self,
        access: &Access<'_>,
        lane: usize,
        (site, who, other): (Site, WarpRef, usize),
        at: u64,
    ) {
        let rule = Rule::AsyncCopyHazard;
        if self.findings.count_again(rule, access.site, site) {
            return;
        }
        let end = |site, who, lane: usize, action| {
            End::of_lanes(site, who, 1 << lane, action, self.launch)
        };
        let here = match access.kind {
            _ if access.asynchronous => Action::Copy,
            AccessKind::Read => Action::Read,
            AccessKind::Write => Action::Write,
            AccessKind::Atomic | AccessKind::Reduction => Action::Atomic,
        };
        let element = u64::from(access.element);
        let first = access.address[lane];
        self.findings.add(Finding {
            rule,
            ends: vec![
                end(access.site, access.who, lane, here),
                end(site, who, other, Action::Copy),
            ],
            place: Some(Place {
                space: access.space,
                address: first + (at - first) / element * element,
                bytes: access.element,
                mapped: true,
            }),
            detail: Detail::None,
            count: 1,
            stale_loads: Vec::new(),
        });
    }

    /// What was found, leaving nothing.
    pub fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.findings)
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Detectors;
    use super::super::scene::*;
    use super::*;
    use proptest::prelude::*;
    use simt::observer::{Events, Scope};
    use std::collections::BTreeSet;

    /// The rules that are broken, with the instructions, the later first.
    fn found(act: impl FnOnce(&mut Scene<Detectors>)) -> Vec<(Rule, u32, u32)> {
        let mut scene = Scene::new(Detectors::new(false), 2, 96);
        act(&mut scene);
        let found = scene.observer.take_findings();
        let blame = |f: &Finding| (f.rule, f.ends[0].site.0, f.ends[1].site.0);
        found.iter().map(blame).collect()
    }

    #[test]
    fn a_barrier_does_not_wait_for_copies() {
        let found = found(|s| {
            s.copy_begins(warp(0, 0), ALL, 0, [0, 0]);
            s.barrier(0);
            s.go(warp(0, 1), 1, read(4 * 31));
            s.go(warp(0, 1), 1, read(4 * 32));
            s.go(warp(1, 1), 1, read(4 * 31));
        });
        assert_eq!(found, [(Rule::AsyncCopyHazard, 2, 0)]);
    }

    #[test]
    fn lanes_wait_for_themselves() {
        let found = found(|s| {
            let site = s.copy_begins(warp(0, 0), 0b11, 0, [0, 0]);
            s.copy_ends(site, warp(0, 0), 0b01, 0, [0, 0]);
            s.barrier(0);
            s.go(warp(0, 1), 1, read(0));
            s.go(warp(0, 1), 1, read(4));
        });
        assert_eq!(found, [(Rule::AsyncCopyHazard, 3, 0)]);
    }

    #[test]
    fn a_row_of_words_is_looked_at_too() {
        let found = found(|s| {
            s.copy_begins(warp(0, 0), 1 << 9, 0, [0, 0]);
            s.barrier(0);
            let halves = [
                (0, simt::observer::Layout::Adjacent),
                (64, simt::observer::Layout::Adjacent),
            ];
            s.go(warp(0, 1), ALL, read(0).halves(halves));
        });
        assert_eq!(found, [(Rule::AsyncCopyHazard, 2, 0)]);
    }

    /// A copy of 32 words by warp 0, which arrives at an mbarrier that expects warp 0 alone.
    fn arrives(s: &mut Scene<Detectors>) {
        let (who, object) = (warp(0, 0), 1024);
        let site = s.copy_begins(who, ALL, 0, [0, 0]);
        s.copy_arrives(site, who, ALL, 0, [0, 0]);
        s.go(who, ALL, red(object).bytes(8).release(Scope::Cta));
        s.observer.copies_arrive_at(who, ALL, object);
        s.observer.phase_completes(BlockId(0), object);
    }

    fn waits(s: &mut Scene<Detectors>, who: WarpRef, mask: Mask) {
        s.go(who, mask, read(1024).bytes(8).acquire(Scope::Cta));
        s.observer.phase_awaited(who, mask, &[1024; LANES]);
    }

    #[test]
    fn arriving_is_not_waiting_for_the_own_thread() {
        let found = found(|s| {
            arrives(s);
            s.go(warp(0, 0), 1, read(0));
            waits(s, warp(0, 0), 0b1);
            s.go(warp(0, 0), 0b1, read(0));
        });
        assert_eq!(found, [(Rule::AsyncCopyHazard, 2, 0)]);
    }

    #[test]
    fn a_barrier_does_not_stand_for_the_wait() {
        let found = found(|s| {
            arrives(s);
            s.barrier(0);
            s.go(warp(0, 1), 1, read(0));
        });
        assert_eq!(found, [(Rule::AsyncCopyHazard, 3, 0)]);
    }

    #[test]
    fn one_thread_waits_and_a_barrier_tells_the_others() {
        let found = found(|s| {
            arrives(s);
            waits(s, warp(0, 2), 0b1);
            s.barrier(0);
            s.go(warp(0, 1), ALL, read(0).by_lane());
            s.go(warp(0, 0), ALL, write(0).by_lane());
        });
        assert_eq!(
            found
                .iter()
                .filter(|f| f.0 == Rule::AsyncCopyHazard)
                .count(),
            0
        );
    }

    #[test]
    fn waiting_for_the_copies_themselves_will_do() {
        let found = found(|s| {
            arrives(s);
            s.observer.copy_ends(warp(0, 0), 0, 0b1);
            s.go(warp(0, 0), 0b01, read(0));
            s.go(warp(0, 0), 0b10, read(4));
        });
        assert_eq!(found, [(Rule::AsyncCopyHazard, 3, 0)]);
    }

    #[test]
    fn the_next_launch_starts_anew() {
        let found = found(|s| {
            s.copy_begins(warp(0, 0), ALL, 0, [0, 0]);
            s.observer.block_ends(BlockId(0));
            s.observer.launch_ends();
            let shape = LaunchShape {
                launch: 1,
                ..s.shape.clone()
            };
            s.observer.launch_begins(&shape);
            s.observer.block_begins(BlockId(0));
            s.go(warp(0, 0), ALL, read(0).by_lane());
        });
        assert_eq!(found, []);
    }

    const WARPS: usize = 3;
    /// How many arrivals each mbarrier expects.
    const ARRIVALS: [usize; 2] = [1, 2];

    #[derive(Clone, Debug)]
    enum Step {
        /// The first thread of a warp reads or writes a word of a space.
        Go(usize, bool, bool, u64),
        /// It begins a copy between two words.
        Begin(usize, u64, u64),
        /// It waits for all its copies.
        Wait(usize),
        /// It lets them arrive at an mbarrier.
        Arrive(usize, usize),
        /// It waits for the last phase of an mbarrier that is complete, or finds that there is none.
        Await(usize, usize),
        Barrier,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..WARPS, any::<bool>(), any::<bool>(), 0..2u64)
                .prop_map(|(w, write, shared, word)| Step::Go(w, write, shared, word)),
            2 => (0..WARPS, 0..2u64, 0..2u64).prop_map(|(w, from, to)| Step::Begin(w, from, to)),
            1 => (0..WARPS).prop_map(Step::Wait),
            2 => (0..WARPS, 0..ARRIVALS.len()).prop_map(|(w, o)| Step::Arrive(w, o)),
            2 => (0..WARPS, 0..ARRIVALS.len()).prop_map(|(w, o)| Step::Await(w, o)),
            2 => Just(Step::Barrier),
        ]
    }

    /// What touches memory: by which instruction, what it does, and when. A copy begins at one step and ends at another. One that arrives at
    /// an mbarrier ends at a step of its own, which comes behind all others and is known to those who wait for it.
    #[derive(Clone, Debug)]
    struct Touch {
        site: u32,
        begins: usize,
        ends: Option<usize>,
        copies: bool,
        /// The step at which it arrives at an mbarrier.
        arrives: Option<usize>,
        /// Whether shared memory, the word, whether it writes.
        words: Vec<(bool, u64, bool)>,
    }

    /// The ends of copies that arrive are numbered from here on.
    const END: usize = 1000;

    /// An mbarrier.
    #[derive(Default)]
    struct Object {
        arrivals: usize,
        /// Copies, by number in the list, that have arrived in the phase that is not complete, and in those that are.
        coming: Vec<usize>,
        complete: Vec<usize>,
        /// What those who arrived knew.
        released: BTreeSet<usize>,
    }

    /// Runs the steps, and says of each what comes before it by the rules of the memory model.
    fn play(s: &mut Scene<Detectors>, steps: &[Step]) -> (Vec<Touch>, Vec<BTreeSet<usize>>) {
        let mut touches: Vec<Touch> = Vec::new();
        let mut before: Vec<BTreeSet<usize>> = Vec::new();
        let mut known: [BTreeSet<usize>; WARPS] = Default::default();
        let mut begun: [Vec<(usize, u64, [u64; 2])>; WARPS] = Default::default();
        let mut arrived: [Vec<(usize, u64)>; WARPS] = Default::default();
        let mut objects: [Object; ARRIVALS.len()] = Default::default();
        for (now, step) in steps.iter().enumerate() {
            let touch = |site: Site, copies, words| Touch {
                site: site.0,
                begins: now,
                ends: if copies { None } else { Some(now) },
                copies,
                arrives: None,
                words,
            };
            let who = match step {
                Step::Go(w, write, shared, word) => {
                    let does = if *write {
                        super::super::scene::write(4 * word)
                    } else {
                        read(4 * word)
                    };
                    let does = if *shared { does } else { does.global() };
                    let site = s.go(warp(0, *w as u32), 1, does);
                    touches.push(touch(site, false, vec![(*shared, *word, *write)]));
                    Some(*w)
                }
                Step::Begin(w, from, to) => {
                    let number = now as u64;
                    let site = s.copy_begins(warp(0, *w as u32), 1, number, [*from, *to]);
                    begun[*w].push((touches.len(), number, [*from, *to]));
                    let words = vec![(false, *from, false), (true, *to, true)];
                    touches.push(touch(site, true, words));
                    Some(*w)
                }
                Step::Wait(w) => {
                    for (at, number, words) in begun[*w].drain(..) {
                        let site = Site(touches[at].site);
                        s.copy_ends(site, warp(0, *w as u32), 1, number, words);
                        touches[at].ends = Some(now);
                    }
                    for (at, number) in arrived[*w].drain(..) {
                        s.observer.copy_ends(warp(0, *w as u32), number, 1);
                        known[*w].insert(END + at);
                    }
                    Some(*w)
                }
                Step::Arrive(w, o) => {
                    let who = warp(0, *w as u32);
                    for (at, number, words) in begun[*w].drain(..) {
                        s.copy_arrives(Site(touches[at].site), who, 1, number, words);
                        touches[at].ends = Some(END + at);
                        touches[at].arrives = Some(now);
                        arrived[*w].push((at, number));
                        objects[*o].coming.push(at);
                    }
                    let object = &mut objects[*o];
                    let place = 1024 + 8 * *o as u64;
                    s.go(who, 1, red(place).bytes(8).release(Scope::Cta));
                    s.observer.copies_arrive_at(who, 1, place);
                    object.arrivals += 1;
                    if object.arrivals.is_multiple_of(ARRIVALS[*o]) {
                        s.observer.phase_completes(BlockId(0), place);
                        object.complete.append(&mut object.coming);
                    }
                    object.released.extend(&known[*w]);
                    object.released.insert(now);
                    Some(*w)
                }
                Step::Await(w, o) => {
                    let (who, place) = (warp(0, *w as u32), 1024 + 8 * *o as u64);
                    s.go(who, 1, read(place).bytes(8).acquire(Scope::Cta));
                    let object = &objects[*o];
                    if object.arrivals >= ARRIVALS[*o] {
                        s.observer.phase_awaited(who, 1, &[place; LANES]);
                        known[*w].extend(object.complete.iter().map(|at| END + at));
                    }
                    known[*w].extend(&object.released);
                    Some(*w)
                }
                Step::Barrier => {
                    s.barrier(0);
                    None
                }
            };
            match who {
                Some(w) => {
                    before.push(known[w].clone());
                    known[w].insert(now);
                }
                None => {
                    let mut all: BTreeSet<usize> = known.iter().flatten().copied().collect();
                    before.push(all.clone());
                    all.insert(now);
                    known = std::array::from_fn(|_| all.clone());
                }
            }
        }
        (touches, before)
    }

    proptest! {
        #![proptest_config(testing::random(3000))]

        /// Against the definition: two accesses that conflict, neither of which comes before the other.
        #[test]
        fn what_is_found_is_what_nothing_orders(steps in proptest::collection::vec(step(), 1..16)) {
            let mut scene = Scene::new(Detectors::new(false), 1, 32 * WARPS as u32);
            let (touches, before) = play(&mut scene, &steps);
            let ordered = |a: &Touch, b: &Touch| {
                a.ends.is_some_and(|end| end == b.begins || before[b.begins].contains(&end))
            };
            let conflict = |a: &Touch, b: &Touch| {
                a.words.iter().any(|(space, word, writes)| {
                    b.words.iter().any(|(s, w, also)| space == s && word == w && (*writes || *also))
                })
            };
            let mut wrong = Vec::new();
            for (i, a) in touches.iter().enumerate() {
                for b in &touches[i + 1..] {
                    if conflict(a, b) && !ordered(a, b) && !ordered(b, a) {
                        wrong.push((a, b));
                    }
                }
            }
            let found: Vec<_> = scene.observer.take_findings();
            let pair = |f: &Finding| {
                let (a, b) = f.sites();
                (a.0, b.0)
            };
            for f in &found {
                let is_wrong = wrong.iter().any(|(a, b)| (a.site, b.site) == pair(f));
                prop_assert!(is_wrong, "false: {f:?}");
            }
            prop_assert_eq!(found.is_empty(), wrong.is_empty());
            if let [(a, b)] = wrong[..] {
                let last = a.arrives.or(a.ends);
                let meanwhile = a.copies && last.is_none_or(|end| b.begins < end);
                let begun = before[b.begins].contains(&a.begins);
                // Nothing but the wait is missing.
                let arrived = a.arrives.is_some_and(|step| before[b.begins].contains(&step));
                let rule = match meanwhile && begun || arrived {
                    true => Rule::AsyncCopyHazard,
                    false => Rule::DataRace,
                };
                prop_assert_eq!(found[0].rule, rule);
            }
        }
    }
}
