//! Programs under a tool, from what compute-sanitizer really wrote: findings in our words, and never a clean verdict where the tool
//! failed.

use evidence::sanitizer::program::{Program, check};
use evidence::sanitizer::{Recording, Tool, ToolError};
use ptx::KernelFilter;
use report::{Check, Report, Sources, Verdict, terminal};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn recordings() -> PathBuf {
    testing::root().join("crates/evidence/tests/recordings")
}

fn judged(tool: Tool, folder: &Path, only: &[&str]) -> Result<Check, ToolError> {
    let mut sources = Sources::new();
    sources.look_in(&recordings().join("programs"));
    let filter = KernelFilter {
        only: only.iter().map(|p| (*p).to_owned()).collect(),
        skip: Vec::new(),
    };
    let program = Program {
        name: "./reports",
        filter: &filter,
        time: Duration::ZERO,
    };
    check(
        tool,
        program,
        &Recording::read(folder).unwrap(),
        &mut sources,
    )
}

/// The subfolders, sorted.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> = entries.filter(|p| p.is_dir()).collect();
    all.sort();
    all
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// The text of everything that was recorded, for whoever reads it.
#[test]
fn what_a_tool_found_in_our_words() {
    let mut shown = String::new();
    for of_tool in inside(&recordings().join("2025.3.1/programs")) {
        let options = name(&of_tool);
        // Recorded from an earlier version of the file.
        if options == "racecheck-all" {
            continue;
        }
        let tool = Tool::named(options.split('-').next().unwrap()).unwrap();
        for program in inside(&of_tool) {
            let result = match judged(tool, &program, &[]) {
                Ok(check) => {
                    assert_ne!(
                        check.verdict,
                        Verdict::Clean,
                        "{options}/{}",
                        name(&program)
                    );
                    let report = Report {
                        checks: vec![check],
                    };
                    terminal::render(&report, false)
                }
                Err(trouble) => format!("nothing can be said: {trouble}\n"),
            };
            shown += &format!("--- {options}: {}\n{result}\n", name(&program));
        }
    }
    insta::assert_snapshot!(shown);
}

/// Tools that were killed, found no GPU, or watched a program that crashed or never used a GPU.
#[test]
fn a_tool_that_failed_is_never_clean() {
    let mut tried = 0;
    for of in inside(&recordings().join("2025.3.1/nothing")) {
        if !of.join("run.json").exists() {
            continue;
        }
        for tool in Tool::ALL {
            let verdict = judged(tool, &of, &[]).map(|check| (check.verdict, check.ok));
            assert!(
                !matches!(verdict, Ok((_, true)) | Ok((Verdict::Clean, _))),
                "{} {tool}: {verdict:?}",
                of.display()
            );
            tried += 1;
        }
    }
    assert!(tried >= 40, "{tried}");
}

#[test]
fn a_tool_that_found_nothing_is_clean() {
    let check = judged(
        Tool::Memcheck,
        &recordings().join("2025.3.1/memcheck/vector/add"),
        &[],
    );
    let check = check.unwrap();
    assert_eq!((check.verdict, check.ok), (Verdict::Clean, true));
    insta::assert_snapshot!(check.summary);
}

/// What is cut from real files at any line is no clean run.
#[test]
fn files_that_end_early_are_never_clean() {
    let whole = Recording::read(&recordings().join("2025.3.1/memcheck/vector/add")).unwrap();
    let log = whole.log.clone().unwrap();
    let records = whole.records.clone().unwrap();
    let cuts = |text: &str| -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        (0..lines.len()).map(|n| lines[..n].join("\n")).collect()
    };
    let filter = KernelFilter::default();
    let program = Program {
        name: "p",
        filter: &filter,
        time: Duration::ZERO,
    };
    let all = cuts(&log).into_iter().map(|log| Recording {
        log: Some(log),
        ..whole.clone()
    });
    let cut_records = cuts(&records).into_iter().map(|records| Recording {
        records: Some(records),
        ..whole.clone()
    });
    for recording in all.chain(cut_records) {
        let result = check(Tool::Memcheck, program, &recording, &mut Sources::new());
        assert!(result.is_err(), "{recording:?}");
    }
}

#[test]
fn patterns_select_functions() {
    let folder = recordings().join("2025.3.1/programs/racecheck-analysis/read_before_write");
    let found = |only: &[&str]| {
        judged(Tool::Racecheck, &folder, only)
            .unwrap()
            .diagnostics
            .len()
    };
    assert_eq!(
        (found(&[]), found(&["read_*"]), found(&["write_*"])),
        (1, 1, 0)
    );
}
