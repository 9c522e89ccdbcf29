//! `racetrap mutate`, as its user sees it.

use crate::common::racetrap;
use std::path::Path;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli"))
}

/// Without the time that it took.
fn mutate(arguments: &[&str]) -> String {
    let all: Vec<&str> = std::iter::once("mutate")
        .chain(arguments.iter().copied())
        .collect();
    let shown = racetrap(folder(), &all);
    let lines = shown.lines().map(|line| match line.rsplit_once(" in ") {
        Some((before, after)) if after.ends_with(" s") && before.contains(" mutant") => before,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn a_kernel_of_ones_own() {
    insta::assert_snapshot!(mutate(&["kernels.ptx", "--entry", "reverse_fixed"]));
}

#[test]
fn atomics_of_ones_own() {
    insta::assert_snapshot!(mutate(&["kernels.ptx", "--entry", "last"]));
}

/// Without an oracle: what the kernel itself leaves in memory is one, where no schedule changes that.
#[test]
fn results_of_ones_own() {
    insta::assert_snapshot!(mutate(&[
        "mutants.ptx",
        "--entry",
        "count_odd",
        "--grid",
        "1"
    ]));
}

/// The blocks of the guessed grid write one place: one block is launched instead, and the barrier is judged there. A grid that is given stays.
#[test]
fn a_kernel_whose_blocks_write_one_place() {
    let shown = mutate(&["mutants.ptx", "--entry", "last_of_block"]);
    assert!(
        shown.contains("with the guessed launch (--grid 2 --block ")
            && shown.contains("the kernel itself is not clean, so it is launched with --grid 1"),
        "{shown}"
    );
    assert!(
        shown.contains("  --grid 1 --block ") && shown.contains("needed[remove-barrier]"),
        "{shown}"
    );
    let given = mutate(&["mutants.ptx", "--entry", "last_of_block", "--grid", "2"]);
    assert!(
        given.contains("the kernel itself is not clean") && !given.contains("needed["),
        "{given}"
    );
}

/// Where results depend on the order, several schedules are tried.
#[test]
fn a_kernel_that_depends_on_the_schedule() {
    let shown = mutate(&[
        "mutants.ptx",
        "--entry",
        "tickets",
        "--grid",
        "1",
        "--arg",
        "0=i32[1]:zeros",
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn what_the_simulator_does_not_have() {
    let shown = mutate(&["mutants.ptx", "--entry", "unknown", "--grid", "1"]);
    assert!(shown.contains("error: mutants.ptx: unknown: "), "{shown}");
    assert!(shown.ends_with("--- exit status 3\n"), "{shown}");
}

#[test]
fn a_case_with_mutants_without_a_failure() {
    insta::assert_snapshot!(mutate(&["barrier/meet-then-raise"]));
}

#[test]
fn several_cases() {
    insta::assert_snapshot!(mutate(&["reduce/last_warp", "--jobs", "1"]));
}

/// Single copies of a barrier may be redundant where the barrier is not, and then nothing need be explained.
#[test]
fn each_copy_by_itself() {
    let shown = mutate(&[
        "reduce/last_warp/syncwarp",
        "--each",
        "--only",
        "remove-barrier",
    ]);
    assert!(
        shown.contains("12 needed, 2 without a failure  14 mutants of 1 kernel"),
        "{shown}"
    );
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
}

#[test]
fn for_programs() {
    let shown = mutate(&["message/fences", "--format", "json"]);
    let json = shown.lines().skip(2).collect::<Vec<_>>().join("\n");
    let (json, status) = json.rsplit_once("--- exit status ").unwrap();
    assert_eq!(status.trim(), "0");
    let document: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(document["totals"]["needed"], 7);
    let first = &document["kernels"][0]["mutants"][0];
    assert_eq!(first["mutation"], "remove-fence");
    assert_eq!(first["outcome"], "needed");
    assert_eq!(first["finding"]["rule"], "data-race");
    assert!(
        first["smallest"]
            .as_str()
            .unwrap()
            .starts_with("1 thread, 2 blocks")
    );
}

/// The correct kernels of `tests/judged`: all that nothing goes wrong without. Each of these was looked at:
///
/// - the last barrier of a loop, and barriers of kernels that are only about coming to them;
/// - wider scopes than one block needs;
/// - what a barrier behind it orders anyway (the first write of a flag);
/// - a fence behind which the compiler has left no access;
/// - a load that is volatile so that the compiler leaves it as wide as it is written;
/// - fences between strong accesses whose order no race tells of and no result is looked at for: `sequence_lock_volatile_data`,
///   `last_block_reads_volatile`.
#[test]
fn dispensable_in_judged_kernels() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("tests/judged/correct");
    let mut kernels: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "cu"))
        // Its barriers are the library's, whose mutants spin until the time is over.
        .filter(|path| !path.ends_with("group_tile_of_two_warps.cu"))
        .collect();
    kernels.sort();
    let tried = |path: &std::path::PathBuf| -> Vec<String> {
        let source = std::fs::read_to_string(path).unwrap();
        let flags = source
            .lines()
            .find_map(|l| l.strip_prefix("// flags:"))
            .unwrap_or_default();
        let name = path.file_stem().unwrap().to_str().unwrap();
        // Two threads of two blocks show all; with 96 each mutant spins for seconds.
        let flags = match name {
            "ticket_lock" => flags.replace("--grid 3 --block 32", "--grid 2 --block 2"),
            _ => flags.to_owned(),
        };
        let ptx = format!("tests/judged/correct/{name}.ptx");
        let head = ["mutate", &ptx, "--format", "json", "--jobs", "1"].into_iter();
        let arguments: Vec<&str> = head.chain(flags.split_whitespace()).collect();
        let shown = racetrap(root, &arguments);
        let (json, status) = shown.rsplit_once("--- exit status ").unwrap();
        assert_eq!(status.trim(), "0", "{shown}");
        let json = json.split_once("--- stdout\n").unwrap().1;
        let document: serde_json::Value = serde_json::from_str(json).unwrap();
        let mutants = document["kernels"][0]["mutants"].as_array().unwrap();
        let silent = mutants
            .iter()
            .filter(|m| m["outcome"] == "no-failure-found" || m["outcome"] == "not-exercised");
        silent
            .map(|m| {
                let word = |key: &str| m[key].as_str().unwrap().to_owned();
                format!(
                    "{name}:{}: {}: {}",
                    m["line"],
                    word("change"),
                    word("outcome")
                )
            })
            .collect()
    };
    let found = catalog::runner::parallel(kernels.len(), 4, &|k| tried(&kernels[k]));
    assert!(found.len() >= 70);
    insta::assert_snapshot!(found.concat().join("\n"));
}

#[test]
fn what_can_not_be_mutated() {
    let all: Vec<String> = [
        &["kernels.ptx", "--entry", "reverse"][..],
        &["scan/warp/volatile"],
        &["scan/warp", "--block", "32"],
        &["nothing.ptx"],
        &["no/such/case"],
        &["kernels.ptx"],
        &["--only", "remove-barier"],
    ]
    .iter()
    .map(|arguments| mutate(arguments))
    .collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn help_teaches() {
    insta::assert_snapshot!(mutate(&["--help"]));
}
