//! What a course asks for: one YAML file.
//!
//! [`read()`](read::read) makes an [`Assignment`] of a file's text and says of each mistake on which line and under which key it is;
//! [`schema()`](read::schema) is the JSON Schema for editors.

mod check;
mod feedback;
mod input;
mod kernel;
mod part;
mod program;
pub mod read;
mod selftest;

pub use feedback::{Detail, Disclosure, Feedback, Hints};
pub use input::{Input, Named, Size};
pub use kernel::{Argument, Buffer, Dimensions, Kernel};
pub use part::{Credit, Kind, Limit, Metric, Part, Required, Visibility};
pub use program::{InputFile, Layout, OUTPUT, Output, Program, STDOUT};
pub use selftest::{MutantsLose, Points, Selftest, WithoutLoses};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::buffer::ElementType;
use session::expression::Expression;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The version of the format that this program reads.
pub const FORMAT: u32 = 1;

/// An assignment.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Assignment {
    /// Version of this format: 1.
    pub racetrap_assignment: u32,
    /// A short name for files and tables: `reduction`.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// What is handed in.
    pub submission: Submission,
    /// How it is built.
    pub build: Build,
    /// The kernel and its launch (`kind: kernel`).
    #[serde(default)]
    pub kernel: Option<Kernel>,
    /// How the program is run (`kind: program` and `wb`).
    #[serde(default)]
    pub program: Option<Program>,
    /// A solution, which says what results and counts are expected.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// What is compared: buffers by the names of their parameters; of a program its files and `stdout`, or `output` of `wb`.
    pub compare: BTreeMap<String, Compare>,
    /// What the kernel is run on.
    pub inputs: Vec<Input>,
    /// What earns points.
    pub parts: Vec<Part>,
    /// What students are told.
    #[serde(default)]
    pub feedback: Feedback,
    /// What happens to a part that could not be decided.
    #[serde(default)]
    pub on_inconclusive: OnInconclusive,
    /// Budgets.
    #[serde(default)]
    pub limits: Limits,
    /// How many schedules of each input are tried, at most.
    #[serde(default = "default_schedules")]
    pub schedules: u32,
    /// Seed of visible inputs and of schedules.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Any text that students don't know: the values of hidden inputs follow from it.
    #[serde(default)]
    pub secret: Option<String>,
    /// Submissions whose scores are known: they prove the rubric.
    #[serde(default)]
    pub selftest: Selftest,
}

impl Assignment {
    /// Whether anything is counted.
    pub fn counts(&self) -> bool {
        let counted = |kind| matches!(kind, Kind::Counts | Kind::Style);
        self.parts.iter().any(|p| counted(p.check))
    }
}

fn default_schedules() -> u32 {
    8
}

fn default_seed() -> u64 {
    1
}

/// What is handed in.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Submission {
    /// Files that must be there. The first one is compiled, unless there is a harness.
    pub require: Vec<String>,
    /// Patterns of further files that are taken; `*` is any text within a name.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Texts that may not stand in the code (comments and the text of strings do not count).
    #[serde(default)]
    pub forbid: Vec<String>,
    /// Bytes of all files together, at most.
    #[serde(default = "default_bytes")]
    pub max_bytes: u64,
}

fn default_bytes() -> u64 {
    200_000
}

/// How a submission is built.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Build {
    /// What is built.
    #[serde(default)]
    pub kind: BuildKind,
    /// Files of the course that lie beside the student's, and take the place of those of the same name. Of a kernel the first one is
    /// compiled; it includes the student's. Of a program all sources are. Students can read them.
    #[serde(default)]
    pub harness: Vec<PathBuf>,
    /// GPU architecture.
    #[serde(default)]
    pub arch: Option<String>,
    /// Further options for the compiler.
    #[serde(default)]
    pub flags: Vec<String>,
    /// What `make` is told to make, which is also the program's file; without it all sources are compiled together (`kind: program`).
    #[serde(default)]
    pub make: Option<String>,
    /// Which builds are run (`kind: kernel`).
    #[serde(default = "default_builds")]
    pub builds: Vec<Optimisation>,
    /// Time for one compilation, in seconds.
    #[serde(default = "default_compile_seconds")]
    pub seconds: f64,
}

fn default_builds() -> Vec<Optimisation> {
    vec![Optimisation::Optimised]
}

fn default_compile_seconds() -> f64 {
    60.0
}

/// What is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BuildKind {
    /// Kernels alone: the assignment says how they are launched.
    #[default]
    Kernel,
    /// A program with a `main` of its own.
    Program,
    /// A program in the conventions of libwb: `-e EXPECTED -i INPUTS -o OUTPUT -t TYPE`, with a `wb.h` that racetrap brings along.
    Wb,
}

/// A build of the student's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Optimisation {
    /// `-O3 -lineinfo`: its results and counts are judged.
    Optimised,
    /// `-G`: shows accesses that the optimiser removes.
    Unoptimised,
}

impl From<Optimisation> for toolchain::Optimisation {
    fn from(build: Optimisation) -> Self {
        match build {
            Optimisation::Optimised => toolchain::Optimisation::Optimised,
            Optimisation::Unoptimised => toolchain::Optimisation::Unoptimised,
        }
    }
}

/// Where expected results come from.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reference {
    /// A folder with a solution, which is built and run as a submission is.
    pub solution: PathBuf,
}

/// How a buffer is compared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Compare {
    /// Relative tolerance, of the expected value.
    #[serde(default)]
    pub rtol: f64,
    /// Absolute tolerance.
    #[serde(default)]
    pub atol: f64,
    /// Units in the last place.
    #[serde(default)]
    pub ulp: u64,
    /// Type of the numbers in a program's file.
    #[serde(default, rename = "type")]
    pub element: Option<ElementType>,
    /// How a program writes them: `binary` by default, and `words` on `stdout`.
    #[serde(default)]
    pub layout: Option<Layout>,
    /// How many elements from the start are compared; all by default.
    #[serde(default)]
    pub first: Option<Expression>,
    /// What is expected of element `i`, where the reference does not say it.
    #[serde(default)]
    pub each: Option<Expression>,
    /// How many differences are shown.
    #[serde(default = "default_show")]
    pub show: usize,
}

fn default_show() -> usize {
    5
}

/// What happens to a part that could not be decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnInconclusive {
    /// It has no score until a person gives one.
    #[default]
    NeedsReview,
}

/// Budgets of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limits {
    /// Time for all runs of a submission, without compilation, in seconds.
    pub seconds: f64,
    /// Memory of the simulated device, in MiB. A program may have 256 MiB more in use.
    pub memory_mib: u64,
    /// Warp-instructions of one run.
    pub steps: u64,
    /// A kernel that takes so many times the reference's warp-instructions, and 100,000 more, does not end: its result is wrong.
    pub times_reference: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            seconds: 30.0,
            memory_mib: 256,
            steps: 20_000_000,
            times_reference: 100,
        }
    }
}
