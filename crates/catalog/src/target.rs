//! The targets that kernels are compiled for, and which GPU runs the code for which of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A target that kernels are compiled for (PTX ISA, "`.target`").
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Target {
    /// The oldest that nvcc 13 compiles for.
    #[serde(rename = "sm_75")]
    Sm75,
    /// The first with `cp.async` and mbarriers.
    #[serde(rename = "sm_80")]
    Sm80,
    /// The first with clusters, bulk copies and dependent launches.
    #[serde(rename = "sm_90")]
    Sm90,
    /// With `wgmma` and `setmaxnreg`, for compute capability 9.0 alone.
    #[serde(rename = "sm_90a")]
    Sm90a,
}

impl Target {
    /// All, the oldest first.
    pub const ALL: [Target; 4] = [Target::Sm75, Target::Sm80, Target::Sm90, Target::Sm90a];

    /// The targets of cases that name none.
    pub const USUAL: [Target; 2] = [Target::Sm75, Target::Sm90];

    /// As the compiler and PTX name it.
    pub fn name(self) -> &'static str {
        match self {
            Target::Sm75 => "sm_75",
            Target::Sm80 => "sm_80",
            Target::Sm90 => "sm_90",
            Target::Sm90a => "sm_90a",
        }
    }

    /// Whether a GPU of this compute capability runs its code. Code for an architecture also runs on later ones; code for an
    /// architecture with its own features (`a`) runs on that one alone (PTX ISA, "`.target`").
    pub fn runs_on(self, capability: (u32, u32)) -> bool {
        match self {
            Target::Sm75 => capability >= (7, 5),
            Target::Sm80 => capability >= (8, 0),
            Target::Sm90 => capability >= (9, 0),
            Target::Sm90a => capability == (9, 0),
        }
    }
}

/// The target whose PTX the simulator runs, of cases that name none.
pub const SIMULATED: &str = "sm_90";
