//! Counts what a run does: one observer, sums over all launches.

use detect::banks;
use simt::observer::*;

/// What is counted, and what that is.
pub const NAMES: &[(&str, &str)] = &[
    ("launches", "kernel launches"),
    ("blocks", "blocks"),
    ("warps", "warps, those that are not full included"),
    ("barriers", "block barriers, each counted once a block"),
    (
        "global_reads",
        "elements that threads read from global memory",
    ),
    (
        "global_writes",
        "elements that threads write to global memory",
    ),
    (
        "shared_reads",
        "elements that threads read from shared memory",
    ),
    (
        "shared_writes",
        "elements that threads write to shared memory",
    ),
    ("atomics", "atomic operations of threads"),
    ("shared_requests", "accesses of warps to shared memory"),
    ("shared_wavefronts", "passes that these take"),
    ("branches", "conditional branches that warps execute"),
    (
        "divergent_branches",
        "the ones of these that split the warp",
    ),
];

/// The sums, in the order of [`NAMES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    sums: [u64; NAMES.len()],
}

impl Counter {
    /// A sum by its name.
    pub fn get(&self, name: &str) -> Option<i64> {
        let at = NAMES.iter().position(|(known, _)| *known == name)?;
        i64::try_from(self.sums[at]).ok()
    }

    fn add(&mut self, name: &str, number: u64) {
        if let Some(at) = NAMES.iter().position(|(known, _)| *known == name) {
            self.sums[at] += number;
        }
    }
}

impl Events for Counter {
    fn launch_begins(&mut self, shape: &LaunchShape) {
        let blocks = shape.grid.count();
        self.add("launches", 1);
        self.add("blocks", blocks);
        self.add("warps", blocks * shape.block.count().div_ceil(32));
    }

    fn access(&mut self, access: &Access<'_>) {
        let elements = u64::from(access.performed().count_ones() * access.elements);
        match (access.space, access.kind) {
            (_, AccessKind::Atomic | AccessKind::Reduction) => self.add("atomics", elements),
            (Space::Global, AccessKind::Read) => self.add("global_reads", elements),
            (Space::Global, AccessKind::Write) => self.add("global_writes", elements),
            (Space::Shared, AccessKind::Read) => self.add("shared_reads", elements),
            (Space::Shared, AccessKind::Write) => self.add("shared_writes", elements),
            _ => {}
        }
        if access.space == Space::Shared {
            let (_, passes, _) = banks::passes(access.address, access.performed(), access.bytes());
            self.add("shared_requests", 1);
            self.add("shared_wavefronts", passes.into());
        }
    }

    fn block_barrier(&mut self, _: &BlockBarrier<'_>) {
        self.add("barriers", 1);
    }

    fn uniform_branch(&mut self, _: simt::ids::Site) {
        self.add("branches", 1);
    }

    fn diverges(&mut self, _: &Divergence) {
        self.add("branches", 1);
        self.add("divergent_branches", 1);
    }
}
