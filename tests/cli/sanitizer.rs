//! The wrappers of `sanitizer/` around tools that misbehave.
//!
//! compute-sanitizer and the test binary are stand-ins here: shell scripts of ours that do what a tool could do
//! wrong. Whatever they do, the wrapper must not pass.

#![cfg(unix)]

use crate::common::says;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A buggy case with two annotated lines, and its correct twin.
const BUGGY: &str = "scan/hillis_steele_shared/no-barrier-after-load";
const CORRECT: &str = "scan/hillis_steele_shared/correct";

/// Reads the options of compute-sanitizer that matter here; what is left is the program.
const OPTIONS: &str = r#"#!/usr/bin/env bash
log= save= tool=
while [[ $# -gt 0 && $1 == -* ]]; do
    case $1 in
    --version) printf 'NVIDIA (R) Compute Sanitizer\nVersion 1.2.3.0 (a stand-in)\n'; exit ;;
    --xml) shift ;;
    --log-file) log=$2; shift 2 ;;
    --save) save=$2; shift 2 ;;
    --tool) tool=$2; shift 2 ;;
    *) shift 2 ;;
    esac
done
say() { printf '========= %s\n' "$@" >>"$log"; }
say COMPUTE-SANITIZER
clean='<?xml version="1.0" encoding="utf-8"?><ComputeSanitizerOutput></ComputeSanitizerOutput>'
record() { # LEVEL FIRST-LINE SECOND-LINE
    printf '<record><kind>Analysis</kind><level>%s</level><what><text>Race condition</text>' "$1"
    printf '<source><direction>Write</direction><where><func>scan</func><path>kernels/scan/hillis_steele_shared.cu</path><line>%s</line><pc>0x10</pc></where></source>' "$2"
    printf '<destination><direction>Read</direction><where><func>scan</func><path>kernels/scan/hillis_steele_shared.cu</path><line>%s</line><pc>0x20</pc></where><count>31</count></destination></what></record>' "$3"
}
races() { # RECORD…
    printf '<?xml version="1.0" encoding="utf-8"?><ComputeSanitizerOutput>%s</ComputeSanitizerOutput>' "$*"
}
"#;

/// A test binary that writes the receipt of a run.
const TEST: &str = r#"#!/usr/bin/env bash
case=$1
printf '{"case":"%s","tool":"%s","device":{"name":"a stand-in","driver":"0","compute_capability":[9,0]},"runs":4,"wrong":0,"first_wrong":null,"error":null,"hung":false,"seconds":0.5}' "$case" "$RACETRAP_TOOL" >"$RACETRAP_RECEIPT"
echo "test $case ... ok"
"#;

struct Setting {
    folder: tempfile::TempDir,
}

impl Setting {
    fn new(tool: Option<&str>) -> Setting {
        let setting = Setting {
            folder: tempfile::tempdir().unwrap(),
        };
        setting.script("test-binary", TEST);
        if let Some(body) = tool {
            setting.script("compute-sanitizer", &format!("{OPTIONS}{body}\n"));
        }
        setting
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Runs a wrapper as nextest does, and shows what it says.
    fn wrapper(&self, tool: &str, case: &str) -> String {
        self.wrapper_with(tool, case, &[("RACETRAP_REQUIRE_GPU", "1")])
    }

    fn wrapper_with(&self, tool: &str, case: &str, variables: &[(&str, &str)]) -> String {
        self.wrapper_of(tool, &[case, "--exact", "--nocapture"], variables)
    }

    fn wrapper_of(&self, tool: &str, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        let folder = self.folder.path();
        let wrapper = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("sanitizer")
            .join(tool);
        let output = Command::new(wrapper)
            .arg(folder.join("test-binary"))
            .args(arguments)
            .env_remove("CUDA_PATH")
            .env_remove("CUDA_HOME")
            .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
            .env("NEXTEST_BIN_EXE_racetrap", env!("CARGO_BIN_EXE_racetrap"))
            .env("TMPDIR", folder)
            .env("NO_COLOR", "1")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let left: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
            .filter(|name| name.starts_with("racetrap-"))
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let text = text.replace(&folder.display().to_string(), "[FOLDER]");
            // `mktemp` ends the name.
            let parts: Vec<&str> = text.split("/racetrap-racecheck.").collect();
            let ends = parts[1..].iter().map(|part| &part[6..]);
            [&parts[..1], &ends.collect::<Vec<_>>()]
                .concat()
                .join("/[WORK]")
        };
        format!(
            "{}{}--- exit status {}\n",
            text(&output.stderr),
            text(&output.stdout),
            output.status.code().unwrap_or(-1)
        )
    }
}

fn tool(body: &str, case: &str) -> String {
    Setting::new(Some(body)).wrapper("racecheck", case)
}

/// Every way in which nothing can be said: status 3, its own words.
#[rstest::rstest]
#[case::crashes(r#""$@"; kill -SEGV $$"#)]
#[case::never_starts_the_program(r#"printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::says_that_nothing_started(r#"say 'Error: Target application terminated before first instrumented API call' "Error: couldn't find exit code."; exit 255"#)]
#[case::is_refused_the_gpu(r#""$@"; say 'Error: Device not supported. Please refer to the "Supported Devices" section of the documentation'; exit 1"#)]
#[case::writes_no_log(r#"rm "$log"; exit 1"#)]
#[case::prints_no_summary(r#""$@"; printf '%s' "$clean" >"$save""#)]
#[case::prints_a_malformed_summary(
    r#""$@"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: hazards displayed'"#
)]
#[case::writes_no_records(
    r#""$@"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#
)]
#[case::writes_half_of_the_records(r#""$@"; races "$(record Error 19 27)" | head -c 200 >"$save"; say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 86"#)]
#[case::writes_other_xml(r#""$@"; echo '<html/>' >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::leaves_records_out(r#""$@"; races "$(record Error 19 27)" >"$save"; say 'RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)'; exit 86"#)]
#[case::reports_something_new(r#""$@"; races "$(record Error 19 27 | sed s/Analysis/Novelty/)" >"$save"; say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 86"#)]
#[case::reports_a_level_that_is_new(r#""$@"; races "$(record Doubtful 19 27)" >"$save"; say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 86"#)]
#[case::names_no_lines(r#""$@"; races "$(record Error 0 0)" >"$save"; say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 86"#)]
#[case::finds_hazards_and_exits_with_0(r#""$@"; races "$(record Error 19 27)" >"$save"; say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'"#)]
#[case::finds_nothing_and_exits_with_86(r#""$@"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'; exit 86"#)]
#[case::the_test_fails(r#""$@"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'; exit 101"#)]
#[case::leaves_an_old_receipt(r#""$@"; sed -i 's/no-barrier-after-load/float-tile/' "$RACETRAP_RECEIPT"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::leaves_the_receipt_of_another_tool(r#""$@"; sed -i 's/racecheck/synccheck/' "$RACETRAP_RECEIPT"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::leaves_half_a_receipt(r#""$@"; head -c 40 "$RACETRAP_RECEIPT" >x; cat x >"$RACETRAP_RECEIPT"; rm x; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::lets_nothing_run(r#""$@"; sed -i 's/"runs":4/"runs":0/; s/"error":null/"error":"CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"/' "$RACETRAP_RECEIPT"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::breaks_a_run(r#""$@"; sed -i 's/"error":null/"error":"CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure"/' "$RACETRAP_RECEIPT"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::sums_up_twice(r#""$@"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)' 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::leaves_all_records_out(r#""$@"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 5 hazards displayed (5 errors, 0 warnings)' 'RACECHECK SUMMARY: 5 errors were not printed'"#)]
#[case::counts_beyond_all_numbers(r#""$@"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 18446744073709551615 errors were not printed' 'RACECHECK SUMMARY: 9 errors were not printed' 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::finds_a_race_where_nothing_ran(r#""$@"; sed -i 's/"runs":4/"runs":0/' "$RACETRAP_RECEIPT"; races "$(record Error 19 27)" >"$save"; say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 86"#)]
#[case::never_says_its_name(r#""$@"; rm "$log"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::makes_a_folder_of_the_records(
    r#""$@"; mkdir "$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#
)]
#[case::makes_a_folder_of_the_log(
    r#""$@"; rm "$log"; mkdir "$log"; printf '%s' "$clean" >"$save""#
)]
#[case::writes_bytes_that_are_no_text(r#""$@"; printf '\xff\xfe<\0' >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::writes_two_documents(r#""$@"; printf '%s%s' "$clean" "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#)]
#[case::ends_before_the_program(r#"( sleep 2; "$@" ) & printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'; exit 0"#)]
#[case::watches_a_kernel_hang(r#""$@"; sed -i 's/"hung":false/"hung":true/' "$RACETRAP_RECEIPT"; say "Error: process didn't terminate successfully"; exit 1"#)]
fn nothing_can_be_said(#[case] body: &str) {
    let shown = tool(body, BUGGY);
    assert!(shown.ends_with("--- exit status 3\n"), "{shown}");
    assert!(!says(&shown, "clean") && !says(&shown, "missed"), "{shown}");
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let name = name.rsplit("case_").next().unwrap_or_default().to_owned();
    let name = name.split_once('_').map_or(name.as_str(), |(_, rest)| rest);
    insta::assert_snapshot!(format!("tool_{name}"), shown);
}

#[test]
fn the_tool_is_missing() {
    if Path::new("/dev/nvidiactl").exists()
        || Path::new("/usr/local/cuda/bin/compute-sanitizer").exists()
    {
        return testing::skip("this machine has a GPU, or compute-sanitizer where CUDA puts it");
    }
    insta::assert_snapshot!(Setting::new(None).wrapper("racecheck", BUGGY));
}

#[test]
fn the_tool_hangs() {
    let setting = Setting::new(Some("sleep 600"));
    let variables = [("RACETRAP_REQUIRE_GPU", "1"), ("RACETRAP_TIME_LIMIT", "1")];
    insta::assert_snapshot!(setting.wrapper_with("racecheck", BUGGY, &variables));
}

/// A case whose kernel never ends: a tool that does not end says nothing about it, and is not expected to. One that was killed
/// or that never began has not tried.
const ENDLESS: &str = "barrier/named-crossed";

#[rstest::rstest]
#[case::hangs("sleep 600", 0)]
#[case::is_killed_at_once("kill -KILL $$", 3)]
#[case::returns_the_status_of_a_time_out("exit 124", 3)]
#[case::hangs_and_says_nothing("rm \"$log\"; sleep 600", 3)]
#[case::is_refused("say 'Error: Device not supported'; sleep 600", 3)]
fn a_kernel_that_never_ends(#[case] body: &str, #[case] status: i32) {
    let setting = Setting::new(Some(body));
    let variables = [("RACETRAP_REQUIRE_GPU", "1"), ("RACETRAP_TIME_LIMIT", "3")];
    let shown = setting.wrapper_with("racecheck", ENDLESS, &variables);
    assert!(
        shown.ends_with(&format!("--- exit status {status}\n")),
        "{shown}"
    );
}

#[test]
fn a_temporary_folder_of_any_name_is_cleared() {
    let setting = Setting::new(Some(CLEAN));
    let folder = setting.folder.path().join("it's a $(folder)");
    fs::create_dir(&folder).unwrap();
    let variables = [
        ("RACETRAP_REQUIRE_GPU", "1"),
        ("TMPDIR", folder.to_str().unwrap()),
    ];
    let shown = setting.wrapper_with("racecheck", CORRECT, &variables);
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

const RACE: &str = r#""$@"; races "$(record Error 19 27)" >"$save"; say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 86"#;
const CLEAN: &str = r#""$@"; printf '%s' "$clean" >"$save"; say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'"#;

#[test]
fn a_race_at_both_annotated_lines_is_caught() {
    insta::assert_snapshot!(tool(RACE, BUGGY));
}

#[test]
fn a_race_in_a_correct_kernel_is_a_false_alarm() {
    insta::assert_snapshot!(tool(RACE, CORRECT));
}

#[test]
fn silence_about_a_correct_kernel_is_clean() {
    insta::assert_snapshot!(tool(CLEAN, CORRECT));
}

#[test]
fn silence_about_a_buggy_kernel_is_a_miss() {
    insta::assert_snapshot!(tool(CLEAN, BUGGY));
}

#[test]
fn warnings_alone_count() {
    let body = RACE
        .replace("Error", "Warning")
        .replace("1 error, 0 warnings", "0 errors, 1 warning");
    insta::assert_snapshot!(tool(&body, BUGGY));
}

#[test]
fn a_race_at_other_lines_is_not_the_planted_one() {
    insta::assert_snapshot!(tool(&RACE.replace("19 27", "19 31"), BUGGY));
}

#[test]
fn with_no_gpu_the_test_runs_without_the_tool() {
    if Path::new("/dev/nvidiactl").exists() || Path::new("/dev/dxg").exists() {
        return;
    }
    let setting = Setting::new(Some("exit 86"));
    setting.script(
        "test-binary",
        &format!("#!/usr/bin/env bash\n[[ $1 == --list ]] && {{ echo '{BUGGY}: test'; exit; }}\necho \"tool: ${{RACETRAP_TOOL-none}}; $*\"\n"),
    );
    let shown = setting.wrapper_with("racecheck", BUGGY, &[]);
    assert_eq!(
        shown,
        format!("tool: none; {BUGGY} --exact --nocapture\n--- exit status 0\n")
    );
}

/// What names no case, or several, is no run under a tool: it fails, with a GPU as without.
#[rstest::rstest]
#[case::nothing(&[])]
#[case::options_alone(&["--exact", "--nocapture"])]
#[case::a_filter(&[CORRECT])]
#[case::two(&[CORRECT, BUGGY, "--exact"])]
#[case::an_option_with_a_value(&["--skip", CORRECT, "--exact"])]
#[case::ignored(&["--ignored", CORRECT, "--exact"])]
fn what_names_no_case_fails(#[case] arguments: &[&str]) {
    for require in ["0", "1"] {
        let variables = [("RACETRAP_REQUIRE_GPU", require)];
        let shown = Setting::new(Some(CLEAN)).wrapper_of("racecheck", arguments, &variables);
        assert!(shown.contains("name no case, or more than one"), "{shown}");
        assert!(shown.ends_with("--- exit status 3\n"), "{shown}");
    }
}

/// Without a GPU, a program that is no test of a case does not pass either.
#[test]
fn any_other_program_fails() {
    if Path::new("/dev/nvidiactl").exists() || Path::new("/dev/dxg").exists() {
        return;
    }
    let setting = Setting::new(Some(CLEAN));
    setting.script("test-binary", "#!/usr/bin/env bash\necho passed\n");
    for tool in ["races", "racecheck", "synccheck", "memcheck", "initcheck"] {
        let shown = setting.wrapper_of(tool, &["./anything", "--exact"], &[]);
        assert!(shown.ends_with("--- exit status 3\n"), "{shown}");
        assert!(!shown.contains("passed"), "{shown}");
    }
}

#[test]
fn lists_of_tests_pass_through() {
    let setting = Setting::new(Some("exit 86"));
    setting.script("test-binary", "#!/usr/bin/env bash\necho \"$*\"\n");
    let shown = setting.wrapper("racecheck", "--list");
    assert_eq!(shown, "--list --exact --nocapture\n--- exit status 0\n");
}

/// racetrap's own checks, on the simulated driver: the whole way from a wrapper to a verdict, without a GPU.
#[cfg(feature = "device")]
#[rstest::rstest]
#[case::caught(BUGGY, "caught", 0)]
#[case::clean(CORRECT, "clean", 0)]
#[case::nothing_to_find("transpose/unpadded", "missed", 0)]
fn races_on_the_simulated_driver(#[case] case: &str, #[case] verdict: &str, #[case] status: i32) {
    let programs = Path::new(env!("CARGO_BIN_EXE_racetrap")).parent().unwrap();
    let setting = Setting::new(None);
    let folder = setting.folder.path();
    setting.script(
        "test-binary",
        "#!/usr/bin/env bash\nexec \"$NEXTEST_BIN_EXE_racetrap\" dev cases --catalog \"$CATALOG\" -- \"$@\"\n",
    );
    let library = folder.join("driver");
    fs::create_dir(&library).unwrap();
    let simulated = programs.join("deps/libracetrap_cuda.so");
    std::os::unix::fs::symlink(simulated, library.join("libcuda.so.1")).unwrap();
    let recordings = folder.join("recordings");
    let variables = [
        ("RACETRAP_REQUIRE_GPU", "1"),
        ("CATALOG", env!("CARGO_MANIFEST_DIR")),
        ("LD_LIBRARY_PATH", library.to_str().unwrap()),
        ("RACETRAP_RECORDINGS", recordings.to_str().unwrap()),
    ];
    let shown = setting.wrapper_with("races", case, &variables);
    assert!(
        shown.starts_with(&format!("{verdict} {case} under races: ")),
        "{shown}"
    );
    assert!(
        shown.ends_with(&format!("--- exit status {status}\n")),
        "{shown}"
    );
    let kept = recordings
        .join(env!("CARGO_PKG_VERSION"))
        .join("races")
        .join(case);
    assert!(kept.join("report.json").exists() && kept.join("receipt.json").exists());
}

#[test]
fn a_test_that_is_no_case_is_refused() {
    let shown = tool(CLEAN, "scan/hillis_steele_shared/corect");
    insta::assert_snapshot!(shown);
}

#[test]
fn what_a_tool_wrote_is_kept() {
    let setting = Setting::new(Some(RACE));
    let kept = setting.folder.path().join("kept");
    let variables = [
        ("RACETRAP_REQUIRE_GPU", "1"),
        ("RACETRAP_RECORDINGS", kept.to_str().unwrap()),
    ];
    let shown = setting.wrapper_with("racecheck", BUGGY, &variables);
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    let folder = kept.join("1.2.3/racecheck").join(BUGGY);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(
        files,
        ["log.txt", "receipt.json", "records.xml", "run.json"]
    );
    let run = fs::read_to_string(folder.join("run.json")).unwrap();
    assert!(
        run.contains("\"status\": 86") && run.contains("1.2.3"),
        "{run}"
    );
}
