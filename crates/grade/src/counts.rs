//! Counts what a run does: what a grade can depend on without a clock.

use crate::assignment::Metric;
use detect::{banks, coalescing};
use simt::observer::{Access, AccessKind, BlockBarrier, Divergence, Events, Space};
use std::collections::BTreeMap;

/// The sums of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    requests: u64,
    sectors: u64,
    conflicts: u64,
    divergent: u64,
    reads: u64,
    writes: u64,
    atomics: u64,
    barriers: u64,
}

impl Counter {
    /// The counts by metric.
    pub fn counts(&self) -> BTreeMap<Metric, f64> {
        let each = match self.requests {
            0 => 0.0,
            requests => self.sectors as f64 / requests as f64,
        };
        let whole = |n: u64| n as f64;
        BTreeMap::from([
            (Metric::BankConflicts, whole(self.conflicts)),
            (Metric::SectorsPerRequest, each),
            (Metric::DivergentBranches, whole(self.divergent)),
            (Metric::GlobalReads, whole(self.reads)),
            (Metric::GlobalWrites, whole(self.writes)),
            (Metric::Atomics, whole(self.atomics)),
            (Metric::Barriers, whole(self.barriers)),
        ])
    }
}

impl Events for Counter {
    fn access(&mut self, access: &Access<'_>) {
        let lanes = access.performed();
        let elements = u64::from(lanes.count_ones() * access.elements);
        let atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        match access.space {
            _ if atomic => self.atomics += elements,
            Space::Global => {
                match access.kind {
                    AccessKind::Read => self.reads += elements,
                    _ => self.writes += elements,
                }
                let (moved, _) = coalescing::sectors(access.address, lanes, access.bytes());
                self.requests += 1;
                self.sectors += moved;
            }
            Space::Shared => {
                let (least, passes, _) = banks::passes(access.address, lanes, access.bytes());
                self.conflicts += u64::from(passes.saturating_sub(least));
            }
            _ => {}
        }
    }

    fn block_barrier(&mut self, _: &BlockBarrier<'_>) {
        self.barriers += 1;
    }

    fn diverges(&mut self, _: &Divergence) {
        self.divergent += 1;
    }
}
