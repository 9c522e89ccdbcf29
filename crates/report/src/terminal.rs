//! Renders diagnostics in the style of rustc: source lines with labels, notes and one `help:`.

use super::{Check, Diagnostic, Label, NoLaunch, Report, SourcePlace, Unseen, Verdict, causes};
use annotate_snippets as a;
use anstyle::{AnsiColor, Style};
use detect::finding::is_at_least;
use detect::rules::{Level, Rule};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Renders all checks of a report, each with its findings followed by its verdict.
///
/// Findings of one cause are shown as one ([`causes::groups`]), the first [`SHOWN`] in full; the others are counted by function. The command
/// that shows the first finding again comes last.
pub fn render(report: &Report, color: bool) -> String {
    let mut out = String::new();
    for check in &report.checks {
        let told = check.diagnostics.iter().filter(|d| d.accepted.is_none());
        let (leaks, told): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
            told.partition(|d| d.rule == Rule::Leak);
        let groups = causes::groups(told);
        let replay = groups
            .iter()
            .find_map(|group| group.first.replay.as_deref());
        for group in groups.iter().take(SHOWN) {
            let schedule = schedule(group.first.replay.as_deref(), replay);
            let notes = [group.note(), schedule].into_iter().flatten().collect();
            out.push_str(&with_notes(group.first, notes, None, color));
            out.push('\n');
        }
        if let Some(more) = groups.get(SHOWN..).filter(|more| !more.is_empty()) {
            let _ = writeln!(out, "{}\n", counted_by_function(more));
        }
        out.push_str(&verdict(check, color));
        if !leaks.is_empty() {
            let _ = writeln!(out, "  leaks: {}", leaked(&leaks));
        }
        if let Some(replay) = replay {
            let _ = writeln!(out, "  reproduce with: {replay}");
        }
    }
    out
}

/// How many findings of a check are shown in full.
const SHOWN: usize = 10;

/// `and 12 more findings: 9 in `scan`, 3 in `add``
fn counted_by_function(groups: &[causes::Group<'_>]) -> String {
    let mut by: BTreeMap<&str, u64> = BTreeMap::new();
    let mut sum = 0;
    for group in groups {
        let all = 1 + group.others.len() as u64;
        sum += all;
        let about = &group.first.about;
        let function = about.function.as_deref().or(about.kernel.as_deref());
        *by.entry(function.unwrap_or_default()).or_default() += all;
    }
    let mut by: Vec<(&str, u64)> = by.into_iter().collect();
    by.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let parts = by.iter().map(|(name, count)| match *name {
        "" => format!("{} elsewhere", thousands(*count)),
        name => format!("{} in `{name}`", thousands(*count)),
    });
    format!(
        "… and {}: {} (`--format concise` shows each in one line)",
        counted(sum, "more finding"),
        parts.collect::<Vec<_>>().join(", ")
    )
}

/// What is never freed, in one line: `400 bytes of device memory are never freed (saxpy.cu:12)`.
fn leaked(leaks: &[&Diagnostic]) -> String {
    /// Leaks that are named.
    const NAMED: usize = 4;
    let one = |leak: &&Diagnostic| match leak.labels.first() {
        Some(at) if at.line > 0 => format!("{} ({}:{})", leak.title, at.source.path, at.line),
        _ => leak.title.clone(),
    };
    let named: Vec<String> = leaks.iter().take(NAMED).map(one).collect();
    let more = match leaks.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!("; and {more} more"),
        _ => String::new(),
    };
    format!("{}{more}", named.join("; "))
}

/// Where a finding shows under another schedule than the command at the end has.
fn schedule(own: Option<&str>, shown: Option<&str>) -> Option<String> {
    const FLAG: &str = "--schedule ";
    let of = |replay: &str| {
        let (_, rest) = replay.split_once(FLAG)?;
        rest.split(' ').next().map(str::to_owned)
    };
    let own = of(own?)?;
    (Some(&own) != of(shown?).as_ref()).then(|| format!("this one shows under `{FLAG}{own}`"))
}

/// Renders one diagnostic, ending in a line feed.
pub fn diagnostic(diagnostic: &Diagnostic, color: bool) -> String {
    with_notes(diagnostic, Vec::new(), diagnostic.replay.as_deref(), color)
}

fn with_notes(
    diagnostic: &Diagnostic,
    further: Vec<String>,
    replay: Option<&str>,
    color: bool,
) -> String {
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
    for note in diagnostic.notes.iter().chain(&further) {
        group = group.element(a::Level::NOTE.message(note.as_str()));
    }
    if let Some(seen) = seen(diagnostic) {
        group = group.element(a::Level::NOTE.message(seen));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(a::Level::HELP.message(help.as_str()));
    }
    let more = format!("for details run `racetrap explain {}`", diagnostic.rule);
    group = group.element(a::Level::NOTE.message(match replay {
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
    let least = match is_at_least(diagnostic.rule, diagnostic.count) {
        true => "at least ",
        false => "",
    };
    let times = (diagnostic.count > 1)
        .then(|| format!("seen {least}{} times{copies}", thousands(diagnostic.count)));
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
    if !unseen.loops.is_empty() {
        let number = match unseen.loops.len() {
            1 => "1 loop".to_owned(),
            n => format!("{} loops", thousands(n as u64)),
        };
        let at: Vec<SourcePlace> = unseen.loops.iter().map(|l| l.place.clone()).collect();
        let turns = format!(
            "{number} that never went round three times ({})",
            places(&at)
        );
        parts.push(turns);
    }
    parts.extend(unseen.launches.iter().map(|one| match one {
        NoLaunch::SeveralWarps => "blocks of several warps (`--block`)".to_owned(),
        NoLaunch::SeveralBlocks => "several blocks (`--grid`)".to_owned(),
    }));
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
