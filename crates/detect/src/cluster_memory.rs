//! Shared memory of another block of the cluster, accessed when that block may not have begun or may have ended: `cluster-memory`.
//!
//! Distributed shared memory is there from when its block has begun until it has ended (CUDA C++ Programming Guide, "Distributed Shared Memory":
//! "it is required that all the thread blocks have started executing and they exist", "... that all distributed shared memory operations are
//! completed before a thread block exits"). What the run happened to do says little: what counts is what threads have waited for.
//!
//! * A block has begun for whoever comes after something that one of its threads has done. The race detector's clocks know ([`race`]). And all
//!   blocks have begun for a thread that has waited at the cluster's barrier, whether that orders memory or not.
//! * A block has not ended as long as one of its threads has not exited. So an access is safe if it comes before the exit of some thread of that block. Of
//!   each thread that accesses memory of another block, its last access by instruction is kept, until a thread of that block exits
//!   which comes after it; what is left when the block has ended is a finding.
//!
//! Blind spot: of one thread's accesses by one instruction to a block, the last one stands for all.

use crate::clusters::Clusters;
use crate::finding::{Action, End, Finding, Findings, Place};
use crate::race;
use crate::race::block::lanes;
use crate::race::clock::Stamp;
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::{Access, AccessKind, ClusterParty, Space, WarpRef};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A thread's last access to a block's memory by an instruction.
#[derive(Clone, Copy, Debug)]
struct Last {
    stamp: Stamp,
    address: u64,
    bytes: u32,
    action: Action,
}

/// Accesses of other blocks' threads to the memory of one, by warp, lane and instruction.
type Accesses = BTreeMap<(u32, u32, u32, Site), Last>;

/// Whose memory who has accessed in this launch.
#[derive(Clone, Debug)]
pub struct Detector {
    findings: Findings,
    launch: u32,
    clusters: Clusters,
    accesses: HashMap<BlockId, Accesses>,
    /// Where and by whom a block's threads exited last; those that have ended.
    exits: HashMap<BlockId, (WarpRef, Mask, Site)>,
    ended: HashMap<BlockId, (WarpRef, Mask, Site)>,
    /// Threads that are known to come after the beginning of a block.
    begun: BTreeSet<(BlockId, u32, u32, u32)>,
}

impl Detector {
    /// For a launch in clusters of several blocks.
    pub fn new(launch: u32, clusters: Clusters) -> Detector {
        Detector {
            findings: Findings::default(),
            launch,
            clusters,
            accesses: HashMap::new(),
            exits: HashMap::new(),
            ended: HashMap::new(),
            begun: BTreeSet::new(),
        }
    }

    /// Where shared memory lies.
    pub fn layout(&self) -> Clusters {
        self.clusters
    }

    /// See [`simt::observer::Events::access`].
    pub fn access(&mut self, access: &Access<'_>, races: &mut race::Detector) {
        if access.space != Space::Shared {
            return;
        }
        for lane in lanes(access.mask) {
            let at = access.address[lane as usize];
            let (owner, address) = self.clusters.owner(access.who.block, at);
            if owner != access.who.block {
                self.far(access, lane, (owner, address), races);
            }
        }
    }

    /// See [`simt::observer::Events::cluster_waits`].
    pub fn cluster_waits(&mut self, party: &ClusterParty) {
        let who = party.who;
        for owner in self.clusters.members(who.block) {
            for lane in lanes(party.mask) {
                self.begun.insert((owner, who.block.0, who.warp.0, lane));
            }
        }
    }

    fn far(
        &mut self,
        access: &Access<'_>,
        lane: u32,
        (owner, address): (BlockId, u64),
        races: &mut race::Detector,
    ) {
        let who = access.who;
        let last = Last {
            stamp: races.now(who),
            address,
            bytes: access.element,
            action: match access.kind {
                _ if access.asynchronous => Action::Copy,
                AccessKind::Read => Action::Read,
                AccessKind::Write => Action::Write,
                AccessKind::Atomic | AccessKind::Reduction => Action::Atomic,
            },
        };
        let thread = (owner, who.block.0, who.warp.0, lane);
        if !self.begun.contains(&thread) {
            match races.knows_of((who, lane), owner) {
                true => drop(self.begun.insert(thread)),
                false => self.report((access.site, who, lane), last, None),
            }
        }
        if let Some(exit) = self.ended.get(&owner).copied() {
            return self.report((access.site, who, lane), last, Some(exit));
        }
        let key = (who.block.0, who.warp.0, lane, access.site);
        self.accesses.entry(owner).or_default().insert(key, last);
    }

    /// See [`simt::observer::Events::exits`], of the threads before the race detector forgets what they knew.
    pub fn exits(&mut self, who: WarpRef, mask: Mask, site: Site, races: &mut race::Detector) {
        self.exits.insert(who.block, (who, mask, site));
        let Some(accesses) = self.accesses.get_mut(&who.block) else {
            return;
        };
        accesses.retain(|(block, warp, lane, _), last| {
            let other = WarpRef {
                block: BlockId(*block),
                warp: WarpId(*warp),
            };
            !lanes(mask).any(|l| races.is_after((who, l), (other, *lane), last.stamp))
        });
    }

    /// See [`simt::observer::Events::block_ends`].
    pub fn block_ends(&mut self, block: BlockId) {
        let Some(exit) = self.exits.remove(&block) else {
            return;
        };
        self.ended.insert(block, exit);
        for ((other, warp, lane, site), last) in self.accesses.remove(&block).unwrap_or_default() {
            let who = WarpRef {
                block: BlockId(other),
                warp: WarpId(warp),
            };
            self.report((site, who, lane), last, Some(exit));
        }
    }

    /// An access to memory of a block that may not have begun, or may have ended with the exit of these threads.
    #[cold]
    fn report(
        &mut self,
        (site, who, lane): (Site, WarpRef, u32),
        last: Last,
        exit: Option<(WarpRef, Mask, Site)>,
    ) {
        let rule = Rule::ClusterMemory;
        let other = exit.map_or(site, |(.., exit)| exit);
        if self.findings.count_again(rule, site, other).is_some() {
            return;
        }
        let here = End::of_lanes(site, who, 1 << lane, last.action, self.launch);
        let exit =
            exit.map(|(who, mask, site)| End::of_lanes(site, who, mask, Action::Exit, self.launch));
        self.findings.add(
            Finding::new(rule, std::iter::once(here).chain(exit).collect()).at(Place::new(
                Space::Shared,
                last.address,
                last.bytes,
            )),
        );
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
