//! Renders text for people: one line for each case, and on request each mutant with its source lines.

use crate::judged::{Judged, Outcome, Subject, Sums, Together, sums};
use annotate_snippets as a;
use anstyle::{AnsiColor, Style};
use report::terminal::snippets;
use report::{Diagnostic, Label};
use std::fmt::Write as _;

/// Renders one line for a kernel, with its name padded to `width`, followed by its problems.
pub fn line(subject: &Subject, width: usize, color: bool) -> String {
    let sums = subject.sums();
    let problems = subject.problems();
    let (bold, dim) = match color {
        true => (Style::new().bold(), Style::new().dimmed()),
        false => (Style::new(), Style::new()),
    };
    let mut out = format!(
        "{bold}{:width$}{bold:#}  {}",
        subject.name,
        counted(sums, subject.strict)
    );
    if sums.mutants == 0 && subject.refused.is_none() {
        out += &format!("{dim}nothing to remove or weaken{dim:#}");
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    let style = style(AnsiColor::Red, color);
    for problem in problems {
        let _ = writeln!(out, "  {style}{problem}{style:#}");
    }
    out
}

/// `3 needed, 1 without a failure (explained)`
fn counted(sums: Sums, strict: bool) -> String {
    let mut parts = Vec::new();
    if sums.needed > 0 {
        parts.push(format!("{} needed", sums.needed));
    }
    if sums.not_exercised > 0 {
        parts.push(format!("{} not exercised", sums.not_exercised));
    }
    if sums.no_failure > 0 {
        parts.push(format!("{} without a failure", sums.no_failure));
    }
    let silent = sums.not_exercised + sums.no_failure;
    if let (true, Some(last), 1..) = (strict, parts.last_mut(), silent) {
        *last += &match silent - sums.explained {
            0 => " (explained)".to_owned(),
            n => format!(" ({n} not explained)"),
        };
    }
    if sums.unknown > 0 {
        parts.push(format!("{} unknown", sums.unknown));
    }
    parts.join(", ")
}

/// Renders the mutants of a kernel, each ending in a line feed, then what is needed together.
pub fn mutants(subject: &Subject, color: bool) -> String {
    let mut out = String::new();
    for one in &subject.mutants {
        out += &mutant(one, color);
        out.push('\n');
    }
    for group in &subject.together {
        out += &together(group, &subject.mutants, color);
        out.push('\n');
    }
    out
}

/// Renders mutants of which one at least is needed.
fn together(group: &Together, mutants: &[Judged], color: bool) -> String {
    let members = group.members.iter().filter_map(|index| mutants.get(*index));
    let mut labels: Vec<Label> = members
        .map(|one| Label {
            text: one.change.to_string(),
            ..one.place.clone()
        })
        .collect();
    let count = match labels.len() {
        2 => "two".to_owned(),
        n => n.to_string(),
    };
    let all = if labels.len() == 2 { "both" } else { "all" };
    let what = match &group.sign.diagnostic {
        Some(finding) => finding.title.clone(),
        None => group.sign.what.clone(),
    };
    let title = format!("one of these {count} is needed; with {all} changes: {what}");
    let mut notes = vec![format!(
        "nothing fails as long as one of the {count} is as it was"
    )];
    if let Some(finding) = &group.sign.diagnostic {
        labels.extend(finding.labels.iter().cloned());
        notes.push(found(finding));
    }
    let title = a::Level::HELP
        .with_name("needed")
        .primary_title(title)
        .id("together");
    rendered(a::Group::with_title(title), &labels, &notes, color)
}

/// A group with its source lines and notes.
fn rendered<'a>(
    mut group: a::Group<'a>,
    labels: &'a [Label],
    notes: &'a [String],
    color: bool,
) -> String {
    for snippet in snippets(labels) {
        group = group.element(snippet);
    }
    for note in notes {
        group = group.element(a::Level::NOTE.message(note.as_str()));
    }
    let renderer = match color {
        true => a::Renderer::styled(),
        false => a::Renderer::plain(),
    };
    renderer.render(&[group]) + "\n"
}

/// Renders one mutant: the changed line and the lines of the finding.
fn mutant(one: &Judged, color: bool) -> String {
    let condition = one.change.condition();
    let mut notes: Vec<String> = Vec::new();
    let mut labels = vec![Label {
        text: one.change.to_string(),
        ..one.place.clone()
    }];
    let (level, title) = match &one.outcome {
        Outcome::Needed(sign) => {
            let title = match &sign.diagnostic {
                Some(finding) => finding.title.clone(),
                None => sign.what.clone(),
            };
            if let Some(finding) = &sign.diagnostic {
                labels.extend(finding.labels.iter().cloned());
                notes.push(found(finding));
            }
            if let Some(smallest) = &sign.example {
                notes.push(format!("smallest run: {smallest}"));
            }
            (
                a::Level::HELP.with_name("needed"),
                format!("{condition}: {title}"),
            )
        }
        Outcome::NotExercised { why, launches } => {
            notes.push(match launches {
                1 => "one launch was tried; give another one (`--grid`, `--block`, `--arg`)".into(),
                n => format!(
                    "{n} launches and inputs were tried; give one that needs it (`--grid`, `--block`, `--arg`)"
                ),
            });
            let title = format!("nothing is known of the kernel {condition}: {why}");
            (a::Level::WARNING.with_name("not exercised"), title)
        }
        Outcome::NoFailure {
            runs,
            launches,
            every_schedule,
        } => {
            notes.push(tried(*runs, *launches, *every_schedule));
            notes.extend(one.change.caveat().map(str::to_owned));
            let title = format!("no failure found {condition}");
            (a::Level::WARNING.with_name("no failure found"), title)
        }
        Outcome::Unknown(verdict, why) => {
            notes.push(format!("{}: {why}", verdict.name()));
            let title = format!("{condition}: no verdict");
            (a::Level::ERROR.with_name("unknown"), title)
        }
    };
    if one.ptx_lines.len() > 1 {
        notes.push(format!(
            "this line has {} PTX instructions (lines {}), which were changed together; `--each` changes one at a time",
            one.ptx_lines.len(),
            listed(&one.ptx_lines)
        ));
    }
    notes.extend(
        one.explained
            .as_ref()
            .map(|why| format!("the case says: {}", why.trim())),
    );
    let title = level.primary_title(title).id(one.change.kind.name());
    rendered(a::Group::with_title(title), &labels, &notes, color)
}

fn found(finding: &Diagnostic) -> String {
    let rule = finding.rule;
    format!("found as {rule}; for details run `racetrap explain {rule}`")
}

/// What was tried and what the result guarantees.
fn tried(runs: u32, launches: usize, every_schedule: bool) -> String {
    let number = |n: usize, word: &str| match n {
        1 => format!("1 {word}"),
        n => format!("{n} {word}s"),
    };
    let runs = number(runs as usize, "run");
    let on = match launches {
        0 | 1 => String::new(),
        n => format!(" on {n} launches and inputs"),
    };
    match every_schedule {
        true => format!(
            "{runs}{on}: every schedule gives the right results there; no other launches and inputs were tried"
        ),
        false => format!("{runs}{on}; other inputs, launches and schedules were not tried"),
    }
}

fn listed(lines: &[u32]) -> String {
    const SHOWN: usize = 6;
    let mut words: Vec<String> = lines.iter().take(SHOWN).map(u32::to_string).collect();
    if lines.len() > SHOWN {
        words.push("…".into());
    }
    words.join(", ")
}

/// The last line: totals over all kernels.
pub fn total(subjects: &[Subject], seconds: f64, color: bool) -> String {
    let sums = sums(subjects);
    let strict = subjects.iter().all(|s| s.strict);
    let wrong: usize = subjects.iter().map(|s| s.problems().len()).sum();
    let (bold, dim) = match color {
        true => (Style::new().bold(), Style::new().dimmed()),
        false => (Style::new(), Style::new()),
    };
    let counted = match counted(sums, strict) {
        none if none.is_empty() => "nothing to remove or weaken".into(),
        counted => counted,
    };
    let number = |n: usize, word: &str| match n {
        1 => format!("1 {word}"),
        n => format!("{n} {word}s"),
    };
    let mut out = format!(
        "{bold}{counted}{bold:#}  {dim}{} of {} in {seconds:.1} s{dim:#}\n",
        number(sums.mutants, "mutant"),
        number(subjects.len(), "kernel")
    );
    if wrong > 0 {
        let style = style(AnsiColor::Red, color);
        let _ = writeln!(out, "{style}{wrong} not as expected{style:#}");
    }
    out
}

fn style(of: AnsiColor, color: bool) -> Style {
    match color {
        true => Style::new().fg_color(Some(of.into())),
        false => Style::new(),
    }
}
