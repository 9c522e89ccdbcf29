//! Pages for those who teach: one of the class, and one of each submission. Hidden inputs are in them.
//!
//! All text is escaped by `maud` when it is put in: names, sources and messages come from strangers.

use super::text::word;
use crate::assignment::Assignment;
use crate::class::Override;
use crate::input_files::write_command;
use crate::result::{Cause, DrawResult, Graded, InputResult, Outcome, PartResult, Seen, State};
use crate::view::{When, number, view};
use maud::{Markup, html};
use report::html::page::{Filter, page};
use report::{About, Diagnostic, Label, SourceFile, Who};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands at the foot of each page.
const NOTE: &str = "Hidden inputs are in this page: do not publish it.";

/// The file of the class's page.
pub const INDEX: &str = "index.html";

/// The file of a submission's page.
pub fn file(name: &str) -> String {
    format!("submission-{name}.html")
}

/// All pages of a class, by their files.
pub fn pages(
    all: &[Graded],
    failed: &[(String, String)],
    assignment: &Assignment,
    overrides: &BTreeMap<String, Override>,
) -> Vec<(String, String)> {
    let mut pages = vec![(INDEX.to_owned(), class(all, failed, assignment, overrides))];
    for graded in all {
        let changed = overrides.get(&graded.submission.name);
        let page = submission(graded, assignment, changed);
        pages.push((file(&graded.submission.name), page));
    }
    // No place of a page is for what turns the direction of the text around it.
    for (_, page) in &mut pages {
        *page = page
            .split('\n')
            .map(visible_line)
            .collect::<Vec<_>>()
            .join("\n");
    }
    pages
}

fn visible_line(line: &str) -> String {
    line.chars().map(report::visible).collect()
}

/// The same as a link has it (RFC 3986, section 2.1): a name may hold `#`, `?` and `%`.
fn link_to(name: &str) -> String {
    let mut out = String::new();
    for byte in file(name).bytes() {
        match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            true => out.push(char::from(byte)),
            false => out += &format!("%{byte:02X}"),
        }
    }
    out
}

fn state_badge(state: State) -> &'static str {
    match state {
        State::Passed => "badge good",
        State::Failed | State::Skipped => "badge bad",
        State::Partial => "badge warning",
        State::NeedsReview | State::Manual => "badge note",
    }
}

fn points(earned: Option<f64>) -> String {
    earned.map_or("?".to_owned(), number)
}

/// The page of a class: what a person has to decide first.
fn class(
    all: &[Graded],
    failed: &[(String, String)],
    assignment: &Assignment,
    overrides: &BTreeMap<String, Override>,
) -> String {
    let open: Vec<&Graded> = all
        .iter()
        .filter(|g| !g.is_final() && !overrides.contains_key(&g.submission.name))
        .collect();
    let head = html! { p {
        (all.len()) " submissions, " (open.len()) " to look at"
        @if !failed.is_empty() { ", " (failed.len()) " not graded" }
    } };
    let link = |name: &str| html! { a href=(link_to(name)) { (name) } };
    let content = html! {
        @if !open.is_empty() {
            section.group { h2 { "To look at" }
                @for graded in &open { div.card.warning {
                    h3 { (link(&graded.submission.name)) }
                    @for review in &graded.review { p { b { (review.part) } ": " (review.why) } }
                } }
            }
        }
        @if !failed.is_empty() {
            section.group { h2 { "Not graded, for a reason of the machine" }
                @for (name, why) in failed { div.card.error { h3 { (name) } p { (why) } } }
            }
        }
        section.group { h2 { "Points" } (histogram(all)) }
        section.group { h2 { "Submissions" }
            div.scroll { table.steps.matrix {
                tr { th { "submission" } th { "points" } @for part in &assignment.parts { th { (part.title()) } } }
                @for graded in all { tr {
                    td { (link(&graded.submission.name)) }
                    td {
                        @match overrides.get(&graded.submission.name) {
                            Some(changed) => { b { (number(changed.points)) } " (was " (number(graded.points)) ")" },
                            None => { (number(graded.points)) @if !graded.is_final() { " and more" } },
                        }
                    }
                    @for part in &graded.parts { td { span class=(state_badge(part.state)) title=(word(part.state)) { (points(part.earned)) } } }
                } }
            } }
        }
        section.group { h2 { "What they have in common" } (clusters(all)) }
    };
    let causes = all.iter().flat_map(|g| &g.causes);
    let filters = [Filter::of("rule", "Rule", causes.map(|c| c.rule.name()))];
    page(
        &format!("{}: the class", assignment.title),
        head,
        &filters,
        content,
        NOTE,
    )
}

/// How many submissions earned how much, in tenths.
fn histogram(all: &[Graded]) -> Markup {
    let mut tenths = [0usize; 11];
    for graded in all.iter().filter(|g| g.of > 0.0) {
        let tenth = (graded.points / graded.of * 10.0).floor().clamp(0.0, 10.0);
        tenths[tenth as usize] += 1;
    }
    let most = tenths.iter().copied().max().unwrap_or(0).max(1);
    html! { table.steps.tenths { @for (tenth, count) in tenths.iter().enumerate() { tr {
        td { @if tenth == 10 { "100 %" } @else { "from " (tenth * 10) " %" } }
        td { (count) }
        td { div style=(format!("width: {}%", 100 * count / most)) {} }
    } } } }
}

/// Submissions with one root cause, so that one comment serves many.
fn clusters(all: &[Graded]) -> Markup {
    let mut groups: BTreeMap<(String, Vec<String>), (Vec<&Graded>, &Cause)> = BTreeMap::new();
    for graded in all {
        for cause in &graded.causes {
            let bare = |text: &Option<String>| -> String {
                text.iter()
                    .flat_map(|t| t.chars())
                    .filter(|c| !c.is_whitespace())
                    .collect()
            };
            let lines = cause.lines.iter().map(|l| bare(&l.text)).collect();
            let group = groups.entry((cause.rule.name().to_owned(), lines));
            let (members, _) = group.or_insert((Vec::new(), cause));
            if members
                .last()
                .is_none_or(|last| last.submission.name != graded.submission.name)
            {
                members.push(graded);
            }
        }
    }
    let mut groups: Vec<(Vec<&Graded>, &Cause)> = groups.into_values().collect();
    groups.sort_by_key(|(members, _)| std::cmp::Reverse(members.len()));
    html! { @for (members, cause) in groups.iter().take(200) { div.card.error tabindex="0" data-rule=(cause.rule.name()) {
        h3 { (cause.rule.name()) ": " (members.len()) @if members.len() == 1 { " submission" } @else { " submissions" } }
        (lines(cause))
        p { @for member in members { a href=(link_to(&member.submission.name)) { (member.submission.name) } " " } }
    } } @if groups.is_empty() { p { "Nothing." } } }
}

fn lines(cause: &Cause) -> Markup {
    html! { div.file { table { @for line in &cause.lines { tr {
        td.n { (line.file) ":" (line.line) }
        td { (line.text.as_deref().unwrap_or("")) }
    } } } } }
}

/// The page of a submission.
fn submission(graded: &Graded, assignment: &Assignment, changed: Option<&Override>) -> String {
    let name = &graded.submission.name;
    let total = format!("{} of {}", number(graded.points), number(graded.of));
    let head = html! { p {
        a href=(INDEX) { "the class" } " · " (total)
        @if !graded.is_final() { " and what a person has to decide" }
        @if let Some(changed) = changed { " · overridden: " b { (number(changed.points)) } ", " (changed.reason) }
    } };
    let seen = super::text::render(&view(graded, assignment, When::AfterDue));
    let content = html! {
        section.group { h2 { "Parts" } table.steps {
            @for part in &graded.parts { (part_row(part, graded)) }
        } }
        @if let Some(refused) = &graded.refused {
            div.card.error { h3 { (refused.what) } pre.command { (refused.messages) } }
        }
        @if !graded.causes.is_empty() {
            section.group { h2 { "Root causes" } @for cause in &graded.causes { (cause_card(cause, assignment)) } }
        }
        section.group { h2 { "Inputs" } @for input in &graded.inputs { (input_card(input)) } }
        section.group { h2 { "What the student sees after the due date" } pre.command { (seen) } }
        section.group { h2 { "To decide otherwise" }
            p { "Put this into the file for " code { "--overrides" } ", with points and a reason; it lands in the table." }
            pre.command { (format!("{}: {{points: {}, reason: }}", serde_json::to_string(name).unwrap_or_default(), number(graded.points))) }
        }
        section.group { h2 { "What it was made from" } table.steps {
            tr { td { "submission" } td { code { (graded.submission.sha256) } } }
            @for (file, hash) in &graded.submission.files { tr { td { (file) } td { code { (hash.sha256) } " (" (hash.bytes) " bytes)" } } }
            tr { td { "assignment" } td { code { (graded.provenance.assignment) } } }
            tr { td { "racetrap" } td { (graded.provenance.racetrap) } }
            tr { td { "nvcc" } td { (graded.provenance.nvcc.as_deref().unwrap_or("compiled before")) } }
            tr { td { "seed" } td { (graded.provenance.seed) } }
            tr { td { "schedules of an input, at most" } td { (graded.provenance.schedules) } }
            tr { td { "seconds" } td { (format!("{:.2}", graded.provenance.seconds)) } }
            @if !graded.submission.ignored.is_empty() { tr { td { "not looked at" } td { (graded.submission.ignored.join(", ")) } } }
        } }
    };
    let filters = [Filter::of(
        "rule",
        "Rule",
        graded.causes.iter().map(|c| c.rule.name()),
    )];
    page(
        &format!("{name}: {}", graded.title),
        head,
        &filters,
        content,
        NOTE,
    )
}

fn part_row(part: &PartResult, graded: &Graded) -> Markup {
    use crate::result::Loss;
    let why = |loss: &Loss| match loss {
        Loss::Refused => "it is not built".to_owned(),
        Loss::Cause { cause, points } => {
            let rule = graded
                .causes
                .get(*cause)
                .map_or("a cause", |c| c.rule.name());
            match *points > 0.0 {
                true => format!("{rule} ({})", number(-points)),
                false => rule.to_owned(),
            }
        }
        Loss::Input {
            input,
            wrong,
            dependent,
        } => match dependent {
            0 => format!("input {input}: {wrong} wrong"),
            _ => format!("input {input}: {wrong} wrong, {dependent} that depend on the schedule"),
        },
        Loss::Count {
            metric,
            input,
            count,
            reference,
            full,
        } => {
            let of = reference.map_or(String::new(), |r| {
                format!(", the reference has {}", number(r))
            });
            format!(
                "{} {} on {input}{of}; limit {}",
                number(*count),
                metric.words(),
                number(*full)
            )
        }
        Loss::Requires { part } => format!("requires {part}"),
        Loss::Undecided { input, why } => format!(
            "{}{why}",
            input.as_ref().map_or(String::new(), |i| format!("{i}: "))
        ),
    };
    html! { tr {
        td { (part.title) }
        td { (points(part.earned)) "\u{a0}/\u{a0}" (number(part.of)) }
        td { span class=(state_badge(part.state)) { (word(part.state)) } }
        td.reason { (part.losses.iter().map(why).collect::<Vec<_>>().join("; ")) }
    } }
}

fn cause_card(cause: &Cause, assignment: &Assignment) -> Markup {
    // The inputs are in the order of the assignment, which begins with the small ones.
    html! { article.card.error tabindex="0" data-rule=(cause.rule.name()) {
        h3 { span.badge.error { (cause.rule.name()) } " " (cause.seen.first().map_or(cause.rule.summary(), |seen| seen.title.as_str())) }
        @if let Some(seen) = cause.seen.first() {
            p { "Seen first on input " b { (seen.input) }
                @if cause.seen.len() > 1 { ", also on " (cause.seen[1..].iter().map(|s| s.input.as_str()).collect::<Vec<_>>().join(", ")) }
            }
            (report::html::finding(&diagnostic(cause, seen, assignment)))
        }
        @if let Some(smallest) = &cause.smallest {
            h4 { "The smallest counterexample that was found: " (smallest.sizes.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", ")) }
            pre.command { (repeated(assignment, &smallest.input, Some(&smallest.sizes), &smallest.replay)) }
        }
    } }
}

/// The commands that repeat a finding: one that writes the files of the input, where it has some, and one that runs the submission.
fn repeated(
    assignment: &Assignment,
    input: &str,
    sizes: Option<&BTreeMap<String, i64>>,
    replay: &str,
) -> String {
    match write_command(assignment, input, sizes) {
        Some(write) => format!("{write} && {replay}"),
        None => replay.to_owned(),
    }
}

/// A root cause on an input, as reports show findings.
fn diagnostic(cause: &Cause, seen: &Seen, assignment: &Assignment) -> Diagnostic {
    let mut files: BTreeMap<&str, Arc<SourceFile>> = BTreeMap::new();
    let labels = seen.places.iter().map(|place| {
        let source = files.entry(&place.file).or_insert_with(|| {
            Arc::new(SourceFile::new(
                place.file.clone(),
                excerpt(cause, &place.file),
            ))
        });
        Label {
            source: source.clone(),
            line: place.line,
            columns: place.columns.0..place.columns.1,
            text: place.text.clone(),
            who: place.who.map(|(thread, block, threads)| Who {
                thread,
                block,
                threads,
            }),
            instruction: place.instruction.clone(),
        }
    });
    Diagnostic {
        rule: cause.rule,
        level: cause.level,
        title: seen.title.clone(),
        labels: labels.collect(),
        notes: seen.notes.clone(),
        help: cause.help.clone(),
        edit: None,
        no_change: None,
        replay: seen
            .replay
            .as_ref()
            .map(|replay| repeated(assignment, &seen.input, None, replay)),
        count: seen.count,
        builds: Vec::new(),
        expected: false,
        accepted: None,
        about: About::default(),
        trace: seen.trace.clone(),
        launched: None,
    }
}

/// A file of which the lines around the places are known: they stand where they stood.
fn excerpt(cause: &Cause, file: &str) -> String {
    let mut text = String::new();
    let mut next = 1;
    for (line, words) in cause.excerpts.get(file).into_iter().flatten() {
        // No submission has more lines than bytes.
        if *line < next || *line > 1 << 20 {
            continue;
        }
        text.extend(std::iter::repeat_n('\n', (line - next) as usize));
        text += words;
        text.push('\n');
        next = line + 1;
    }
    text
}

fn input_card(input: &InputResult) -> Markup {
    html! { div.card { h3 { (input.id) @if !input.visible { " " span.badge { "hidden" } } }
        @for draw in &input.draws { (draw_lines(draw)) }
    } }
}

fn draw_lines(draw: &DrawResult) -> Markup {
    let sizes: Vec<String> = draw
        .sizes
        .iter()
        .map(|(n, v)| format!("{n} = {v}"))
        .collect();
    html! {
        h4 { (sizes.join(", ")) ", seed " (draw.seed) }
        @match &draw.outcome {
            Outcome::Right => { p { span.badge.good { "right" } " " (draw.promise) } },
            Outcome::Undecided { why } => { p { span.badge.note { "undecided" } " " (why) } },
            Outcome::Wrong { what, differences, .. } | Outcome::ScheduleDependent { what, differences } => {
                p { span.badge.bad { (if matches!(draw.outcome, Outcome::Wrong { .. }) { "wrong" } else { "depends on the schedule" }) } " " (what) }
                @if !differences.is_empty() { table.steps {
                    tr { th { "element" } th { "is" } th { "expected" } }
                    @for d in differences { tr { td { (d.place) } td { (d.found.as_deref().unwrap_or("never written")) } td { (d.expected) } } }
                } }
            },
        }
        @if !draw.counts.is_empty() { details { summary { "counts" } table.steps {
            tr { th {} th { "submission" } th { "reference" } }
            @for (metric, count) in &draw.counts { tr {
                td { (metric.words()) } td { (number(*count)) }
                td { (draw.reference.get(metric).map_or(String::new(), |r| number(*r))) }
            } }
        } } }
    }
}
