//! Bytes that threads have written and the async proxy reads or overwrites, with no proxy fence in between: `missing-proxy-fence`.
//!
//! A write through the generic proxy is ordered with an operation of the async proxy only if a proxy fence lies on the way from one to the other
//! (PTX ISA, "Memory Consistency Model: Proxy-Preserved Base Causality Order"): the write happens before the fence, the fence before the operation
//! begins. Whether the write comes before the operation at all is left to the race detector ([`super::race`]), whose clocks decide here, too.
//!
//! For each word of shared memory stands who wrote it last, with the others that its warp wrote at the same time (an *epoch*). A fence notes, for each
//! epoch that it comes after, which lanes' writes those are; the operation looks for such a fence that it comes after itself.
//!
//! Blind spots: writes to global memory; atomics of eight bytes and block scope, as which arrivals at mbarriers come; the initialisation of an mbarrier, for which NVIDIA's own library uses no fence; of a block, all but the
//! newest 1,024 epochs that no fence covers.

use crate::clusters::Clusters;
use crate::finding::{Action, Detail, End, Finding, Findings, Place};
use crate::race;
use crate::race::block::lanes;
use crate::race::clock::Stamp;
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::{
    Access, AccessKind, AsyncCopy, BlockBarrier, LaunchShape, Scope, Space, WarpRef,
};
use std::collections::HashMap;

/// Epochs of a block that are followed.
const ROOM: usize = 1024;

/// The last write to a word.
#[derive(Clone, Copy, Debug)]
struct Write {
    epoch: u32,
    lane: u8,
    site: Site,
}

/// A fence that comes after some lanes' writes.
#[derive(Clone, Copy, Debug)]
struct Fence {
    who: WarpRef,
    mask: Mask,
    stamp: Stamp,
    /// The lanes of the epoch.
    covers: Mask,
    /// Those of them whose writes come before the fence of each lane that executes it, so that each has fenced them for itself.
    each: Mask,
}

impl Fence {
    /// The lane that fences what a lane of a warp wrote.
    fn lane_for(&self, who: WarpRef, lane: u32) -> u32 {
        match self.who == who && self.mask >> lane & 1 == 1 {
            true => lane,
            false => self.mask.trailing_zeros(),
        }
    }
}

/// What a warp wrote from one synchronisation or fence to the next.
#[derive(Clone, Debug)]
struct Epoch {
    who: WarpRef,
    stamp: Stamp,
    /// Lanes that wrote.
    wrote: Mask,
    /// Whether more may be added: no fence has come since.
    open: bool,
    fences: Vec<Fence>,
    /// Whether everything in it is visible to whatever comes now.
    over: bool,
}

/// What threads of a block have written.
#[derive(Clone, Debug, Default)]
struct Block {
    /// By word of shared memory.
    words: Vec<Option<Write>>,
    epochs: Vec<Epoch>,
    /// Those that are not over, the oldest first.
    live: Vec<u32>,
    /// By warp, the newest.
    newest: Vec<Option<u32>>,
}

impl Block {
    fn epoch(&mut self, who: WarpRef, stamp: Stamp, mask: Mask) -> u32 {
        let warp = who.warp.0 as usize;
        if self.newest.len() <= warp {
            self.newest.resize(warp + 1, None);
        }
        if let Some(at) = self.newest[warp] {
            let epoch = &mut self.epochs[at as usize];
            if epoch.open && epoch.stamp == stamp && epoch.who == who {
                epoch.wrote |= mask;
                return at;
            }
        }
        if self.live.len() >= ROOM {
            let oldest = self.live.remove(0);
            self.epochs[oldest as usize].over = true;
        }
        let at = self.epochs.len() as u32;
        self.epochs.push(Epoch {
            who,
            stamp,
            wrote: mask,
            open: true,
            fences: Vec::new(),
            over: false,
        });
        self.live.push(at);
        self.newest[warp] = Some(at);
        at
    }

    /// A fence by some lanes of a warp.
    fn fence(&mut self, (who, mask): (WarpRef, Mask), stamp: Stamp, races: &mut race::Detector) {
        let first = mask.trailing_zeros();
        for at in &self.live {
            let epoch = &mut self.epochs[*at as usize];
            epoch.open = false;
            let mut covers = match epoch.who == who {
                true => mask & epoch.wrote,
                false => 0,
            };
            for lane in lanes(epoch.wrote & !covers) {
                let after = races.is_after((who, first), (epoch.who, lane), epoch.stamp);
                covers |= Mask::from(after) << lane;
            }
            let mut before_each = |by: &u32| {
                lanes(mask).all(|lane| {
                    let own = epoch.who == who && lane == *by;
                    own || races.is_after((who, lane), (epoch.who, *by), epoch.stamp)
                })
            };
            let each = lanes(covers).filter(&mut before_each);
            let each = each.fold(0, |mask, lane| mask | 1 << lane);
            let known =
                |f: &Fence| f.who == who && f.mask == mask && f.covers == covers && f.each == each;
            if covers != 0 && !epoch.fences.iter().any(known) {
                epoch.fences.push(Fence {
                    who,
                    mask,
                    stamp,
                    covers,
                    each,
                });
            }
        }
    }
}

/// Who has written what without a proxy fence in this launch.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    findings: Findings,
    launch: u32,
    blocks: HashMap<BlockId, Block>,
    /// Where blocks come in clusters of several, which write each other's memory.
    clusters: Option<Clusters>,
}

impl Detector {
    /// For a launch of a program with operations of the async proxy.
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

    /// See [`simt::observer::Events::access`].
    pub fn access(&mut self, access: &Access<'_>, races: &mut race::Detector) {
        let writes = !matches!(access.kind, AccessKind::Read);
        let wrote = access.wrote & access.mask;
        if access.asynchronous || !writes || access.space != Space::Shared || wrote == 0 {
            return;
        }
        // What arrives at mbarriers, again and again, where no copy goes.
        let atomic = access.kind != AccessKind::Write;
        if atomic && access.element == 8 && access.scope <= Scope::Cluster {
            return;
        }
        let stamp = races.now(access.who);
        let bytes = u64::from(access.bytes());
        for lane in lanes(wrote) {
            let (owner, at) = self.owner(access, lane);
            let block = self.blocks.entry(owner).or_default();
            let epoch = block.epoch(access.who, stamp, 1 << lane);
            let words = (at / 4) as usize..(at + bytes).div_ceil(4) as usize;
            if block.words.len() < words.end {
                block.words.resize(words.end, None);
            }
            block.words[words].fill(Some(Write {
                epoch,
                lane: lane as u8,
                site: access.site,
            }));
        }
    }

    /// See [`simt::observer::Events::proxy_fence`].
    pub fn fence(&mut self, who: WarpRef, mask: Mask, races: &mut race::Detector) {
        let stamp = races.now(who);
        let all = self.clusters.is_some();
        let blocks = self.blocks.iter_mut();
        for (_, block) in blocks.filter(|(id, _)| all || **id == who.block) {
            block.fence((who, mask), stamp, races);
        }
    }

    /// The block whose memory a lane accesses, and where.
    fn owner(&self, access: &Access<'_>, lane: u32) -> (BlockId, u64) {
        let at = access.address[lane as usize];
        match &self.clusters {
            Some(clusters) => clusters.owner(access.who.block, at),
            None => (access.who.block, at),
        }
    }

    /// See [`simt::observer::Events::block_barrier`]: a fence before it is one before everything that follows.
    pub fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let Some(block) = self.blocks.get_mut(&barrier.block) else {
            return;
        };
        if !barrier.full {
            return;
        }
        for at in &block.live {
            let epoch = &mut block.epochs[*at as usize];
            let own = epoch.fences.iter().filter(|f| f.who.block == barrier.block);
            let covered = own.fold(0, |mask, f| mask | f.covers);
            epoch.over = covered & epoch.wrote == epoch.wrote;
        }
        let epochs = &block.epochs;
        block.live.retain(|at| !epochs[*at as usize].over);
    }

    /// See [`simt::observer::Events::copy_begins`].
    pub fn begins(&mut self, copy: &AsyncCopy<'_>, races: &mut race::Detector) {
        if !copy.proxy {
            return;
        }
        let action = match copy.product {
            true => Action::Multiply,
            false => Action::Copy,
        };
        for (access, writes) in (copy.reads.iter().map(|read| (read, false)))
            .chain(copy.writes.iter().map(|write| (write, true)))
        {
            if access.space == Space::Shared {
                self.touches((access, action), writes, races);
            }
        }
    }

    fn touches(
        &mut self,
        (access, action): (&Access<'_>, Action),
        writes: bool,
        races: &mut race::Detector,
    ) {
        let mut guilty: Vec<(Write, WarpRef, u32, u64)> = Vec::new();
        let mut asked: HashMap<(BlockId, u32, u8, u32), bool> = HashMap::new();
        for lane in lanes(access.mask) {
            let (owner, at) = self.owner(access, lane);
            let words = at / 4..(at + u64::from(access.bytes())).div_ceil(4);
            let Some(block) = self.blocks.get_mut(&owner) else {
                continue;
            };
            for word in words {
                let Some(Some(write)) = block.words.get(word as usize).copied() else {
                    continue;
                };
                let epoch = &block.epochs[write.epoch as usize];
                let by = u32::from(write.lane);
                let mut fenced = || {
                    let mut fences = epoch.fences.iter().filter(|f| f.covers >> by & 1 == 1);
                    fences.any(|f| {
                        let theirs = f.lane_for(epoch.who, by);
                        let each = f.mask >> lane & f.each >> by & 1 == 1;
                        let own = f.who == access.who && (theirs == lane || each);
                        own || races.is_after((access.who, lane), (f.who, theirs), f.stamp)
                    })
                };
                let key = (owner, write.epoch, write.lane, lane);
                let good = epoch.over || *asked.entry(key).or_insert_with(&mut fenced);
                if !good && !guilty.iter().any(|(w, ..)| w.site == write.site) {
                    guilty.push((write, epoch.who, lane, word * 4));
                }
                if writes {
                    block.words[word as usize] = None;
                }
            }
        }
        for (write, who, lane, at) in guilty {
            let (_, first) = self.owner(access, lane);
            self.report((access, action), lane, (write, who), at.max(first));
        }
    }

    fn report(
        &mut self,
        (access, action): (&Access<'_>, Action),
        lane: u32,
        (write, who): (Write, WarpRef),
        at: u64,
    ) {
        let rule = Rule::MissingProxyFence;
        if self
            .findings
            .count_again(rule, access.site, write.site)
            .is_some()
        {
            return;
        }
        let end =
            |site, who, lane: u32, action| End::of_lanes(site, who, 1 << lane, action, self.launch);
        self.findings.add(
            Finding::new(
                rule,
                vec![
                    end(access.site, access.who, lane, action),
                    end(write.site, who, write.lane.into(), Action::Write),
                ],
            )
            .at(Place::new(access.space, at, access.element))
            .with(Detail::CopyReads([access.kind == AccessKind::Read, false])),
        );
    }

    /// See [`simt::observer::Events::block_ends`].
    pub fn block_ends(&mut self, block: BlockId) {
        self.blocks.remove(&block);
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
    use simt::observer::Events;

    /// The instructions of findings of the rule, the operation first.
    fn found(act: impl FnOnce(&mut Scene<Detectors>)) -> Vec<(u32, u32)> {
        let mut scene = Scene::new(Detectors::new(false), 1, 96);
        act(&mut scene);
        let found = scene.observer.take_findings();
        let of_rule = found.iter().filter(|f| f.rule == Rule::MissingProxyFence);
        let blame = |f: &Finding| (f.ends[0].site.0, f.ends[1].site.0);
        of_rule.map(blame).collect()
    }

    fn fence(s: &mut Scene<Detectors>, who: WarpRef, mask: Mask) {
        let site = s.site();
        s.observer.proxy_fence(site, who, mask);
    }

    /// Thread 0 stores the first 32 words of shared memory.
    fn stores(s: &mut Scene<Detectors>) {
        s.bulk_store_begins(warp(0, 0), 0, 128);
    }

    #[test]
    fn a_fence_by_the_writer_before_the_barrier_will_do() {
        let found = found(|s| {
            s.go(warp(0, 1), ALL, write(0).by_lane());
            fence(s, warp(0, 1), ALL);
            s.barrier(0);
            stores(s);
        });
        assert_eq!(found, []);
    }

    #[test]
    fn a_fence_by_the_issuer_after_the_barrier_will_do() {
        let found = found(|s| {
            s.go(warp(0, 1), ALL, write(0).by_lane());
            s.barrier(0);
            fence(s, warp(0, 0), 1);
            stores(s);
        });
        assert_eq!(found, []);
    }

    #[test]
    fn a_barrier_alone_is_no_proxy_fence() {
        let found = found(|s| {
            s.go(warp(0, 1), ALL, write(0).by_lane());
            s.barrier(0);
            stores(s);
        });
        assert_eq!(found, [(2, 0)]);
    }

    #[test]
    fn a_fence_before_the_write_is_none() {
        let found = found(|s| {
            fence(s, warp(0, 1), ALL);
            s.go(warp(0, 1), ALL, write(0).by_lane());
            s.barrier(0);
            stores(s);
        });
        assert_eq!(found, [(3, 1)]);
    }

    #[test]
    fn each_lane_may_fence_for_itself_what_its_warp_wrote() {
        let written = |s: &mut Scene<Detectors>| s.go(warp(0, 0), ALL, write(0).by_lane());
        let behind = found(|s| {
            written(s);
            s.barrier(0);
            fence(s, warp(0, 0), ALL);
            stores(s);
        });
        assert_eq!(behind, []);
        // Nothing orders the others' fences with the operation here.
        let without = found(|s| {
            written(s);
            fence(s, warp(0, 0), ALL);
            stores(s);
        });
        assert_eq!(without.len(), 1);
    }

    #[test]
    fn a_fence_of_one_thread_before_the_barrier_is_for_its_own_writes() {
        let found = found(|s| {
            s.go(warp(0, 1), ALL, write(0).by_lane());
            fence(s, warp(0, 0), 1);
            s.barrier(0);
            stores(s);
        });
        assert_eq!(found, [(3, 0)]);
    }

    #[test]
    fn lanes_that_did_not_fence_are_not_covered() {
        let found = found(|s| {
            s.go(warp(0, 1), ALL, write(0).by_lane());
            fence(s, warp(0, 1), 0xffff);
            s.barrier(0);
            stores(s);
        });
        assert_eq!(found, [(3, 0)]);
    }
}
