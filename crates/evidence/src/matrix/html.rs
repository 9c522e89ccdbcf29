//! The matrix as a page: the sums, and a row for each case that filters show and hide.

use super::terminal::source;
use super::{Cell, Matrix, Row, telling_sums};
use maud::html;
use report::Verdict;
use report::html::page::{Filter, page};

/// The page; `all` shows the correct cases that nobody accuses, too.
pub fn html(matrix: &Matrix, all: bool) -> String {
    let rows: Vec<&Row> = match all {
        true => matrix.rows.iter().collect(),
        false => matrix.telling().collect(),
    };
    let mut filters = vec![
        Filter::of("family", "Family", rows.iter().map(|row| family(row))),
        Filter::of("kind", "Kind", rows.iter().map(|row| kind(row))),
    ];
    for (at, detector) in matrix.detectors.iter().enumerate() {
        let name = detector.name();
        let words = rows.iter().map(|row| row.cells[at].name());
        filters.push(Filter::of(name, name, words));
    }
    let buggy = matrix.rows.len() - matrix.correct();
    let detectors = html! { @for detector in matrix.detectors { th { (detector.name()) } } };
    let head = html! { @for line in source(matrix) { p { (line) } } };
    let content = html! {
        section {
            div.scroll { table.steps {
                tr { th { (buggy) " bugs, " (matrix.correct()) " correct kernels" } (detectors) }
                @for (name, numbers) in telling_sums(&matrix.totals) {
                    tr { td { (name) } @for number in numbers { td { (number) } } }
                }
            } }
        }
        section.group {
            h2 { "Each case" }
            div.scroll { table.steps {
                tr { th { "case" } (detectors) }
                @for row in &rows { (line(matrix, row)) }
            } }
        }
    };
    page(
        "Which detector finds which bug",
        head,
        &filters,
        content,
        "",
    )
}

fn line(matrix: &Matrix, row: &Row) -> maud::Markup {
    let cells: Vec<&str> = row.cells.iter().map(|cell| cell.name()).collect();
    let word = |name: &str| {
        let at = matrix.detectors.iter().position(|d| d.name() == name);
        at.map_or("", |at| cells[at])
    };
    html! {
        tr.card tabindex="0" data-family=(family(row)) data-kind=(kind(row))
            data-simulator=(word("simulator")) data-gpu=(word("gpu")) data-racecheck=(word("racecheck")) data-synccheck=(word("synccheck"))
            data-memcheck=(word("memcheck")) data-initcheck=(word("initcheck")) data-native=(word("native")) {
            td { code { (row.case) } br; (row.title) }
            @for cell in row.cells { td { (badge(row, cell)) } }
        }
    }
}

fn badge(row: &Row, cell: Cell) -> maud::Markup {
    let class = match cell {
        Cell::Says(Verdict::Caught) => "good",
        Cell::Says(Verdict::Clean) if !row.buggy => "good",
        Cell::Says(Verdict::Missed | Verdict::FalseAlarm | Verdict::Findings) => "bad",
        Cell::Says(Verdict::Unsupported | Verdict::Inconclusive) => "warning",
        _ => "",
    };
    html! { span class={ "badge " (class) } { (cell.name()) } }
}

fn family(row: &Row) -> &str {
    row.case.rsplit_once('/').map_or("", |(family, _)| family)
}

fn kind(row: &Row) -> &'static str {
    match row.buggy {
        true => "buggy",
        false => "correct",
    }
}
