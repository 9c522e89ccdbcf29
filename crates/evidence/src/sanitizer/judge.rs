//! Judges the output of a tool.
//!
//! First checks that the tool ran to its end ([`ToolError`] otherwise), then compares its records with the kernel's
//! annotations. A report counts as found if it names annotated lines: for a race both lines, or lines with an annotated barrier
//! between them. A report that names other lines is shown but never counted.

use super::log;
use super::record::{End, Kind, Record, Severity};
use super::recording::Recording;
use super::tool_error::ToolError;
use super::{Tool, xml};
use catalog::annotation::{Fault, Home};
use catalog::case::ExpectedVerdict;
use catalog::expect::{Expected, Missing};
use catalog::load::Entry;
use catalog::simulate::{LocatedEnd, LocatedFinding};
use detect::finding::Action;
use detect::rules::Rule;
use device::receipt::Receipt;
use report::Verdict;
use std::collections::BTreeMap;

/// The exit status that the wrappers ask of compute-sanitizer where it finds something (`--error-exitcode`).
pub const FOUND_SOMETHING: i32 = 86;

/// The exit status of a test binary with a test that failed.
const TEST_FAILED: i32 = 101;

/// What a tool says about a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// In a word.
    pub verdict: Verdict,
    /// What could not be told.
    pub reason: Option<String>,
    /// What was reported, equal reports summed up.
    pub reports: Vec<Report>,
    /// Annotations that no report has hit, of the rules that the tool can see a sign of.
    pub missing: Vec<Missing>,
    /// Reports that the tool counted and left out.
    pub left_out: u64,
    /// The receipt of the run.
    pub receipt: Receipt,
}

/// Reports of one kind at the same places.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What is wrong.
    pub kind: Kind,
    /// How bad the tool finds it.
    pub severity: Severity,
    /// What was done at which lines of the kernel's file: two for a race. A place in another file has no line.
    pub places: Vec<(Option<Action>, Option<u32>)>,
    /// How often: hazards where the tool counts them, else reports.
    pub count: u64,
    /// The annotations that it hits, such as `data-race#1`; empty: it names lines that nobody has annotated.
    pub hits: Vec<String>,
}

impl Judgement {
    /// Reports that name lines that nobody has annotated. Those that name no line, being about the host's calls, are none.
    pub fn astray(&self) -> impl Iterator<Item = &Report> {
        self.reports
            .iter()
            .filter(|report| report.hits.is_empty() && !report.kind.is_of_the_host())
    }
}

/// The verdict that an expectation names.
pub fn verdict(expected: ExpectedVerdict) -> Verdict {
    match expected {
        ExpectedVerdict::Caught => Verdict::Caught,
        ExpectedVerdict::Clean => Verdict::Clean,
        ExpectedVerdict::Missed => Verdict::Missed,
        ExpectedVerdict::FalseAlarm => Verdict::FalseAlarm,
        ExpectedVerdict::Unsupported => Verdict::Unsupported,
    }
}

/// Judges a recording.
///
/// # Errors
///
/// Nothing can be said: see [`ToolError`].
pub fn judge(tool: Tool, entry: &Entry, recording: &Recording) -> Result<Judgement, ToolError> {
    let status = recording.run.status;
    let receipt = receipt(tool, entry, recording)?;
    started(tool, recording)?;
    let log = log(tool, recording)?;
    let refused = |line: &&String| line.contains("Device not supported");
    if let Some(line) = log.complaints.iter().find(refused).cloned() {
        return Err(ToolError::DeviceRefused { tool, line });
    }
    timed(tool, recording)?;
    if let Some(Receipt { hung: true, .. }) = receipt {
        return Err(ToolError::Hung { tool });
    }
    if let Some(line) = log.complaints.first().cloned() {
        return Err(ToolError::Complaint { tool, line });
    }
    let summary = log.summary.ok_or(ToolError::NoSummary { tool, status })?;
    let receipt = receipt.ok_or(ToolError::NeverStarted { tool })?;
    let records = listed(tool, recording, &log, summary)?;
    let count = records.len() as u64;
    if let Some(kind) = records.iter().find_map(|record| match &record.kind {
        Kind::Unknown(kind) => Some(kind.clone()),
        _ => None,
    }) {
        return Err(ToolError::UnknownRecord { tool, kind });
    }
    if let Some(record) = records.iter().find(|r| r.kind == Kind::Stopped) {
        return Err(ToolError::Stopped {
            tool,
            text: record.text.clone(),
        });
    }
    if receipt.runs == 0 {
        return Err(ToolError::NoRuns {
            tool,
            reason: receipt
                .error
                .unwrap_or_else(|| "the receipt records no runs".to_owned()),
        });
    }
    let (api, records): (Vec<_>, Vec<_>) = records.into_iter().partition(|r| r.kind == Kind::Api);
    if records.is_empty() {
        explained(tool, entry, &receipt, &api)?;
    }
    let wanted = if count > 0 { FOUND_SOMETHING } else { 0 };
    if count == 0 && status == TEST_FAILED {
        return Err(ToolError::TestFailed { tool });
    }
    if status != wanted {
        return Err(ToolError::StatusDiffers {
            tool,
            found: found(summary),
            status,
        });
    }
    if let Some(record) = records
        .iter()
        .find(|r| !r.kind.is_of_the_host() && !r.ends.iter().any(|e| e.line.is_some()))
    {
        return Err(ToolError::NoLine {
            tool,
            kind: record.kind.to_string(),
        });
    }
    let mut expected = Expected::new(&entry.tags);
    let reports = reports(entry, &records, &mut expected);
    let hit = reports.iter().any(|report| !report.hits.is_empty());
    let verdict = match (entry.case.is_meant_buggy(), reports.is_empty()) {
        (true, true) => Verdict::Missed,
        (true, false) if hit => Verdict::Caught,
        (false, true) => Verdict::Clean,
        _ => Verdict::FalseAlarm,
    };
    let visible = |missing: &Missing| {
        let name = missing.name.split('#').next().unwrap_or_default();
        tool.rules().any(|rule| rule.name() == name)
    };
    Ok(Judgement {
        verdict,
        reason: None,
        missing: expected.missing().into_iter().filter(visible).collect(),
        reports,
        left_out: log.left_out,
        receipt,
    })
}

/// All records of a tool that came to its end: as many as its summary counts.
pub(super) fn listed(
    tool: Tool,
    recording: &Recording,
    log: &log::Log,
    summary: log::Summary,
) -> Result<Vec<Record>, ToolError> {
    let text = recording
        .records
        .as_ref()
        .ok_or(ToolError::NoRecords { tool })?;
    let mut records = xml::parse(text).map_err(|error| ToolError::BadRecords { tool, error })?;
    let count = records.len() as u64;
    let left_out_all = count == 0 && log.left_out > 0;
    if count.saturating_add(log.left_out) != summary.total() || left_out_all {
        return Err(ToolError::CountDiffers {
            tool,
            summary: summary.total(),
            records: count,
        });
    }
    let single = records
        .iter_mut()
        .filter(|r| matches!(r.kind, Kind::Hazard(_)));
    for (record, severity) in single.zip(&log.hazards) {
        record.severity = *severity;
    }
    Ok(records)
}

/// Whether the tool was started, and was not ended by a signal of others.
pub(super) fn started(tool: Tool, recording: &Recording) -> Result<(), ToolError> {
    let silent = recording.log.is_none() && recording.receipt.is_none();
    match recording.run.status {
        127 if silent => Err(ToolError::ToolMissing),
        126 if silent => Err(ToolError::ToolNotStarted { status: 126 }),
        137 if recording.run.seconds.is_some() && recording.run.reached_limit() => Ok(()),
        status @ 129..=192 => Err(ToolError::Killed {
            tool,
            signal: status - 128,
        }),
        _ => Ok(()),
    }
}

/// The log; it starts with the tool's name.
pub(super) fn log(tool: Tool, recording: &Recording) -> Result<log::Log, ToolError> {
    let status = recording.run.status;
    let text = recording.log.as_ref();
    let log = log::parse(tool, text.ok_or(ToolError::NoLog { tool, status })?);
    match log {
        Ok(log) if !log.began && log.complaints.is_empty() => {
            Err(ToolError::NotBegun { tool, status })
        }
        Ok(log) => Ok(log),
        Err(malformed) => Err(ToolError::MalformedSummary {
            tool,
            line: malformed.line,
        }),
    }
}

/// Whether it ended by itself. `timeout` returns 124 where the limit was reached, and 137 where the end had to be forced; others may
/// return these, too.
pub(super) fn timed(tool: Tool, recording: &Recording) -> Result<(), ToolError> {
    match recording.run.status {
        124 | 137 if recording.run.reached_limit() => Err(ToolError::TimedOut {
            tool,
            seconds: recording.run.time_limit,
        }),
        _ => Ok(()),
    }
}

/// The receipt, where there is one, and that it is the right one.
fn receipt(tool: Tool, entry: &Entry, recording: &Recording) -> Result<Option<Receipt>, ToolError> {
    let Some(text) = &recording.receipt else {
        return Ok(None);
    };
    let receipt: Receipt = serde_json::from_str(text).map_err(|error| {
        ToolError::BadReceipt(device::receipt::ReceiptError::Syntax {
            path: "receipt.json".to_owned(),
            error,
        })
    })?;
    if receipt.case != entry.id {
        return Err(ToolError::OtherCase {
            case: entry.id.clone(),
            found: receipt.case,
        });
    }
    if receipt.tool.as_deref() != Some(tool.name()) {
        return Err(ToolError::OtherTool {
            tool,
            found: receipt.tool.unwrap_or_else(|| "no tool".to_owned()),
        });
    }
    Ok(Some(receipt))
}

/// Whether a time-out says that the tool has nothing to say about this kernel, and nothing else: the kernel did not end, or the
/// tool did not, and a kernel that never ends is the case's known bug.
pub fn is_endless(trouble: &ToolError, entry: &Entry) -> bool {
    match trouble {
        ToolError::Hung { .. } => true,
        ToolError::TimedOut { .. } => has(entry, &[Rule::Deadlock, Rule::NoProgress]),
        _ => false,
    }
}

fn has(entry: &Entry, rules: &[Rule]) -> bool {
    entry.case.is_meant_buggy()
        && entry
            .tags
            .iter()
            .any(|tag| matches!(tag.fault, Fault::Rule(rule) if rules.contains(&rule)))
}

/// Whether an error of a run is what the case's bug does, and so none of the business of a tool that looks for other bugs.
fn is_known(error: &str, entry: &Entry) -> bool {
    // An access far outside of shared memory ends as an illegal instruction on an H200.
    const FAULTS: [&str; 4] = [
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    ];
    let rules = [Kind::OutOfBounds.rules(), Kind::Misaligned.rules()].concat();
    FAULTS.iter().any(|fault| error.starts_with(fault)) && has(entry, &rules)
}

/// A run with no reports of the kernel: it must have ended well, or as its known bug lets it.
fn explained(
    tool: Tool,
    entry: &Entry,
    receipt: &Receipt,
    api: &[Record],
) -> Result<(), ToolError> {
    let error = receipt
        .error
        .clone()
        .or_else(|| Some(api.first()?.text.clone()));
    match error {
        Some(error) if !is_known(&error, entry) => Err(ToolError::DeviceError { tool, error }),
        _ => Ok(()),
    }
}

/// `nothing`, `1 error`, `2 errors and 1 warning`
fn found(summary: log::Summary) -> String {
    let plural = |count: u64, noun: &str| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    match (summary.errors, summary.warnings) {
        (0, 0) => "nothing".to_owned(),
        (errors, 0) => plural(errors, "error"),
        (0, warnings) => plural(warnings, "warning"),
        (errors, warnings) => format!(
            "{} and {}",
            plural(errors, "error"),
            plural(warnings, "warning")
        ),
    }
}

/// Takes records apart into pairs of places, matches each with the annotations and sums up equal ones.
fn reports(entry: &Entry, records: &[Record], expected: &mut Expected) -> Vec<Report> {
    let file = entry.kernel_file();
    let names: Vec<String> = expected.groups().iter().map(|group| group.name()).collect();
    let mut sums: BTreeMap<_, Report> = BTreeMap::new();
    for record in records {
        for ends in sides(record) {
            let places: Vec<_> = ends
                .iter()
                .map(|end| (end.action, end.lines_in(&file).first().copied()))
                .collect();
            let count = ends.last().and_then(|end| end.count).unwrap_or(1);
            let mut groups = matches(record, &ends, &file, expected);
            if groups.is_empty() && record.kind.is_race() {
                groups = barrier_between(entry, &ends, &file, expected);
            }
            let mut hits: Vec<String> = groups
                .into_iter()
                .map(|group| names[group].clone())
                .collect();
            hits.sort();
            hits.dedup();
            let mut key: Vec<_> = places
                .iter()
                .map(|(a, l)| (*l, a.map(|a| a as u8)))
                .collect();
            key.sort();
            sums.entry((key, record.kind.clone(), record.severity))
                .and_modify(|report| report.count += count)
                .or_insert(Report {
                    kind: record.kind.clone(),
                    severity: record.severity,
                    places,
                    count,
                    hits,
                });
        }
    }
    sums.into_values().collect()
}

/// The annotated barriers between the two lines of a race. Where a barrier is called wrongly, what it was to keep apart may race, and a
/// report of that is a report of the bug.
fn barrier_between(entry: &Entry, ends: &[&End], file: &str, expected: &Expected) -> Vec<usize> {
    let lines: Vec<u32> = ends
        .iter()
        .filter_map(|end| end.lines_in(file).first().copied())
        .collect();
    let [first, second] = lines.as_slice() else {
        return Vec::new();
    };
    let (from, to) = (first.min(second), first.max(second));
    let wrong = Fault::Rule(Rule::DivergentBarrier);
    let guilty = |fault, number| {
        entry.tags.iter().any(|tag| {
            (tag.fault, tag.number) == (fault, number)
                && tag.actions.contains(&Action::Wait)
                && (from < &tag.line && &tag.line < to)
        })
    };
    let groups = expected.groups().iter().enumerate();
    groups
        .filter(|(_, group)| group.fault == wrong && guilty(group.fault, group.number))
        .map(|(index, _)| index)
        .collect()
}

/// A race summed up by the tool has one place on one side and several on the other; any other record is one report.
fn sides(record: &Record) -> Vec<Vec<&End>> {
    match record.ends.as_slice() {
        [first, others @ ..] if record.kind == Kind::Race && !others.is_empty() => {
            others.iter().map(|other| vec![first, other]).collect()
        }
        all => vec![all.iter().collect()],
    }
}

/// The groups of annotations that a report hits.
fn matches(record: &Record, ends: &[&End], file: &str, expected: &mut Expected) -> Vec<usize> {
    if record.kind == Kind::UnwrittenResult {
        return expected.wrong_result();
    }
    let mut hits = Vec::new();
    for rule in record.kind.rules() {
        for actions in done(*rule, ends) {
            let seen = LocatedFinding {
                rule: *rule,
                ends: ends
                    .iter()
                    .zip(actions)
                    .map(|(end, action)| LocatedEnd {
                        home: Home::Kernel,
                        action,
                        lines: end.lines_in(file),
                    })
                    .collect(),
            };
            hits.extend(expected.matches(&seen));
        }
    }
    hits
}

/// What the threads may have done at each end: what the tool says, or else everything that the rule's annotations name.
fn done(rule: Rule, ends: &[&End]) -> Vec<Vec<Action>> {
    let any = actions(rule);
    let each = ends.iter().map(|end| match &end.action {
        Some(action) => std::slice::from_ref(action),
        None => any,
    });
    combined(each)
}

/// What a thread may do at an annotation of a rule.
pub(crate) fn actions(rule: Rule) -> &'static [Action] {
    use Action::{Atomic, Pass, Read, Sync, Wait, Write};
    match rule {
        Rule::DivergentBarrier
        | Rule::BarrierAfterExit
        | Rule::WarpSyncMask
        | Rule::UndefinedShuffle
        | Rule::InvalidBarrier
        | Rule::Deadlock => &[Wait, Sync, Pass],
        _ => &[Read, Write, Atomic],
    }
}

/// One of the actions at each of so many ends, in every way.
pub(crate) fn all_actions(any: &[Action], ends: usize) -> Vec<Vec<Action>> {
    combined(std::iter::repeat_n(any, ends))
}

fn combined<'a>(each: impl Iterator<Item = &'a [Action]>) -> Vec<Vec<Action>> {
    let mut all: Vec<Vec<Action>> = vec![Vec::new()];
    for one in each {
        all = all
            .iter()
            .flat_map(|before| {
                one.iter().map(move |action| {
                    let mut more = before.clone();
                    more.push(*action);
                    more
                })
            })
            .collect();
    }
    all
}
