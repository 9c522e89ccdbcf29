//! What a reader is told: one [`Diagnostic`] type, and one renderer a file.
//!
//! [`diagnose()`] words a finding; the renderers ([`terminal`], [`json`], [`github`],
//! [`sarif`], [`junit`]) look at nothing but the [`Report`] they are given.

mod diagnose;
pub mod exit;
mod failure;
pub mod github;
mod help;
pub mod json;
pub mod junit;
pub mod memory;
mod merge;
mod nearest;
pub mod sarif;
pub mod scene;
pub mod source;
pub mod terminal;
pub mod view;

pub use diagnose::of_toolkit;
pub use diagnose::{KernelView, Scene, diagnose};
pub use failure::{Failure, FailurePlace};
pub use merge::merge;
pub use nearest::{nearest, suggest};
pub use source::{SourceFile, Sources};
pub use view::{HostView, View};

use detect::rules::{Level, Rule};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A thread, or several that did the same, by coordinates as CUDA code sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// `threadIdx` of the first of them.
    pub thread: [u32; 3],
    /// `blockIdx`.
    pub block: [u32; 3],
    /// How many threads of the block did the same here.
    pub threads: u32,
}

/// A place in a source text and what happened there.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The text.
    pub source: Arc<SourceFile>,
    /// Line, from 1.
    pub line: u32,
    /// Bytes of the line, from 0.
    pub columns: Range<u32>,
    /// What happened there, for the reader.
    pub text: String,
    /// Which thread did it; `None` for what the host did, and for lines that only lead there (the call that was inlined).
    pub who: Option<Who>,
    /// The instruction, as the PTX has it, or the host's step; `None` for lines that only lead there.
    pub instruction: Option<String>,
}

impl Label {
    /// Whether it is an end of the finding, not a line that only leads there.
    pub fn is_guilty(&self) -> bool {
        self.who.is_some() || self.instruction.is_some()
    }
}

/// One finding, worded.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The rule it breaks.
    pub rule: Rule,
    /// How bad it is.
    pub level: Level,
    /// One line, with the memory by name.
    pub title: String,
    /// The guilty places, the one that completed the error first; after the guilty ones
    /// the lines that lead there.
    pub labels: Vec<Label>,
    /// Further facts, one sentence each.
    pub notes: Vec<String>,
    /// The remedy.
    pub help: Option<String>,
    /// The command that shows it again.
    pub replay: Option<String>,
    /// How often it happened.
    pub count: u64,
    /// The builds in which it appears; empty where there is only one.
    pub builds: Vec<String>,
    /// Whether an annotation or a case expects it.
    pub expected: bool,
}

impl Diagnostic {
    /// Source line of each guilty place, for grouping: two findings with equal keys are one to
    /// the reader.
    pub fn key(&self) -> (Rule, Vec<(String, u32)>) {
        let mut lines: Vec<_> = self
            .labels
            .iter()
            .filter(|l| l.is_guilty())
            .map(|l| (l.source.path.clone(), l.line))
            .collect();
        lines.sort();
        (self.rule, lines)
    }
}

/// What came out of one check.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing found that is at least a warning.
    Clean,
    /// Errors or warnings found in somebody's kernel.
    Findings,
    /// A planted bug was found as its annotations say.
    Caught,
    /// A planted bug was not found.
    Missed,
    /// A correct kernel has findings.
    FalseAlarm,
    /// The kernel uses something that the simulator does not have.
    Unsupported,
    /// Nothing can be said.
    Inconclusive,
}

impl Verdict {
    /// As shown: `false-alarm`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Clean => "clean",
            Verdict::Findings => "findings",
            Verdict::Caught => "caught",
            Verdict::Missed => "missed",
            Verdict::FalseAlarm => "false-alarm",
            Verdict::Unsupported => "unsupported",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// An argument of a kernel, as it was passed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Argument {
    /// Its name in the source, or its index.
    pub name: String,
    /// Its value in the notation of `--arg`: `i32[64]:random`.
    pub value: String,
    /// Whether racetrap chose it.
    pub guessed: bool,
}

/// How a kernel was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Setting {
    /// The kernel, demangled.
    pub entry: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Whether all blocks are resident together.
    pub cooperative: bool,
    /// The arguments in order.
    pub arguments: Vec<Argument>,
    /// Names of the builds that ran.
    pub builds: Vec<String>,
    /// The schedules that ran, in the notation of `--schedule`.
    pub schedules: Vec<String>,
    /// The seed of everything random.
    pub seed: u64,
}

/// One kernel or case and what is said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// `reverse.cu: reverse`, or a case's name.
    pub name: String,
    /// What came out.
    pub verdict: Verdict,
    /// Whether that is as it should be.
    pub ok: bool,
    /// The verdict in a sentence: what was tried, what it promises.
    pub summary: String,
    /// Whether the result holds under every schedule; `None` where that was not asked.
    pub schedule_independent: Option<bool>,
    /// How it was run, where there is one way to tell.
    pub setting: Option<Setting>,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// What the kernel printed.
    pub output: String,
    /// How long it took.
    pub time: Duration,
}

impl Check {
    /// Number of diagnostics of a level.
    pub fn count(&self, level: Level) -> usize {
        self.diagnostics.iter().filter(|d| d.level == level).count()
    }
}

/// Everything that one command found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// One for each kernel or case.
    pub checks: Vec<Check>,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One versioned JSON document (docs/report.schema.json).
    Json,
    /// Workflow commands that GitHub shows at the lines of a pull request.
    Github,
    /// SARIF 2.1.0, which code-scanning services read.
    Sarif,
    /// JUnit XML, which CI systems and autograders read.
    Junit,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 5] = [
        Format::Text,
        Format::Json,
        Format::Github,
        Format::Sarif,
        Format::Junit,
    ];

    /// Its name: `sarif`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Github => "github",
            Format::Sarif => "sarif",
            Format::Junit => "junit",
        }
    }
}

/// Writes a report in a machine-readable format, or as text without colour.
pub fn render(report: &Report, format: Format) -> String {
    match format {
        Format::Text => terminal::render(report, false),
        Format::Json => json::render(report),
        Format::Github => github::render(report),
        Format::Sarif => sarif::render(report),
        Format::Junit => junit::render(report),
    }
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
