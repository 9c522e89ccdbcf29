//! `racetrap grade` as a course calls it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_racetrap");

fn assignment() -> PathBuf {
    testing::root().join("examples/course/reduction/assignment.yaml")
}

fn solution() -> String {
    let path = testing::root().join("examples/course/reduction/solution/reduction.cu");
    std::fs::read_to_string(path).unwrap()
}

fn grade(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("grade").arg(assignment()).args(arguments);
    command.output().unwrap()
}

/// A class of so many, of which each hands in a source of its own.
fn class(folder: &Path, count: usize) {
    for number in 0..count {
        let at = folder.join(format!("student{number}"));
        std::fs::create_dir_all(&at).unwrap();
        let text = format!("// Student {number}.\n{}", solution());
        std::fs::write(at.join("reduction.cu"), text).unwrap();
    }
}

#[test]
fn graded_is_success_whatever_the_score() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("eve.cu");
    std::fs::write(&file, "no CUDA").unwrap();
    let output = grade(&[file.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("0 / 100  in total"), "{text}");
    assert_eq!(grade(&["/nowhere/at/all"]).status.code(), Some(3));
    assert_eq!(grade(&[]).status.code(), Some(2));
}

#[test]
fn results_for_gradescope_are_whole_after_a_kill_at_any_moment() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ada.cu");
    let mut seen = 0;
    for step in 0..8 {
        let out = folder.path().join(format!("results{step}.json"));
        std::fs::write(&file, format!("// {step}\n{}", solution())).unwrap();
        let mut child = Command::new(PROGRAM)
            .arg("grade")
            .arg(assignment())
            .arg(&file)
            .args(["--format", "gradescope", "--out"])
            .arg(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(200 * (step + 1))
            && child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if let Ok(text) = std::fs::read(&out) {
            let value: Value = serde_json::from_slice(&text).unwrap();
            assert!(value["tests"].is_array());
            seen += 1;
        }
    }
    assert!(seen > 0, "no results were written in time");
}

#[test]
fn a_class_goes_on_after_a_kill() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let submissions = folder.path().join("submissions");
    class(&submissions, 6);
    let shown = submissions.to_str().unwrap();
    let results = folder.path().join("submissions-results");
    let mut child = Command::new(PROGRAM)
        .arg("grade")
        .arg(assignment())
        .args([shown, "--jobs", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let count = || {
        std::fs::read_dir(&results).map_or(0, |all| {
            all.flatten()
                .filter(|e| e.path().extension().is_some_and(|x| x == "json"))
                .count()
        })
    };
    while count() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(count() >= 2);
    let roster = folder.path().join("roster.csv");
    std::fs::write(&roster, "name,login\nZero,student0\nNobody,nobody\n").unwrap();
    let roster = roster.to_str().unwrap();
    let output = grade(&[
        shown,
        "--format",
        "csv",
        "--roster",
        roster,
        "--roster-key",
        "login",
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("6 submissions graded, ") && said.contains(" of them before"),
        "{said}"
    );
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("Zero,student0,100,100,graded"), "{table}");
    assert!(table.contains("Nobody,nobody,,,missing"), "{table}");
    assert_eq!(table.lines().count(), 1 + 2 + 5);

    let merged = grade(&[
        "--merge",
        "--results",
        results.to_str().unwrap(),
        "--format",
        "json",
    ]);
    let merged: Value = serde_json::from_slice(&merged.stdout).unwrap();
    assert_eq!(merged.as_array().unwrap().len(), 6);
}

#[test]
fn a_mistake_in_the_assignment_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    let text = std::fs::read_to_string(assignment()).unwrap();
    std::fs::write(&path, text.replace("check: races", "check: rases")).unwrap();
    let output = Command::new(PROGRAM)
        .arg("grade")
        .arg(&path)
        .arg("x")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("a.yaml:") && said.contains("races"), "{said}");
}
