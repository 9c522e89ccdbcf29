//! One line a finding, as compilers and linters write it: `reverse.cu:8:12: error[data-race]: …`. Editors and `grep` take it apart.

use super::terminal::verdict;
use super::{Diagnostic, Label, Report};
use detect::rules::Level;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Renders the findings that nobody has accepted, and the verdict of each check.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for check in &report.checks {
        let told = check.diagnostics.iter().filter(|d| d.accepted.is_none());
        told.for_each(|d| out.push_str(&line(d)));
        out.push_str(&verdict(check, false));
    }
    out
}

fn line(diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    };
    let mut out = String::new();
    let first = diagnostic.labels.first();
    if let Some(label) = first {
        let column = label.columns.start + 1;
        let _ = write!(out, "{}:{}:{column}: ", label.source.path, label.line);
    }
    let _ = write!(out, "{level}[{}]: {}", diagnostic.rule, diagnostic.title);
    let elsewhere = |label: &&Label| {
        let same = |f: &Label| f.source.path == label.source.path && f.line == label.line;
        label.is_guilty() && !first.is_some_and(same)
    };
    let others = diagnostic.labels.iter().skip(1).filter(elsewhere);
    let others: BTreeSet<String> = others
        .map(|label| match first {
            Some(first) if first.source.path == label.source.path => format!("line {}", label.line),
            _ => format!("{}:{}", label.source.path, label.line),
        })
        .collect();
    if !others.is_empty() {
        let others: Vec<String> = others.into_iter().collect();
        let _ = write!(out, " (and {})", others.join(", "));
    }
    out.push('\n');
    out
}
