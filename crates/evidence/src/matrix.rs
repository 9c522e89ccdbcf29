//! Which detector finds which bug: the current simulator, and the other detectors by the evidence of a GPU.
//!
//! A verdict counts if it applies to the current kernel, PTX and case. Older verdicts are shown as stale and not counted.
//!
//! The matrix omits cases in which no detector can find a bug: those that the compiler rejects; those that are only slow (all
//! their annotations are performance notes); those that only rely on a barrier not waiting for exited threads
//! (`barrier-after-exit`), which is defined since Volta; and those that run only on the simulator.

mod html;
mod markdown;
mod terminal;

pub use html::html;
pub use markdown::{markdown, totals_markdown};
pub use terminal::terminal;

use crate::sanitizer::Tool;
use crate::{Detector, Evidence, Fingerprint};
use catalog::annotation::Fault;
use catalog::check::is_performance;
use catalog::load::{Catalog, Entry};
use catalog::runner::CaseResults;
use detect::rules::Rule;
use report::Verdict;
use serde::Serialize;

/// What a detector says about a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// A verdict on the present case.
    Says(Verdict),
    /// A verdict on what the case was before.
    Stale(Verdict),
    /// Never tried.
    Untried,
}

impl Cell {
    /// As shown: `caught`, `stale`, `–`.
    pub fn name(self) -> &'static str {
        match self {
            Cell::Says(verdict) => verdict.name(),
            Cell::Stale(_) => "stale",
            Cell::Untried => "–",
        }
    }
}

/// A case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub case: String,
    /// What it is.
    pub title: String,
    /// Whether it is a buggy one.
    pub buggy: bool,
    /// In the order of [`Detector::ALL`].
    pub cells: [Cell; 7],
}

/// The sums of a detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Totals {
    /// Bugs found.
    pub caught: usize,
    /// Bugs not found.
    pub missed: usize,
    /// Correct cases about which nothing was said.
    pub clean: usize,
    /// Reports that are wrong, in correct cases or at lines of a buggy one that are not guilty.
    pub false_alarms: usize,
    /// Cases that it can't judge.
    pub unsupported: usize,
    /// Cases about which it could not tell.
    pub inconclusive: usize,
    /// Verdicts on what a case was before.
    pub stale: usize,
    /// Cases that it was never tried on.
    pub untried: usize,
}

/// All cases and all detectors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// Where the verdicts of all detectors but racetrap's come from; `None` where there is no evidence.
    pub evidence: Option<String>,
    /// Where those of racetrap's checks on a GPU come from, if that is another one.
    pub gpu: Option<String>,
    /// The detectors, in the order of the cells.
    pub detectors: [Detector; 7],
    /// By name of the case.
    pub rows: Vec<Row>,
    /// By detector.
    pub totals: [Totals; 7],
}

impl Matrix {
    /// Of the cases that the simulator has tried. Of the evidence the first counts, and for racetrap's checks the first that has them.
    pub fn new(catalog: &Catalog, trials: &CaseResults, evidence: &[Evidence]) -> Matrix {
        let has_checks = |e: &&Evidence| e.observations.iter().any(|o| o.detector == Detector::Gpu);
        let checks = evidence.iter().find(has_checks);
        let evidence = evidence.first();
        let rows: Vec<Row> = trials
            .trials
            .iter()
            .filter_map(|trial| Some((catalog.find(&trial.id)?, trial)))
            .filter(|(entry, _)| !is_right(entry) && entry.case.is_for_gpus())
            .map(|(entry, trial)| Row {
                case: entry.id.clone(),
                title: entry.case.title.clone(),
                buggy: entry.case.is_meant_buggy(),
                cells: Detector::ALL.map(|detector| match detector {
                    Detector::Simulator => Cell::Says(trial.verdict),
                    Detector::Gpu => cell(catalog, entry, detector, checks),
                    _ => cell(catalog, entry, detector, evidence),
                }),
            })
            .collect();
        let mut totals = [Totals::default(); 7];
        for row in &rows {
            for (sum, cell) in totals.iter_mut().zip(row.cells) {
                sum.add(cell);
            }
        }
        Matrix {
            evidence: evidence.map(Evidence::source),
            gpu: checks
                .map(|checks| &checks.device)
                .filter(|device| evidence.is_none_or(|e| e.device != **device))
                .map(ToString::to_string),
            detectors: Detector::ALL,
            rows,
            totals,
        }
    }

    /// Rows to look at: the buggy cases, and correct ones that somebody accuses.
    pub fn telling(&self) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(|row| row.buggy || row.cells.contains(&Cell::Says(Verdict::FalseAlarm)))
    }

    /// How many bugs at least one tool of compute-sanitizer has found.
    pub fn by_any_tool(&self) -> usize {
        let tools = Tool::ALL.map(Detector::from);
        let caught = |row: &&Row| {
            row.buggy
                && self
                    .detectors
                    .iter()
                    .zip(row.cells)
                    .any(|(of, cell)| tools.contains(of) && cell == Cell::Says(Verdict::Caught))
        };
        self.rows.iter().filter(caught).count()
    }

    /// How many correct cases there are.
    pub fn correct(&self) -> usize {
        self.rows.iter().filter(|row| !row.buggy).count()
    }
}

impl Totals {
    fn add(&mut self, cell: Cell) {
        *match cell {
            Cell::Says(Verdict::Caught) => &mut self.caught,
            Cell::Says(Verdict::Missed) => &mut self.missed,
            Cell::Says(Verdict::Clean) => &mut self.clean,
            Cell::Says(Verdict::FalseAlarm | Verdict::Findings) => &mut self.false_alarms,
            Cell::Says(Verdict::Unsupported) => &mut self.unsupported,
            Cell::Says(Verdict::Inconclusive) => &mut self.inconclusive,
            Cell::Stale(_) => &mut self.stale,
            Cell::Untried => &mut self.untried,
        } += 1;
    }
}

/// The lines of the sums, each with its number of a detector.
fn sums() -> [(&'static str, fn(&Totals) -> usize); 7] {
    [
        ("caught", |t| t.caught),
        ("missed", |t| t.missed),
        ("false alarms", |t| t.false_alarms),
        ("unsupported", |t| t.unsupported),
        ("inconclusive", |t| t.inconclusive),
        ("stale", |t| t.stale),
        ("not tried", |t| t.untried),
    ]
}

/// The sums that are worth a line: the first three, and those that are not zero everywhere.
fn telling_sums(totals: &[Totals; 7]) -> Vec<(&'static str, [usize; 7])> {
    sums()
        .into_iter()
        .enumerate()
        .map(|(at, (name, of))| (at, name, totals.each_ref().map(of)))
        .filter(|(at, _, numbers)| *at < 3 || numbers.iter().any(|n| *n > 0))
        .map(|(_, name, numbers)| (name, numbers))
        .collect()
}

/// Whether all that is annotated is slow, or wrong on GPUs before Volta alone.
fn is_right(entry: &Entry) -> bool {
    let exited = Fault::Rule(Rule::BarrierAfterExit);
    let harmless = |fault| is_performance(fault) || fault == exited;
    !entry.tags.is_empty() && entry.tags.iter().all(|tag| harmless(tag.fault))
}

fn cell(catalog: &Catalog, entry: &Entry, detector: Detector, evidence: Option<&Evidence>) -> Cell {
    let found = evidence.and_then(|e| Some((e, e.find(&entry.id, detector)?)));
    match found {
        None => Cell::Untried,
        Some((evidence, seen)) => {
            let capability = evidence.device.compute_capability;
            let now = Fingerprint::of(catalog, entry, capability, detector);
            match seen.of == now {
                true => Cell::Says(seen.verdict),
                false => Cell::Stale(seen.verdict),
            }
        }
    }
}

#[cfg(test)]
mod tests;
