//! Known findings, as somebody accepts them in a repository: a baseline, comments, patterns for kernels.

use crate::common::racetrap;
use std::fs;
use std::path::Path;

/// A folder with the kernels of these tests, to edit.
fn folder() -> tempfile::TempDir {
    let from = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli"));
    let folder = tempfile::tempdir().unwrap();
    for name in ["kernels.ptx", "kernels.cu"] {
        fs::copy(from.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

fn edit(folder: &Path, from: &str, to: &str) {
    let file = folder.join("kernels.cu");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_baseline_from_its_first_day_to_its_last() {
    let folder = folder();
    let here = folder.path();
    let check = |more: &[&str]| {
        let all = [
            "check",
            "kernels.ptx",
            "--kernel",
            "reverse",
            "--inputs",
            "1",
        ];
        racetrap(here, &[&all[..], &["--jobs", "1"], more].concat())
    };
    let shown = check(&["--baseline", "known.json"]);
    assert!(
        shown.contains("--update-baseline") && shown.ends_with("--- exit status 2\n"),
        "{shown}"
    );
    let shown = check(&["--baseline", "known.json", "--update-baseline"]);
    insta::assert_snapshot!(shown);
    insta::assert_snapshot!(fs::read_to_string(here.join("known.json")).unwrap());

    let shown = check(&["--baseline", "known.json", "--format", "github"]);
    assert!(
        !shown.contains("::error") && shown.ends_with("--- exit status 0\n"),
        "{shown}"
    );
    // The line moves in the source that is shown; what the PTX says of it stays, so the text is another one.
    edit(here, "tile[t] = data[i];", "tile[t] = data[i + 0];");
    let shown = check(&["--baseline", "known.json"]);
    assert!(
        shown.contains("error[data-race]") && shown.ends_with("--- exit status 1\n"),
        "{shown}"
    );
    assert!(
        shown.contains("warning: the baseline lists `data-race` in `reverse`"),
        "{shown}"
    );

    // Nothing is said of entries whose kernel does not run.
    let all = [
        "check",
        "kernels.ptx",
        "--kernel",
        "reverse_fixed",
        "--arg",
        "n=128",
        "--baseline",
        "known.json",
    ];
    let shown = racetrap(here, &all);
    assert!(
        !shown.contains("warning") && shown.ends_with("--- exit status 0\n"),
        "{shown}"
    );

    fs::write(here.join("known.json"), "no baseline").unwrap();
    let shown = check(&["--baseline", "known.json", "--update-baseline"]);
    assert!(
        shown.contains("is not a baseline") && shown.ends_with("--- exit status 2\n"),
        "{shown}"
    );
}

/// What is known of one file is no excuse for another one of the same name.
#[test]
fn a_baseline_tells_files_of_one_name_apart() {
    let folder = folder();
    let here = folder.path();
    for place in ["a", "b"] {
        fs::create_dir(here.join(place)).unwrap();
        for name in ["kernels.ptx", "kernels.cu"] {
            fs::copy(here.join(name), here.join(place).join(name)).unwrap();
        }
    }
    let check = |file: &str, more: &[&str]| {
        let all = ["check", file, "--kernel", "reverse", "--inputs", "1"];
        racetrap(
            here,
            &[&all[..], &["--jobs", "1", "--baseline", "known.json"], more].concat(),
        )
    };
    let made = check("a/kernels.ptx", &["--update-baseline"]);
    assert!(made.contains("1 added"), "{made}");
    let same = check("./b/../a/kernels.ptx", &[]);
    assert!(same.ends_with("--- exit status 0\n"), "{same}");
    let other = check("b/kernels.ptx", &[]);
    assert!(other.ends_with("--- exit status 1\n"), "{other}");
}

#[test]
fn a_comment_accepts_a_finding() {
    let folder = folder();
    let check = |more: &[&str]| {
        let all = [
            "check",
            "kernels.ptx",
            "--entry",
            "reverse",
            "--inputs",
            "1",
        ];
        racetrap(folder.path(), &[&all[..], &["--jobs", "1"], more].concat())
    };
    edit(
        folder.path(),
        "        tile[t] = data[i];",
        "        tile[t] = data[i]; // racetrap: allow(data-race): the test wants it, racetrap: allow(leak)",
    );
    let shown = check(&[]);
    assert!(shown.contains("by a comment"), "{shown}");
    assert!(!shown.contains("error[data-race]"), "{shown}");
    let strict = check(&["--ignore-allow"]);
    assert!(
        strict.contains("error[data-race]") && strict.ends_with("--- exit status 1\n"),
        "{strict}"
    );
}

#[test]
fn patterns_select_kernels() {
    let folder = folder();
    let check = |more: &[&str]| {
        racetrap(
            folder.path(),
            &[&["check", "kernels.ptx", "--format", "junit"], more].concat(),
        )
    };
    let shown = check(&["--kernel", "rev*", "--skip-kernel", "*fix*"]);
    assert!(
        shown.contains("tests=\"1\"") && shown.contains("kernels.ptx: reverse"),
        "{shown}"
    );
    let shown = racetrap(
        folder.path(),
        &["check", "kernels.ptx", "--kernel", "revers"],
    );
    insta::assert_snapshot!(shown);
    let shown = racetrap(
        folder.path(),
        &["check", "kernels.ptx", "--skip-kernel", "*"],
    );
    assert!(
        shown.contains("leaves out all kernels") && shown.ends_with("--- exit status 2\n"),
        "{shown}"
    );
}
