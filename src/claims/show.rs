//! Decided claims for people: on a terminal, and as Markdown.

use super::claim::{Prediction, Ruling};
use super::decide::{Decided, Looked};
use crate::report::terminal::counted;
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::fmt::Write as _;

/// The terminal's width that paragraphs are broken for, characters.
const WIDTH: usize = 96;

/// Renders claims for a terminal.
pub fn terminal(all: &[Decided], color: bool) -> String {
    let mut out = String::new();
    let styled = |style: Style| if color { style } else { Style::new() };
    let (bold, dim) = (styled(Style::new().bold()), styled(Style::new().dimmed()));
    for decided in all {
        let claim = &decided.claim;
        let style = styled(style(decided.ruling));
        let _ = writeln!(
            out,
            "{style}{:<10}{style:#} {bold}{}{bold:#}  {dim}({}){dim:#}",
            decided.ruling.name(),
            claim.id,
            claim.documents.join("; ")
        );
        paragraph(&mut out, "  ", &claim.says);
        for (prediction, looked) in claim.predicts.iter().zip(&decided.looked) {
            let word = word(looked);
            let style = styled(match looked.holds {
                Some(true) => AnsiColor::Green.on_default(),
                Some(false) => AnsiColor::Red.on_default(),
                None => AnsiColor::Yellow.on_default(),
            });
            let _ = write!(out, "    {style}{word:<5}{style:#} {}", prediction.what);
            if !looked.figure.is_empty() {
                let _ = write!(out, ": {dim}{}{dim:#}", looked.figure);
            }
            out.push('\n');
        }
        if let Some(instead) = &claim.instead {
            paragraph(&mut out, "  = ", instead);
        }
        if !decided.as_expected() {
            let _ = writeln!(
                out,
                "  {bold}expected: {}{bold:#} (cases/claims/{}.yaml)",
                claim.verdict.name(),
                claim.id
            );
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{bold}{}{bold:#}", sums(all));
    out
}

/// `27 claims: 10 confirmed, 8 refuted, 9 depend`
pub fn sums(all: &[Decided]) -> String {
    let count = |ruling| all.iter().filter(|d| d.ruling == ruling).count();
    let undecided = match count(Ruling::Undecided) {
        0 => String::new(),
        n => format!(", {n} undecided"),
    };
    format!(
        "{}: {} confirmed, {} refuted, {} depend on something{undecided}",
        counted(all.len() as u64, "claim"),
        count(Ruling::Confirmed),
        count(Ruling::Refuted),
        count(Ruling::Depends)
    )
}

fn word(looked: &Looked) -> &'static str {
    match looked.holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
}

fn style(ruling: Ruling) -> Style {
    match ruling {
        Ruling::Confirmed => AnsiColor::Green.on_default().bold(),
        Ruling::Refuted => AnsiColor::Red.on_default().bold(),
        Ruling::Depends => AnsiColor::Cyan.on_default().bold(),
        Ruling::Undecided => AnsiColor::Yellow.on_default().bold(),
    }
}

fn paragraph(out: &mut String, indent: &str, text: &str) {
    let rest = " ".repeat(indent.chars().count());
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= WIDTH && !line.trim().is_empty() {
            let _ = writeln!(out, "{}", line.trim_end());
            line.clone_from(&rest);
        }
        line.push_str(word);
        line.push(' ');
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

/// One row a claim, for the README.
pub fn table(all: &[Decided]) -> String {
    let mut out = String::from("| claim | of | verdict | seen |\n|---|---|---|---|\n");
    for decided in all {
        let seen = telling(decided);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            one_line(&decided.claim.says),
            decided.claim.documents.join("; "),
            ruling(decided.ruling),
            one_line(seen)
        );
    }
    let _ = writeln!(out, "\n{}.", sums(all));
    out
}

/// The figure that tells most: of what does not hold, if anything does not; times and counts before verdicts.
fn telling(decided: &Decided) -> &str {
    let both = decided.claim.predicts.iter().zip(&decided.looked);
    let shown = both.filter(|(_, looked)| !looked.figure.is_empty());
    let rank = |(prediction, looked): &(&Prediction, &Looked)| {
        let measured = prediction.time.is_some() || prediction.count.is_some();
        let against = looked.holds == Some(false);
        (!against, !(measured || prediction.ptx.is_some()))
    };
    shown.min_by_key(rank).map_or("", |(_, l)| &l.figure)
}

/// Every claim with its predictions and what is true instead.
pub fn document(all: &[Decided]) -> String {
    let mut out = format!("{}.\n", sums(all));
    for decided in all {
        let claim = &decided.claim;
        let _ = writeln!(out, "\n## {}\n", claim.id);
        let _ = writeln!(
            out,
            "*{}*: {} {}\n",
            claim.documents.join("; "),
            one_line(&claim.says),
            ruling(decided.ruling)
        );
        out.push_str("| if so, then | is it? | seen |\n|---|---|---|\n");
        for (prediction, looked) in claim.predicts.iter().zip(&decided.looked) {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                one_line(&prediction.what),
                word(looked),
                one_line(&looked.figure)
            );
        }
        if let Some(instead) = &claim.instead {
            let _ = writeln!(out, "\n{}", one_line(instead));
        }
    }
    out
}

fn ruling(ruling: Ruling) -> String {
    match ruling {
        Ruling::Confirmed => ruling.name().to_owned(),
        other => format!("**{}**", other.name()),
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// A decided claim for programs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Row<'a> {
    id: &'a str,
    documents: &'a [String],
    says: String,
    verdict: &'static str,
    expected: &'static str,
    predicts: Vec<Seen<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Seen<'a> {
    what: &'a str,
    holds: Option<bool>,
    seen: &'a str,
}

/// As JSON: a list of claims.
pub fn json(all: &[Decided]) -> String {
    let rows: Vec<_> = all
        .iter()
        .map(|decided| Row {
            id: &decided.claim.id,
            documents: &decided.claim.documents,
            says: one_line(&decided.claim.says),
            verdict: decided.ruling.name(),
            expected: decided.claim.verdict.name(),
            predicts: decided
                .claim
                .predicts
                .iter()
                .zip(&decided.looked)
                .map(|(prediction, looked)| Seen {
                    what: &prediction.what,
                    holds: looked.holds,
                    seen: &looked.figure,
                })
                .collect(),
            instead: decided.claim.instead.as_deref().map(one_line),
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&rows)
        .unwrap_or_else(|e| unreachable!("claims are plain JSON: {e}"));
    text.push('\n');
    text
}
