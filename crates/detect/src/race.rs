//! The race detector: exact happens-before over the observed interleaving, in constant
//! time per access in the common case.
//!
//! # What it decides
//!
//! Two accesses to the same byte of shared or global memory, at least one a write, that
//! are not related in causality order and are not morally strong are a data race (PTX ISA,
//! "Conflict and Data-races"). The order comes from program order; barriers; warp
//! barriers; release and acquire patterns with their scopes, observation order through
//! chains of read-modify-writes, and `fence.sc` ([`sync`]).
//!
//! # How
//!
//! *Stamps.* Every warp has a counter that grows when one of its threads publishes
//! something (a barrier, a release). An access is remembered as (thread, stamp, instruction).
//! A barrier of the whole block lifts all counters to one value, the block's *floor*:
//! everything in the block stamped below it is ordered, at once and without touching it.
//! A warp barrier lifts the warp's floor. That is FastTrack's epoch (Flanagan and Freund,
//! PLDI 2009) with the grid's hierarchy put to use, as BARRACUDA (Eizenberg et al., PLDI
//! 2017) compresses its per-thread clocks.
//!
//! *Exact clocks.* Partial warp barriers, named barriers for a part of the block,
//! `bar.arrive`, release and acquire: threads then know something of others that no floor
//! says. It is kept in sparse clocks by block, warp and lane ([`clock`]), persistent and
//! shared ([`trie`]), looked at only where the floors don't decide.
//!
//! *Shadow.* For each granule the last weak write, the weak readers, the strong accesses
//! ([`cells`], [`strong`]): the small per-word state of iGUARD (Kamath and Basu, SOSP 2021)
//! and HiRace (Jacobson et al., SC 2024), but lossless. As long as accesses are to adjacent
//! memory, one entry stands for a whole line of granules ([`lines`]). A granule is the largest unit that
//! all accesses of the program are multiples of, so the answer is exact to the byte. A
//! warp's access to adjacent memory is one branch-free loop over slices. Reads of shared memory by whole warps are set aside until
//! something depends on them, which mostly is never ([`rows`]), and so are atomics on shared memory ([`atomics`]), and rows that race as it
//! is known ([`racing_rows`]).
//!
//! *Scopes.* Each clock exists twice, as the scopes have it and as it would be if all were
//! wide enough: what only the second one orders is `insufficient-scope`.
//!
//! # Deviations
//!
//! * FastTrack drops a reader that a later reader dominates. Here this holds only within
//!   a category: a weak access is not forgotten for a strong one, which would hide it from
//!   other strong ones.
//! * Two `fence.sc` are ordered where communication forces it, not where they happened to
//!   run in that order.
//! * Threads that exited take no part in a barrier: what they did stays unordered.
//!
//! # Blind spots
//!
//! * It judges one interleaving: a race that needs another path is found on that path.
//!   One that only executions have that are not sequentially consistent, such as an atomic that an earlier one of another thread
//!   seems to precede because that thread's later relaxed store was seen, is not found.
//!   After the first race on a granule, later ones there may be missed or named by another
//!   of their accesses.
//! * Where no fine synchronisation is possible, the readers of a granule by several warps
//!   are kept as two of them. A third one that then exits without a barrier can be
//!   missed, by a write after the next barrier.
//! * Causality order is not transitive where it goes through observation order: who observes a strong write comes after that
//!   write, not after what was ordered before it. From 64 strong writes (or failed compare-and-swaps) to one granule on that nothing
//!   orders or replaces, one that a later one of its block is ordered after counts as ordered with whoever observes that.
//! * Accesses through other proxies (bulk and tensor copies) are not seen; those through textures and surfaces are, as accesses to the memory behind.
//!
//! # Blocks on several cores
//!
//! Each fork has a shadow of its own for global memory; [`Detector::join`] compares the
//! pages that two forks have touched ([`merge`]). Its cost is linear in the pages.

mod access_shape;
mod aside;
mod atomics;
pub mod block;
mod block_clock;
pub mod cells;
pub mod clock;
mod concurrent_launches;
pub mod contention;
mod entry;
pub mod fence_sc;
pub mod fences;
mod folded;
mod in_clusters;
mod known;
mod line;
pub mod lines;
mod merge;
pub mod message;
pub mod pages;
mod products;
mod racing_rows;
mod readers;
mod reads;
pub mod report;
mod resident;
mod row_events;
pub mod rows;
mod slab;
mod span;
pub mod strong;
mod strong_access;
mod strong_cell;
pub mod sync;
pub mod thread;
pub mod trie;
mod weak_access;

use crate::clusters::Clusters;
use crate::finding::Findings;
use block::{Block, View};
use cells::{Cells, LAST_STAMP};
use clock::{Knowledge, Stamp};
use concurrent_launches::{First, Together};
use contention::{Contention, Map};
use pages::Pages;
use report::Reporter;
use resident::Resident;
use simt::ids::{BlockId, Mask, Site};
use simt::lower::dependence::OrderSources;
use simt::observer::*;
use std::collections::HashMap;
use std::sync::Arc;
use strong_access::Strong;
use sync::LocationFences;
use weak_access::WeakAccesses as _;

/// The race detector.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    launch: Shape,
    residents: Vec<Resident>,
    /// Where each is, by its block.
    places: Map<u32>,
    /// The one that was looked up last.
    current: usize,
    /// Windows of blocks that have ended, with the latest stamp in each.
    spare: Vec<(Resident, Stamp)>,
    global: Pages,
    reporter: Reporter,
    /// What depends on the order of threads, where strong accesses or calls of the driver are possible.
    contention: Contention,
    /// Launches that run side by side, where there may be such.
    together: Option<Box<Together>>,
    /// For comparison: neither atomics nor racing rows are set aside.
    #[cfg(test)]
    pub(crate) tells_at_once: bool,
    /// Of the launch that runs: its place among them, and what its blocks know from their beginning.
    first: First,
    base: Knowledge,
    /// The `fence.sc`s of the launch, where they are ordered as they are executed.
    fences_before: Option<LocationFences>,
    /// Where blocks come in clusters of several: where their shared memory lies in the shadow of global memory.
    clusters: Option<Clusters>,
    /// By cluster: what those know that have arrived at its barrier, and what those knew that had arrived in the phase before.
    meetings: HashMap<u32, [Knowledge; 2]>,
    products: products::Products,
}

/// What it needs of [`LaunchShape`].
#[derive(Clone, Debug, Default)]
struct Shape {
    threads: u32,
    warps: u32,
    shared_cells: usize,
    shared_shift: u32,
    global_shift: u32,
    strong_shared: bool,
    strong_global: bool,
    fine_sync: bool,
    control_only: Arc<[bool]>,
    hands_on: Arc<[bool]>,
    polls: bool,
}

impl Shape {
    fn of(shape: &LaunchShape) -> Shape {
        let threads = shape.block.count() as u32;
        let shared_shift = shape.shared_granule.max(1).trailing_zeros();
        Shape {
            threads,
            warps: threads.div_ceil(32),
            shared_cells: (shape.shared_bytes as usize).div_ceil(1 << shared_shift),
            shared_shift,
            global_shift: shape.global_granule.max(1).trailing_zeros(),
            strong_shared: shape.strong_shared,
            strong_global: shape.strong_global,
            fine_sync: shape.fine_sync,
            control_only: shape.control_only.clone(),
            hands_on: shape.hands_on.clone(),
            polls: shape.polls,
        }
    }

    fn view<'a>(&self, block: &'a Block, warp: u32, global: bool) -> View<'a> {
        let w = &block.warps[warp as usize];
        let first = if global {
            block.id.wrapping_mul(self.warps)
        } else {
            0
        };
        View {
            block,
            warp,
            first,
            width: self.warps,
            me: first.wrapping_add(warp),
            now: w.now,
            block_floor: block.floor,
            warp_floor: w.floor,
            global,
            // Once threads have exited that a barrier did not order, floors don't tell the whole.
            fine_sync: self.fine_sync || !block.base.is_empty(),
        }
    }
}

impl Detector {
    /// A new session.
    pub fn new() -> Detector {
        Detector::default()
    }

    /// What was found, leaving nothing.
    pub fn take_findings(&mut self) -> Findings {
        self.reporter.known = Default::default();
        let mut findings = std::mem::take(&mut self.reporter.findings);
        if let Some(clusters) = &self.clusters {
            findings.each_place(|place| clusters.real(place));
        }
        findings.settle_values();
        findings.settle_warps();
        findings
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.reporter.findings.is_empty()
    }

    /// See [`Events::launch_begins`].
    pub fn launch_begins(&mut self, shape: &LaunchShape) {
        self.clusters = Clusters::of(shape);
        self.meetings.clear();
        self.products = Default::default();
        // All memory between threads is told as global.
        let granule = shape.shared_granule.min(shape.global_granule);
        let together = LaunchShape {
            strong_global: shape.strong_global || shape.strong_shared,
            global_granule: granule,
            ..shape.clone()
        };
        let shape = match self.clusters {
            Some(_) => &together,
            None => shape,
        };
        if self.joins(shape) {
            return;
        }
        self.launch = Shape::of(shape);
        self.widen();
        (self.first, self.base) = (First::default(), Knowledge::default());
        self.residents.clear();
        self.places.clear();
        self.spare.clear();
        self.global = Pages::new(shape.strong_global);
        self.reporter.launch = shape.launch;
        self.fences_before = shape.stale_values.then(LocationFences::default);
        self.contention = Contention::new(shape);
    }

    /// What depended on the order of threads in the last launch.
    pub fn order_sources(&self) -> &OrderSources {
        self.contention.sources()
    }

    /// See [`Events::launch_ends`].
    pub fn launch_ends(&mut self) {
        if self.is_joint() {
            return;
        }
        self.residents.clear();
        self.places.clear();
        self.spare.clear();
        self.global = Pages::default();
    }

    /// See [`Observer::fork`].
    pub fn fork(&self) -> Detector {
        Detector {
            launch: self.launch.clone(),
            global: Pages::new(self.launch.strong_global),
            reporter: Reporter::new(self.reporter.launch),
            contention: self.contention.fork(),
            ..Detector::default()
        }
    }

    /// See [`Observer::join`].
    pub fn join(&mut self, forks: Vec<Detector>) -> Joined {
        if forks.iter().any(|f| !f.is_clean()) || merge::conflicts(&forks) {
            return Joined::Conflict;
        }
        let contention = forks.into_iter().map(|f| f.contention).collect();
        match self.contention.join(contention) {
            true => Joined::Clean,
            false => Joined::Conflict,
        }
    }

    /// See [`Events::block_begins`].
    pub fn block_begins(&mut self, own: BlockId) {
        let id = self.first.block(own);
        let (mut resident, stamp) = match self.spare.pop() {
            Some((resident, stamp)) if stamp < LAST_STAMP / 2 => (resident, stamp),
            _ => {
                let cells = Cells::new(self.launch.shared_cells, self.launch.strong_shared);
                let fresh = Resident {
                    shared: cells,
                    ..Resident::default()
                };
                (fresh, 0)
            }
        };
        if self.launch.fine_sync && self.launch.strong_shared {
            resident.shared.forget_all_strong();
        }
        resident.block.begin(id.0, self.launch.threads, stamp);
        if !self.base.is_empty() {
            resident.block.base = self.base.clone();
        }
        if let Some(clusters) = &self.clusters {
            let members = clusters.members(own);
            let members = members.map(|member| self.first.block(member).0);
            resident.block.members = members.collect();
        }
        let place = self.residents.len() as u32;
        self.places.insert(u64::from(id.0), place);
        self.residents.push(resident);
    }

    /// See [`Events::block_ends`].
    pub fn block_ends(&mut self, id: BlockId) {
        let id = self.first.block(id);
        self.products.forget(id);
        if let Some(at) = self.places.remove(&u64::from(id.0)) {
            let mut resident = self.residents.swap_remove(at as usize);
            if let Some(moved) = self.residents.get(at as usize) {
                self.places.insert(u64::from(moved.block.id), at);
            }
            resident.settle();
            let latest = resident.block.latest();
            self.spare.push((resident, latest));
        }
    }

    #[inline(always)]
    fn find(&mut self, id: BlockId) -> usize {
        match self.residents.get(self.current) {
            Some(resident) if resident.block.id == id.0 => self.current,
            _ => self.look_up(id),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, id: BlockId) -> usize {
        let place = self.places.get(&u64::from(id.0));
        self.current = *place.expect("a block that has begun") as usize;
        self.current
    }

    /// The time of a warp: what its threads do now is stamped with it.
    pub fn now(&mut self, who: WarpRef) -> Stamp {
        self.block(who.block).warps[who.warp.0 as usize].now
    }

    /// Whether what a thread of another warp did at a time comes before what this thread does now.
    pub fn is_after(
        &mut self,
        (who, lane): (WarpRef, u32),
        (other, theirs): (WarpRef, u32),
        stamp: Stamp,
    ) -> bool {
        self.is_after_any((who, lane), (other, 1 << theirs), stamp)
    }

    /// Whether what some lane of these of a warp did at a time comes before what this thread does now.
    pub fn is_after_any(
        &mut self,
        (who, lane): (WarpRef, u32),
        (other, lanes): (WarpRef, Mask),
        stamp: Stamp,
    ) -> bool {
        let at = self.find(who.block);
        let view = self
            .launch
            .view(&self.residents[at].block, who.warp.0, true);
        let warp = other.block.0.wrapping_mul(self.launch.warps);
        let warp = warp.wrapping_add(other.warp.0);
        view.unordered(lane, warp, lanes, stamp) != lanes
    }

    fn block(&mut self, id: BlockId) -> &mut Block {
        let at = self.find(id);
        &mut self.residents[at].block
    }

    /// See [`Events::fence`].
    pub fn fence(&mut self, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope) {
        if self.launch.fine_sync {
            let who = self.first.who(who);
            let mut before = self.fences_before.take();
            let block = self.block(who.block);
            let lanes = (who.warp.0, mask);
            sync::fence(block, lanes, (order, scope), before.as_mut());
            if block.communicated {
                self.contention.communicated();
            }
            self.fences_before = before;
        }
    }

    /// See [`Events::block_barrier`].
    pub fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let at = self.find(self.first.block(barrier.block));
        let resident = &mut self.residents[at];
        if resident.block.only_raises_floor(barrier) {
            resident.settle();
        } else {
            resident.tell(&self.launch, &mut self.reporter);
        }
        resident.block.barrier(barrier);
    }

    /// See [`Events::block_arrives`].
    pub fn block_arrives(&mut self, block: BlockId, id: u32, who: Party) {
        let at = self.find(self.first.block(block));
        let resident = &mut self.residents[at];
        resident.tell(&self.launch, &mut self.reporter);
        resident.block.arrives(id, who);
    }

    /// See [`Events::warp_sync`].
    pub fn warp_sync(&mut self, sync: &WarpSync) {
        if sync.kind == WarpSyncKind::Barrier {
            let at = self.find(self.first.block(sync.who.block));
            let resident = &mut self.residents[at];
            let party = Party {
                warp: sync.who.warp,
                mask: sync.lanes,
                site: sync.site,
            };
            if !resident.block.only_raises_warp_floor(&party) {
                resident.tell(&self.launch, &mut self.reporter);
            }
            resident.block.warp_sync(party);
        }
    }

    /// See [`Events::stale_value`].
    pub fn stale_value(&mut self, site: Site) {
        self.contention.read_stale(site);
    }

    /// See [`Events::driver_call`].
    pub fn driver_call(&mut self, site: Site, who: WarpRef, mask: Mask, what: DriverCall) {
        let at = self.find(self.first.block(who.block));
        let v = self
            .launch
            .view(&self.residents[at].block, who.warp.0, true);
        self.contention.driver_call(site, mask, what, &v);
    }

    /// See [`Events::exits`].
    pub fn exits(&mut self, who: WarpRef, mask: Mask) {
        let who = self.first.who(who);
        self.block(who.block).exits(who.warp.0, mask);
    }

    /// An access as the launches that run side by side number it, where that differs.
    #[inline(always)]
    fn through<'a>(&self, access: &Access<'a>) -> Option<Access<'a>> {
        (self.first != First::default()).then(|| Access {
            site: self.first.site(access.site),
            who: self.first.who(access.who),
            ..*access
        })
    }

    /// An access that a copy which begins will perform: what comes before has to be ordered with the beginning.
    pub fn announced(&mut self, access: &Access<'_>) {
        self.reporter.announces = true;
        self.access(access);
        self.reporter.announces = false;
    }

    /// See [`Events::access`].
    #[inline]
    pub fn access(&mut self, access: &Access<'_>) {
        if let Some(clusters) = self.clusters {
            return self.access_in_cluster(access, &clusters);
        }
        self.access_to(access);
    }

    #[inline(always)]
    fn access_to(&mut self, access: &Access<'_>) {
        let global = match access.space {
            Space::Global => true,
            Space::Shared => false,
            Space::Local | Space::Const | Space::Param => return,
        };
        let (own, through) = (access, &self.through(access));
        let access = match through {
            Some(through) => through,
            None => own,
        };
        let at = self.find(access.who.block);
        let blocks = self.residents.len();
        let resident = &mut self.residents[at];
        let warp = access.who.warp.0;
        resident.block.warps[warp as usize].touched |= access.mask;
        let weak = access.is_weak();
        let (launch, reporter) = (&self.launch, &mut self.reporter);
        let contention = &mut self.contention;
        if global {
            if launch.strong_global {
                let v = launch.view(&resident.block, warp, true);
                contention.access_global(own, &v);
            }
        } else {
            let (mut shadow, mut order) = (false, false);
            #[cfg(test)]
            let weak = weak || self.tells_at_once;
            if !weak {
                let both = (own, access);
                (shadow, order) = resident.set_aside(both, blocks, launch, contention, reporter);
            }
            if launch.strong_shared && !order {
                let v = launch.view(&resident.block, warp, false);
                let (strong, atomics) = (&mut resident.strong, &mut resident.atomics);
                contention.access_shared(own, strong, atomics, &v);
            }
            if shadow {
                return;
            }
            let racing = !weak && !reporter.known.is_empty() || !resident.racing.is_empty();
            #[cfg(test)]
            let racing = racing && !self.tells_at_once;
            if racing && resident.set_row_aside(access, launch, reporter) {
                return;
            }
            resident.tell(launch, reporter);
            resident.told = true;
            resident.atomics.mix();
        }
        match (weak, global) {
            (true, true) => {
                let v = launch.view(&resident.block, access.who.warp.0, true);
                self.global.weak(access, &v, launch.global_shift, reporter);
            }
            (true, false) => {
                let v = launch.view(&resident.block, access.who.warp.0, false);
                resident
                    .shared
                    .weak(access, &v, launch.shared_shift, reporter);
            }
            (false, true) => {
                let strong = Strong { launch, access };
                strong.run(&mut self.global, &mut resident.block, reporter);
            }
            (false, false) => {
                let strong = Strong { launch, access };
                strong.run(&mut resident.shared, &mut resident.block, reporter);
            }
        }
        if !weak && resident.block.communicated {
            self.contention.communicated();
        }
    }
}
