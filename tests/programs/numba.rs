//! A script that uses Numba, which compiles its kernels while it runs and hands over PTX.

use super::{RACETRAP, findings, folder};
use rstest::rstest;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// The line of the script that ends with these words.
fn line(script: &str, end: &str) -> usize {
    let at = script.lines().position(|line| line.ends_with(end));
    1 + at.expect("a line with these words")
}

#[rstest]
#[case("right", "reversed", 0)]
#[case("wrong", "not reversed", 1)]
fn a_numba_script(#[case] how: &str, #[case] prints: &str, #[case] status: i32) {
    let Some(numba) = testing::needs_numba() else {
        return;
    };
    let script = folder().join("clients/reverse.py");
    let text = std::fs::read_to_string(&script).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let to = temporary.path().join("report.json");
    let output = Command::new(RACETRAP)
        .args(["exec", "--format", "json", "--report"])
        .arg(&to)
        .arg("--")
        .arg(numba.join("bin/python"))
        .arg(&script)
        .arg(how)
        .env("CUDA_HOME", &numba)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let said = format!("{output:?}");
    let report: Value = serde_json::from_slice(&std::fs::read(&to).expect(&said)).expect(&said);
    let race = format!(
        "data-race@{},{}",
        line(&text, "# the write"),
        line(&text, "# the read")
    );
    let wanted: BTreeSet<String> = (how == "wrong").then_some(race).into_iter().collect();
    // Numba leaves its memory to the end of the process.
    let mut told = findings(&report);
    told.retain(|finding| !finding.starts_with("leak@"));
    assert_eq!(told, wanted, "{said}");
    assert_eq!(output.status.code(), Some(status), "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.lines().any(|line| line == prints), "{said}");
}
