//! Detectors: one file each, behind the hooks of [`simt::observer`].
//!
//! [`Detectors`] is what a session drives: all of them in one observer, put together when
//! it is compiled. Detectors know neither the instruction set nor the backend.

pub mod async_copy;
#[cfg(test)]
mod axioms;
pub mod banks;
pub mod barrier;
pub mod branches;
pub mod cluster_memory;
pub mod clusters;
pub mod coalescing;
pub mod communication;
pub mod counts;
pub mod coverage;
pub mod dependency;
pub mod finding;
pub mod footprint;
pub mod memory;
pub mod non_coherent;
pub mod perf;
pub mod proxy;
pub mod race;
pub mod reference;
pub mod rules;
#[cfg(test)]
mod scene;
pub mod shuffle;
#[cfg(test)]
mod tests;
pub mod warp_sync;

use crate::finding::{Finding, Findings};
use race::block::lanes;
use simt::ids::*;
use simt::lower::dependence::OrderSources;
use simt::observer::*;
use simt::{Device, Launch, Limits, Program, ScheduleSpec, Stats, Stop, Waiting};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// All detectors.
#[derive(Clone, Debug, Default)]
pub struct Detectors {
    races: race::Detector,
    barriers: barrier::Detector,
    warps: warp_sync::Detector,
    memory: memory::Detector,
    shuffles: shuffle::Detector,
    /// Where the program has such reads.
    non_coherent: Option<Box<non_coherent::Detector>>,
    /// Where the program has such copies.
    copies: Option<Box<async_copy::Detector>>,
    /// Where it has operations of the async proxy.
    proxies: Option<Box<proxy::Detector>>,
    /// Where the launch is in clusters of several blocks.
    clusters: Option<Box<cluster_memory::Detector>>,
    /// Findings of these in earlier launches.
    stale: Findings,
    launch: u32,
    perf: Option<Box<perf::Perf>>,
    /// Where what threads do is counted.
    counter: Option<Box<counts::Counts>>,
    /// The kernel that runs, by its number in the session, and what was counted in the others.
    kernel: usize,
    others: BTreeMap<usize, Box<perf::Perf>>,
    /// Where operations of the host program may run at the same time.
    footprint: Option<Box<footprint::Recorder>>,
    /// Where the launch depends on another one programmatically, or others may on it: once it has begun.
    dependency: Option<Box<dependency::Watch>>,
    /// Where other orders of what it did to memory are to be tried.
    communication: Option<Box<communication::Recorder>>,
    /// Loads that returned older values than the last, in the launch that runs.
    stale_loads: BTreeSet<Site>,
    /// Where the branches of the launch went.
    coverage: coverage::Coverage,
    /// See [`LaunchShape::unwritten`].
    unwritten: Arc<[Range<u64>]>,
}

impl Detectors {
    /// For a session; `perf` turns the performance detectors on.
    pub fn new(perf: bool) -> Detectors {
        Detectors {
            perf: perf.then(Box::default),
            ..Detectors::default()
        }
    }

    /// Keeps what the next launch does to memory, for [`Detectors::take_footprint`]; to these ranges alone, if there are any.
    pub fn record_footprint(&mut self, only: Option<footprint::Ranges>) {
        self.footprint = Some(Box::new(footprint::Recorder::only(only)));
    }

    /// What the last launch did to memory, if that was asked for.
    pub fn take_footprint(&mut self) -> Option<footprint::Footprint> {
        Some(self.footprint.take()?.finish())
    }

    /// Keeps what the next launch does before it has waited for the one that it depends on, for [`Detectors::take_dependency`].
    pub fn record_dependency(&mut self) {
        self.dependency = Some(Box::default());
    }

    /// What the last launch did before it had waited for the one that it depends on, and all of it; if that was asked for.
    pub fn take_dependency(&mut self) -> Option<(footprint::Footprint, footprint::Footprint)> {
        Some(self.dependency.take()?.finish())
    }

    /// The next launch, of so many instructions, may be joined by others while it runs, or not ([`race::Detector::expect_others`]).
    pub fn expect_others(&mut self, sites: Option<u32>) {
        self.races.expect_others(sites);
    }

    /// Exchanges the detector of races: launches that run side by side have one for all.
    pub fn exchange_races(&mut self, other: &mut race::Detector) {
        std::mem::swap(&mut self.races, other);
    }

    /// What the launch that runs did to memory until now, or since the last call, if that was asked for.
    pub fn cut_footprint(&mut self) -> Option<footprint::Footprint> {
        let recorder = self.footprint.as_mut()?;
        let next = recorder.fork();
        Some(std::mem::replace(&mut **recorder, next).finish())
    }

    /// Keeps what the next launch's threads do to memory that they share, for [`Detectors::take_communication`].
    pub fn record_communication(&mut self) {
        self.communication = Some(Box::default());
    }

    /// What the last launch's threads did, if that was asked for.
    pub fn take_communication(&mut self) -> Option<communication::Log> {
        Some(self.communication.take()?.finish())
    }

    /// Where the branches of the last launch went.
    pub fn take_coverage(&mut self) -> coverage::Coverage {
        std::mem::take(&mut self.coverage)
    }

    /// Counts what the next launch's threads do, for [`Detectors::take_counts`].
    pub fn count(&mut self) {
        self.counter = Some(Box::default());
    }

    /// What the last launch's threads did, if that was asked for.
    pub fn take_counts(&mut self) -> Option<counts::Counts> {
        Some(*self.counter.take()?)
    }

    /// What depended on the order of threads in the last launch.
    pub fn order_sources(&self) -> &OrderSources {
        self.races.order_sources()
    }

    /// The next launches are of this kernel: an instruction's number means something in its own program only.
    pub fn enter(&mut self, kernel: usize) {
        if kernel != self.kernel && self.perf.is_some() {
            let other = self.others.remove(&kernel).unwrap_or_default();
            if let Some(left) = self.perf.replace(other) {
                self.others.insert(self.kernel, left);
            }
        }
        self.kernel = kernel;
    }

    /// What was found wrong in this kernel since the last call, in a stable order.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        let mut all = self.all_findings();
        all.settle_copies();
        let mut all = all.into_sorted();
        for finding in &mut all {
            finding.stale_loads = self.stale_loads.iter().copied().collect();
        }
        all
    }

    fn all_findings(&mut self) -> Findings {
        let mut all = self.races.take_findings();
        all.merge(self.barriers.take_findings());
        all.merge(self.warps.take_findings());
        all.merge(self.memory.take_findings());
        all.merge(self.shuffles.take_findings());
        all.merge(std::mem::take(&mut self.stale));
        if let Some(non_coherent) = &mut self.non_coherent {
            all.merge(non_coherent.take_findings());
        }
        if let Some(copies) = &mut self.copies {
            all.merge(copies.take_findings());
        }
        if let Some(proxies) = &mut self.proxies {
            all.merge(proxies.take_findings());
        }
        if let Some(clusters) = &mut self.clusters {
            all.merge(clusters.take_findings());
        }
        all
    }

    /// What was counted in all kernels: notes on performance.
    pub fn take_notes(&mut self) -> Vec<Finding> {
        let others = std::mem::take(&mut self.others).into_values();
        let all = others.chain(self.perf.as_mut().map(std::mem::take));
        all.flat_map(|mut perf| perf.take_findings()).collect()
    }
}

impl Observer for Detectors {
    fn fork(&self) -> Detectors {
        Detectors {
            races: self.races.fork(),
            non_coherent: self.non_coherent.as_ref().map(|n| Box::new(n.fork())),
            copies: self.copies.as_ref().map(|c| Box::new(c.fork())),
            proxies: self.proxies.as_ref().map(|p| Box::new(p.fork())),
            launch: self.launch,
            unwritten: self.unwritten.clone(),
            perf: self.perf.as_ref().map(|p| Box::new(p.fork())),
            footprint: self.footprint.as_ref().map(|f| Box::new(f.fork())),
            dependency: self.dependency.as_ref().map(|d| Box::new(d.fork())),
            counter: self.counter.as_ref().map(|_| Box::default()),
            ..Detectors::default()
        }
    }
    fn in_vain(&self) -> bool {
        let clean = self.races.is_clean()
            && self.barriers.is_clean()
            && self.warps.is_clean()
            && self.memory.is_clean()
            && self.shuffles.is_clean()
            && self.non_coherent.as_ref().is_none_or(|n| n.is_clean())
            && self.copies.as_ref().is_none_or(|c| c.is_clean())
            && self.proxies.as_ref().is_none_or(|p| p.is_clean())
            && self.clusters.as_ref().is_none_or(|c| c.is_clean());
        !clean
    }
    fn join(&mut self, forks: Vec<Detectors>) -> Joined {
        // A log has one order.
        if self.communication.is_some() || forks.iter().any(Detectors::in_vain) {
            return Joined::Conflict;
        }
        let (mut races, mut counts, mut footprints) = (Vec::new(), Vec::new(), Vec::new());
        let mut dependencies = Vec::new();
        let mut counted = Vec::new();
        for fork in forks {
            self.coverage.merge(&fork.coverage);
            races.push(fork.races);
            counts.extend(fork.perf);
            footprints.extend(fork.footprint);
            dependencies.extend(fork.dependency);
            counted.extend(fork.counter);
        }
        let joined = self.races.join(races);
        if let (Joined::Clean, Some(perf)) = (joined, &mut self.perf) {
            counts.into_iter().for_each(|p| perf.merge(*p));
        }
        if let (Joined::Clean, Some(footprint)) = (joined, &mut self.footprint) {
            footprints.into_iter().for_each(|f| footprint.merge(*f));
        }
        if let (Joined::Clean, Some(dependency)) = (joined, &mut self.dependency) {
            dependencies.into_iter().for_each(|d| dependency.merge(*d));
        }
        if let (Joined::Clean, Some(counter)) = (joined, &mut self.counter) {
            counted.into_iter().for_each(|c| counter.add(&c));
        }
        joined
    }
    fn salvage(&mut self, forks: Vec<Detectors>) {
        for mut fork in forks {
            self.coverage.merge(&fork.coverage);
            self.stale.merge(fork.all_findings());
            self.stale_loads.append(&mut fork.stale_loads);
        }
    }
    fn twin(&self) -> Option<Detectors> {
        Some(self.clone())
    }
    fn difference(&mut self, mut twin: Detectors) -> Option<String> {
        let (own, other) = (self.told(), twin.told());
        let mut both = own.into_iter().zip(other);
        let ((what, fast), (_, plain)) = both.find(|(a, b)| a != b)?;
        Some(format!("{what}: fast: {fast}, plain: {plain}"))
    }
}

impl Detectors {
    /// All that can be asked of a launch that has ended, to be compared; nothing of it is taken.
    fn told(&mut self) -> Vec<(&'static str, String)> {
        let found = self.all_findings();
        self.stale.merge(found.clone());
        let perf = self.perf.clone().map(|mut perf| perf.take_findings());
        let communication = self.communication.clone().map(|c| c.finish());
        let footprint = self.footprint.clone().map(|f| f.finish());
        let dependency = self.dependency.clone().map(|d| d.finish());
        vec![
            ("findings", format!("{:#?}", found.into_sorted())),
            ("stale loads", format!("{:?}", self.stale_loads)),
            ("coverage", format!("{:?}", self.coverage)),
            ("order", format!("{:?}", self.order_sources())),
            ("performance", format!("{perf:#?}")),
            ("counts", format!("{:?}", self.counter)),
            ("footprint", format!("{footprint:?}")),
            ("before it waited", format!("{dependency:?}")),
            ("communication", format!("{communication:?}")),
        ]
    }
}

impl Detectors {
    /// [`simt::launch()`], watched by these. The execution loop is compiled for them here, once.
    ///
    /// # Errors
    /// As there.
    pub fn launch(
        &mut self,
        device: &mut Device,
        program: &Program,
        how: &Launch,
        schedule: &ScheduleSpec,
        limits: &Limits,
        jobs: usize,
    ) -> Result<Stats, Stop> {
        let ended = self.launch_or_wait(device, program, how, schedule, limits, jobs);
        ended.map_err(|(stop, _)| stop)
    }

    /// [`simt::launch_or_wait()`], watched by these, who belong to the launch until it has ended.
    ///
    /// # Errors
    /// As there.
    #[allow(clippy::result_large_err)] // Once a launch.
    pub fn launch_or_wait(
        &mut self,
        device: &mut Device,
        program: &Program,
        how: &Launch,
        schedule: &ScheduleSpec,
        limits: &Limits,
        jobs: usize,
    ) -> Result<Stats, (Stop, Option<Box<Waiting>>)> {
        simt::launch_or_wait(device, program, how, schedule, limits, jobs, self)
    }

    /// [`Waiting::resume`], watched by these.
    ///
    /// # Errors
    /// As there.
    #[allow(clippy::result_large_err)] // Once a launch.
    pub fn resume(
        &mut self,
        waiting: Box<Waiting>,
        device: &mut Device,
        program: &Program,
        how: &Launch,
        limits: &Limits,
        prove: bool,
    ) -> Result<Stats, (Stop, Option<Box<Waiting>>)> {
        waiting.resume(device, program, how, limits, prove, self)
    }
}

impl Detectors {
    /// Whether all that a fetch reads is in one range that no instruction of the launch writes.
    #[inline]
    fn is_unwritten(&self, access: &Access<'_>) -> bool {
        if self.unwritten.is_empty() || !access.non_coherent || access.space != Space::Global {
            return false;
        }
        let bytes = u64::from(access.bytes());
        self.unwritten.iter().any(|range| {
            (0..32).all(|lane| {
                let at = access.address[lane];
                access.mask >> lane & 1 == 0 || range.start <= at && at + bytes <= range.end
            })
        })
    }
}

impl Detectors {
    /// Tells the race detector of an access, and of asynchronous copies what nothing has touched in between.
    #[inline]
    fn race(&mut self, access: &Access<'_>) {
        if self.clusters.is_some() {
            return self.race_in_cluster(access);
        }
        self.race_of(access, access);
    }

    /// The same where blocks come in clusters of several: shared memory is a part of global memory.
    #[cold]
    fn race_in_cluster(&mut self, access: &Access<'_>) {
        let Some(clusters) = &mut self.clusters else {
            return;
        };
        clusters.access(access, &mut self.races);
        let layout = clusters.layout();
        layout.flat(access, |flat| self.race_of(access, flat));
    }

    /// The same, of an access `as` the detectors of races and copies see it.
    #[inline]
    fn race_of(&mut self, own: &Access<'_>, access: &Access<'_>) {
        let Some(copies) = &mut self.copies else {
            return self.races.access(access);
        };
        if access.asynchronous {
            let mask = copies.untouched(access.mask);
            let wrote = access.wrote & mask;
            self.races.access(&Access {
                mask,
                wrote,
                ..*access
            });
        } else {
            copies.access(access, &mut self.races);
            if let Some(proxies) = &mut self.proxies {
                proxies.access(own, &mut self.races);
            }
            self.races.access(access);
        }
    }
}

impl Detectors {
    /// A copy begins, as it is and as the detectors of races and copies see it.
    fn begins(&mut self, own: &AsyncCopy<'_>, copy: &AsyncCopy<'_>) {
        if let Some(copies) = &mut self.copies {
            copies.begins(copy, &mut self.races);
        }
        if let Some(proxies) = &mut self.proxies {
            proxies.begins(own, &mut self.races);
        }
        // What comes before it has to be ordered with its beginning.
        let accesses = copy.reads.iter().chain(copy.writes);
        accesses.for_each(|access| access.split(|piece| self.races.access(piece)));
    }
}

impl Detectors {
    /// Whether accesses to shared memory concern the race detector alone, and perhaps the footprint.
    #[inline(always)]
    fn races_alone(&self) -> bool {
        self.copies.is_none()
            && self.clusters.is_none()
            && self.perf.is_none()
            && self.counter.is_none()
            && self.communication.is_none()
    }
}

impl Events for Detectors {
    fn launch_begins(&mut self, shape: &LaunchShape) {
        self.unwritten = shape.unwritten.clone();
        self.launch = shape.launch;
        self.stale_loads.clear();
        self.coverage = coverage::Coverage::default();
        self.races.launch_begins(shape);
        self.non_coherent = shape
            .non_coherent
            .then(|| Box::new(non_coherent::Detector::new(shape)));
        self.copies = shape
            .async_copies
            .then(|| Box::new(async_copy::Detector::new(shape)));
        self.proxies = shape
            .async_proxy
            .then(|| Box::new(proxy::Detector::new(shape)));
        self.clusters = clusters::Clusters::of(shape)
            .map(|clusters| Box::new(cluster_memory::Detector::new(shape.launch, clusters)));
        if let Some(perf) = &mut self.perf {
            perf.launch_begins(shape);
        }
        if let Some(footprint) = &mut self.footprint {
            **footprint = footprint.begin(shape);
        }
        if let Some(communication) = &mut self.communication {
            **communication = communication::Recorder::new(shape);
        }
        if let Some(dependency) = &mut self.dependency {
            **dependency = dependency::Watch::begin(shape);
        }
    }
    fn launch_ends(&mut self) {
        self.races.launch_ends();
        if let Some(mut non_coherent) = self.non_coherent.take() {
            self.stale.merge(non_coherent.take_findings());
        }
        if let Some(mut copies) = self.copies.take() {
            self.stale.merge(copies.take_findings());
        }
        if let Some(mut proxies) = self.proxies.take() {
            self.stale.merge(proxies.take_findings());
        }
        if let Some(mut clusters) = self.clusters.take() {
            self.stale.merge(clusters.take_findings());
        }
    }
    fn block_begins(&mut self, block: BlockId) {
        self.races.block_begins(block);
    }
    fn block_ends(&mut self, block: BlockId) {
        if let Some(clusters) = &mut self.clusters {
            clusters.block_ends(block);
        }
        self.races.block_ends(block);
        if let Some(copies) = &mut self.copies {
            copies.block_ends(block);
        }
        if let Some(proxies) = &mut self.proxies {
            proxies.block_ends(block);
        }
    }
    #[inline]
    fn access(&mut self, access: &Access<'_>) {
        // What nobody writes is read without a race, and is never stale.
        if !self.is_unwritten(access) {
            self.race(access);
            if let Some(non_coherent) = &mut self.non_coherent {
                non_coherent.access(access);
            }
        }
        if let Some(perf) = &mut self.perf {
            perf.access(access);
        }
        if let Some(footprint) = &mut self.footprint {
            footprint.access(access);
        }
        if let Some(communication) = &mut self.communication {
            communication.access(access);
        }
        if let Some(dependency) = &mut self.dependency {
            dependency.access(access);
        }
        if let Some(counter) = &mut self.counter {
            counter.access(access);
        }
    }
    #[inline]
    fn row_access(&mut self, access: &RowAccess<'_>) {
        let copied = |c: &async_copy::Detector| {
            let (from, to) = (access.start(), access.end());
            c.concerns(access.who.block, access.space, from, to, access.write)
        };
        let alone = self.non_coherent.is_none()
            && !self.copies.as_ref().is_some_and(|c| copied(c))
            && !(self.proxies.is_some() && access.write)
            && self.clusters.is_none()
            && self.perf.is_none()
            && self.counter.is_none()
            && self.dependency.is_none()
            && self.communication.is_none();
        if !(alone && self.races.row_access(access)) {
            let address = access.addresses();
            self.access(&access.expanded(&address));
        } else if let Some(footprint) = &mut self.footprint {
            footprint.row_access(access);
        }
    }
    fn shared_reads(&mut self, who: WarpRef, mut reads: &[SharedRead]) {
        let alone = self.races_alone();
        while !reads.is_empty() {
            let aside = match alone {
                true => self.races.shared_reads(who, reads),
                false => 0,
            };
            let (told, rest) = reads.split_at(aside);
            if let Some(footprint) = &mut self.footprint {
                let rows = told.iter().map(|read| read.row(who));
                rows.for_each(|row| footprint.row_access(&row));
            }
            let Some((next, rest)) = rest.split_first() else {
                break;
            };
            self.row_access(&next.row(who));
            reads = rest;
        }
    }
    #[inline]
    fn shared_run(&mut self, run: &SharedRun<'_>) {
        let alone = self.races_alone();
        if !(alone && self.races.shared_run(run)) {
            let reads: Vec<SharedRead> = run.each().collect();
            self.shared_reads(run.who, &reads);
        } else if let Some(footprint) = &mut self.footprint {
            let rows = run.each().map(|read| read.row(run.who));
            rows.for_each(|row| footprint.row_access(&row));
        }
    }
    #[inline]
    fn word_updates(&mut self, updates: &WordUpdates<'_>) {
        let alone = self.races_alone() && self.footprint.is_none();
        if !(alone && self.races.word_updates(updates)) {
            let address = updates.addresses();
            self.access(&updates.expanded(&address));
        }
    }
    fn copy_begins(&mut self, copy: &AsyncCopy<'_>) {
        if let Some(clusters) = &self.clusters {
            let layout = clusters.layout();
            return layout.flat_copy(copy, |flat| self.begins(copy, flat));
        }
        self.begins(copy, copy);
    }
    fn copy_reads_end(&mut self, who: WarpRef, number: u64, mask: Mask) {
        if let Some(copies) = &mut self.copies {
            copies.reads_end(who, number, mask);
        }
    }
    fn copy_ends(&mut self, who: WarpRef, number: u64, mask: Mask) {
        if let Some(copies) = &mut self.copies {
            copies.ends(who, number, mask, &mut self.races);
        }
    }
    fn proxy_fence(&mut self, _: Site, who: WarpRef, mask: Mask) {
        if let Some(proxies) = &mut self.proxies {
            proxies.fence(who, mask, &mut self.races);
        }
    }
    fn copy_arrives(&mut self, who: WarpRef, number: u64, mask: Mask) {
        if let Some(copies) = &mut self.copies {
            copies.arrives(who, number, mask, &mut self.races);
        }
    }
    fn copies_arrive_at(&mut self, who: WarpRef, mask: Mask, block: BlockId, object: u64) {
        if let Some(copies) = &mut self.copies {
            copies.arrive_at(who, mask, (block, object));
        }
    }
    fn phase_completes(&mut self, block: BlockId, object: u64) {
        if let Some(copies) = &mut self.copies {
            copies.phase_completes(block, object);
        }
        if let Some(dependency) = &mut self.dependency {
            dependency.hands_on(block);
        }
    }
    fn phase_awaited(&mut self, who: WarpRef, mask: Mask, objects: &[u64; LANES]) {
        if let Some(copies) = &mut self.copies {
            copies.awaited(who, mask, objects, &mut self.races);
        }
    }
    fn dependency_wait(&mut self, who: WarpRef, mask: Mask) {
        if let Some(dependency) = &mut self.dependency {
            dependency.waits(who, mask);
        }
    }
    fn stale_value(&mut self, site: Site) {
        self.stale_loads.insert(site);
        self.races.stale_value(site);
    }
    fn fence(&mut self, _: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope) {
        self.races.fence(who, mask, order, scope);
        if let Some(dependency) = &mut self.dependency {
            dependency.hands_on(who.block);
        }
    }
    fn block_arrives(&mut self, block: BlockId, id: u32, who: Party) {
        self.races.block_arrives(block, id, who);
        if let Some(communication) = &mut self.communication {
            communication.block_arrives();
        }
    }
    fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        self.races.block_barrier(barrier);
        if let Some(copies) = &mut self.copies {
            copies.block_barrier(barrier);
        }
        if let Some(proxies) = &mut self.proxies {
            proxies.block_barrier(barrier);
        }
        if let Some(dependency) = &mut self.dependency {
            dependency.block_barrier(barrier);
        }
        if let Some(counter) = &mut self.counter {
            counter.block_barrier(barrier);
        }
        if let Some(communication) = &mut self.communication {
            communication.block_barrier(barrier);
        }
    }
    fn cluster_arrives(&mut self, party: &ClusterParty) {
        self.races.cluster_arrives(party);
        if let Some(communication) = &mut self.communication {
            communication.block_arrives();
        }
    }
    fn cluster_completes(&mut self, cluster: u32) {
        self.races.cluster_completes(cluster);
    }
    fn cluster_waits(&mut self, party: &ClusterParty) {
        self.races.cluster_waits(party);
        if let Some(clusters) = &mut self.clusters {
            clusters.cluster_waits(party);
        }
        if let Some(dependency) = &mut self.dependency {
            dependency.hands_on(party.who.block);
        }
    }
    fn warp_sync(&mut self, sync: &WarpSync) {
        self.races.warp_sync(sync);
        if let (Some(dependency), WarpSyncKind::Barrier) = (&mut self.dependency, sync.kind) {
            dependency.warp_barrier(sync.who, sync.lanes);
        }
        if let Some(communication) = &mut self.communication {
            communication.warp_sync(sync);
        }
    }
    fn misuse(&mut self, block: BlockId, misuse: Misuse) {
        self.barriers.misuse(self.launch, block, &misuse);
        self.warps.misuse(self.launch, block, &misuse);
    }
    fn fault(&mut self, fault: &MemoryFault<'_>) {
        // Where the copy that is to write them is not complete, that is the mistake, and the access that follows tells it.
        if let (Some(copies), FaultKind::Uninitialized) = (&self.copies, fault.kind)
            && let Some(space) = fault.space
        {
            let bytes = u64::from(fault.bytes);
            let copied = |lane: u32| {
                let from = fault.address[lane as usize];
                match &self.clusters {
                    Some(clusters) => {
                        let from = clusters.layout().place(fault.who.block, from);
                        copies.concerns(fault.who.block, Space::Global, from, from + bytes, false)
                    }
                    None => copies.concerns(fault.who.block, space, from, from + bytes, false),
                }
            };
            if space == Space::Shared && lanes(fault.mask).all(copied) {
                return;
            }
        }
        self.memory.fault(self.launch, fault);
    }
    fn undefined(&mut self, used: &UndefinedUse<'_>) {
        self.shuffles.undefined(self.launch, used);
    }
    #[inline]
    fn uniform_branch(&mut self, site: Site, who: WarpRef, taken: bool) {
        self.coverage.uniform_branch(site, who, taken);
        if let Some(perf) = &mut self.perf {
            perf.uniform_branch(site);
        }
    }
    fn diverges(&mut self, divergence: &Divergence) {
        self.coverage.diverges(divergence);
        if let Some(counter) = &mut self.counter {
            counter.diverges(divergence);
        }
        if let Some(perf) = &mut self.perf {
            perf.diverges(divergence);
        }
    }
    fn driver_call(&mut self, site: Site, who: WarpRef, mask: Mask, what: DriverCall) {
        self.races.driver_call(site, who, mask, what);
        if let Some(communication) = &mut self.communication {
            communication.driver_call();
        }
    }
    fn exits(&mut self, who: WarpRef, mask: Mask, site: Site) {
        if let Some(clusters) = &mut self.clusters {
            clusters.exits(who, mask, site, &mut self.races);
        }
        self.races.exits(who, mask);
        if let Some(copies) = &mut self.copies {
            copies.exits(who, mask, site);
        }
    }
}
