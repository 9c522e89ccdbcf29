//! The matrix for a terminal: aligned, coloured by what a reader should look at.

use super::{Cell, Matrix, telling_sums};
use crate::report::Verdict;
use anstyle::{AnsiColor, Style};
use std::fmt::Write as _;

const WIDTH: usize = 13;

/// Renders it; `all` shows the correct cases too.
pub fn terminal(matrix: &Matrix, all: bool, color: bool) -> String {
    let rows: Vec<_> = match all {
        true => matrix.rows.iter().collect(),
        false => matrix.telling().collect(),
    };
    let names = rows.iter().map(|row| row.case.chars().count());
    let width = names.max().unwrap_or(0).max("false alarms".len());
    let (bold, dim) = match color {
        true => (Style::new().bold(), Style::new().dimmed()),
        false => (Style::new(), Style::new()),
    };
    let mut out = format!("{bold}{:width$}", "");
    for detector in matrix.detectors {
        let _ = write!(out, "  {:<WIDTH$}", detector.name());
    }
    out.truncate(out.trim_end().len());
    let _ = writeln!(out, "{bold:#}");
    for row in rows {
        let mut line = format!("{:<width$}", row.case);
        for cell in row.cells {
            let style = if color { style(cell) } else { Style::new() };
            let pad = WIDTH.saturating_sub(cell.name().chars().count());
            let _ = write!(line, "  {style}{}{style:#}{:pad$}", cell.name(), "");
        }
        line.truncate(line.trim_end().len());
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    for (name, numbers) in telling_sums(&matrix.totals) {
        let mut line = format!("{bold}{name:<width$}{bold:#}");
        for number in numbers {
            let _ = write!(line, "  {number:<WIDTH$}");
        }
        line.truncate(line.trim_end().len());
        let _ = writeln!(out, "{line}");
    }
    let buggy = matrix.rows.len() - matrix.correct();
    let _ = writeln!(
        out,
        "\n{dim}{buggy} buggy cases, {} correct ones. {}{dim:#}",
        matrix.correct(),
        source(matrix)
    );
    out
}

/// Where the verdicts come from, in a sentence.
pub(super) fn source(matrix: &Matrix) -> String {
    match &matrix.evidence {
        Some(source) => format!("The simulator as it is now; the others on {source}."),
        None => "The simulator as it is now; there is no evidence of a GPU.".to_owned(),
    }
}

fn style(cell: Cell) -> Style {
    let color = match cell {
        Cell::Says(Verdict::Caught | Verdict::Clean) => AnsiColor::Green,
        Cell::Says(Verdict::Missed | Verdict::FalseAlarm | Verdict::Findings) => AnsiColor::Red,
        Cell::Says(Verdict::Unsupported | Verdict::Inconclusive) => AnsiColor::Yellow,
        Cell::Stale(_) | Cell::Untried => return Style::new().dimmed(),
    };
    Style::new().fg_color(Some(color.into()))
}
