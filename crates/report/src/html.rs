//! Renders one self-contained HTML page: for each finding the source with both lines, a picture of what happened, the fix, and the
//! command that repeats it.
//!
//! All text is escaped by `maud` when it is put in. [`page`] has the skeleton, which reports of other kinds use, too.

mod code;
pub mod page;
mod picture;

use super::{Accepted, Check, Diagnostic, Launched, Report, Setting, Verdict};
use crate::terminal::{counted, thousands};
use detect::rules::Level;
use maud::{Markup, html};
use page::{Filter, page as skeleton};

/// Findings that are shown; the others are counted.
const SHOWN: usize = 1_000;

/// Renders the page of a report.
pub fn render(report: &Report) -> String {
    let all: Vec<(&Check, &Diagnostic)> = report
        .checks
        .iter()
        .flat_map(|check| check.diagnostics.iter().map(move |d| (check, d)))
        .take(SHOWN)
        .collect();
    let filters = [
        Filter::of("rule", "Rule", all.iter().map(|(_, d)| d.rule.name())),
        Filter::of("kernel", "Kernel", all.iter().map(|(c, d)| kernel(c, d))),
        Filter::of("file", "File", all.iter().map(|(_, d)| file(d))),
    ];
    let count = |level| -> usize { report.checks.iter().map(|c| c.count(level)).sum() };
    let title = match &report.checks[..] {
        [one] => format!("racetrap: {}", one.name),
        all => format!("racetrap: {}", counted(all.len() as u64, "check")),
    };
    let head = html! { p {
        span.badge.error[count(Level::Error) > 0] { (counted(count(Level::Error) as u64, "error")) } " "
        span.badge.warning[count(Level::Warning) > 0] { (counted(count(Level::Warning) as u64, "warning")) } " "
        span.badge.note[count(Level::Note) > 0] { (counted(count(Level::Note) as u64, "note")) }
    } };
    let mut left = SHOWN;
    let groups: Vec<Markup> = report
        .checks
        .iter()
        .map(|check| {
            let shown = check.diagnostics.len().min(left);
            left -= shown;
            group(check, shown)
        })
        .collect();
    skeleton(
        &title,
        head,
        &filters,
        html! { @for one in groups { (one) } },
        "",
    )
}

/// The kernel that a finding is of, without parameters; of a check of several kernels that of the finding.
fn kernel<'c>(check: &'c Check, diagnostic: &'c Diagnostic) -> &'c str {
    let setting = check.setting.as_ref().map(|s| s.entry.as_str());
    let of = diagnostic.about.kernel.as_deref().or(setting);
    of.map_or(check.name.as_str(), ptx::without_signature)
}

fn file(diagnostic: &Diagnostic) -> &str {
    let first = diagnostic.labels.first();
    first.map_or("", |label| label.source.path.as_str())
}

/// Text with what stands between backticks as code.
pub(crate) fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // One backtick too many is a character of the text.
    let closed = parts.len() % 2 == 1;
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if !closed && index + 1 == parts.len() { "`" (part) }
            @else if index % 2 == 1 { code { (part) } }
            @else { (part) }
        }
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

/// One kernel or case: its verdict, how it was run, its findings.
fn group(check: &Check, shown: usize) -> Markup {
    let class = match check.verdict {
        Verdict::Inconclusive | Verdict::Unsupported => "warning",
        Verdict::Findings if check.ok => "warning",
        _ if check.ok => "good",
        _ => "bad",
    };
    let more = check.diagnostics.len() - shown;
    html! {
        section.group {
            h2 { span class={ "badge " (class) } { (check.verdict.name()) } " " (check.name) }
            p.verdict { (check.summary) }
            @if let Some(setting) = &check.setting { (launch(setting)) }
            @for diagnostic in &check.diagnostics[..shown] { (card(check, diagnostic)) }
            @if more > 0 { p { "… and " (thousands(more as u64)) " more findings, which `--format json` has." } }
            @if !check.output.is_empty() { details { summary { "What it printed" } pre.command { (check.output.chars().take(20_000).collect::<String>()) } } }
        }
    }
}

/// How the kernel was launched.
fn launch(setting: &Setting) -> Markup {
    let three = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
    html! {
        details {
            summary { "The launch: grid " (three(setting.grid)) ", block " (three(setting.block)) }
            table.steps {
                @for argument in &setting.arguments {
                    tr { td { (argument.name) } td { code { (argument.value) } } td { @if argument.guessed { "guessed" } } }
                }
                tr { td { "schedules" } td { (setting.schedules.join(", ")) } td {} }
            }
        }
    }
}

fn card(check: &Check, diagnostic: &Diagnostic) -> Markup {
    let level = level(diagnostic.level);
    html! {
        article class={ "card " (level) (if diagnostic.accepted.is_some() { " accepted" } else { "" }) } tabindex="0"
            data-rule=(diagnostic.rule.name()) data-kernel=(kernel(check, diagnostic)) data-file=(file(diagnostic)) {
            h3 { span class={ "badge " (level) } { (diagnostic.rule.name()) } " " (prose(&diagnostic.title)) }
            @if diagnostic.expected { p { "The case expects this finding." } }
            @if let Some(accepted) = &diagnostic.accepted { (why(accepted)) }
            (finding(diagnostic))
            details {
                summary { "What " (diagnostic.rule.name()) " means" }
                pre.command { (crate::rules::page(diagnostic.rule)) }
            }
        }
    }
}

/// A finding without its head: the source with its places, the fix, the picture, further facts, and the command that repeats it.
pub fn finding(diagnostic: &Diagnostic) -> Markup {
    html! {
        (code::sources(diagnostic))
        @if let Some(launched) = &diagnostic.launched { (in_program(launched)) }
        @if let Some(help) = &diagnostic.help { p.help { b { "fix: " } (prose(help)) } }
        @if let Some(picture) = picture::picture(diagnostic) { (picture) }
        @for note in &diagnostic.notes { p { (prose(note)) } }
        @if let Some(seen) = crate::terminal::seen(diagnostic) { p { (seen) } }
        @if let Some(replay) = &diagnostic.replay {
            h4 { "Repeat it" }
            pre.command { (replay) }
        }
    }
}

/// The launch of a whole program, and the line of the host that asked for it.
fn in_program(launched: &Launched) -> Markup {
    let three = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
    html! {
        h4 { "The launch" }
        p { "Launch " (thousands(launched.number)) " of the program, on " (launched.stream) ": " code { (launched.kernel) }
            " with grid " (three(launched.grid)) " and block " (three(launched.block)) "." }
        @if let Some(host) = &launched.host { (code::place(host)) }
    }
}

fn why(accepted: &Accepted) -> Markup {
    html! { p { "Accepted by " (match accepted {
        Accepted::Baseline { .. } => "the baseline",
        Accepted::Comment { .. } => "a comment",
    }) @if let Accepted::Baseline { reason: Some(reason) } | Accepted::Comment { reason } = accepted { ": " (reason) } } }
}
