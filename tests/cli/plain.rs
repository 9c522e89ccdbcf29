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
    let fast = racetrap(root, &arguments);
    let plain = racetrap(root, &[&arguments[..], &["--plain"]].concat());
    let found = fast.contains("\"replay\": \"");
    assert_eq!(plain.contains(" --plain\""), found, "{plain}");
    assert_eq!(plain.replace(" --plain", ""), fast);
}
