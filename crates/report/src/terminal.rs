//! Renders diagnostics in the style of rustc: source lines with labels, notes and one `help:`.

use super::{Check, Diagnostic, Label, Report, SourcePlace, Unseen, Verdict};
use annotate_snippets as a;
use anstyle::{AnsiColor, Style};
use detect::rules::Level;
use std::fmt::Write as _;
use std::ops::Range;

/// Renders all checks of a report, each with its findings followed by its verdict.
pub fn render(report: &Report, color: bool) -> String {
    let mut out = String::new();
    for check in &report.checks {
        let shown = || check.diagnostics.iter().filter(|d| d.accepted.is_none());
        for one in shown().take(SHOWN) {
            out.push_str(&diagnostic(one, color));
            out.push('\n');
        }
        if let Some(more) = shown().count().checked_sub(SHOWN + 1) {
            let _ = writeln!(
                out,
                "… and {} more findings (`--format json` has them)\n",
                thousands(more as u64 + 1)
            );
        }
        out.push_str(&verdict(check, color));
    }
    out
}

/// How many findings of a check are shown.
const SHOWN: usize = 100;

/// Renders one diagnostic, ending in a line feed.
pub fn diagnostic(diagnostic: &Diagnostic, color: bool) -> String {
    let level = match diagnostic.level {
        Level::Error => a::Level::ERROR,
        Level::Warning => a::Level::WARNING,
        Level::Note => a::Level::NOTE,
    };
    let title = level
        .primary_title(&diagnostic.title)
        .id(diagnostic.rule.name());
    let mut group = a::Group::with_title(title);
    for snippet in snippets(&diagnostic.labels) {
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(a::Level::NOTE.message(note.as_str()));
    }
    if let Some(seen) = seen(diagnostic) {
        group = group.element(a::Level::NOTE.message(seen));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(a::Level::HELP.message(help.as_str()));
    }
    let more = format!("for details run `racetrap explain {}`", diagnostic.rule);
    group = group.element(a::Level::NOTE.message(match &diagnostic.replay {
        Some(replay) => format!("{more}; reproduce with `{replay}`"),
        None => more,
    }));
    let renderer = if color {
        a::Renderer::styled()
    } else {
        a::Renderer::plain()
    };
    renderer.render(&[group]) + "\n"
}

/// How often and in which builds a finding was seen; `None` for a single time in the only build.
pub(crate) fn seen(diagnostic: &Diagnostic) -> Option<String> {
    let copies = match diagnostic.about.copies() {
        1 => String::new(),
        n => format!(", in {n} copies of these instructions"),
    };
    let times = (diagnostic.count > 1)
        .then(|| format!("seen {} times{copies}", thousands(diagnostic.count)));
    let builds = (!diagnostic.builds.is_empty())
        .then(|| format!("appears in: {}", diagnostic.builds.join(", ")));
    match (times, builds) {
        (Some(times), Some(builds)) => Some(format!("{times}; {builds}")),
        (times, builds) => times.or(builds),
    }
}

/// `12,345`
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 case`, `2,000 cases`
pub fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        n => format!("{} {noun}s", thousands(n)),
    }
}

/// One snippet for each file; the first label is the primary one.
pub fn snippets(labels: &[Label]) -> Vec<a::Snippet<'_, a::Annotation<'_>>> {
    let mut files: Vec<&Label> = Vec::new();
    for label in labels {
        if !files.iter().any(|l| l.source.path == label.source.path) {
            files.push(label);
        }
    }
    files
        .iter()
        .map(|file| {
            let marks = labels
                .iter()
                .enumerate()
                .filter(|(_, l)| l.source.path == file.source.path);
            let (text, first_line, start) = window(file, labels);
            a::Snippet::source(text)
                .path(&file.source.path)
                .line_start(first_line)
                .annotations(marks.map(move |(index, label)| {
                    let kind = match index {
                        0 => a::AnnotationKind::Primary,
                        _ => a::AnnotationKind::Context,
                    };
                    let range = label.source.range(label.line, &label.columns);
                    kind.span(range.start - start..range.end - start)
                        .label(label.text.as_str())
                }))
        })
        .collect()
}

/// The part of a file that its labels need, with the number of its first line and the offset of its first byte. This avoids
/// laying out a long PTX file as a whole.
fn window<'a>(file: &'a Label, labels: &[Label]) -> (&'a str, usize, usize) {
    let same = || labels.iter().filter(|l| l.source.path == file.source.path);
    let first = same().map(|l| l.line).min().unwrap_or(1);
    let last = same().map(|l| l.line).max().unwrap_or(1);
    let whole = 0..u32::MAX;
    let start = file.source.range(first, &whole).start;
    let end: Range<usize> = file.source.range(last, &whole);
    (
        &file.source.text[start..end.end.max(start)],
        first as usize,
        start,
    )
}

/// Renders the verdict line, ending in a line feed.
pub fn verdict(check: &Check, color: bool) -> String {
    let mut out = String::new();
    let style = if color {
        verdict_style(check.verdict, check.ok)
    } else {
        Style::new()
    };
    let bold = if color {
        Style::new().bold()
    } else {
        Style::new()
    };
    let _ = writeln!(
        out,
        "{style}{}{style:#} {bold}{}{bold:#}: {}",
        check.verdict.name(),
        check.name,
        check.summary
    );
    if let Some(unseen) = unseen(&check.unseen) {
        let _ = writeln!(out, "  not seen: {unseen}");
    }
    out
}

/// What a clean check has not seen, in one line: how much, and the first places.
fn unseen(unseen: &Unseen) -> Option<String> {
    /// Places that are named.
    const FIRST: usize = 3;
    let places = |all: &[SourcePlace]| {
        let mut shown: Vec<String> = Vec::new();
        for (at, place) in all.iter().take(FIRST).enumerate() {
            let same = at > 0 && all[at - 1].file == place.file;
            shown.push(match same {
                true => place.line.to_string(),
                false => format!("{}:{}", place.file, place.line),
            });
        }
        let more = if all.len() > FIRST { ", …" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    let mut parts = Vec::new();
    if !unseen.lines.is_empty() {
        let number = counted(unseen.lines.len() as u64, "line");
        let run = format!("{number} that no thread ran ({})", places(&unseen.lines));
        parts.push(run);
    }
    if !unseen.branches.is_empty() {
        let number = match unseen.branches.len() {
            1 => "1 branch".to_owned(),
            n => format!("{} branches", thousands(n as u64)),
        };
        let went = format!(
            "{number} that always went the same way ({})",
            places(&unseen.branches)
        );
        parts.push(went);
    }
    if !unseen.buffers.is_empty() {
        let names: Vec<String> = unseen
            .buffers
            .iter()
            .map(|b| format!("`{}`", b.name))
            .collect();
        let more = if names.len() > FIRST { ", …" } else { "" };
        let shown = names[..names.len().min(FIRST)].join(", ");
        parts.push(format!(
            "accesses beyond the end of {shown}{more}, whose size is guessed"
        ));
    }
    parts.extend(unseen.guesses.iter().cloned());
    parts.extend(unseen.unjudged.iter().cloned());
    if let Some(last) = unseen.other_architectures.last() {
        let all: Vec<String> = unseen
            .other_architectures
            .iter()
            .map(|number| format!("sm_{number}"))
            .collect();
        parts.push(format!(
            "the program's code for {} (`--device sm_{last}`)",
            all.join(", ")
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Green for an expected verdict, red for an unexpected one, yellow if the verdict is unknown.
pub fn verdict_style(verdict: Verdict, ok: bool) -> Style {
    let color = match verdict {
        Verdict::Inconclusive | Verdict::Unsupported => AnsiColor::Yellow,
        Verdict::Findings if ok => AnsiColor::Yellow,
        _ if ok => AnsiColor::Green,
        _ => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(color.into()))
}
