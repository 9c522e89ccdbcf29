//! What compute-sanitizer really wrote (`crates/evidence/tests/recordings/`), read and judged.

use catalog::load::Catalog;
use evidence::sanitizer::recording::without_folders;
use evidence::sanitizer::{
    Judgement, Kind, Record, Recording, Severity, Tool, ToolError, judge, log, xml,
};
use evidence::{Detector, Evidence, Observation, Untold};
use report::Verdict;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const VERSION: &str = "2025.3.1";

fn folder() -> PathBuf {
    testing::root()
        .join("crates/evidence/tests/recordings")
        .join(VERSION)
}

/// The folders of recordings below a folder, by their names below `root`.
fn search(root: &Path, folder: &Path, found: &mut Vec<String>) {
    if folder.join("run.json").exists() {
        let case = folder.strip_prefix(root).unwrap();
        found.push(case.to_str().unwrap().replace('\\', "/"));
        return;
    }
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(root, &path, found);
        }
    }
}

fn cases(tool: Tool) -> Vec<String> {
    let root = folder().join(tool.name());
    let mut found = Vec::new();
    search(&root, &root, &mut found);
    found.sort();
    found
}

fn recording(tool: Tool, case: &str) -> Recording {
    Recording::read(&folder().join(tool.name()).join(case)).unwrap()
}

fn all() -> impl Iterator<Item = (Tool, String, Recording)> {
    Tool::ALL.into_iter().flat_map(|tool| {
        let cases = cases(tool);
        assert!(!cases.is_empty(), "no recording of {tool}");
        cases.into_iter().map(move |case| {
            let recording = recording(tool, &case);
            (tool, case, recording)
        })
    })
}

/// Equal records are one line, with their number; addresses and threads differ from run to run, and those of the first are shown.
fn shown(records: &[Record]) -> String {
    let mut sums: BTreeMap<String, (usize, &Record)> = BTreeMap::new();
    for record in records {
        let mut line = format!("{}: {} ({})", record.severity, record.kind, record.text);
        for end in &record.ends {
            let action = end.action.map(|a| format!("{a:?} "));
            let _ = write!(
                line,
                "\n    {}{} in {}:{}",
                action.unwrap_or_default(),
                end.function.as_deref().unwrap_or("?"),
                end.file.as_deref().unwrap_or("?"),
                end.line.unwrap_or(0),
            );
            for (file, at) in &end.callers {
                let _ = write!(line, ", called at {file}:{at}");
            }
            if let Some(count) = end.count {
                let _ = write!(line, ", {count} hazards");
            }
        }
        sums.entry(line).or_insert((0, record)).0 += 1;
    }
    let mut out = String::new();
    for (line, (count, first)) in sums {
        let _ = writeln!(out, "{count} x {line}");
        let thread = first.ends.first().and_then(|end| end.thread);
        if let (Some(thread), Some(block)) = (thread, first.block) {
            let _ = writeln!(out, "    first: thread {thread:?}, block {block:?}");
        }
        if let Some(address) = first.address {
            let _ = writeln!(out, "    first: address {address:#x}");
        }
        if let Some(value) = first.value {
            let then = first.written.map(|v| format!(", then {v:#x}"));
            let _ = writeln!(
                out,
                "    first: value {value:#x}{}",
                then.unwrap_or_default()
            );
        }
    }
    out
}

fn verdict(judged: &Result<Judgement, ToolError>) -> String {
    match judged {
        Ok(judgement) => {
            let mut out = format!("{}\n", judgement.verdict.name());
            for report in &judgement.reports {
                let lines: Vec<_> = report.places.iter().filter_map(|(_, line)| *line).collect();
                let _ = writeln!(
                    out,
                    "{}: {} at {lines:?}, {} times, hits {:?}",
                    report.severity, report.kind, report.count, report.hits
                );
            }
            out
        }
        Err(trouble) => format!("inconclusive: {trouble}\n"),
    }
}

#[test]
fn every_recording_is_read_and_judged() {
    let catalog = Catalog::embedded().unwrap();
    for (tool, case, recording) in all() {
        let entry = catalog.find(&case).unwrap();
        let judged = judge(tool, entry, &recording);
        let records = recording
            .records
            .as_deref()
            .map(|text| shown(&xml::parse(text).unwrap()));
        let log = log::parse(tool, recording.log.as_deref().unwrap()).unwrap();
        assert_eq!(log.complaints, [""; 0], "{tool} {case}");
        let text = format!(
            "exit status {}, {:?}\n\n{}\n{}",
            recording.run.status,
            log.summary,
            records.unwrap_or("no records\n".to_owned()),
            verdict(&judged)
        );
        insta::assert_snapshot!(format!("{tool}_{}", case.replace('/', "_")), text);
    }
}

#[test]
fn failed_driver_calls_are_read() {
    let folder = folder().join("memcheck-with-api-errors/vector/no-guard");
    let read = |name| fs::read_to_string(folder.join(name)).unwrap();
    let records = xml::parse(&read("records.xml")).unwrap();
    let log = log::parse(Tool::Memcheck, &read("log.txt")).unwrap();
    assert_eq!(log.complaints, [""; 0]);
    assert_eq!(log.summary.unwrap().total(), records.len() as u64);
    insta::assert_snapshot!(shown(&records));
}

/// A file that ends early says nothing, wherever it was cut.
#[test]
fn cut_recordings_are_inconclusive() {
    let catalog = Catalog::embedded().unwrap();
    let mut cut = 0;
    for (tool, case, whole) in all() {
        let entry = catalog.find(&case).unwrap();
        let Some(records) = &whole.records else {
            continue;
        };
        for part in 0..10 {
            let shorter = Recording {
                records: Some(records[..records.len() * part / 10].to_owned()),
                ..whole.clone()
            };
            let judged = judge(tool, entry, &shorter);
            assert!(
                matches!(judged, Err(ToolError::BadRecords { .. })),
                "{tool} {case} {part}: {judged:?}"
            );
            cut += 1;
        }
        let log = whole.log.as_deref().unwrap();
        let shorter = Recording {
            log: Some(log[..log.find("SUMMARY").unwrap()].to_owned()),
            ..whole.clone()
        };
        let judged = judge(tool, entry, &shorter);
        // What is left of the summary's line is no line of a report.
        assert!(
            matches!(judged, Err(ToolError::Complaint { .. })),
            "{tool} {case}: {judged:?}"
        );
        let lines: Vec<&str> = log.lines().collect();
        let shorter = Recording {
            log: Some(lines[..lines.len() - 1].join("\n")),
            ..whole.clone()
        };
        let judged = judge(tool, entry, &shorter);
        assert!(
            matches!(judged, Err(ToolError::NoSummary { .. })),
            "{tool} {case}: {judged:?}"
        );
    }
    assert!(cut > 100, "{cut}");
}

/// Files of two runs do not fit together.
#[test]
fn a_record_less_is_inconclusive() {
    let catalog = Catalog::embedded().unwrap();
    for (tool, case, whole) in all() {
        let entry = catalog.find(&case).unwrap();
        let Some((before, after)) = whole
            .records
            .as_deref()
            .and_then(|text| Some((text.find("<record>")?, text.find("</record>")?, text)))
            .map(|(from, to, text)| (&text[..from], &text[to + "</record>".len()..]))
        else {
            continue;
        };
        let less = Recording {
            records: Some(format!("{before}{after}")),
            ..whole.clone()
        };
        let judged = judge(tool, entry, &less);
        assert!(
            matches!(judged, Err(ToolError::CountDiffers { .. })),
            "{tool} {case}: {judged:?}"
        );
    }
}

/// The evidence says of these cases what their recordings say.
#[test]
fn recordings_and_evidence_agree() {
    let catalog = Catalog::embedded().unwrap();
    let evidence = Evidence::embedded().unwrap();
    let evidence = evidence
        .iter()
        .find(|evidence| evidence.sanitizer.as_deref() == Some(VERSION))
        .expect("evidence of the version that the recordings are of");
    for (tool, case, recording) in all() {
        let entry = catalog.find(&case).unwrap();
        let seen = evidence.find(&case, Detector::from(tool)).unwrap();
        let judged = judge(tool, entry, &recording);
        let judged = judged.map_err(|error| Untold::from(&error, entry));
        let again = Observation::of_run(entry, tool.into(), &judged, seen.of.clone());
        assert_eq!(again.verdict, seen.verdict, "{tool} {case}");
        let kinds = |seen: &Observation| {
            let mut kinds: Vec<_> = seen.reports.iter().map(|r| r.kind.clone()).collect();
            kinds.dedup();
            kinds
        };
        assert_eq!(kinds(&again), kinds(seen), "{tool} {case}");
        assert_ne!(again.verdict, Verdict::Inconclusive, "{tool} {case}");
    }
}

/// The folders of recordings below a folder of the version's, by their names below it.
fn below(group: &str) -> Vec<(String, Recording)> {
    let root = folder().join(group);
    let mut found = Vec::new();
    search(&root, &root, &mut found);
    found.sort();
    assert!(!found.is_empty(), "no recording in {group}");
    found
        .into_iter()
        .map(|name| (name.clone(), Recording::read(&root.join(name)).unwrap()))
        .collect()
}

/// The tool of `racecheck-all/write_after_read`.
fn tool_of(name: &str) -> Tool {
    let word = name.split(['-', '/']).next().unwrap();
    Tool::named(word).unwrap_or_else(|| panic!("{name}"))
}

/// What no case of the catalogue makes a tool say: `crates/evidence/tests/recordings/programs/reports.cu`.
#[test]
fn what_the_tools_say_about_other_programs_is_read() {
    for (name, recording) in below("programs") {
        let tool = tool_of(&name);
        let records = xml::parse(recording.records.as_deref().unwrap()).unwrap();
        let text = recording.log.as_deref().unwrap();
        let log = match log::parse(tool, text) {
            Ok(log) => {
                let total = log.summary.unwrap().total();
                assert_eq!(total, records.len() as u64 + log.left_out, "{name}");
                format!(
                    "{:?}, {} left out, {:?}",
                    log.summary, log.left_out, log.complaints
                )
            }
            Err(malformed) => format!("malformed: {}", malformed.line),
        };
        let text = format!(
            "exit status {}, {log}\n\n{}",
            recording.run.status,
            shown(&records)
        );
        insta::assert_snapshot!(format!("program_{}", name.replace('/', "_")), text);
    }
}

/// A hazard's record does not say how bad it is, its line in the log does; both are in the same order.
#[test]
fn hazards_and_the_lines_of_the_log_are_in_the_same_order() {
    let (mut errors, mut warnings) = (0, 0);
    let programs = below("programs").into_iter();
    let all = programs
        .chain(below("racecheck-hazard"))
        .chain(below("racecheck-all"));
    for (name, recording) in all.filter(|(name, _)| !name.contains("check/")) {
        let text = recording.log.as_deref().unwrap();
        let Ok(log) = log::parse(Tool::Racecheck, text) else {
            continue;
        };
        let records = xml::parse(recording.records.as_deref().unwrap()).unwrap();
        let hazards: Vec<String> = records
            .iter()
            .filter_map(|record| match record.kind {
                Kind::Hazard(order) => Some(format!("{order} {:#x}", record.address?)),
                _ => None,
            })
            .collect();
        // `========= Error: Potential RAW hazard detected at __shared__ 0x47c in block (0,0,0) :`
        let lines: Vec<String> = text
            .lines()
            .filter_map(|line| {
                let order = line.split_once("Potential ")?.1.get(..3)?;
                let address = line.split_once("__shared__ ")?.1.split(' ').next()?;
                Some(format!("{order} {address}"))
            })
            .collect();
        assert_eq!(hazards, lines, "{name}");
        assert_eq!(hazards.len(), log.hazards.len(), "{name}");
        for severity in log.hazards {
            match severity {
                Severity::Error => errors += 1,
                Severity::Warning => warnings += 1,
            }
        }
    }
    assert!(errors > 50 && warnings > 50, "{errors}, {warnings}");
}

/// Hazards one by one, alone and beside the analysis, say of a case what the analysis says.
#[test]
fn single_hazards_are_judged() {
    let catalog = Catalog::embedded().unwrap();
    for report in ["hazard", "all"] {
        for (case, recording) in below(&format!("racecheck-{report}")) {
            let entry = catalog.find(&case).unwrap();
            let judged = judge(Tool::Racecheck, entry, &recording);
            assert_eq!(judged.as_ref().unwrap().verdict, Verdict::Caught, "{case}");
            let left_out = judged.as_ref().unwrap().left_out;
            let text = format!("{}{left_out} left out\n", verdict(&judged));
            insta::assert_snapshot!(format!("{report}_{}", case.replace('/', "_")), text);
        }
    }
}

/// Tools that were stopped, refused, given nothing to run, or whose program was: real runs, of a program and of cases.
#[test]
fn nothing_can_be_said_of_what_did_not_end() {
    let catalog = Catalog::embedded().unwrap();
    let mut text = String::new();
    for (name, recording) in below("nothing") {
        let case = name.split_once('/').map(|(_, case)| case);
        let entry = catalog.find(case.unwrap_or("vector/add")).unwrap();
        // `compute-sanitizer --tool memcheck …`; the cases ran under racecheck.
        let command = fs::read_to_string(folder().join("nothing").join(&name).join("command.txt"));
        let tool = match &command {
            Ok(command) => Tool::named(command.split(' ').nth(2).unwrap()).unwrap(),
            Err(_) => Tool::Racecheck,
        };
        let trouble = judge(tool, entry, &recording).unwrap_err();
        let _ = writeln!(text, "{name}: {trouble}");
    }
    insta::assert_snapshot!(text);
}

/// What is kept names no folder of the machine that it was made on.
#[test]
fn no_recording_names_a_folder() {
    fn check(folder: &Path, seen: &mut usize) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                check(&path, seen);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            *seen += 1;
            if path.ends_with("command.txt") {
                continue;
            }
            assert_eq!(without_folders(&text), text, "{}", path.display());
        }
    }
    let mut seen = 0;
    check(&folder(), &mut seen);
    assert!(seen > 100, "{seen}");
}
