//! Memory that an asynchronous copy is about to read or write: `async-copy-hazard`.
//!
//! A copy is performed as if by a thread of its own, which begins when its thread executes `cp.async` or `cp.async.bulk` and ends when that
//! thread has waited for it (PTX ISA, "Asynchronous operations", "cp.async", "cp.async.bulk"). An access is ordered with it if it happens before the beginning, or after the
//! end. What comes in between, in the order of the run, is neither, whoever makes it: the copy's own thread, another one, or another copy.
//! So the memory is marked for that time, and whoever touches its destination, or writes its source, is a finding.
//!
//! Accesses before the beginning and after the end are left to the race detector ([`super::race`]), which is told of the copy's accesses
//! at both; so are those in between that not even the beginning is ordered with, unless they are of the same warp. A copy that something has
//! touched in between is not told of at its end: the same mistake would be found again.
//!
//! A product of a warpgroup ends for its warp with that one's wait, and before for whoever comes after the wait of another warp of the warpgroup.
//!
//! A copy that arrives at an mbarrier ends in another way: see [`arrived`]. What is not even ordered with the arrival is left to the race
//! detector, which is told of the copy's accesses there.
//!
//! Writes of a source by a block on another core are left to the race detector, too: blocks are not ordered there.
//!
//! Shared memory ends with its block. A copy out of it that nobody has waited for by then is a finding with the exit of the block's last thread.

mod arrived;
mod block;
mod pending;

use crate::clusters::Clusters;
use crate::finding::{Action, Detail, End, Finding, Findings, Place};
use crate::race;
use crate::race::block::lanes;
use crate::race::clock::Stamp;
use crate::rules::Rule;
use arrived::Arrived;
use block::{Block, is_shared};
use pending::{Blame, Part, Pending, bounds};
use simt::ids::*;
use simt::observer::{Access, AccessKind, AsyncCopy, BlockBarrier, LaunchShape, Space, WarpRef};
use std::collections::{HashMap, VecDeque};

/// Who has begun what in this launch.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    findings: Findings,
    launch: u32,
    blocks: HashMap<BlockId, Block>,
    /// Whether any copy has written global memory.
    stores: bool,
    /// What the copy that ends touches no more, for the accesses that follow its end.
    ending: Mask,
    /// Where blocks come in clusters of several: shared memory is told as global then.
    clusters: Option<Clusters>,
}

impl Detector {
    /// For a launch of a program with asynchronous copies.
    pub fn new(shape: &LaunchShape) -> Detector {
        Detector {
            launch: shape.launch,
            clusters: Clusters::of(shape),
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

    /// See [`simt::observer::Events::copy_begins`]. Whether it repeats what another lane of the warp has begun by the same instruction, from the same
    /// memory to the same memory: both are one copy, as far as anybody can see. CUTLASS lets a whole warp begin its tensor stores.
    pub fn begins(&mut self, copy: &AsyncCopy<'_>, races: &mut race::Detector) -> bool {
        let Some(first) = copy.writes.first().or(copy.reads.first()) else {
            return false;
        };
        let action = match copy.product {
            true => Action::Multiply,
            false => Action::Copy,
        };
        let repeats = self.repeats(copy, first);
        // Two copies to one place are not ordered with each other either (PTX ISA, "cp.async").
        for access in copy.writes.iter().chain(copy.reads).filter(|_| !repeats) {
            self.look(access, action, races);
        }
        if let Some(clusters) = &self.clusters {
            for block in self.blocks.values_mut() {
                let all = copy.writes.iter();
                all.for_each(|write| block.replaced_by(write, Some(clusters)));
            }
        }
        let block = self.blocks.entry(first.who.block).or_default();
        if self.clusters.is_none() {
            let all = copy.writes.iter();
            all.for_each(|write| block.replaced_by(write, None));
        }
        self.stores |= copy.writes.iter().any(|w| w.space == Space::Global);
        let reads: Vec<Part> = copy.reads.iter().map(Part::of).collect();
        let writes: Vec<Part> = copy.writes.iter().map(Part::of).collect();
        let warp = first.who.warp.0 as usize;
        if block.warps.len() <= warp {
            block.warps.resize_with(warp + 1, VecDeque::new);
        }
        let pending = Pending {
            number: copy.number,
            who: first.who,
            site: first.site,
            action,
            stamp: races.now(first.who),
            source: bounds(&reads),
            target: bounds(&writes),
            reads,
            writes,
            over: 0,
            touched: 0,
            awaited: None,
        };
        for (at, bytes) in pending.shared() {
            block.mark(at, bytes, true);
        }
        block.count += 1;
        block.warps[warp].push_back(pending);
        repeats
    }

    /// Whether a lane's copy is the same as one that its warp has under way.
    fn repeats(&self, copy: &AsyncCopy<'_>, first: &Access<'_>) -> bool {
        let warps = self.blocks.get(&first.who.block).map(|block| &block.warps);
        let Some(own) = warps.and_then(|warps| warps.get(first.who.warp.0 as usize)) else {
            return false;
        };
        let all = copy.reads.iter().chain(copy.writes);
        if !first.mask.is_power_of_two() || all.clone().any(|access| access.mask != first.mask) {
            return false;
        }
        let lane = first.mask.trailing_zeros() as usize;
        own.iter().any(|pending| {
            // Of one whose source was read already, what it has read stands there without its lane.
            let theirs = pending.lanes();
            let parts = pending.reads.iter().chain(&pending.writes);
            let counts = (pending.reads.len(), pending.writes.len());
            (pending.site, pending.who) == (first.site, first.who)
                && theirs.is_power_of_two()
                && theirs & (pending.over | first.mask) == 0
                && counts == (copy.reads.len(), copy.writes.len())
                && parts.zip(all.clone()).all(|(part, access)| {
                    part.is_like(theirs.trailing_zeros() as usize, access, lane)
                })
        })
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
        // Several copies may read one place.
        let shares = copy.reads.iter().any(|part| part.space == Space::Shared);
        let ended: Vec<(u64, u64)> = match &copy.writes[..] {
            [only] if only.space == Space::Shared => lanes(mask & only.mask)
                .map(|l| (only.address[l as usize], only.bytes))
                .collect(),
            _ => Vec::new(),
        };
        if copy.lanes() & !copy.over == 0 {
            warp.remove(at);
            block.count -= 1;
        }
        if shares || ended.is_empty() {
            return block.mark_anew();
        }
        for (address, bytes) in ended {
            block.mark(address, bytes, false);
        }
    }

    /// See [`simt::observer::Events::product_ends`].
    pub fn product_ends(
        &mut self,
        owner: WarpRef,
        number: u64,
        mask: Mask,
        (who, races): (WarpRef, &mut race::Detector),
    ) {
        self.ending = 0;
        let block = self.blocks.get_mut(&owner.block);
        let warp = block.and_then(|block| block.warps.get_mut(owner.warp.0 as usize));
        let product = warp.and_then(|warp| warp.iter_mut().find(|c| c.number == number));
        if let Some(product) = product {
            self.ending = product.touched;
            product.awaited.get_or_insert((who, mask, races.now(who)));
        }
    }

    /// See [`simt::observer::Events::copy_reads_end`].
    pub fn reads_end(&mut self, who: WarpRef, number: u64, mask: Mask) {
        let Some(block) = self.blocks.get_mut(&who.block) else {
            return;
        };
        let warp = block.warps.get_mut(who.warp.0 as usize);
        let copy = warp.and_then(|warp| warp.iter_mut().find(|c| c.number == number));
        if let Some(copy) = copy {
            copy.reads.iter_mut().for_each(|part| part.mask &= !mask);
            block.mark_anew();
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
            writes: copy.writes.iter().map(|w| w.clone().only(left)).collect(),
            over: 0,
            ..copy.clone()
        };
        if copy.lanes() & !copy.over == 0 {
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
    pub fn arrive_at(&mut self, who: WarpRef, mask: Mask, (block, object): (BlockId, u64)) {
        let object = self.object(block, object);
        if let Some(block) = self.blocks.get_mut(&who.block) {
            let own = block.arrived.iter_mut().filter(|a| a.copy.who == who);
            own.for_each(|a| a.at(mask, object));
        }
    }

    /// See [`simt::observer::Events::phase_completes`].
    pub fn phase_completes(&mut self, block: BlockId, object: u64) {
        let object = self.object(block, object);
        for block in self.who_may_arrive_at(block) {
            let all = block.arrived.iter_mut();
            all.for_each(|a| a.phase_completes(object));
        }
    }

    /// An mbarrier, by a number that no other has in its block or, where blocks come in clusters, in the grid.
    fn object(&self, block: BlockId, object: u64) -> u64 {
        match &self.clusters {
            Some(clusters) => clusters.place(block, object),
            None => object,
        }
    }

    /// Those who may have copies arrive at an mbarrier of a block.
    fn who_may_arrive_at(&mut self, block: BlockId) -> impl Iterator<Item = &mut Block> {
        let all = self.clusters.is_some();
        let blocks = self.blocks.iter_mut();
        let own = blocks.filter(move |(id, _)| all || **id == block);
        own.map(|(_, block)| block)
    }

    /// See [`simt::observer::Events::phase_awaited`].
    pub fn awaited(
        &mut self,
        who: WarpRef,
        mask: Mask,
        objects: &[u64; LANES],
        races: &mut race::Detector,
    ) {
        if (self.who_may_arrive_at(who.block)).all(|block| block.arrived.is_empty()) {
            return;
        }
        let stamp = races.now(who);
        let mut left = mask;
        while left != 0 {
            let object = objects[left.trailing_zeros() as usize];
            let same = lanes(left).filter(|l| objects[*l as usize] == object);
            let same = same.fold(0, |m, l| m | 1 << l);
            left &= !same;
            let object = self.object(who.block, object);
            for block in self.who_may_arrive_at(who.block) {
                let all = block.arrived.iter_mut();
                all.for_each(|a| a.awaited(who, same, object, stamp));
            }
        }
    }

    /// See [`simt::observer::Events::block_barrier`]: what somebody has waited for is complete for all then.
    pub fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let Some(block) = self.blocks.get_mut(&barrier.block) else {
            return;
        };
        // Threads of other blocks take no part in it.
        if !barrier.full || block.arrived.is_empty() || self.clusters.is_some() {
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

    /// See [`simt::observer::Events::exits`].
    pub fn exits(&mut self, who: WarpRef, mask: Mask, site: Site) {
        if let Some(block) = self.blocks.get_mut(&who.block) {
            block.exit = Some((who, mask, site));
        }
    }

    /// See [`simt::observer::Events::block_ends`].
    pub fn block_ends(&mut self, block: BlockId) {
        let Some(block) = self.blocks.remove(&block) else {
            return;
        };
        let Some((who, mask, site)) = block.exit else {
            return;
        };
        let exit = End::of_lanes(site, who, mask, Action::Exit, self.launch);
        let clusters = self.clusters;
        let shared = |part: &Part| is_shared(part, clusters.as_ref());
        for copy in block.warps.iter().flatten() {
            let stores = copy.writes.iter().all(|part| !shared(part));
            let mut reads = copy.reads.iter().filter(|r| shared(r));
            let left = |part: &&Part| part.mask & !copy.over & !copy.touched != 0;
            if let Some(part) = reads.find(left).filter(|_| stores) {
                self.reports_exit(exit, copy, part);
            }
        }
    }

    /// The block has ended while a copy may still read this of its memory.
    #[cold]
    fn reports_exit(&mut self, exit: End, copy: &Pending, part: &Part) {
        let rule = Rule::AsyncCopyHazard;
        if self
            .findings
            .count_again(rule, exit.site, copy.site)
            .is_some()
        {
            return;
        }
        let lane = (part.mask & !copy.over & !copy.touched).trailing_zeros();
        let (site, who) = (copy.site, copy.who);
        let begun = End::of_lanes(site, who, 1 << lane, copy.action, self.launch);
        self.findings.add(
            Finding::new(rule, vec![exit, begun])
                .at(Place::new(Space::Shared, part.address[lane as usize], 4))
                .with(Detail::CopyReads([false, true])),
        );
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
                    let near = |(low, high): (u64, u64)| low < to && from < high;
                    b.is_busy() && copies().any(|c| writes && near(c.source) || near(c.target))
                };
                (writes || self.stores) && self.blocks.values().any(pending)
            }
            _ => false,
        }
    }

    /// See [`simt::observer::Events::access`].
    pub fn access(&mut self, access: &Access<'_>, races: &mut race::Detector) {
        if access.asynchronous {
            return;
        }
        let action = match access.kind {
            AccessKind::Read => Action::Read,
            AccessKind::Write => Action::Write,
            AccessKind::Atomic | AccessKind::Reduction => Action::Atomic,
        };
        self.look(access, action, races);
    }

    fn look(&mut self, access: &Access<'_>, action: Action, races: &mut race::Detector) {
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
                self.touched((access, action), lane, (from, to), races);
            }
        }
    }

    /// A lane touches these bytes.
    #[cold]
    fn touched(
        &mut self,
        (access, action): (&Access<'_>, Action),
        lane: u32,
        (from, to): (u64, u64),
        races: &mut race::Detector,
    ) {
        let shared = access.space == Space::Shared;
        let writes = !matches!(access.kind, AccessKind::Read);
        let mut guilty = Vec::new();
        let blocks = self.blocks.iter_mut();
        for (_, block) in blocks.filter(|(id, _)| !shared || **id == access.who.block) {
            for arrived in &block.arrived {
                let copy = &arrived.copy;
                for (part, reads) in copy.conflicting(access.space, writes) {
                    for other in part.touching(0, from, to) {
                        let me = (access.who, lane);
                        if races.is_after(me, (copy.who, other), arrived.stamp)
                            && !arrived.is_complete_for(other, me, races)
                        {
                            let at = part.address[other as usize].max(from);
                            guilty.push((copy.blame(), other as usize, at, reads));
                        }
                    }
                }
            }
            for copy in block.warps.iter_mut().flatten() {
                let mut touched = 0;
                for (part, reads) in copy.conflicting(access.space, writes) {
                    if let Some(other) = part.touches(copy.over, from, to) {
                        let theirs = (copy.who, other as u32);
                        if access.who != copy.who
                            && !races.is_after((access.who, lane), theirs, copy.stamp)
                        {
                            continue;
                        }
                        let after = |(who, mask, stamp): (WarpRef, Mask, Stamp)| {
                            races.is_after_any((access.who, lane), (who, mask), stamp)
                        };
                        if copy.awaited.is_some_and(after) {
                            continue;
                        }
                        touched |= 1 << other;
                        let at = part.address[other].max(from);
                        guilty.push((copy.blame(), other, at, reads));
                    }
                }
                copy.touched |= touched;
            }
        }
        // The order of blocks in the table is nobody's business.
        guilty.sort_by_key(|((site, who, _), other, ..)| (*site, who.block.0, who.warp.0, *other));
        for (copy, other, at, reads) in guilty {
            let here = access.asynchronous && !writes;
            let detail = match here || reads {
                true => Detail::CopyReads([here, reads]),
                false => Detail::None,
            };
            self.report((access, action), lane as usize, (copy, other), at, detail);
        }
    }

    fn report(
        &mut self,
        (access, action): (&Access<'_>, Action),
        lane: usize,
        ((site, who, begun), other): (Blame, usize),
        at: u64,
        detail: Detail,
    ) {
        let rule = Rule::AsyncCopyHazard;
        if self.findings.count_again(rule, access.site, site).is_some() {
            return;
        }
        let end = |site, who, lane: usize, action| {
            End::of_lanes(site, who, 1 << lane, action, self.launch)
        };
        let element = u64::from(access.element);
        let first = access.address[lane];
        self.findings.add(
            Finding::new(
                rule,
                vec![
                    end(access.site, access.who, lane, action),
                    end(site, who, other, begun),
                ],
            )
            .at(Place::new(
                access.space,
                first + (at - first) / element * element,
                access.element,
            ))
            .with(detail),
        );
    }

    /// What was found, leaving nothing.
    pub fn take_findings(&mut self) -> Findings {
        let mut findings = std::mem::take(&mut self.findings);
        if let Some(clusters) = &self.clusters {
            findings.each_place(|place| clusters.real(place));
        }
        findings
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

#[cfg(test)]
mod tests;
