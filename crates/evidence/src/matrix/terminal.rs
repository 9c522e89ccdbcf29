//! Renders the matrix for a terminal, aligned and with the notable cells in colour.

use super::{Cell, Matrix, telling_sums};
use anstyle::{AnsiColor, Style};
use report::Verdict;
use std::fmt::Write as _;

/// Renders it; `all` shows the correct cases too.
pub fn terminal(matrix: &Matrix, all: bool, color: bool) -> String {
    let rows: Vec<_> = match all {
        true => matrix.rows.iter().collect(),
        false => matrix.telling().collect(),
    };
    let names = rows.iter().map(|row| row.case.chars().count());
    let width = names.max().unwrap_or(0).max("false alarms".len());
    // As wide as its name, and as the widest of its cells.
    let columns: Vec<usize> = (matrix.detectors.iter().enumerate())
        .map(|(at, detector)| {
            let cells = rows.iter().map(|row| row.cells[at].name().chars().count());
            cells.max().unwrap_or(0).max(detector.name().len())
        })
        .collect();
    let (bold, dim) = match color {
        true => (Style::new().bold(), Style::new().dimmed()),
        false => (Style::new(), Style::new()),
    };
    let mut out = format!("{bold}{:width$}", "");
    for (detector, column) in matrix.detectors.iter().zip(&columns) {
        let _ = write!(out, "  {:<column$}", detector.name());
    }
    out.truncate(out.trim_end().len());
    let _ = writeln!(out, "{bold:#}");
    for row in rows {
        let mut line = format!("{:<width$}", row.case);
        for (cell, column) in row.cells.into_iter().zip(&columns) {
            let style = if color { style(cell) } else { Style::new() };
            let pad = column.saturating_sub(cell.name().chars().count());
            let _ = write!(line, "  {style}{}{style:#}{:pad$}", cell.name(), "");
        }
        line.truncate(line.trim_end().len());
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    for (name, numbers) in telling_sums(&matrix.totals) {
        let mut line = format!("{bold}{name:<width$}{bold:#}");
        for (number, column) in numbers.into_iter().zip(&columns) {
            let _ = write!(line, "  {number:<column$}");
        }
        line.truncate(line.trim_end().len());
        let _ = writeln!(out, "{line}");
    }
    let buggy = matrix.rows.len() - matrix.correct();
    let counted = |n: usize, word: &str| match n {
        1 => format!("1 {word}"),
        n => format!("{n} {word}s"),
    };
    let _ = writeln!(
        out,
        "\n{dim}{}, {}.\n{}{dim:#}",
        counted(buggy, "buggy case"),
        counted(matrix.correct(), "correct one"),
        source(matrix).join("\n")
    );
    out
}

/// Where the verdicts come from, and what to bear in mind when comparing them: a sentence each.
pub(super) fn source(matrix: &Matrix) -> Vec<String> {
    let Some(source) = &matrix.evidence else {
        return vec![
            "The simulator's verdicts are current; there is no evidence from a GPU.".to_owned(),
        ];
    };
    let buggy = matrix.rows.len() - matrix.correct();
    let mut out = vec![
        match &matrix.gpu {
            Some(gpu) => format!(
                "The simulator's verdicts are current; those of `gpu` (racetrap's checks in kernels there) come from {gpu}, the others from {source}."
            ),
            None => format!("The simulator's verdicts are current; the others come from {source}."),
        },
        format!(
            "Each tool of compute-sanitizer looks for one kind of bug; together they catch {} of the {buggy} bugs.",
            matrix.by_any_tool()
        ),
    ];
    if matrix.totals.iter().any(|totals| totals.unsupported > 0) {
        out.push("Unsupported: the kernel never ends, so the tool does not end either; or the detector does not watch the memory.".to_owned());
    }
    out
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
