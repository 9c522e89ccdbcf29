//! `racetrap sanitize` with a stand-in for compute-sanitizer that writes what the real one once wrote.

#![cfg(unix)]

use crate::common::{racetrap, says};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const RECORDINGS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/crates/evidence/tests/recordings"
);

/// Writes the files of `$RECORDING` where the options say, runs the program, and ends as the recording did.
const STAND_IN: &str = r#"#!/usr/bin/env bash
log= save=
while [[ $# -gt 0 && $1 == -* ]]; do
    case $1 in
    --version) printf 'NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1.0 (a stand-in)\n'; exit ;;
    --xml) shift ;;
    --log-file) log=$2; shift 2 ;;
    --save) save=$2; shift 2 ;;
    *) shift 2 ;;
    esac
done
"$@"
recording=$(cat "$(dirname "$0")/recording")
cp "$recording/log.txt" "$log" 2>/dev/null
cp "$recording/records.xml" "$save" 2>/dev/null
exit "$(sed -n 's/.*"status": \([0-9]*\).*/\1/p' "$recording/run.json")"
"#;

struct Setting(tempfile::TempDir);

impl Setting {
    fn new(recording: &str) -> Setting {
        let setting = Setting(tempfile::tempdir().unwrap());
        let here = setting.0.path();
        for (name, text) in [
            ("tool", STAND_IN),
            ("prog", "#!/bin/sh\necho \"prog $*\"\n"),
        ] {
            fs::write(here.join(name), text).unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(here.join(name), mode).unwrap();
        }
        fs::copy(
            Path::new(RECORDINGS).join("programs/reports.cu"),
            here.join("reports.cu"),
        )
        .unwrap();
        setting.replay(recording);
        setting
    }

    fn replay(&self, recording: &str) {
        let folder = format!("{RECORDINGS}/2025.3.1/{recording}");
        assert!(Path::new(&folder).join("run.json").exists(), "{folder}");
        fs::write(self.0.path().join("recording"), folder).unwrap();
    }

    fn run(&self, options: &[&str]) -> String {
        let all = [
            &["sanitize", "--sanitizer", "./tool"],
            options,
            &["--", "./prog", "--flag", "-std=x"],
        ];
        racetrap(self.0.path(), &all.concat())
    }
}

#[test]
fn a_race_with_both_lines_and_the_fix() {
    let setting = Setting::new("programs/racecheck-analysis/read_before_write");
    insta::assert_snapshot!(setting.run(&[]));
    for format in ["json", "sarif", "github", "junit"] {
        let shown = setting.run(&["--format", format]);
        assert!(
            shown.contains("data-race") && shown.contains("reports.cu"),
            "{shown}"
        );
    }
}

#[test]
fn known_findings_do_not_fail() {
    let setting = Setting::new("programs/racecheck-analysis/read_before_write");
    let shown = setting.run(&["--baseline", "known.json", "--update-baseline"]);
    assert!(
        shown.contains("1 finding: 1 added") && shown.ends_with("--- exit status 0\n"),
        "{shown}"
    );
    let shown = setting.run(&["--baseline", "known.json"]);
    assert!(
        shown.contains("accepted: 1 by the baseline") && shown.ends_with("--- exit status 0\n"),
        "{shown}"
    );
    setting.replay("programs/racecheck-analysis/write_after_read");
    let shown = setting.run(&["--baseline", "known.json"]);
    assert!(
        shown.contains("error[data-race]") && shown.contains("which was not found"),
        "{shown}"
    );
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
}

#[test]
fn a_comment_accepts_what_a_tool_found_and_patterns_select_kernels() {
    let setting = Setting::new("programs/racecheck-analysis/read_before_write");
    let found = setting.run(&["--format", "json"]);
    let (from, to) = (found.find('{').unwrap(), found.rfind('}').unwrap());
    let json: serde_json::Value = serde_json::from_str(&found[from..=to]).unwrap();
    let finding = &json["checks"][0]["findings"][0];
    let line = finding["places"][0]["line"].as_u64().unwrap() as usize;
    let file = setting.0.path().join("reports.cu");
    let text = fs::read_to_string(&file).unwrap();
    let allowed = text.lines().enumerate().map(|(index, line_text)| {
        let comment = match index + 1 == line {
            true => " // racetrap: allow(data-race): for this test",
            false => "",
        };
        format!("{line_text}{comment}\n")
    });
    fs::write(&file, allowed.collect::<String>()).unwrap();
    let shown = setting.run(&[]);
    assert!(
        shown.contains("accepted: 1 by a comment") && shown.ends_with("--- exit status 0\n"),
        "{shown}"
    );
    for (options, status) in [
        (&["--ignore-allow"][..], 1),
        (&["--ignore-allow", "--kernel", "read_*"], 1),
        (&["--ignore-allow", "--kernel", "other"], 0),
        (
            &["--ignore-allow", "--skip-kernel", "read_before_write*"],
            0,
        ),
    ] {
        let shown = setting.run(options);
        let end = format!("--- exit status {status}\n");
        assert!(shown.ends_with(&end), "{options:?}\n{shown}");
    }
}

#[test]
fn the_program_keeps_its_output_and_arguments() {
    let setting = Setting::new("memcheck/vector/add");
    let shown = setting.run(&["--tool", "memcheck"]);
    assert!(shown.contains("prog --flag -std=x\n"), "{shown}");
    assert!(
        shown.contains("clean ./prog under memcheck") && shown.ends_with("--- exit status 0\n"),
        "{shown}"
    );
}

/// Whatever goes wrong, it is not clean.
#[test]
fn failures_are_told() {
    let setting = Setting::new("nothing/racecheck-no-call");
    insta::assert_snapshot!(setting.run(&[]));
    for what in [
        "tool-killed",
        "program-crashed",
        "no-such-device",
        "program-killed",
    ] {
        setting.replay(&format!("nothing/{what}"));
        let shown = setting.run(&["--tool", "memcheck"]);
        assert!(
            !shown.ends_with("--- exit status 0\n") && !says(&shown, "clean"),
            "{what}: {shown}"
        );
    }
    let here = setting.0.path();
    let shown = racetrap(
        here,
        &["sanitize", "--sanitizer", "./no-tool", "--", "./prog"],
    );
    assert!(shown.ends_with("--- exit status 3\n"), "{shown}");
    let shown = racetrap(here, &["sanitize", "--", "./no-program"]);
    assert!(
        shown.contains("no program `./no-program`") && shown.ends_with("--- exit status 2\n"),
        "{shown}"
    );
}

#[test]
fn a_program_that_does_not_end_is_stopped() {
    let setting = Setting::new("memcheck/vector/add");
    fs::write(setting.0.path().join("prog"), "#!/bin/sh\nsleep 100\n").unwrap();
    let shown = setting.run(&["--timeout", "1"]);
    assert!(
        shown.contains("did not end within 1 s") && shown.ends_with("--- exit status 3\n"),
        "{shown}"
    );
}
