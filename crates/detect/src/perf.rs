//! The performance detectors together: off by default, so that the hot path stays one call.

use super::banks::Banks;
use super::branches::Branches;
use super::coalescing::Sectors;
use crate::finding::Finding;
use simt::ids::*;
use simt::observer::*;

/// Banks, sectors and branches.
#[derive(Clone, Debug, Default)]
pub struct Perf {
    launch: u32,
    banks: Banks,
    sectors: Sectors,
    branches: Branches,
}

impl Perf {
    /// For a launch, with nothing counted yet.
    pub fn fork(&self) -> Perf {
        Perf {
            launch: self.launch,
            ..Perf::default()
        }
    }
    /// See [`Events::launch_begins`].
    pub fn launch_begins(&mut self, shape: &LaunchShape) {
        self.launch = shape.launch;
    }
    /// See [`Events::access`].
    pub fn access(&mut self, access: &Access<'_>) {
        match access.space {
            _ if access.fragment => {}
            Space::Shared => self.banks.access(access, self.launch),
            Space::Global => self.sectors.access(access, self.launch),
            Space::Local | Space::Const | Space::Param => {}
        }
    }
    /// See [`Events::uniform_branch`].
    pub fn uniform_branch(&mut self, site: Site) {
        self.branches.uniform(site);
    }
    /// See [`Events::diverges`].
    pub fn diverges(&mut self, divergence: &Divergence) {
        self.branches.diverges(divergence, self.launch);
    }
    /// Adds what another core counted.
    pub fn merge(&mut self, other: Perf) {
        self.banks.merge(other.banks);
        self.sectors.merge(other.sectors);
        self.branches.merge(other.branches);
    }
    /// What was found since the last call.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        let found = self.banks.take_findings();
        let found = found.chain(self.sectors.take_findings());
        found.chain(self.branches.take_findings()).collect()
    }
}
