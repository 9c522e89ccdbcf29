//! What compute-sanitizer really wrote (`sanitizer/recordings/`), read and judged.

use racetrap::catalog::load::Catalog;
use racetrap::evidence::{Detector, Evidence, Observation};
use racetrap::report::Verdict;
use racetrap::sanitizer::{Judgement, Record, Recording, Tool, Trouble, judge, log, xml};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const VERSION: &str = "2025.3.1";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("sanitizer/recordings")
        .join(VERSION)
}

fn cases(tool: Tool) -> Vec<String> {
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
    }
    out
}

fn verdict(judged: &Result<Judgement, Trouble>) -> String {
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
                matches!(judged, Err(Trouble::BadRecords { .. })),
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
            matches!(judged, Err(Trouble::Complaint { .. })),
            "{tool} {case}: {judged:?}"
        );
        let lines: Vec<&str> = log.lines().collect();
        let shorter = Recording {
            log: Some(lines[..lines.len() - 1].join("\n")),
            ..whole.clone()
        };
        let judged = judge(tool, entry, &shorter);
        assert!(
            matches!(judged, Err(Trouble::NoSummary { .. })),
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
            matches!(judged, Err(Trouble::CountDiffers { .. })),
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
        let again = Observation::of_tool(entry, tool, &judged, seen.of.clone());
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
