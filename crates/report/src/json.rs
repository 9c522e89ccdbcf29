//! Renders a JSON document for programs. Its schema, `docs/report.schema.json`, is generated from the types of this file.
//!
//! `version` is 1. Adding a field keeps the version; removing a field or changing its meaning increases it.

use super::trace::Trace;
use super::{Accepted, Location, Report, Setting, Unseen, Verdict, Who};
use detect::finding::is_at_least;
use detect::rules::{Level, Rule};
use schemars::JsonSchema;
use serde::Serialize;

/// The version of the document's layout.
pub const VERSION: u32 = 1;

/// The document.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "racetrap report")]
pub struct Document {
    /// The version of this layout: 1.
    version: u32,
    /// The program that wrote it.
    tool: Tool,
    /// One entry for each kernel or case.
    checks: Vec<Check>,
    /// Totals over all checks.
    totals: Totals,
}

/// The program that wrote the document.
#[derive(Serialize, JsonSchema)]
pub struct Tool {
    /// `racetrap`
    name: &'static str,
    /// Its version.
    version: &'static str,
}

impl Default for Tool {
    /// The running program.
    fn default() -> Tool {
        Tool {
            name: "racetrap",
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// Totals over all checks.
#[derive(Serialize, JsonSchema)]
struct Totals {
    /// Number of checks.
    checks: usize,
    /// Number of checks with the expected verdict.
    ok: usize,
    /// Number of errors.
    errors: usize,
    /// Number of warnings.
    warnings: usize,
    /// Number of notes.
    notes: usize,
    /// Number of findings that somebody has accepted, which the others do not count.
    accepted: usize,
}

/// One kernel or case.
#[derive(Serialize, JsonSchema)]
struct Check {
    /// `reverse.cu: reverse`, or the case's name.
    name: String,
    /// The verdict.
    verdict: Verdict,
    /// Whether the verdict is the expected one.
    ok: bool,
    /// The verdict in a sentence.
    summary: String,
    /// Whether every schedule gives this result on these inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule_independent: Option<bool>,
    /// How the kernel was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    setting: Option<Setting>,
    /// The findings.
    findings: Vec<Finding>,
    /// What a clean check has not seen; of others, the guesses that were given up.
    #[serde(skip_serializing_if = "Unseen::is_empty")]
    unseen: Unseen,
    /// What the kernel printed.
    output: String,
    /// Duration in seconds.
    seconds: f64,
}

/// One finding.
#[derive(Serialize, JsonSchema)]
pub struct Finding {
    /// The rule it breaks; `racetrap explain RULE` prints its page.
    rule: Rule,
    /// The severity.
    level: Level,
    /// A one-line description.
    title: String,
    /// The guilty lines and the lines that lead to them.
    places: Vec<Place>,
    /// The memory that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Location>,
    /// Additional facts.
    notes: Vec<String>,
    /// The suggested fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// The command that reproduces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<String>,
    /// How many times it occurred.
    count: u64,
    /// Whether it may have occurred more often: a pair of instructions is counted up to 4,096 times, and then not judged again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    count_is_minimum: bool,
    /// How many copies of the guilty instructions take part: several where the compiler has unrolled a loop.
    copies: usize,
    /// The builds in which it appears; empty if there is only one build.
    builds: Vec<String>,
    /// Whether an annotation expects it.
    expected: bool,
    /// Why it does not count, if somebody has accepted it: by a comment or in a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<Accepted>,
    /// What happened around it, if it was asked for (`--trace`).
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Trace>,
}

/// A place in a source text.
#[derive(Serialize, JsonSchema)]
struct Place {
    /// The file name as given by the compiler or the user.
    file: String,
    /// The line, counted from 1.
    line: u32,
    /// The first column in characters, counted from 1.
    column: usize,
    /// One past the last column.
    end_column: usize,
    /// What happened there.
    text: String,
    /// `guilty` or `leads-there`.
    role: Role,
    /// The thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<Thread>,
    /// The PTX instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    instruction: Option<String>,
}

/// The role of a place in the finding.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Role {
    /// One of the accesses or threads of the finding.
    Guilty,
    /// The place where a guilty line was inlined.
    LeadsThere,
}

/// A thread.
#[derive(Serialize, JsonSchema)]
struct Thread {
    /// `threadIdx`
    thread: [u32; 3],
    /// `blockIdx`
    block: [u32; 3],
    /// How many threads of the block did the same.
    threads: u32,
}

impl From<Who> for Thread {
    fn from(who: Who) -> Thread {
        Thread {
            thread: who.thread,
            block: who.block,
            threads: who.threads,
        }
    }
}

/// The first column and one past the last column of a label, in characters (not bytes), counted from 1.
pub fn columns(label: &super::Label) -> (usize, usize) {
    let line = label.source.line(label.line).unwrap_or_default();
    let count = |bytes: u32| {
        line.char_indices()
            .take_while(|(at, _)| *at < bytes as usize)
            .count()
    };
    (count(label.columns.start) + 1, count(label.columns.end) + 1)
}

impl From<&super::Diagnostic> for Finding {
    fn from(from: &super::Diagnostic) -> Finding {
        Finding {
            rule: from.rule,
            level: from.level,
            title: from.title.clone(),
            places: from
                .labels
                .iter()
                .map(|label| {
                    let (column, end_column) = columns(label);
                    Place {
                        file: label.source.path.clone(),
                        line: label.line,
                        column,
                        end_column,
                        text: label.text.clone(),
                        role: match label.is_guilty() {
                            true => Role::Guilty,
                            false => Role::LeadsThere,
                        },
                        who: label.who.map(Thread::from),
                        instruction: label.instruction.clone(),
                    }
                })
                .collect(),
            memory: from.about.location.clone(),
            notes: from.notes.clone(),
            help: from.help.clone(),
            replay: from.replay.clone(),
            count: from.count,
            count_is_minimum: is_at_least(from.rule, from.count),
            copies: from.about.copies(),
            builds: from.builds.clone(),
            expected: from.expected,
            accepted: from.accepted.clone(),
            trace: from.trace.clone(),
        }
    }
}

/// The document of a report.
pub fn document(report: &Report) -> Document {
    let count = |level| report.checks.iter().map(|c| c.count(level)).sum();
    Document {
        version: VERSION,
        tool: Tool::default(),
        totals: Totals {
            checks: report.checks.len(),
            ok: report.checks.iter().filter(|c| c.ok).count(),
            errors: count(Level::Error),
            warnings: count(Level::Warning),
            notes: count(Level::Note),
            accepted: report
                .checks
                .iter()
                .flat_map(|c| &c.diagnostics)
                .filter(|d| d.accepted.is_some())
                .count(),
        },
        checks: report
            .checks
            .iter()
            .map(|check| Check {
                name: check.name.clone(),
                verdict: check.verdict,
                ok: check.ok,
                summary: check.summary.clone(),
                schedule_independent: check.schedule_independent,
                setting: check.setting.clone(),
                findings: check.diagnostics.iter().map(Finding::from).collect(),
                unseen: check.unseen.clone(),
                output: check.output.clone(),
                seconds: (check.time.as_secs_f64() * 1e6).round() / 1e6,
            })
            .collect(),
    }
}

/// The document as text.
pub fn render(report: &Report) -> String {
    serde_json::to_string_pretty(&document(report)).expect("plain data serialises") + "\n"
}

/// The document's JSON schema.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Document);
    serde_json::to_string_pretty(&schema).expect("a schema serialises") + "\n"
}
