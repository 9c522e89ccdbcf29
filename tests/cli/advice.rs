//! What racetrap advises: each kernel of advice.cu has one bug, which is one finding, and its `help:` names what mends it.

use crate::common::racetrap;
use rstest::rstest;
use std::path::Path;

fn check(entry: &str, more: &[&str]) -> String {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli"));
    let arguments = ["check", "advice.ptx", "--entry", entry, "--jobs", "1"];
    let all: Vec<&str> = arguments.iter().chain(more).copied().collect();
    racetrap(folder, &all)
}

const UPDATES: &str = "or give each thread its own element";

#[rstest]
#[case("update_max", &[], "update at line 10 atomic with `atomicMax(&…, …)`, or give each thread its own element")]
#[case("update_in_lines", &[], "update at lines 16 to 18 atomic with `atomicSub(&…, …)`")]
#[case("update_if_greater", &[], "update at lines 24 to 25 atomic with `atomicMax(&…, …)`")]
#[case("update_product", &[], "update at line 31 atomic with a loop around `atomicCAS`")]
#[case("claim", &["--arg", "owner=i32[1]:zeros"], "update at lines 36 to 37 atomic with `atomicCAS(&…, …, …)`")]
#[case("narrow_atomic", &[], "use `atomicMax` for `atomicMax_block` at line 43")]
#[case("narrow_fence", &["--arg", "count=u32[1]:zeros"], "use `__threadfence()` for `__threadfence_block()` at line 51")]
#[case("branch_of_a_warp", &["--block", "256"], "put `__syncwarp()` between line 71 and line 72")]
#[case("reused_storage", &["--block", "128"], "put `__syncthreads()` between line 81 and line 82: both use `temp`")]
#[case("no_fence_after_poll", &["--arg", "flag=i32[1]:zeros"], "put `__threadfence()` between line 98, which sees the other thread's flag, and line 100")]
fn each_bug_has_its_advice(#[case] entry: &str, #[case] more: &[&str], #[case] advice: &str) {
    let shown = check(entry, more);
    assert!(shown.contains(advice), "{shown}");
    let findings = shown.matches("error[").count() + shown.matches("warning[").count();
    assert_eq!(findings, 1, "{shown}");
    if advice.contains("atomic with") {
        assert!(shown.contains(UPDATES), "{shown}");
    }
}

/// Every format shows the advice, and the note that stands for another finding.
#[rstest]
fn every_format_shows_it(#[values("text", "json", "sarif", "junit", "github")] format: &str) {
    let shown = check("unrolled", &["--block", "64", "--format", format]);
    assert!(shown.contains("put `__syncthreads()`"), "{shown}");
    assert!(
        shown.contains("before anything is written there"),
        "{shown}"
    );
    assert!(!shown.contains("error[uninitialized-read]"), "{shown}");
}

/// Copies of one line that the compiler has made are one finding, which says how many there are.
#[test]
fn copies_of_a_line_are_counted() {
    let shown = check("unrolled", &["--block", "64"]);
    assert_eq!(shown.matches("error[").count(), 1, "{shown}");
    assert!(
        shown.contains(", in 7 copies of these instructions"),
        "{shown}"
    );
    let shown = check("unrolled", &["--block", "64", "--format", "json"]);
    assert!(shown.contains("\"copies\": 7"), "{shown}");
}

/// A clean verdict says what no run has shown: in one line of text, and all of it in JSON.
#[test]
fn a_clean_verdict_names_what_it_has_not_seen() {
    let shown = check("rarely", &[]);
    let unseen = "not seen: 1 line that no thread ran (advice.cu:120); \
                  1 branch that always went the same way (advice.cu:119); \
                  accesses beyond the end of `out`, whose size is guessed";
    assert!(shown.contains(unseen), "{shown}");
    let shown = check("rarely", &["--format", "json"]);
    for part in [
        "\"unseen\"",
        "\"line\": 120",
        "\"line\": 119",
        "\"elements\": 64",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // What further runs take is seen, and a buffer that somebody gave has its size.
    let negative = ["--arg", "limit=-1", "--arg", "out=i32[256]"];
    let shown = check("rarely", &negative);
    assert!(!shown.contains("beyond the end"), "{shown}");
    assert!(shown.contains("not seen: 1 line"), "{shown}");
    // A verdict with findings does not say it.
    assert!(!check("update_max", &[]).contains("not seen"));
}
