//! A part of an assignment: what earns points.

use super::Input;
use detect::rules::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of an assignment.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Part {
    /// Its name.
    pub id: String,
    /// What people call it.
    #[serde(default)]
    pub title: Option<String>,
    /// Its points.
    pub points: f64,
    /// What is judged.
    pub check: Kind,
    /// Whether nothing else is judged where this fails.
    #[serde(default)]
    pub gate: bool,
    /// Parts that must earn enough before this one earns anything: a kernel that does nothing has no races.
    #[serde(default)]
    pub requires: Vec<Required>,
    /// Inputs that count; all by default.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// How points follow from inputs (`check: output`).
    #[serde(default)]
    pub credit: Option<Credit>,
    /// Points that each root cause costs; all by default (`check: races`, `barriers`, `memory`).
    #[serde(default)]
    pub each: Option<f64>,
    /// Points that are left however many root causes there are.
    #[serde(default)]
    pub floor: f64,
    /// Rules that count instead of all of the kind.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Limits of counts (`check: counts`, `style`).
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// When students see it: by default at once, or after the due date if a hidden input counts for it, since points tell whether those
    /// inputs fail.
    #[serde(default)]
    pub visibility: Option<Visibility>,
}

impl Part {
    /// What people call it.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(match self.check {
            Kind::Compile => "Compiles",
            Kind::Output => "Results",
            Kind::Races => "Races",
            Kind::Barriers => "Barriers",
            Kind::Memory => "Memory",
            Kind::Counts => "Counts",
            Kind::Style => "Launch",
            Kind::Manual => "Read by a person",
        })
    }

    /// When students see it, if these are the assignment's inputs.
    pub fn visibility(&self, inputs: &[Input]) -> Visibility {
        let counts = |input: &Input| self.inputs.is_empty() || self.inputs.contains(&input.id);
        let is_run = !matches!(self.check, Kind::Compile | Kind::Manual);
        let hides = is_run && inputs.iter().any(|input| !input.visible && counts(input));
        self.visibility.unwrap_or(match hides {
            true => Visibility::AfterDueDate,
            false => Visibility::Visible,
        })
    }

    /// The rules that it judges.
    pub fn rules(&self) -> Vec<Rule> {
        match self.rules.is_empty() {
            true => self.check.rules().to_vec(),
            false => self.rules.clone(),
        }
    }
}

/// What a part judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The files are there, and the compiler takes them.
    Compile,
    /// The results, under all schedules that were tried.
    Output,
    /// Races: `data-race`, `insufficient-scope` and the like.
    Races,
    /// Barriers: `divergent-barrier`, `deadlock` and the like.
    Barriers,
    /// Memory: `out-of-bounds`, `uninitialized-read` and the like.
    Memory,
    /// What the kernel does, counted: bank conflicts, sectors, divergent branches.
    Counts,
    /// What the launch takes: shared memory, blocks, threads.
    Style,
    /// A person's judgement.
    Manual,
}

impl Kind {
    /// Its name: `races`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Compile => "compile",
            Kind::Output => "output",
            Kind::Races => "races",
            Kind::Barriers => "barriers",
            Kind::Memory => "memory",
            Kind::Counts => "counts",
            Kind::Style => "style",
            Kind::Manual => "manual",
        }
    }

    /// The rules of its kind.
    pub fn rules(self) -> &'static [Rule] {
        match self {
            Kind::Races => &[
                Rule::DataRace,
                Rule::InsufficientScope,
                Rule::NonCoherentRead,
                Rule::AsyncCopyHazard,
                Rule::MissingProxyFence,
                Rule::MissingDependencyWait,
                Rule::ClusterMemory,
                Rule::LockstepAssumption,
                Rule::UnorderedCommunication,
                Rule::SameValueWrite,
                Rule::NondeterministicResult,
            ],
            Kind::Barriers => &[
                Rule::DivergentBarrier,
                Rule::BarrierAfterExit,
                Rule::InvalidBarrier,
                Rule::MbarrierMisuse,
                Rule::WarpSyncMask,
                Rule::Deadlock,
                Rule::NoProgress,
            ],
            Kind::Memory => &[
                Rule::OutOfBounds,
                Rule::MisalignedAccess,
                Rule::UseAfterFree,
                Rule::UninitializedRead,
                Rule::UndefinedShuffle,
                Rule::AssertionFailed,
                Rule::Trap,
                Rule::InvalidCall,
            ],
            _ => &[],
        }
    }
}

/// A part that must earn enough.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Required {
    /// All of its points.
    All(String),
    /// A share of its points.
    Share {
        /// The part.
        part: String,
        /// From 0 to 1.
        least: f64,
    },
}

impl Required {
    /// The part.
    pub fn part(&self) -> &str {
        match self {
            Required::All(part) | Required::Share { part, .. } => part,
        }
    }

    /// The share of its points that is enough.
    pub fn least(&self) -> f64 {
        match self {
            Required::All(_) => 1.0,
            Required::Share { least, .. } => *least,
        }
    }
}

/// How points follow from inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Credit {
    /// Each input earns its share.
    #[default]
    PerInput,
    /// All inputs must be right.
    All,
}

/// A limit of a count.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    /// What is counted.
    pub metric: Metric,
    /// On this input alone; the worst of all by default.
    #[serde(default)]
    pub input: Option<String>,
    /// Whether what is limited is how many times the reference's count it is.
    #[serde(default)]
    pub relative_to_reference: bool,
    /// Up to this all points are earned.
    pub full: f64,
    /// From this on none are; between the two a share. By default none beyond `full`.
    #[serde(default)]
    pub zero: Option<f64>,
}

/// What can be counted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Passes of shared memory beyond one a request.
    BankConflicts,
    /// Sectors of 32 bytes that a request to global memory moves, on average.
    SectorsPerRequest,
    /// Branches that split a warp.
    DivergentBranches,
    /// Elements that threads read from global memory.
    GlobalReads,
    /// Elements that threads write to global memory.
    GlobalWrites,
    /// Atomic operations of threads.
    Atomics,
    /// Block barriers, once a block.
    Barriers,
    /// Warp-instructions.
    Instructions,
    /// Bytes of shared memory of a block, static and dynamic.
    SharedBytes,
    /// Threads of a block.
    BlockThreads,
    /// Blocks.
    Blocks,
}

impl Metric {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Metric::BankConflicts => "bank conflicts",
            Metric::SectorsPerRequest => "sectors a request to global memory",
            Metric::DivergentBranches => "divergent branches",
            Metric::GlobalReads => "elements read from global memory",
            Metric::GlobalWrites => "elements written to global memory",
            Metric::Atomics => "atomic operations",
            Metric::Barriers => "block barriers",
            Metric::Instructions => "warp-instructions",
            Metric::SharedBytes => "bytes of shared memory a block",
            Metric::BlockThreads => "threads a block",
            Metric::Blocks => "blocks",
        }
    }

    /// Whether it says how a kernel is launched.
    pub fn of_launch(self) -> bool {
        matches!(
            self,
            Metric::SharedBytes | Metric::BlockThreads | Metric::Blocks
        )
    }
}

/// When students see a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// At once.
    Visible,
    /// After the due date.
    AfterDueDate,
    /// When grades are published.
    AfterPublished,
    /// Never.
    Hidden,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::read::from_yaml;

    /// Points tell whether hidden inputs fail.
    #[test]
    fn parts_with_hidden_inputs_are_seen_later_unless_said_otherwise() {
        let text = include_str!("../../../../examples/course/reduction/assignment.yaml");
        let shown = from_yaml("a.yaml", text).unwrap();
        let all = |parts: &[Part]| -> Vec<Visibility> {
            parts.iter().map(|p| p.visibility(&shown.inputs)).collect()
        };
        assert!(all(&shown.parts).iter().all(|v| *v == Visibility::Visible));
        let text = text.replace(", visibility: visible", "");
        let text = text.replace("visibility: visible", "");
        let mut silent = from_yaml("a.yaml", &text).unwrap();
        use Visibility::{AfterDueDate as Later, Visible as Now};
        // The last counts one input, which is visible.
        assert_eq!(all(&silent.parts), [Now, Later, Later, Later, Later, Now]);
        let hidden = shown.inputs.iter().find(|input| !input.visible).unwrap();
        silent.parts[5].inputs.push(hidden.id.clone());
        assert_eq!(all(&silent.parts)[5], Later);
    }
}
