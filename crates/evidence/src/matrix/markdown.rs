//! The matrix as Markdown tables.

use super::terminal::source;
use super::{Cell, Matrix, telling_sums};
use report::Verdict;
use std::fmt::Write as _;

/// The sums, then a row for each case; `all` shows the correct cases too.
pub fn markdown(matrix: &Matrix, all: bool) -> String {
    let mut out = totals_markdown(matrix);
    out.push('\n');
    header(&mut out, matrix, "case");
    let rows: Vec<_> = match all {
        true => matrix.rows.iter().collect(),
        false => matrix.telling().collect(),
    };
    for row in rows {
        let _ = write!(out, "| `{}`<br>{} |", row.case, escaped(&row.title));
        for cell in row.cells {
            let _ = write!(out, " {} |", word(cell));
        }
        out.push('\n');
    }
    out
}

/// The sums alone.
pub fn totals_markdown(matrix: &Matrix) -> String {
    let mut out = String::new();
    let buggy = matrix.rows.len() - matrix.correct();
    header(
        &mut out,
        matrix,
        &format!("{buggy} bugs, {} correct kernels", matrix.correct()),
    );
    for (name, numbers) in telling_sums(&matrix.totals) {
        let _ = write!(out, "| {name} |");
        for number in numbers {
            let _ = write!(out, " {number} |");
        }
        out.push('\n');
    }
    let _ = writeln!(out, "\n{}", source(matrix).join(" "));
    out
}

fn header(out: &mut String, matrix: &Matrix, first: &str) {
    let _ = write!(out, "| {first} |");
    for detector in matrix.detectors {
        let _ = write!(out, " {} |", detector.name());
    }
    let _ = writeln!(out, "\n|---|{}", "---|".repeat(matrix.detectors.len()));
}

fn word(cell: Cell) -> String {
    match cell {
        // What stands out are the finds, right and wrong.
        Cell::Says(Verdict::Caught | Verdict::FalseAlarm | Verdict::Findings) => {
            format!("**{}**", cell.name())
        }
        Cell::Says(Verdict::Clean | Verdict::Missed) => cell.name().to_owned(),
        Cell::Says(_) => format!("*{}*", cell.name()),
        Cell::Stale(verdict) => format!("~~{}~~ stale", verdict.name()),
        Cell::Untried => cell.name().to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
