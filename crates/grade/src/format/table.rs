//! A CSV table of a class: one row a submission, behind the columns of a roster.
//!
//! A cell that a spreadsheet would take for a formula is written with an apostrophe before it: names come from strangers.

use crate::assignment::Assignment;
use crate::class::Override;
use crate::result::Graded;
use crate::view::{number, visible};
use std::collections::BTreeMap;

/// A roster: who is in the class, as an LMS exports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    /// The names of the columns.
    pub header: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// The column that names submissions.
    pub key: usize,
}

/// A roster that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum RosterError {
    /// No CSV.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// It has no such column.
    #[error("the roster has no column `{0}`; it has: {1}")]
    Column(String, String),
}

impl Roster {
    /// Reads a CSV file; `key` is the name of the column that names submissions, the first one if none is given.
    ///
    /// # Errors
    ///
    /// It is no CSV, or has no such column.
    pub fn read(text: &str, key: Option<&str>) -> Result<Roster, RosterError> {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
        let header: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
        let at = match key {
            None => 0,
            Some(key) => header
                .iter()
                .position(|name| name == key)
                .ok_or_else(|| RosterError::Column(key.to_owned(), header.join(", ")))?,
        };
        let rows: Result<Vec<Vec<String>>, csv::Error> = reader
            .records()
            .map(|row| Ok(row?.iter().map(str::to_owned).collect()))
            .collect();
        Ok(Roster {
            header,
            rows: rows?,
            key: at,
        })
    }
}

/// The table. A row of the roster without a submission has `missing` in the column `status`; a submission that the roster does not name
/// comes last.
pub fn render(
    all: &[Graded],
    assignment: &Assignment,
    roster: Option<&Roster>,
    overrides: &BTreeMap<String, Override>,
) -> String {
    let own = Roster {
        header: vec!["submission".into()],
        rows: Vec::new(),
        key: 0,
    };
    let roster = roster.unwrap_or(&own);
    let mut by_name: BTreeMap<String, &Graded> = all
        .iter()
        .map(|g| (g.submission.name.to_lowercase(), g))
        .collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = roster.header.clone();
    header.extend(["points", "of", "status", "review", "override", "sha256"].map(str::to_owned));
    header.extend(assignment.parts.iter().map(|p| p.id.clone()));
    // Writing to memory does not fail.
    let _ = writer.write_record(&header);
    for row in &roster.rows {
        let mut cells = row.clone();
        cells.resize(roster.header.len(), String::new());
        let key = row
            .get(roster.key)
            .map(|k| k.to_lowercase())
            .unwrap_or_default();
        let graded = by_name.remove(&key);
        cells.extend(cells_of(graded, assignment, overrides));
        let _ = writer.write_record(&cells);
    }
    for graded in by_name.values() {
        let mut cells = vec![String::new(); roster.header.len()];
        cells[roster.key] = safe(&graded.submission.name);
        cells.extend(cells_of(Some(graded), assignment, overrides));
        let _ = writer.write_record(&cells);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn cells_of(
    graded: Option<&Graded>,
    assignment: &Assignment,
    overrides: &BTreeMap<String, Override>,
) -> Vec<String> {
    let Some(graded) = graded else {
        let mut cells = vec![String::new(); 6 + assignment.parts.len()];
        cells[2] = "missing".into();
        return cells;
    };
    let changed = overrides.get(&graded.submission.name);
    let (points, status) = match (changed, graded.is_final()) {
        (Some(changed), _) => (number(changed.points), "overridden"),
        (None, true) => (number(graded.points), "graded"),
        // Whoever imports it must not take a part for the whole.
        (None, false) => (String::new(), "needs review"),
    };
    let review: Vec<String> = graded
        .review
        .iter()
        .map(|r| format!("{}: {}", r.part, r.why))
        .collect();
    let mut cells = vec![
        points,
        number(graded.of),
        status.to_owned(),
        safe(&review.join("; ")),
        changed.map_or(String::new(), |c| safe(&c.reason)),
        graded.submission.sha256.clone(),
    ];
    cells.extend(assignment.parts.iter().map(|part| {
        let earned = graded
            .parts
            .iter()
            .find(|p| p.id == part.id)
            .and_then(|p| p.earned);
        earned.map_or(String::new(), number)
    }));
    cells
}

fn safe(text: &str) -> String {
    let text = visible(text);
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text,
    }
}
