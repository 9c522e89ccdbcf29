//! Diagnostics: one [`Diagnostic`] type, and one file for each renderer.
//!
//! [`diagnose()`] turns a finding into a diagnostic, with what the finding's rule says of it: [`rules`] has one file a rule. The renderers ([`terminal`], [`json`], [`github`], [`sarif`], [`junit`])
//! depend on the [`Report`] alone.

pub mod accept;
pub mod causes;
mod common;
pub mod concise;
mod consequence;
mod diagnose;
pub mod edit;
pub mod exit;
mod failure;
mod finding_view;
pub mod function_name;
pub mod github;
mod help;
pub mod html;
pub mod json;
pub mod junit;
pub mod kernel_view;
mod language;
pub mod markdown;
pub mod memory;
mod merge;
mod no_change;
mod own_line;
pub mod proof;
mod rule_text;
pub mod rules;
pub mod sarif;
pub mod source;
pub mod terminal;
pub mod trace;
pub mod tracer;
pub mod unjudged;
mod unreached;
mod untrusted_text;
pub mod view;

pub use accept::{Accepted, Judged};
pub use causes::settle_causes;
pub use diagnose::{KernelView, Scene, diagnose};
pub use edit::Edit;
pub use failure::{Failure, FailurePlace};
pub use help::barrier_between;
pub use memory::Region;
pub use merge::merge;
pub use no_change::NoChange;
pub use own_line::{line_of, of_toolkit};
pub use ptx::nearest::{nearest, suggest};
pub use source::{SourceFile, Sources};
pub use unreached::{note_lines, source_place};
pub use untrusted_text::{safe, visible};
pub use view::{HostView, View};

use detect::rules::{Level, Rule};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A thread, or several threads that did the same, identified by CUDA coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// `threadIdx` of the first thread.
    pub thread: [u32; 3],
    /// `blockIdx`.
    pub block: [u32; 3],
    /// How many threads of the block did the same here.
    pub threads: u32,
}

/// A place in a source file and what happened there.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The source file.
    pub source: Arc<SourceFile>,
    /// The line, counted from 1.
    pub line: u32,
    /// The byte columns in the line, counted from 0.
    pub columns: Range<u32>,
    /// What happened there, in words.
    pub text: String,
    /// The thread that did it; `None` for the host, and for a line that only leads there (an inlined call).
    pub who: Option<Who>,
    /// The PTX instruction or the host's step; `None` for a line that only leads there.
    pub instruction: Option<String>,
}

impl Label {
    /// Whether it is an end of the finding rather than a line that only leads there.
    pub fn is_guilty(&self) -> bool {
        self.who.is_some() || self.instruction.is_some()
    }
}

/// A finding as the reader sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The rule it breaks.
    pub rule: Rule,
    /// The severity.
    pub level: Level,
    /// A one-line description that names the memory.
    pub title: String,
    /// The guilty places, starting with the one that completed the error, followed by the lines that lead to them.
    pub labels: Vec<Label>,
    /// Additional facts, one sentence each.
    pub notes: Vec<String>,
    /// The suggested fix.
    pub help: Option<String>,
    /// The same as a change of the source, where one can be named.
    pub edit: Option<Edit>,
    /// Why there is no such change, where a help says what to do.
    pub no_change: Option<NoChange>,
    /// The command that reproduces it.
    pub replay: Option<String>,
    /// How many times it occurred.
    pub count: u64,
    /// The builds in which it appears; empty if there is only one build.
    pub builds: Vec<String>,
    /// Whether an annotation or a case expects it.
    pub expected: bool,
    /// Why it does not count, if somebody has accepted it.
    pub accepted: Option<Accepted>,
    /// What tells findings of one cause.
    pub about: About,
    /// What happened around it, if it was asked for.
    pub trace: Option<trace::Trace>,
    /// The launch of a whole program in which it was found.
    pub launched: Option<Launched>,
}

/// A launch of a program that was run as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Launched {
    /// Its number in the process, from 1.
    pub number: u64,
    /// The kernel, demangled.
    pub kernel: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The stream: `the default stream`, `stream 2`.
    pub stream: String,
    /// The line of the host program, if it is known.
    pub host: Option<Label>,
}

/// What a finding is about: what tells whether several have one cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct About {
    /// The name of the memory, if it has one.
    pub memory: Option<String>,
    /// Where it lies.
    #[serde(default)]
    pub location: Option<Location>,
    /// The kernel, where its check may have several.
    pub kernel: Option<String>,
    /// The function that all guilty places are in: an inlined one, or the kernel.
    #[serde(default)]
    pub function: Option<String>,
    /// By PTX text, the instructions of the guilty places: what each does, and its line. There are several of the same doing where the
    /// compiler has copied the source lines, as it does when it unrolls a loop.
    pub instructions: BTreeMap<String, BTreeSet<Vec<(Cow<'static, str>, u32)>>>,
    /// Whether a guilty place is in a function of the toolkit that several lines call, so that no source line can be told.
    pub in_shared_code: bool,
    /// By PTX text, the lines of loads that the address of a wrong access was computed from.
    #[serde(default)]
    pub address_from: BTreeMap<String, BTreeSet<u32>>,
    /// The barrier that would have ordered the guilty places, as the help names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_barrier: Option<Cow<'static, str>>,
    /// Of a race between a read and a write: whether the write may come first in the code, by a loop perhaps.
    #[serde(default)]
    pub write_may_come_first: bool,
}

/// Bytes of memory.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Location {
    /// The state space, as PTX names it: `global`, `shared`, `local`, `const`, `param`.
    pub space: Cow<'static, str>,
    /// The address of the first byte: of global memory as kernels see it, of other memory from where the block's or the thread's own begins.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// The element, as the source would write it: `tile[32]`; `None` where the memory has no name.
    pub element: Option<String>,
}

impl About {
    /// How many copies of the guilty instructions take part, in the build that has most; 1 where nothing is known.
    pub fn copies(&self) -> usize {
        let mut most = 1;
        for all in self.instructions.values() {
            let mut alike: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
            for one in all {
                let doing = one.iter().map(|(action, _)| action.as_ref()).collect();
                *alike.entry(doing).or_default() += 1;
            }
            most = alike.into_values().fold(most, usize::max);
        }
        most
    }

    fn merge(&mut self, other: About) {
        self.memory = self.memory.take().or(other.memory);
        self.kernel = self.kernel.take().or(other.kernel);
        self.function = self.function.take().or(other.function);
        for (ptx, all) in other.instructions {
            self.instructions.entry(ptx).or_default().extend(all);
        }
        for (ptx, all) in other.address_from {
            self.address_from.entry(ptx).or_default().extend(all);
        }
        self.missing_barrier = self.missing_barrier.take().or(other.missing_barrier);
        self.write_may_come_first |= other.write_may_come_first;
    }
}

/// What the runs of a clean check have not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Unseen {
    /// Lines that no thread ran.
    pub lines: Vec<SourcePlace>,
    /// Lines with a branch that always went the same way.
    pub branches: Vec<SourcePlace>,
    /// Loops that never went round three times: a stage that is used again while others still read it shows in the third turn.
    pub loops: Vec<ShortLoop>,
    /// What no launch had of what the kernel may be launched with.
    pub launches: Vec<NoLaunch>,
    /// Buffers whose size racetrap guessed: accesses beyond their real ends are not seen.
    pub buffers: Vec<GuessedBuffer>,
    /// Guesses that led to errors and were given up, as sentences: `` `k` = 0, which leads to out-of-bounds at k.cu:7 ``.
    pub guesses: Vec<String>,
    /// What ran without being judged in full, as sentences ([`unjudged`]).
    pub unjudged: Vec<String>,
    /// Architectures of code that the program has besides: what this code does was not run.
    pub other_architectures: Vec<u32>,
}

/// A line of a source file.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct SourcePlace {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
}

/// A loop that went round less than three times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
pub struct ShortLoop {
    /// The line with the branch that decides whether it goes on.
    pub place: SourcePlace,
    /// The most turns that a warp took.
    pub turns: u32,
}

/// What no launch had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoLaunch {
    /// Several warps in a block.
    SeveralWarps,
    /// Several blocks.
    SeveralBlocks,
}

/// A buffer of a guessed size.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct GuessedBuffer {
    /// The parameter's name.
    pub name: String,
    /// How many elements it was given.
    pub elements: u64,
}

impl Unseen {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
            && self.branches.is_empty()
            && self.loops.is_empty()
            && self.launches.is_empty()
            && self.buffers.is_empty()
            && self.guesses.is_empty()
            && self.unjudged.is_empty()
            && self.other_architectures.is_empty()
    }
}

impl Diagnostic {
    /// Whether it counts for a verdict: nobody expects it and nobody has accepted it.
    pub fn counts(&self) -> bool {
        !self.expected && self.accepted.is_none()
    }

    /// The rule and the lines of the guilty places. Findings with equal keys are grouped into one.
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

/// The verdict of one check.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No errors or warnings.
    Clean,
    /// Errors or warnings in the user's kernel.
    Findings,
    /// A planted bug was found as its annotations state.
    Caught,
    /// A planted bug was not found.
    Missed,
    /// A correct kernel has findings.
    FalseAlarm,
    /// The kernel uses something that the simulator does not implement.
    Unsupported,
    /// No verdict could be reached.
    Inconclusive,
}

impl Verdict {
    /// The name shown to the user: `false-alarm`.
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

/// An argument that was passed to a kernel.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Argument {
    /// Its name in the source, or its index.
    pub name: String,
    /// Its value in `--arg` notation: `i32[64]:random`.
    pub value: String,
    /// Whether racetrap chose it.
    pub guessed: bool,
}

/// How a kernel was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Setting {
    /// The kernel's demangled name.
    pub entry: String,
    /// Grid dimensions in blocks: x, y, z.
    pub grid: [u32; 3],
    /// Block dimensions in threads: x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
    /// Whether the launch is cooperative, with all blocks resident.
    pub cooperative: bool,
    /// Cluster dimensions in blocks, if the launch gives them: x, y, z.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// The arguments in order.
    pub arguments: Vec<Argument>,
    /// The builds that ran.
    pub builds: Vec<String>,
    /// The schedules that ran, in `--schedule` notation.
    pub schedules: Vec<String>,
    /// The seed of all random choices.
    pub seed: u64,
}

/// One kernel or case with its verdict and findings.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// `reverse.cu: reverse`, or a case's name.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the verdict is the expected one.
    pub ok: bool,
    /// The verdict in a sentence: what was tried and what the result guarantees.
    pub summary: String,
    /// Whether the result holds under every schedule; `None` if this was not examined.
    pub schedule_independent: Option<bool>,
    /// How the kernel was run, if there is a single setting.
    pub setting: Option<Setting>,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// What a clean check has not seen; of others, the guesses that were given up.
    pub unseen: Unseen,
    /// What the kernel printed.
    pub output: String,
    /// What it looked at, for what accepts findings.
    pub judged: Judged,
    /// Duration.
    pub time: Duration,
}

impl Check {
    /// Counts the diagnostics of a level that nobody has accepted.
    pub fn count(&self, level: Level) -> usize {
        let counted = self.diagnostics.iter().filter(|d| d.accepted.is_none());
        counted.filter(|d| d.level == level).count()
    }
}

/// The results of one command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// One entry for each kernel or case.
    pub checks: Vec<Check>,
}

/// The output format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    #[default]
    Text,
    /// A versioned JSON document (docs/report.schema.json).
    Json,
    /// Workflow commands, which GitHub shows at the lines of a pull request.
    Github,
    /// SARIF 2.1.0, which code-scanning services read.
    Sarif,
    /// JUnit XML, which CI systems and autograders read.
    Junit,
    /// One page with pictures, for a browser.
    Html,
    /// A table and the findings, for the summary of a job in CI.
    Markdown,
    /// One line a finding.
    Concise,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 8] = [
        Format::Text,
        Format::Json,
        Format::Github,
        Format::Sarif,
        Format::Junit,
        Format::Html,
        Format::Markdown,
        Format::Concise,
    ];

    /// Its name: `sarif`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Github => "github",
            Format::Sarif => "sarif",
            Format::Junit => "junit",
            Format::Html => "html",
            Format::Markdown => "markdown",
            Format::Concise => "concise",
        }
    }
}

/// Renders a report in a machine-readable format, or as text without colour.
pub fn render(report: &Report, format: Format) -> String {
    let text = match format {
        // JSON spells control characters out.
        Format::Json => return json::render(report),
        Format::Sarif => return sarif::render(report),
        Format::Junit => junit::render(report),
        Format::Text => terminal::render(report, false),
        Format::Github => github::render(report),
        Format::Html => html::render(report),
        Format::Markdown => markdown::render(report),
        Format::Concise => concise::render(report),
    };
    safe(&text).into_owned()
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
