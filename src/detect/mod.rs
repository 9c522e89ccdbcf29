//! Detectors: one file each, behind the hooks of [`crate::simt::observer`].
//!
//! [`Detectors`] is what a session drives: all of them in one observer, put together when
//! it is compiled. Detectors know neither the instruction set nor the backend.

pub mod banks;
pub mod barrier;
pub mod branches;
pub mod coalescing;
pub mod memory;
pub mod perf;
pub mod race;
pub mod reference;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod tests;
pub mod warp_sync;

use crate::finding::Finding;
use crate::simt::ids::*;
use crate::simt::observer::*;
use race::block::lanes;

/// All detectors.
#[derive(Debug, Default)]
pub struct Detectors {
    races: race::Detector,
    barriers: barrier::Detector,
    warps: warp_sync::Detector,
    memory: memory::Detector,
    launch: u32,
    perf: Option<Box<perf::Perf>>,
}

impl Detectors {
    /// For a session; `perf` turns the performance detectors on.
    pub fn new(perf: bool) -> Detectors {
        Detectors {
            perf: perf.then(Box::default),
            ..Detectors::default()
        }
    }

    /// What was found since the last call, in a stable order.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        let mut all = self.races.take_findings();
        all.merge(self.barriers.take_findings());
        all.merge(self.warps.take_findings());
        all.merge(self.memory.take_findings());
        if let Some(perf) = &mut self.perf {
            perf.take_findings().into_iter().for_each(|f| all.add(f));
        }
        all.into_sorted()
    }
}

impl Observer for Detectors {
    fn launch_begins(&mut self, shape: &LaunchShape) {
        self.launch = shape.launch;
        self.races.launch_begins(shape);
        if let Some(perf) = &mut self.perf {
            perf.launch_begins(shape);
        }
    }
    fn launch_ends(&mut self) {
        self.races.launch_ends();
    }
    fn fork(&self) -> Detectors {
        Detectors {
            races: self.races.fork(),
            launch: self.launch,
            perf: self.perf.as_ref().map(|p| Box::new(p.fork())),
            ..Detectors::default()
        }
    }
    fn join(&mut self, forks: Vec<Detectors>) -> Joined {
        let clean =
            |f: &Detectors| f.barriers.is_clean() && f.warps.is_clean() && f.memory.is_clean();
        if !forks.iter().all(clean) {
            return Joined::Conflict;
        }
        let (races, counts): (Vec<_>, Vec<_>) =
            forks.into_iter().map(|f| (f.races, f.perf)).unzip();
        let joined = self.races.join(races);
        if let (Joined::Clean, Some(perf)) = (joined, &mut self.perf) {
            counts.into_iter().flatten().for_each(|p| perf.merge(*p));
        }
        joined
    }
    fn block_begins(&mut self, block: BlockId) {
        self.races.block_begins(block);
    }
    fn block_ends(&mut self, block: BlockId) {
        self.races.block_ends(block);
    }
    #[inline]
    fn access(&mut self, access: &Access<'_>) {
        self.races.access(access);
        if let Some(perf) = &mut self.perf {
            perf.access(access);
        }
    }
    fn fence(&mut self, _: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope) {
        self.races.fence(who, mask, order, scope);
    }
    fn block_arrives(&mut self, block: BlockId, id: u32, who: Party) {
        self.races.block_arrives(block, id, who);
    }
    fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        self.races.block_barrier(barrier);
    }
    fn warp_sync(&mut self, sync: &WarpSync) {
        self.races.warp_sync(sync);
    }
    fn misuse(&mut self, block: BlockId, misuse: Misuse) {
        self.barriers.misuse(self.launch, block, &misuse);
        self.warps.misuse(self.launch, block, &misuse);
    }
    fn fault(&mut self, fault: &MemoryFault<'_>) {
        self.memory.fault(self.launch, fault);
    }
    #[inline]
    fn uniform_branch(&mut self, site: Site) {
        if let Some(perf) = &mut self.perf {
            perf.uniform_branch(site);
        }
    }
    fn diverges(&mut self, divergence: &Divergence) {
        if let Some(perf) = &mut self.perf {
            perf.diverges(divergence);
        }
    }
    fn exits(&mut self, who: WarpRef, mask: Mask, _: Site) {
        self.races.exits(who, mask);
    }
}
