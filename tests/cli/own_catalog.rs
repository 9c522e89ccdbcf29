//! A catalogue of one's own, begun as CONTRIBUTING.md says: its kernel and cases are taken from there.

use crate::common::racetrap;
use std::fs;
use std::path::Path;

const CONTRIBUTING: &str = include_str!("../../CONTRIBUTING.md");

/// The text of the first block in a language behind some words.
fn block(after: &str, language: &str) -> String {
    let (_, rest) = CONTRIBUTING.split_once(after).expect(after);
    let (_, rest) = rest
        .split_once(&format!("```{language}\n"))
        .expect(language);
    let (block, _) = rest.split_once("```").expect("the block's end");
    let lines = block
        .lines()
        .map(|line| line.strip_prefix("   ").unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Writes the files of a catalogue, and the folders that they are in.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The kernel, the correct case and the buggy one.
fn first_files() -> [(&'static str, String); 3] {
    let case = block("This is `cases/example/reverse.yaml`", "yaml");
    let bug = block("`cases/example/no-barrier.yaml` is the same", "yaml");
    let (same, _) = case.split_once("expect:").unwrap();
    let same = same.replacen(
        "title: Reversal in shared memory",
        "title: Reversal, no barrier",
        1,
    );
    [
        (
            "kernels/example/reverse.cu",
            block("**The kernel**", "cuda"),
        ),
        ("cases/example/reverse.yaml", case),
        ("cases/example/no-barrier.yaml", same + &bug),
    ]
}

fn begun() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    // The project's own compiler is found from the project's folder alone.
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join(".toolchain");
    if tools.is_dir() {
        std::os::unix::fs::symlink(tools, folder.path().join(".toolchain")).unwrap();
    }
    for (name, text) in first_files() {
        write(&folder.path().join("mine"), &[(name, &text)]);
    }
    folder
}

/// All files of a folder, sorted.
fn files(folder: &Path, below: &str) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}/{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => all.extend(files(folder, &name)),
            false => all.push(name),
        }
    }
    all.sort();
    all
}

const CLAIM: &str = "\
documents: [a lecture]
says: The reversal needs its barrier.
predicts:
  - what: without it, threads race
    simulator: {case: example/no-barrier, verdict: caught}
verdict: confirmed
";

const PLAN: &str = "\
title: Reversal of what another stream uploads
kernel: example/reverse.cu
sizes:
  n: 1..=256
buffers:
  given: {type: i32, length: n, values: iota, memory: pinned}
  data: {type: i32, length: n, values: zeros}
plan:
  - copy: {from: given, to: data, stream: upload}
  - record: {event: uploaded, stream: upload}
  - wait: {event: uploaded, stream: work}
  - launch: {entry: reverse, block: n, shared: 4 * n, args: [data], stream: work}
oracle:
  data: {each: n - 1 - i}
expect:
  simulator: clean
";

#[test]
fn what_contributing_shows_works_in_any_folder() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = begun();
    let at = folder.path();
    let renewed = racetrap(at, &["dev", "renew", "mine"]);
    assert!(renewed.ends_with("--- exit status 0\n"), "{renewed}");
    assert_eq!(
        files(at, "mine"),
        [
            "mine/cases/example/no-barrier.yaml",
            "mine/cases/example/reverse.yaml",
            "mine/cases/schema.json",
            "mine/kernels/example/reverse.BUG_NO_BARRIER-1.sm_75.ptx",
            "mine/kernels/example/reverse.BUG_NO_BARRIER-1.sm_90.ptx",
            "mine/kernels/example/reverse.cu",
            "mine/kernels/example/reverse.sm_75.ptx",
            "mine/kernels/example/reverse.sm_90.ptx",
        ]
    );
    let ran = racetrap(at, &["run", "--catalog", "mine"]);
    assert!(
        ran.contains("caught 1/1 · findings in correct kernels 0/1"),
        "{ran}"
    );
    assert!(ran.ends_with("--- exit status 0\n"), "{ran}");
    let mutated = racetrap(at, &["mutate", "--catalog", "mine", "reverse"]);
    assert!(
        mutated.contains("1 needed  1 mutant of 1 kernel"),
        "{mutated}"
    );
    let none = racetrap(at, &["claims", "--catalog", "mine"]);
    assert!(none.contains("this catalogue has no claims"), "{none}");

    // A claim and a plan, later.
    write(
        &at.join("mine"),
        &[
            ("cases/claims/barrier-needed.yaml", CLAIM),
            ("cases/example/uploaded.yaml", PLAN),
        ],
    );
    let renewed = racetrap(at, &["dev", "renew", "mine"]);
    assert!(
        renewed.contains("wrote cases/claims/schema.json\n"),
        "{renewed}"
    );
    assert!(
        renewed.contains("1 written, 0 removed, 5 current"),
        "{renewed}"
    );
    let claims = racetrap(at, &["claims", "--catalog", "mine"]);
    assert!(claims.contains("1 claim: 1 confirmed"), "{claims}");
    assert!(claims.ends_with("--- exit status 0\n"), "{claims}");
    let mutated = racetrap(at, &["mutate", "--catalog", "mine", "example/uploaded"]);
    for needed in [
        "needed[remove-record]",
        "needed[remove-wait]",
        "3 needed  3 mutants",
    ] {
        assert!(mutated.contains(needed), "{needed}: {mutated}");
    }
}

#[test]
fn what_is_missing_is_told() {
    let folder = begun();
    let at = folder.path();
    fs::create_dir(at.join("empty")).unwrap();
    let shown: Vec<String> = [
        &["dev", "renew", "nowhere"][..],
        &["dev", "renew", "empty"],
        &["run", "--catalog", "empty"],
        &["run", "--catalog", "mine"],
    ]
    .iter()
    .map(|arguments| racetrap(at, arguments))
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
    assert_eq!(files(at, "empty"), [""; 0]);
}
