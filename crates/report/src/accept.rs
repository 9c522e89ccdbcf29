//! Findings that somebody has accepted: by a comment in the source ([`comment`]) or in a file of known findings ([`baseline`]).
//!
//! An accepted finding stays in the report and does not count: not for the verdict, not for the exit status. What accepts nothing is
//! told, so that neither comments nor baselines outlive what they are for.
//!
//! A check that something kept from a verdict (an instruction that is not supported, a time limit) never becomes one with a good end
//! because its findings are accepted: [`Judged::doubt`] says what is left then.

pub mod baseline;
pub mod comment;

pub use baseline::Baseline;

use super::{Check, Diagnostic, Report, SourceFile, Verdict};
use annotate_snippets as a;
use comment::Allow;
use detect::rules::Level;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Component, Path};
use std::sync::Arc;

/// Why a finding does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Accepted {
    /// The baseline lists it.
    Baseline {
        /// The reason that the baseline states.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A comment `// racetrap: allow(RULE): reason` is on one of its lines.
    Comment {
        /// The reason that the comment states.
        reason: String,
    },
}

/// What a check has looked at, and what its verdict is if its findings do not count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// The source file or the program, by its [path](path_from_here); empty if the check ended before it began.
    pub file: String,
    /// The kernels that ran, without parameters; `None` if it is not known which.
    pub kernels: Option<Vec<String>>,
    /// What keeps the check from a verdict when its findings do not count.
    pub doubt: Option<Verdict>,
    /// Whether warnings make it fail, too.
    pub warnings_fail: bool,
    /// Of a case, what it would be if the findings that it does not expect did not count.
    pub otherwise: Option<Otherwise>,
}

/// A path as baselines name it, so that two files of one name are two: relative to the working folder where it is below it, without `.` and,
/// as far as its text tells, without `..`, with `/` on every system.
pub fn path_from_here(path: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path_from(path, &here)
}

fn path_from(path: &str, here: &Path) -> String {
    let whole = Path::new(path);
    let below = whole.strip_prefix(here).unwrap_or(whole);
    let mut parts: Vec<String> = Vec::new();
    for part in below.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if parts.last().is_some_and(|p| p != ".." && !p.is_empty()) => {
                parts.pop();
            }
            // Before the first slash.
            Component::RootDir => parts.push(String::new()),
            other => parts.push(other.as_os_str().to_string_lossy().into_owned()),
        }
    }
    parts.join("/")
}

/// What is left of a case without the findings that somebody has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otherwise {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it is the expected one.
    pub ok: bool,
    /// Its reason in one line: a wrong result, say, which nothing accepts.
    pub summary: String,
}

/// What is accepted.
#[derive(Clone, Debug, Default)]
pub struct Acceptance<'a> {
    /// The known findings, if there is a list.
    pub baseline: Option<&'a Baseline>,
    /// Whether comments in the source count.
    pub comments: bool,
    /// Sources that are searched for comments, beside those that the findings show.
    pub texts: &'a [Arc<SourceFile>],
    /// Whether every kernel of the sources has run, so that a comment without a finding is of no use.
    pub complete: bool,
}

/// Something that accepts nothing, with the remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Complaint {
    /// What is wrong.
    pub message: String,
    /// The comment, if it is one.
    pub at: Option<(Arc<SourceFile>, u32)>,
    /// What to do about it.
    pub help: String,
}

impl Complaint {
    /// Renders it as a warning, ending in a line feed.
    pub fn render(&self, color: bool) -> String {
        let mut group = a::Group::with_title(a::Level::WARNING.primary_title(&self.message));
        if let Some((source, line)) = &self.at {
            let text = source.line(*line).unwrap_or_default();
            let start = text.find("//").unwrap_or(0);
            group = group.element(
                a::Snippet::source(text)
                    .path(&source.path)
                    .line_start(*line as usize)
                    .annotation(a::AnnotationKind::Primary.span(start..text.len())),
            );
        }
        group = group.element(a::Level::HELP.message(self.help.as_str()));
        let renderer = match color {
            true => a::Renderer::styled(),
            false => a::Renderer::plain(),
        };
        renderer.render(&[group]) + "\n"
    }
}

/// Marks the findings of a report that are accepted, adapts its verdicts, and returns what accepts nothing.
pub fn accept(report: &mut Report, acceptance: &Acceptance<'_>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if acceptance.comments {
        by_comments(report, acceptance, &mut complaints);
    }
    if let Some(baseline) = acceptance.baseline {
        complaints.extend(baseline.accept(report));
    }
    report.checks.iter_mut().for_each(settle);
    complaints
}

fn by_comments(report: &mut Report, acceptance: &Acceptance<'_>, to: &mut Vec<Complaint>) {
    let mut texts: Vec<Arc<SourceFile>> = Vec::new();
    let all = report.checks.iter().flat_map(|c| &c.diagnostics);
    let shown = all.flat_map(|d| &d.labels).map(|l| &l.source);
    for text in acceptance.texts.iter().chain(shown) {
        if !texts.iter().any(|t| t.path == text.path) {
            texts.push(text.clone());
        }
    }
    let mut allows: Vec<(Arc<SourceFile>, Allow, bool)> = Vec::new();
    for text in texts {
        let (found, wrong) = comment::read(&text);
        to.extend(wrong);
        allows.extend(found.into_iter().map(|allow| (text.clone(), allow, false)));
    }
    for diagnostic in report.checks.iter_mut().flat_map(|c| &mut c.diagnostics) {
        for (source, allow, used) in &mut allows {
            let on_it = |line| line == allow.line || line == allow.covers;
            let here = diagnostic
                .labels
                .iter()
                .any(|l| l.source.path == source.path && on_it(l.line));
            if allow.rule == diagnostic.rule && here {
                *used = true;
                if !diagnostic.expected && diagnostic.accepted.is_none() {
                    diagnostic.accepted = Some(Accepted::Comment {
                        reason: allow.reason.clone(),
                    });
                }
            }
        }
    }
    for (source, allow, used) in allows {
        if !used && acceptance.complete {
            to.push(Complaint {
                message: format!(
                    "this comment allows `{}`, which was not found here",
                    allow.rule
                ),
                at: Some((source, allow.line)),
                help:
                    "remove the comment, or move it to one of the two lines that the finding names"
                        .to_owned(),
            });
        }
    }
}

/// The number of findings of a check that are accepted: by the baseline, and by comments.
pub fn counts(check: &Check) -> (usize, usize) {
    let by = |is: fn(&Accepted) -> bool| {
        let accepted = check.diagnostics.iter().filter_map(|d| d.accepted.as_ref());
        accepted.filter(|a| is(a)).count()
    };
    (
        by(|a| matches!(a, Accepted::Baseline { .. })),
        by(|a| matches!(a, Accepted::Comment { .. })),
    )
}

/// Adapts the verdict and the sentence of a check to what is accepted.
fn settle(check: &mut Check) {
    let (listed, commented) = counts(check);
    if listed + commented == 0 {
        return;
    }
    if let Some(otherwise) = &check.judged.otherwise
        && !check.diagnostics.iter().any(Diagnostic::counts)
    {
        (check.verdict, check.ok) = (otherwise.verdict, otherwise.ok);
        check.summary.clone_from(&otherwise.summary);
    }
    let counted = |d: &&Diagnostic| d.counts() && d.level > Level::Note;
    let left: Vec<&Diagnostic> = check.diagnostics.iter().filter(counted).collect();
    let fails = left
        .iter()
        .any(|d| d.level == Level::Error || check.judged.warnings_fail);
    let doubt = check.judged.doubt.filter(|_| left.is_empty());
    check.verdict = doubt.unwrap_or(check.verdict);
    if check.verdict == Verdict::Findings || doubt.is_some() {
        check.ok = !fails && doubt.is_none();
    }
    let part = |count: usize, by: &str| (count > 0).then(|| format!("{count} by {by}"));
    let parts = [part(listed, "the baseline"), part(commented, "a comment")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    check.summary += &format!("; accepted: {}", parts.join(", "));
}

/// The kernel of a finding, without parameters: its own, or the only one of its check.
fn kernel<'c>(check: &'c Check, diagnostic: &'c Diagnostic) -> &'c str {
    match (&diagnostic.about.kernel, check.judged.kernels.as_deref()) {
        (Some(kernel), _) => ptx::without_signature(kernel),
        (None, Some([only])) => only,
        (None, _) => "",
    }
}

/// The texts of the guilty lines, without differences in blanks, sorted.
fn lines(diagnostic: &Diagnostic) -> Vec<String> {
    let guilty = diagnostic.labels.iter().filter(|l| l.is_guilty());
    let all: BTreeSet<String> = guilty
        .filter_map(|label| {
            let text = label.source.line(label.line)?;
            // An edited comment is no other line.
            let code = text.split("//").next().unwrap_or_default();
            let words: Vec<&str> = code.split_whitespace().collect();
            Some(words.join(" "))
        })
        .collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests;
