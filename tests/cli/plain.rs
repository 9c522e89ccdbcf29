//! `--plain`: the same words as without it, but for the flag in the command that repeats a finding.

use super::common::racetrap;
use rstest::rstest;
use std::path::Path;

#[rstest]
#[case("tests/judged/buggy/atomic_ref_relaxed.ptx")]
#[case("tests/judged/buggy/assertion_on_capacity.ptx")]
#[case("kernels/scan/blelloch.BUG_NO_BARRIER_IN_UP_SWEEP.sm_75.ptx")]
fn a_check_says_the_same(#[case] file: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let arguments = ["check", file, "--schedules", "3", "--format", "json"];
    let said = |more: &[&str]| {
        let text = racetrap(root, &[&arguments[..], more].concat());
        let lines = text.lines().skip(1).filter(|l| !l.contains("\"seconds\""));
        lines.collect::<Vec<_>>().join("\n")
    };
    let (fast, plain) = (said(&[]), said(&["--plain"]));
    assert!(fast.contains("\"replay\": \""), "{fast}");
    for line in plain.lines().filter(|l| l.contains("\"replay\": \"")) {
        assert!(line.contains(" --plain"), "{line}");
    }
    assert_eq!(plain.replace(" --plain", ""), fast);
}
