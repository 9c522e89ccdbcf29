//! How long a split runs, and why it stops.

/// How long a split may run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantum {
    /// Warp-instructions.
    pub fuel: u32,
    /// The turn goes on with another quantum, so that this one may end sooner.
    pub goes_on: bool,
    /// Memory and synchronisation operations, or `u32::MAX`.
    pub visible: u32,
    /// `visible` counts accesses to memory alone: the split stops before the one that is too many, and nowhere else.
    pub accesses: bool,
    /// Stop before this program counter or beyond: another split stands there.
    pub limit: u32,
}

impl Quantum {
    /// Nothing runs.
    pub const NONE: Quantum = Quantum {
        fuel: 0,
        goes_on: false,
        visible: 0,
        accesses: false,
        limit: 0,
    };
}

/// Why a split stopped running.
#[derive(Debug, PartialEq)]
pub(crate) enum Yield {
    /// It waits, or has ended, or has been split: look at the warp again.
    Blocked,
    /// It has come to where another split may be.
    Reconverge,
    /// Its quantum is over.
    QuantumExpired,
    /// From here on its block has undefined values to follow; what is left of its quantum.
    Poisoned(Quantum),
}
