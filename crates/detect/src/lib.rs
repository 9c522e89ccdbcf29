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
mod events;
pub mod finding;
pub mod footprint;
pub mod memory;
pub mod non_coherent;
pub mod perf;
pub mod proxy;
pub mod race;
pub mod reference;
mod reserved;
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
    /// Where the program uses shared memory that the system reserves.
    reserved: Option<Box<reserved::Detector>>,
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
    /// Accesses to memory that the launch has made so far, one for each thread.
    accesses: u64,
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

    /// How many accesses to memory of the last launch were judged: one for each thread and instruction, however wide.
    pub fn take_accesses(&mut self) -> u64 {
        std::mem::take(&mut self.accesses)
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
        if let Some(reserved) = &mut self.reserved {
            all.merge(reserved.take_findings());
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
            reserved: self.reserved.as_ref().map(|r| Box::new(r.fork())),
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
            && self.clusters.as_ref().is_none_or(|c| c.is_clean())
            && self.reserved.as_ref().is_none_or(|r| r.races.is_clean());
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
        let mut accesses = 0;
        for fork in forks {
            self.coverage.merge(&fork.coverage);
            accesses += fork.accesses;
            races.push(fork.races);
            counts.extend(fork.perf);
            footprints.extend(fork.footprint);
            dependencies.extend(fork.dependency);
            counted.extend(fork.counter);
        }
        let joined = self.races.join(races);
        if joined == Joined::Clean {
            self.accesses += accesses;
        }
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
            self.accesses += fork.accesses;
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
            ("accesses", self.accesses.to_string()),
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
