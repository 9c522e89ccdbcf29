//! On a terminal.

use super::{sums, word};
use crate::claim::Ruling;
use crate::decide::Decided;
use anstyle::{AnsiColor, Style};
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
