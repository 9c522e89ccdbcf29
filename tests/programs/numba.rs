//! A script that uses Numba, which compiles its kernels while it runs and hands over PTX.

use super::clients::Ran;
use super::{findings, folder};
use rstest::rstest;
use std::collections::BTreeSet;

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
    let arguments = [script.to_str().unwrap(), how];
    let ran = Ran::with(
        &numba.join("bin/python"),
        &arguments,
        &[("CUDA_HOME", &numba)],
    );
    let said = format!("{:?}", ran.output);
    let race = format!(
        "data-race@{},{}",
        line(&text, "# the write"),
        line(&text, "# the read")
    );
    let wanted: BTreeSet<String> = (how == "wrong").then_some(race).into_iter().collect();
    // Numba leaves its memory to the end of the process.
    let mut told = findings(&ran.report);
    told.retain(|finding| !finding.starts_with("leak@"));
    assert_eq!(told, wanted, "{said}");
    assert_eq!(ran.output.status.code(), Some(status), "{said}");
    assert!(ran.printed().lines().any(|line| line == prints), "{said}");
}
