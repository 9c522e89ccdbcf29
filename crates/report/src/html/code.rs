//! The source around a finding: its lines with marks, and what happened there.

use super::prose;
use crate::visible;
use crate::{Diagnostic, Label};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Lines shown before and behind a marked one.
const AROUND: u32 = 3;
/// Characters of a line that are shown.
const WIDE: usize = 400;

/// The source of every file that a finding names, the first label's first.
pub fn sources(diagnostic: &Diagnostic) -> Markup {
    let mut files: Vec<&Label> = Vec::new();
    for label in &diagnostic.labels {
        if !files.iter().any(|l| l.source.path == label.source.path) {
            files.push(label);
        }
    }
    html! { @for of in files { (file(of, diagnostic)) } }
}

/// The source around one place.
pub fn place(label: &Label) -> Markup {
    excerpt(label, &[(0, label)])
}

fn file(of: &Label, diagnostic: &Diagnostic) -> Markup {
    let all = diagnostic.labels.iter().enumerate();
    let labels: Vec<(usize, &Label)> = all
        .filter(|(_, l)| l.source.path == of.source.path)
        .collect();
    excerpt(of, &labels)
}

fn excerpt(of: &Label, labels: &[(usize, &Label)]) -> Markup {
    let mut lines: BTreeSet<u32> = BTreeSet::new();
    for (_, label) in labels {
        let from = label.line.saturating_sub(AROUND).max(1);
        lines.extend(
            (from..=label.line.saturating_add(AROUND)).filter(|n| of.source.line(*n).is_some()),
        );
    }
    let mut last = None;
    html! {
        div.file {
            div.name { (of.source.path) ":" (of.line) }
            table.code {
                @for line in lines {
                    @if last.is_some_and(|l| l + 1 < line) { tr.gap { td.n { "⋮" } td {} td {} } }
                    ({ last = Some(line); row(line, of, labels) })
                }
            }
            @for (index, label) in labels.iter().filter(|(_, l)| of.source.line(l.line).is_none()) {
                p class={ "say say" ((*index).min(1)) } { "line " (label.line) ": " (prose(&label.text)) }
            }
        }
    }
}

fn row(line: u32, of: &Label, labels: &[(usize, &Label)]) -> Markup {
    let here: Vec<&(usize, &Label)> = labels.iter().filter(|(_, l)| l.line == line).collect();
    let class = match here.first() {
        Some((index, label)) if label.is_guilty() => format!("hit{}", (*index).min(1)),
        Some(_) => "call".to_owned(),
        None => String::new(),
    };
    let text = of.source.line(line).unwrap_or_default();
    html! {
        tr class=(class) {
            td.n { (line) }
            td { (marked(text, here.first().map(|(_, l)| *l))) }
            td.say { @for (index, label) in here { div class=[label.is_guilty().then(|| format!("say say{}", (*index).min(1)))] { (prose(&label.text)) } } }
        }
    }
}

/// A line with the columns of a label marked.
fn marked(text: &str, label: Option<&Label>) -> Markup {
    let cut = |text: &str| -> String {
        let shown: String = text.chars().take(WIDE).map(visible).collect();
        match text.chars().nth(WIDE) {
            Some(_) => shown + "…",
            None => shown,
        }
    };
    let range = label.map(|l| l.columns.start as usize..l.columns.end as usize);
    let parts = range.and_then(|r| {
        Some((
            text.get(..r.start)?,
            text.get(r.clone()).filter(|t| !t.is_empty())?,
            text.get(r.end..)?,
        ))
    });
    match parts {
        Some((before, inside, behind)) => {
            html! { (cut(before)) mark { (cut(inside)) } (cut(behind)) }
        }
        None => html! { (cut(text)) },
    }
}
