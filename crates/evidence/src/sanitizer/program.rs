//! What a tool says about somebody's program: its records as findings of ours, with both lines and the fix.
//!
//! A case of the catalogue has a receipt that proves which kernels ran; a program has none. What can be told is told by the tool: it
//! began, it came to its end, it counted as many reports as it wrote, and the program made at least one CUDA call. Everything else is a
//! [`ToolError`], or a doubt that keeps the check from being clean. The tool does not say how many kernels ran.

use super::judge::{listed, log, started, timed};
use super::record::{End, Kind, Record, Severity};
use super::{Recording, Tool, ToolError};
use detect::finding::Action;
use detect::rules::{Level, Rule};
use ptx::KernelFilter;
use report::source::statement;
use report::terminal::counted;
use report::{
    About, Check, Diagnostic, Judged, Label, SourceFile, Sources, Unseen, Verdict, Who,
    barrier_between, merge,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A line of the log for a program that returned another status than 0; that alone is no failure of the tool.
const RETURNED_ERROR: &str = "Target application returned an error";
/// A line of the log for a program that a signal ended.
const ENDED_EARLY: &str = "process didn't terminate successfully";

/// A program under a tool.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its name, as it was called.
    pub name: &'a str,
    /// The kernels whose records are shown.
    pub filter: &'a KernelFilter,
    /// How long it ran.
    pub time: Duration,
}

/// Makes a check of what a tool left behind. `sources` are searched for the lines.
///
/// # Errors
///
/// Nothing can be said: see [`ToolError`].
pub fn check(
    tool: Tool,
    program: Program<'_>,
    recording: &Recording,
    sources: &mut Sources,
) -> Result<Check, ToolError> {
    let status = recording.run.status;
    timed(tool, recording)?;
    started(tool, recording)?;
    let log = log(tool, recording)?;
    let of_program = |line: &&String| line.ends_with(RETURNED_ERROR) || line.ends_with(ENDED_EARLY);
    let mut others = log.complaints.iter().filter(|line| !of_program(line));
    if let Some(line) = others.next().cloned() {
        return Err(match line.contains("Device not supported") {
            true => ToolError::DeviceRefused { tool, line },
            false => ToolError::Complaint { tool, line },
        });
    }
    let summary = log.summary.ok_or(ToolError::NoSummary { tool, status })?;
    let records = listed(tool, recording, &log, summary)?;
    if status == 0 && !records.is_empty() {
        return Err(ToolError::StatusDiffers {
            tool,
            found: counted(records.len() as u64, "report"),
            status,
        });
    }
    let mut doubts = doubts(&records);
    if log
        .complaints
        .iter()
        .any(|line| line.ends_with(ENDED_EARLY))
    {
        doubts.push("the program was ended by a signal, so the tool has not seen all of it".into());
    }
    let mut diagnostics = Vec::new();
    for record in records.iter().filter(|r| is_wanted(r, program.filter)) {
        merge(&mut diagnostics, of_record(record, sources));
    }
    diagnostics.sort_by_key(|d: &Diagnostic| std::cmp::Reverse(d.level));
    if log.left_out > 0 {
        doubts.push(format!(
            "the tool left out {} more reports",
            report::terminal::thousands(log.left_out)
        ));
    }
    Ok(judged(tool, program, recording, diagnostics, doubts))
}

/// What keeps a program from being clean: what a tool says of a kernel that was stopped, or in words that are not known.
fn doubts(records: &[Record]) -> Vec<String> {
    let mut doubts: Vec<String> = Vec::new();
    for record in records {
        let doubt = match &record.kind {
            Kind::Stopped => "a kernel was stopped, so the tool has not seen all of it".to_owned(),
            Kind::Unknown(kind) => {
                format!("the tool wrote a record of a kind that racetrap does not know: {kind}")
            }
            _ => continue,
        };
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    doubts
}

fn is_wanted(record: &Record, filter: &KernelFilter) -> bool {
    let mut names = record.ends.iter().filter_map(|e| e.function.as_deref());
    let wanted = |name: &str| filter.wants(ptx::without_signature(name));
    filter.is_empty() || names.any(wanted)
}

fn judged(
    tool: Tool,
    program: Program<'_>,
    recording: &Recording,
    diagnostics: Vec<Diagnostic>,
    doubts: Vec<String>,
) -> Check {
    let count = |level| diagnostics.iter().filter(|d| d.level == level).count() as u64;
    let found: Vec<String> = [
        (count(Level::Error), "error"),
        (count(Level::Warning), "warning"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, noun)| counted(n, noun))
    .collect();
    let verdict = match (found.is_empty(), doubts.is_empty()) {
        (false, _) => Verdict::Findings,
        (true, false) => Verdict::Inconclusive,
        (true, true) => Verdict::Clean,
    };
    let by = match &recording.run.version {
        Some(version) => format!("{tool} of compute-sanitizer {version}"),
        None => format!("{tool} of compute-sanitizer"),
    };
    let mut summary = match verdict {
        Verdict::Findings => format!("{}; by {by}", found.join(", ")),
        _ => format!(
            "{by} reported nothing; it looks for {} only",
            looks_for(tool)
        ),
    };
    for doubt in &doubts {
        summary += &format!("; {doubt}");
    }
    let file = Path::new(program.name).file_name();
    let file = file.map_or(program.name.into(), |n| n.to_string_lossy());
    Check {
        name: format!("{} under {tool}", program.name),
        verdict,
        ok: verdict == Verdict::Clean,
        summary,
        schedule_independent: None,
        setting: None,
        diagnostics,
        unseen: Unseen::default(),
        output: String::new(),
        judged: Judged {
            file: format!("{file} under {tool}"),
            kernels: None,
            doubt: (!doubts.is_empty()).then_some(Verdict::Inconclusive),
            warnings_fail: true,
            otherwise: None,
        },
        time: program.time,
    }
}

/// What a tool looks for, in words.
fn looks_for(tool: Tool) -> &'static str {
    match tool {
        Tool::Racecheck => "hazards in shared memory",
        Tool::Synccheck => "wrong barriers",
        Tool::Memcheck => "accesses out of bounds and misaligned",
        Tool::Initcheck => "reads of global memory that nobody has written",
    }
}

/// The rule that a record is a sign of.
fn rule(record: &Record) -> Rule {
    match &record.kind {
        Kind::Race | Kind::Hazard(_) => Rule::DataRace,
        Kind::DivergentBarrier => Rule::DivergentBarrier,
        Kind::InvalidBarrier => Rule::WarpSyncMask,
        Kind::OutOfBounds => Rule::OutOfBounds,
        Kind::Misaligned => Rule::MisalignedAccess,
        Kind::Uninitialized | Kind::UnwrittenResult => Rule::UninitializedRead,
        Kind::Stopped if record.text.contains("assert") => Rule::AssertionFailed,
        Kind::Stopped => Rule::Trap,
        Kind::Api | Kind::Unknown(_) => Rule::InvalidApiUse,
    }
}

/// The findings of a record: of a race one for each other side; of a record that is not known, none.
fn of_record(record: &Record, sources: &mut Sources) -> Vec<Diagnostic> {
    if matches!(record.kind, Kind::Unknown(_)) {
        return Vec::new();
    }
    match (record.kind.is_race(), &record.ends[..]) {
        (true, [first, others @ ..]) if !others.is_empty() => others
            .iter()
            .map(|other| diagnostic(record, &[other, first], sources))
            .collect(),
        (_, ends) => vec![diagnostic(
            record,
            &ends.iter().collect::<Vec<_>>(),
            sources,
        )],
    }
}

fn diagnostic(record: &Record, ends: &[&End], sources: &mut Sources) -> Diagnostic {
    let rule = rule(record);
    let mut labels: Vec<Label> = Vec::new();
    let mut notes = Vec::new();
    for end in ends {
        match label(end, record, sources) {
            Some(label) => labels.push(label),
            None => notes.extend(end.function.as_ref().map(|function| {
                format!("in `{function}`, without a line: compile with `-lineinfo`")
            })),
        }
    }
    for end in ends {
        for (file, line) in &end.callers {
            let shown = |l: &Label| l.source.path == *file && l.line == *line;
            if !labels.iter().any(shown) && end.file.is_some() {
                let source = source(file, sources);
                labels.push(Label {
                    columns: columns(&source, *line),
                    source,
                    line: *line,
                    text: "called here".into(),
                    who: None,
                    instruction: None,
                });
            }
        }
    }
    if let Some(address) = record.address.filter(|_| !record.kind.is_race()) {
        notes.push(format!("at address {address:#x}"));
    }
    if let (Some(value), Some(written)) = (record.value, record.written) {
        notes.push(format!(
            "there is {value:#x}, and the later access writes {written:#x}"
        ));
    }
    let kernel = ends.iter().find_map(|e| e.function.clone());
    Diagnostic {
        rule,
        level: match record.severity {
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warning,
        },
        title: title(record, ends),
        help: help(rule, &labels),
        labels,
        notes,
        edit: None,
        no_change: None,
        replay: None,
        count: ends.iter().filter_map(|e| e.count).max().unwrap_or(1),
        builds: Vec::new(),
        expected: false,
        accepted: None,
        trace: None,
        launched: None,
        about: About {
            kernel,
            ..About::default()
        },
    }
}

fn title(record: &Record, ends: &[&End]) -> String {
    let verb = |end: &End| match end.action {
        Some(Action::Read) => "read",
        Some(Action::Write) => "write",
        Some(Action::Atomic) => "atomic update",
        _ => "access",
    };
    match (record.kind.is_race(), ends) {
        (true, [later, earlier]) => match (verb(earlier), verb(later)) {
            (a, b) if a == b => format!("two unordered {a}s in shared memory"),
            (a, b) => format!("unordered {a} and {b} in shared memory"),
        },
        (_, [end, ..]) if end.action.is_some() => {
            let what = match record.kind {
                Kind::OutOfBounds => "out of bounds",
                Kind::Misaligned => "at an address that is no multiple of its size",
                _ => "of memory that nobody has written",
            };
            format!("{} {what}", verb(end))
        }
        _ if record.text.is_empty() => match &record.kind {
            Kind::UnwrittenResult => "the host copies memory that nobody has written".to_owned(),
            Kind::Uninitialized => "read of memory that nobody has written".to_owned(),
            kind => kind.to_string(),
        },
        _ => record.text.clone(),
    }
}

fn help(rule: Rule, labels: &[Label]) -> Option<String> {
    let guilty: Vec<&Label> = labels.iter().filter(|l| l.is_guilty()).collect();
    Some(match (rule, &guilty[..]) {
        (Rule::DataRace, [later, earlier]) => {
            let place = |l: &Label| (l.source.path.clone(), l.line);
            match place(later) == place(earlier) {
                true => format!(
                    "make the update at line {} atomic, or let one thread do it",
                    later.line
                ),
                false => format!(
                    "put `__syncthreads()` {}",
                    barrier_between((&earlier.source, earlier.line), (&later.source, later.line))
                ),
            }
        }
        (Rule::DivergentBarrier, _) => {
            "let all threads of the block reach the barrier: put the work in a condition, not the barrier"
                .to_owned()
        }
        (Rule::WarpSyncMask, _) => {
            "include every lane that calls it in the mask, and no other".to_owned()
        }
        (Rule::OutOfBounds, [place, ..]) => {
            format!("compare the index with the size before line {}", place.line)
        }
        (Rule::UninitializedRead, _) => {
            "write the memory before, or fill it: `cudaMemset(…)`".to_owned()
        }
        _ => return None,
    })
}

fn source(file: &str, sources: &mut Sources) -> Arc<SourceFile> {
    sources
        .find(file)
        .unwrap_or_else(|| Arc::new(SourceFile::new(file.to_owned(), String::new())))
}

fn columns(source: &SourceFile, line: u32) -> std::ops::Range<u32> {
    source.line(line).map_or(0..0, |text| statement(text, 0))
}

fn label(end: &End, record: &Record, sources: &mut Sources) -> Option<Label> {
    let (file, line) = (end.file.as_ref()?, end.line?);
    let source = source(file, sources);
    let who = end.thread.zip(record.block).map(|(thread, block)| Who {
        thread,
        block,
        threads: 1,
    });
    let triple = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
    let subject = match (end.thread, record.block) {
        (Some(thread), Some(block)) => {
            format!("thread {} of block {}", triple(thread), triple(block))
        }
        _ => "a thread".to_owned(),
    };
    let verb = match (end.action, &record.kind) {
        (Some(Action::Read), _) => "reads here",
        (Some(Action::Write), _) => "writes here",
        (Some(Action::Atomic), _) => "updates it atomically here",
        (_, Kind::DivergentBarrier | Kind::InvalidBarrier) => "waits here",
        (_, Kind::Uninitialized) => "reads here",
        (_, Kind::Stopped) => "stops the kernel here",
        _ => "is here",
    };
    let mut text = format!("{subject} {verb}");
    if source.line(line).is_none() {
        text += &format!(" (line {line}; the file is not at hand)");
    }
    Some(Label {
        columns: columns(&source, line),
        source,
        line,
        text,
        who,
        instruction: Some(match &end.function {
            Some(function) => format!("in {function}"),
            None => String::new(),
        }),
    })
}
