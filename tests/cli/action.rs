//! What runs in somebody's CI: the scripts behind `action.yml` and the pre-commit hook, in a folder of their own.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::create_dir_all(here.join("src dir")).unwrap();
    for name in ["kernels.ptx", "kernels.cu"] {
        fs::copy(
            format!("{ROOT}/tests/cli/{name}"),
            here.join("src dir").join(name),
        )
        .unwrap();
    }
    folder
}

fn script(
    name: &str,
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> (String, Option<i32>) {
    let program = Path::new(env!("CARGO_BIN_EXE_racetrap"));
    let path = std::env::var("PATH").unwrap();
    let output = Command::new(format!("{ROOT}/ci/{name}"))
        .args(arguments)
        .current_dir(folder)
        .env(
            "PATH",
            format!("{}:{path}", program.parent().unwrap().display()),
        )
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        output.status.code(),
    )
}

#[test]
fn the_action_annotates_and_leaves_reports() {
    let folder = folder();
    let here = folder.path();
    // A pattern has no blanks, so a `?` stands for the one in the folder's name.
    let run = |options: &str, baseline: &str| {
        script(
            "action.sh",
            here,
            &[],
            &[
                ("RACETRAP_FILES", "src?dir/*.ptx"),
                ("RACETRAP_OPTIONS", options),
                ("RACETRAP_BASELINE", baseline),
            ],
        )
    };
    let (shown, code) = run("--kernel reverse --inputs 1", "");
    assert_eq!(code, Some(1), "{shown}");
    assert!(
        shown.contains("::error file=") && shown.contains("title=data-race"),
        "{shown}"
    );
    let name = "racetrap-reports/src_dir_kernels.ptx";
    let read = |end: &str| fs::read_to_string(here.join(format!("{name}.{end}"))).unwrap();
    let sarif = fs::read_to_string(here.join("racetrap-reports/racetrap.sarif")).unwrap();
    let sarif: serde_json::Value = serde_json::from_str(&sarif).unwrap();
    assert!(!sarif["runs"][0]["results"].as_array().unwrap().is_empty());
    assert!(read("html").contains("<svg"));
    let summary = fs::read_to_string(here.join("summary.md")).unwrap();
    assert!(
        summary.contains("❌ findings") && summary.contains("```text"),
        "{summary}"
    );

    let (shown, code) = run(
        "--kernel reverse --inputs 1 --update-baseline",
        "known.json",
    );
    assert_eq!(code, Some(0), "{shown}");
    let (shown, code) = run("--kernel reverse --inputs 1", "known.json");
    assert_eq!((shown.as_str(), code), ("", Some(0)));
}

/// Inputs are data: nothing in them is run.
#[test]
fn the_action_runs_nothing_of_its_inputs() {
    let folder = folder();
    let here = folder.path();
    let evil = "$(touch${IFS}evil) `touch evil` ; touch evil";
    let (_, code) = script("action.sh", here, &[], &[("RACETRAP_FILES", evil)]);
    assert_eq!(code, Some(2));
    let (_, code) = script(
        "action.sh",
        here,
        &[],
        &[
            ("RACETRAP_FILES", "src?dir/*.ptx"),
            ("RACETRAP_OPTIONS", evil),
        ],
    );
    assert_eq!(code, Some(2));
    assert!(!here.join("evil").exists());
}

#[test]
fn the_hook_fails_on_findings() {
    let folder = folder();
    let hook = |options: &[&str]| {
        let all = [options, &["src dir/kernels.ptx"]].concat();
        script("pre-commit.sh", folder.path(), &all, &[])
    };
    let (shown, code) = hook(&["--kernel=reverse", "--inputs=1"]);
    assert!(shown.contains("error[data-race]"), "{shown}");
    assert_eq!(code, Some(1));
    let (shown, code) = hook(&["--kernel=reverse_fixed", "--arg=n=128"]);
    assert_eq!(code, Some(0), "{shown}");
}
