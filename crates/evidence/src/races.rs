//! Judges a case by what `racetrap exec --on gpu` reported about its run (the profile `races`).
//!
//! The wrapper keeps the report, as JSON, and the receipt of the test. A finding counts as found if its rule is annotated at its lines; where one
//! side of a race is a call of the host, the line of the other one counts. Nothing that a run could not tell counts as clean: such a case is
//! `unsupported`, with what the report says of it.

use crate::Under;
use crate::sanitizer::judge::{Judgement, Report, actions, all_actions};
use crate::sanitizer::{Kind, Recording, Severity, record::same_file};
use catalog::annotation::{Fault, Home};
use catalog::case::{Case, ExpectedVerdict};
use catalog::expect::{Expected, Missing};
use catalog::load::Entry;
use catalog::simulate::{LocatedEnd, LocatedFinding};
use detect::rules::{Level, Rule};
use device::receipt::Receipt;
use report::Verdict;
use serde::Deserialize;

/// Why a run says nothing about its case.
#[derive(Debug, thiserror::Error)]
pub enum RacesError {
    /// No report.
    #[error("racetrap wrote no report (exit status {status})")]
    NoReport {
        /// The exit status.
        status: i32,
    },
    /// Another kind of report.
    #[error("the report can't be read: {0}")]
    BadReport(serde_json::Error),
    /// No receipt of the test, or another one.
    #[error("the test left no receipt of this case (exit status {status})")]
    NoReceipt {
        /// The exit status.
        status: i32,
    },
    /// No run reached the GPU.
    #[error("nothing ran on the GPU: {reason}")]
    NoRuns {
        /// Why.
        reason: String,
    },
    /// The time limit was reached.
    #[error("the run did not end within {seconds} s")]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
}

impl RacesError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            RacesError::NoReport { .. } | RacesError::NoReceipt { .. } => {
                "the output of the test follows"
            }
            RacesError::BadReport(_) => "build the test and racetrap from the same sources",
            RacesError::NoRuns { .. } => "check the driver with `racetrap doctor`",
            RacesError::TimedOut { .. } => "raise the limit with RACETRAP_TIME_LIMIT=SECONDS",
        }
    }
}

/// Of a report, what is judged (`report::json`).
#[derive(Deserialize)]
struct Document {
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Check {
    verdict: Verdict,
    summary: String,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    rule: Rule,
    level: Level,
    places: Vec<Place>,
    count: u64,
}

#[derive(Deserialize)]
struct Place {
    file: String,
    line: u32,
    role: String,
}

/// Rules that a run on a GPU can find.
pub const RULES: [Rule; 6] = [
    Rule::DataRace,
    Rule::InsufficientScope,
    Rule::LockstepAssumption,
    Rule::SameValueWrite,
    Rule::OutOfBounds,
    Rule::UseAfterFree,
];

/// What a case expects of a run on a GPU: what it says, or else that races are found and nothing else is. `None` for bugs of other kinds.
pub fn expectation(entry: &Entry) -> Option<ExpectedVerdict> {
    const RACES: [Rule; 3] = [
        Rule::DataRace,
        Rule::InsufficientScope,
        Rule::LockstepAssumption,
    ];
    let case: &Case = &entry.case;
    let races = |fault: Fault| matches!(fault, Fault::Rule(rule) if RACES.contains(&rule));
    match &case.expect.gpu {
        Some(said) => Some(said.verdict),
        None if !case.is_meant_buggy() => Some(ExpectedVerdict::Clean),
        None if entry.tags.iter().any(|tag| races(tag.fault)) => Some(ExpectedVerdict::Caught),
        None => None,
    }
}

/// Judges a recording, whose records are the report.
///
/// # Errors
///
/// Nothing can be said: see [`RacesError`].
pub fn judge(entry: &Entry, recording: &Recording) -> Result<Judgement, RacesError> {
    let status = recording.run.status;
    if matches!(status, 124 | 137) && recording.run.reached_limit() {
        return Err(RacesError::TimedOut {
            seconds: recording.run.time_limit,
        });
    }
    let report = recording.records.as_deref();
    let report = report.ok_or(RacesError::NoReport { status })?;
    let document: Document = serde_json::from_str(report).map_err(RacesError::BadReport)?;
    let receipt = recording.receipt.as_deref();
    let receipt = receipt.and_then(|text| serde_json::from_str::<Receipt>(text).ok());
    let right = |receipt: &Receipt| {
        receipt.case == entry.id && receipt.tool.as_deref() == Some(Under::Races.name())
    };
    let receipt = receipt.filter(right);
    let receipt = receipt.ok_or(RacesError::NoReceipt { status })?;
    if receipt.runs == 0 {
        let reason = receipt.error.unwrap_or_else(|| "no run began".to_owned());
        return Err(RacesError::NoRuns { reason });
    }
    let mut expected = Expected::new(&entry.tags);
    let findings = document.checks.iter().flat_map(|check| &check.findings);
    let reports: Vec<Report> = findings.map(|f| matched(entry, f, &mut expected)).collect();
    let unsure = |check: &&Check| check.verdict == Verdict::Inconclusive;
    let unsure = document.checks.iter().find(unsure);
    let hit = reports.iter().any(|report| !report.hits.is_empty());
    let verdict = match (entry.case.is_meant_buggy(), reports.is_empty(), unsure) {
        (_, true, Some(_)) => Verdict::Unsupported,
        (true, true, None) => Verdict::Missed,
        (true, false, _) if hit => Verdict::Caught,
        (false, true, None) => Verdict::Clean,
        _ => Verdict::FalseAlarm,
    };
    let visible = |missing: &Missing| {
        let name = missing.name.split('#').next().unwrap_or_default();
        RULES.iter().any(|rule| rule.name() == name)
    };
    Ok(Judgement {
        verdict,
        reason: unsure.map(|check| check.summary.clone()),
        missing: expected.missing().into_iter().filter(visible).collect(),
        reports,
        left_out: 0,
        receipt,
    })
}

/// A finding with the annotations that it hits.
fn matched(entry: &Entry, finding: &Finding, expected: &mut Expected) -> Report {
    let file = entry.kernel_file();
    let guilty = finding.places.iter().filter(|p| p.role == "guilty");
    let lines: Vec<Option<u32>> = guilty
        .map(|place| Some(place.line).filter(|_| same_file(&place.file, &file)))
        .collect();
    // A line that was inlined stands behind the one that it was inlined from.
    let callers = finding.places.iter().filter(|p| p.role != "guilty");
    let callers: Vec<u32> = callers.map(|place| place.line).collect();
    let names: Vec<String> = expected.groups().iter().map(|group| group.name()).collect();
    let one = |line: &Option<u32>, action| LocatedEnd {
        action,
        home: Home::Kernel,
        lines: line.iter().chain(&callers).copied().collect(),
    };
    let mut hits: Vec<String> = Vec::new();
    // On a GPU only constants are known to be equal: what is computed races, whatever it came out as.
    let rules: &[Rule] = match finding.rule {
        Rule::DataRace => &[Rule::DataRace, Rule::SameValueWrite],
        _ => std::slice::from_ref(&finding.rule),
    };
    for rule in rules {
        if !hits.is_empty() {
            break;
        }
        for actions in all_actions(actions(*rule), lines.len()) {
            let ends = lines.iter().zip(actions).map(|(line, a)| one(line, a));
            let seen = LocatedFinding {
                rule: *rule,
                ends: ends.collect(),
            };
            let groups = expected.matches(&seen);
            hits.extend(groups.into_iter().map(|g| names[g].clone()));
        }
    }
    if hits.is_empty() && lines.iter().flatten().count() < 2 {
        // The other side is a call of the host.
        let at = |tag: &&catalog::annotation::Tag| {
            tag.fault == Fault::Rule(finding.rule)
                && (tag.home == Home::Case || lines.contains(&Some(tag.line)))
        };
        hits.extend(entry.tags.iter().filter(at).map(|tag| match tag.number {
            0 => tag.fault.name().to_owned(),
            number => format!("{}#{number}", tag.fault.name()),
        }));
    }
    hits.sort();
    hits.dedup();
    Report {
        kind: match finding.rule {
            Rule::OutOfBounds | Rule::UseAfterFree => Kind::OutOfBounds,
            _ => Kind::Race,
        },
        severity: match finding.level {
            Level::Error => Severity::Error,
            _ => Severity::Warning,
        },
        places: lines.into_iter().map(|line| (None, line)).collect(),
        count: finding.count,
        hits,
    }
}

#[cfg(test)]
mod tests;
