//! The bugs that were planted to find out what NVIDIA's compute-sanitizer sees, through `racetrap check` as its user
//! would call it: each must be caught, and its corrected twin be clean.
//!
//! A row is a bug in words, what racecheck and synccheck (compute-sanitizer 2025.3.1, on an H200) say of it, a kernel of
//! `tests/judged/buggy` that has it, the rules that must be reported, and the twin in `tests/judged/correct`. The
//! kernels' headers hold the launches; their PTX is pinned, so that neither a compiler nor a GPU is needed.

use Incumbent::{Sees, Silent};
use detect::rules::{Level, Rule};
use report::exit;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Whether one of compute-sanitizer's two tools reports the bug, or hangs with it.
#[derive(Clone, Copy, Debug)]
enum Incumbent {
    Sees,
    Silent,
}

/// What was planted, who else sees it, the kernel, its rules, its twin.
type Row = (
    &'static str,
    Incumbent,
    &'static str,
    &'static [&'static str],
    &'static str,
);

const ROWS: &[Row] = &[
    (
        "reverse through shared memory, barrier missing",
        Sees,
        "reverse_without_barrier",
        &["data-race"],
        "reverse_with_barrier",
    ),
    (
        "Hillis-Steele, one barrier a step instead of two",
        Sees,
        "scan_one_barrier_a_step",
        &["data-race"],
        "scan_two_barriers_a_step",
    ),
    (
        "warp scan, plain pointers",
        Sees,
        "warp_scan_plain",
        &["data-race"],
        "warp_scan_syncwarp",
    ),
    (
        "warp scan, volatile",
        Sees,
        "warp_scan_volatile",
        &["lockstep-assumption"],
        "warp_scan_syncwarp",
    ),
    (
        "shared histogram, no atomics",
        Sees,
        "shared_histogram_plain",
        &["data-race"],
        "shared_histogram_atomic",
    ),
    (
        "global histogram, no atomics",
        Silent,
        "global_histogram_plain",
        &["data-race"],
        "global_histogram_atomic",
    ),
    (
        "in-place global reduction step across blocks",
        Silent,
        "global_reduction_in_place",
        &["data-race"],
        "global_reduction_two_buffers",
    ),
    (
        "__syncthreads under tid < 128, the others fall through",
        Sees,
        "barrier_under_condition",
        &["data-race", "divergent-barrier"],
        "barrier_behind_condition",
    ),
    (
        "both branches of an if call their own __syncthreads, half-blocks",
        Sees,
        "barrier_in_both_branches",
        &["divergent-barrier"],
        "barrier_behind_both_branches",
    ),
    (
        "the same, odd and even lanes",
        Sees,
        "barrier_by_odd_and_even_lanes",
        &["divergent-barrier"],
        "barrier_behind_odd_and_even_lanes",
    ),
    (
        "two barriers for one half, three for the other",
        Silent,
        "barriers_two_against_three",
        &["divergent-barrier"],
        "barriers_three_each",
    ),
    (
        "early return before a barrier",
        Silent,
        "return_before_barrier",
        &["barrier-after-exit"],
        "no_return_before_barrier",
    ),
    (
        "helper with a barrier called by half of the block, the rest exit",
        Silent,
        "helper_called_by_half",
        &["barrier-after-exit"],
        "helper_called_by_all",
    ),
    (
        "__syncwarp(0xffffffff) by half of the lanes",
        Silent,
        "syncwarp_full_mask_by_half",
        &["warp-sync-mask"],
        "syncwarp_half_mask_by_half",
    ),
    (
        "__shfl_down_sync(0xffffffff, …) by half of the lanes",
        Silent,
        "shuffle_full_mask_by_half",
        &["warp-sync-mask"],
        "shuffle_half_mask_by_half",
    ),
    (
        "half of the block waits at a barrier, half spins on its result",
        Sees,
        "spin_against_barrier",
        &["no-progress"],
        "flag_raised_before_barrier",
    ),
];

/// The launch in a kernel's header, as `racetrap check` takes it.
fn flags(source: &str) -> Vec<String> {
    let mut header = source.lines().map_while(|line| line.strip_prefix("//"));
    let flags = header.find_map(|line| line.trim().strip_prefix("flags:"));
    let words = flags.unwrap_or_default().split_whitespace();
    words.map(str::to_owned).collect()
}

/// What `racetrap check` says of a judged kernel: the report's verdict and rules, and the exit status.
fn check(folder: &str, kernel: &str) -> (String, BTreeSet<String>, i32) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = format!("tests/judged/{folder}/{kernel}");
    let source = std::fs::read_to_string(root.join(format!("{path}.cu")));
    let source = source.unwrap_or_else(|e| panic!("{path}.cu: {e}"));
    let output = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .current_dir(root)
        .args(["check", &format!("{path}.ptx"), "--format", "json"])
        .args(flags(&source))
        .output()
        .expect("the program starts");
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{kernel}: {e}"));
    let check = &report["checks"][0];
    let findings = check["findings"].as_array().expect("findings");
    let rules = findings
        .iter()
        .map(|f| f["rule"].as_str().expect("a rule").to_owned());
    let verdict = check["verdict"].as_str().expect("a verdict").to_owned();
    let status = output.status.code().expect("an exit status");
    (verdict, rules.collect(), status)
}

#[test]
fn every_planted_bug_is_caught() {
    for (bug, incumbent, kernel, rules, _) in ROWS {
        let expected: BTreeSet<String> = rules.iter().map(ToString::to_string).collect();
        let errors = rules.iter().any(|name| level(name) == Level::Error);
        let status = if errors { exit::FINDINGS } else { exit::OK };
        let seen = check("buggy", kernel);
        let wanted = ("findings".to_owned(), expected, i32::from(status));
        assert_eq!(
            seen, wanted,
            "{bug}: {kernel} (compute-sanitizer: {incumbent:?})"
        );
    }
}

#[test]
fn every_corrected_twin_is_clean() {
    for (bug, _, _, _, twin) in ROWS {
        let wanted = ("clean".to_owned(), BTreeSet::new(), i32::from(exit::OK));
        assert_eq!(check("correct", twin), wanted, "{bug}: {twin}");
    }
}

fn level(name: &str) -> Level {
    let all = Rule::ALL.iter();
    let rule = all.copied().find(|rule| rule.name() == name);
    rule.unwrap_or_else(|| panic!("no rule `{name}`")).level()
}
