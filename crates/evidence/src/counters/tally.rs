//! Sums of what the performance detectors count by instruction.

use detect::{banks, coalescing};
use serde::{Deserialize, Serialize};
use simt::observer::{Access, AccessKind, Events, Space};

/// Sums over launches. Atomics are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Counts {
    /// Passes through the banks, of loads from shared memory.
    pub shared_load_wavefronts: u64,
    /// Passes through the banks, of stores to shared memory.
    pub shared_store_wavefronts: u64,
    /// 32-byte sectors, of loads from global memory.
    pub global_load_sectors: u64,
    /// 32-byte sectors, of stores to global memory.
    pub global_store_sectors: u64,
}

impl Counts {
    /// Each with its name.
    pub fn each(&self) -> [(&'static str, u64); 4] {
        [
            ("shared load wavefronts", self.shared_load_wavefronts),
            ("shared store wavefronts", self.shared_store_wavefronts),
            ("global load sectors", self.global_load_sectors),
            ("global store sectors", self.global_store_sectors),
        ]
    }
}

/// Counts a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// So far.
    pub counts: Counts,
}

impl Events for Tally {
    fn access(&mut self, access: &Access<'_>) {
        let counts = &mut self.counts;
        let slot = match (access.space, access.kind) {
            (Space::Shared, AccessKind::Read) => &mut counts.shared_load_wavefronts,
            (Space::Shared, AccessKind::Write) => &mut counts.shared_store_wavefronts,
            (Space::Global, AccessKind::Read) => &mut counts.global_load_sectors,
            (Space::Global, AccessKind::Write) => &mut counts.global_store_sectors,
            _ => return,
        };
        *slot += match access.space {
            Space::Shared => {
                let (_, passes, _) =
                    banks::passes(access.address, access.performed(), access.bytes());
                u64::from(passes)
            }
            _ => coalescing::sectors(access.address, access.performed(), access.bytes()).0,
        };
    }
}
