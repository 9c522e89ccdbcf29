//! Renders GitHub workflow commands: one annotation for each unexpected finding, at its first guilty line that is in a file of the project
//! (GitHub documentation, "Workflow commands for GitHub Actions").

use super::json::columns;
use super::{Diagnostic, Report};
use detect::rules::Level;
use std::fmt::Write as _;

/// Renders the commands, one a line. An unexpected verdict without a finding becomes an annotation without a location.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for check in &report.checks {
        let mut shown = check.diagnostics.iter().filter(|d| d.counts()).peekable();
        if shown.peek().is_none() && !check.ok {
            let title = property(&format!("{}: {}", check.verdict.name(), check.name));
            let _ = writeln!(out, "::error title={title}::{}", data(&check.summary));
        }
        for diagnostic in shown {
            out.push_str(&command(diagnostic));
        }
    }
    out
}

fn command(diagnostic: &Diagnostic) -> String {
    let kind = match diagnostic.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let mut at = String::new();
    let mut labels = diagnostic.labels.iter();
    if let Some(label) = labels.find(|label| !label.source.is_listing()) {
        let (column, end) = columns(label);
        let _ = write!(
            at,
            "file={},line={},col={column},endColumn={end},",
            property(&label.source.path),
            label.line
        );
    }
    let mut text = diagnostic.title.clone();
    for label in &diagnostic.labels {
        let _ = write!(
            text,
            "\n{}:{}: {}",
            label.source.path, label.line, label.text
        );
    }
    for note in &diagnostic.notes {
        let _ = write!(text, "\nnote: {note}");
    }
    if let Some(help) = &diagnostic.help {
        let _ = write!(text, "\nhelp: {help}");
    }
    // A workflow command has no suggestion that can be applied: the change is shown.
    if let Some(edit) = diagnostic.edit.as_ref().filter(|edit| edit.proven) {
        let _ = write!(text, "\nsuggestion:\n{}", edit.diff().trim_end());
    }
    format!(
        "::{kind} {at}title={}::{}\n",
        property(diagnostic.rule.name()),
        data(&text)
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
