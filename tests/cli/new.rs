//! `racetrap new` and `racetrap test`: a project from nothing, without cargo. `ci/new-project.sh` does the same with it.

use crate::common::{racetrap, says};
use std::fs;
use std::path::Path;

fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join(".toolchain");
    if tools.is_dir() {
        std::os::unix::fs::symlink(tools, folder.path().join(".toolchain")).unwrap();
    }
    let shown = racetrap(folder.path(), &["new", "mine"]);
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    folder
}

/// Without a compiler: the PTX of the template is there.
#[test]
fn a_new_project_passes() {
    let folder = made();
    let at = folder.path();
    let shown = racetrap(at, &["test", "--catalog", "mine", "--locked"]);
    assert!(
        shown.contains("caught 1/1 · findings in correct kernels 0/1"),
        "{shown}"
    );
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    let shown = racetrap(
        at,
        &["test", "--catalog", "mine", "--locked", "--format", "junit"],
    );
    assert!(shown.contains("tests=\"2\""), "{shown}");
    // This program was built in a checkout, and the project can be built with what is there.
    let manifest = fs::read_to_string(at.join("mine/Cargo.toml")).unwrap();
    let here = env!("CARGO_MANIFEST_DIR");
    // The library, without the command line.
    let features = r#"default-features = false, features = ["catalog"] }"#;
    assert!(manifest.contains(&format!("racetrap = {{ path = \"{here}\", {features}")));
    for (options, dependency) in [
        (
            &["--registry"][..],
            format!(
                "racetrap = {{ version = \"{}\", {features}",
                env!("CARGO_PKG_VERSION")
            ),
        ),
        (
            &["--git", "https://example.org/racetrap"],
            format!("racetrap = {{ git = \"https://example.org/racetrap\", {features}"),
        ),
    ] {
        let shown = racetrap(at, &[&["new", "other"], options].concat());
        assert!(shown.contains("it depends on racetrap"), "{shown}");
        let manifest = fs::read_to_string(at.join("other/Cargo.toml")).unwrap();
        assert!(manifest.contains(&dependency), "{manifest}");
        fs::remove_dir_all(at.join("other")).unwrap();
    }
    // Nothing is overwritten.
    let again = racetrap(at, &["new", "mine"]);
    assert!(again.contains("`mine` is not empty"), "{again}");
    assert!(again.ends_with("--- exit status 2\n"), "{again}");
}

/// In a project's folder its catalogue is meant, and what is wrong with one of its kernels is a finding, not an alarm.
#[test]
fn a_project_is_found_from_its_folder() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = made();
    let at = folder.path().join("mine");
    if let Ok(tools) = fs::read_link(folder.path().join(".toolchain")) {
        std::os::unix::fs::symlink(tools, at.join(".toolchain")).unwrap();
    }
    let shown = racetrap(&at, &["list"]);
    assert!(shown.contains("2 cases: 1 buggy, 1 correct"), "{shown}");
    // From below it, too.
    let shown = racetrap(&at.join("kernels/example"), &["run"]);
    assert!(shown.contains("findings in correct kernels 0/1"), "{shown}");
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    // The case of the past bug, as if its kernel were right.
    let change = |file: &str, changed: &dyn Fn(&str) -> Option<String>| {
        let text = fs::read_to_string(at.join(file)).unwrap();
        let lines: Vec<String> = text.lines().filter_map(changed).collect();
        fs::write(at.join(file), lines.join("\n") + "\n").unwrap();
    };
    change("cases/example/no-barrier.yaml", &|line| {
        let of_bugs = ["twin:", "why:", "  racecheck:"];
        let is = |start: &&str| line.starts_with(*start);
        (!of_bugs.iter().any(&is)).then(|| line.replace("simulator: caught", "simulator: clean"))
    });
    change("kernels/example/reverse.cu", &|line| {
        line.split(" //~").next().map(str::to_owned)
    });
    let shown = racetrap(&at, &["dev", "renew", "."]);
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    let shown = racetrap(&at, &["run", "no-barrier", "-v"]);
    assert!(shown.contains("\nfindings  "), "{shown}");
    assert!(
        shown.contains("error[data-race]") && !shown.contains("alarm"),
        "{shown}"
    );
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
    // What it says to repeat, works there.
    let token = shown
        .lines()
        .find_map(|line| line.trim().strip_prefix("racetrap replay "))
        .unwrap();
    let shown = racetrap(&at, &["replay", token.trim_matches('\'')]);
    assert!(shown.contains("error[data-race]"), "{shown}");
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
}

#[test]
fn a_planted_bug_is_caught() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = made();
    let at = folder.path();
    let kernel = at.join("mine/kernels/example/reverse.cu");
    let text = fs::read_to_string(&kernel).unwrap();
    fs::write(&kernel, text.replace("    __syncthreads();\n", "")).unwrap();
    let locked = racetrap(at, &["test", "--catalog", "mine", "--locked"]);
    assert!(locked.contains("out of date"), "{locked}");
    assert!(locked.ends_with("--- exit status 2\n"), "{locked}");
    let shown = racetrap(at, &["test", "--catalog", "mine", "-v"]);
    assert!(shown.contains("compiling kernels/example/reverse.sm_90.ptx"));
    assert!(shown.contains("error[data-race]"), "{shown}");
    assert!(shown.contains("kernels/example/reverse.cu:6"), "{shown}");
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
    // A kernel that does not compile is shown as the compiler shows it.
    fs::write(&kernel, text.replace("int t =", "nonsense t =")).unwrap();
    let shown = racetrap(at, &["test", "--catalog", "mine"]);
    assert!(shown.contains("nonsense"), "{shown}");
    assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
}

/// Where a GPU was asked for, the simulator does not take its place.
#[test]
fn a_gpu_that_is_not_there_is_no_pass() {
    if Path::new("/dev/nvidiactl").exists() {
        testing::skip("there is a GPU");
        return;
    }
    let folder = made();
    for on in ["gpu", "racecheck"] {
        let shown = racetrap(
            folder.path(),
            &["test", "--catalog", "mine", "--locked", "--on", on],
        );
        assert!(shown.ends_with("--- exit status 3\n"), "{shown}");
        assert!(!says(&shown, "clean"), "{shown}");
    }
}

fn edit(at: &Path, from: &str, to: &str) {
    let kernel = at.join("mine/kernels/example/reverse.cu");
    let text = fs::read_to_string(&kernel).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&kernel, text.replacen(from, to, 1)).unwrap();
}

/// A project whose kernel has a race that its oracle can't see: whatever is read there, the results are right.
fn with_a_race() -> tempfile::TempDir {
    let folder = made();
    let at = folder.path();
    edit(
        at,
        "    tile[t] = data[t];",
        "    tile[t] = 0;\n    __syncthreads();\n    tile[t] = data[t];",
    );
    let read = format!("    {EARLY}\n        data[t] = 1;\n#ifndef BUG_NO_BARRIER");
    edit(at, "#ifndef BUG_NO_BARRIER", &read);
    folder
}

const EARLY: &str = "if (tile[blockDim.x - 1 - t] == 1 << 30)";

fn ends(shown: &str, status: i32) {
    let end = format!("--- exit status {status}\n");
    assert!(shown.ends_with(&end), "{shown}");
}

#[test]
fn a_baseline_of_a_project() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = with_a_race();
    let at = folder.path();
    let test = |options: &[&str]| {
        let all = [&["test", "--catalog", "mine", "reverse"], options].concat();
        racetrap(at, &all)
    };
    let shown = test(&[]);
    assert!(shown.contains("not annotated"), "{shown}");
    ends(&shown, 1);
    let shown = test(&["--baseline", "known.json"]);
    assert!(shown.contains("--update-baseline"), "{shown}");
    ends(&shown, 2);
    let shown = test(&["--baseline", "known.json", "--update-baseline"]);
    assert!(shown.contains("added, 0 dropped)"), "{shown}");
    assert!(
        shown.contains("right under every schedule; accepted: "),
        "{shown}"
    );
    ends(&shown, 0);
    let known = fs::read_to_string(at.join("known.json")).unwrap();
    assert!(known.contains("cases/example/reverse.yaml"), "{known}");
    assert!(known.contains(EARLY), "{known}");
    // Lines above move the finding, and nothing else.
    edit(at, "__global__", "// Another line.\n\n__global__");
    let shown = test(&["--baseline", "known.json"]);
    assert!(shown.contains("by the baseline"), "{shown}");
    assert!(!shown.contains("warning"), "{shown}");
    ends(&shown, 0);
    // It accepts what it lists, not what is new.
    edit(at, "data[t] = tile[", "tile[0] = t;\n    data[t] = tile[");
    let shown = test(&["--baseline", "known.json"]);
    assert!(shown.contains("findings     example/reverse"), "{shown}");
    ends(&shown, 1);
    // An entry whose finding is gone is told, and goes.
    edit(at, "    tile[0] = t;\n", "");
    edit(at, EARLY, "if (t < 0)");
    let shown = test(&["--baseline", "known.json"]);
    assert!(shown.contains("warning: the baseline lists `data-race` in `reverse` of cases/example/reverse.yaml at `if (tile["), "{shown}");
    ends(&shown, 0);
    let shown = test(&["--baseline", "known.json", "--update-baseline"]);
    assert!(shown.contains("0 findings: 0 added, "), "{shown}");
    assert!(!shown.contains("warning"), "{shown}");
    ends(&shown, 0);
    // Where a case states what comes out, there is nothing to accept.
    let shown = test(&["--on", "gpu", "--baseline", "known.json"]);
    assert!(shown.contains("a baseline lists findings of the simulator"));
    ends(&shown, 2);
}

/// A comment accepts one rule on one line; a wrong result stays one.
#[test]
fn a_comment_in_a_project() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = with_a_race();
    let at = folder.path();
    let test = |options: &[&str]| {
        let all = [&["test", "--catalog", "mine", "reverse"], options].concat();
        racetrap(at, &all)
    };
    let comment = format!("{EARLY} // racetrap: allow(data-race): for this test");
    edit(at, EARLY, &comment);
    let shown = test(&[]);
    assert!(shown.contains("by a comment"), "{shown}");
    ends(&shown, 0);
    ends(&test(&["--ignore-allow"]), 1);
    // Without a reason, for another rule, or on another line it accepts nothing, and that is told.
    edit(at, ": for this test", "");
    let shown = test(&[]);
    assert!(shown.contains("reason"), "{shown}");
    ends(&shown, 1);
    edit(at, "allow(data-race)", "allow(deadlock): for this test");
    ends(&test(&[]), 1);

    let folder = made();
    let at = folder.path();
    edit(at, "    __syncthreads();\n", "");
    let options = ["test", "--catalog", "mine", "reverse"];
    let accepted = [&options[..], &["--baseline", "k.json", "--update-baseline"]].concat();
    let shown = racetrap(at, &accepted);
    assert!(shown.contains("wrong result: "), "{shown}");
    assert!(shown.contains("by the baseline"), "{shown}");
    ends(&shown, 1);
}

#[test]
fn patterns_select_cases() {
    let folder = made();
    let test = |options: &[&str]| {
        let all = ["test", "--catalog", "mine", "--locked"];
        racetrap(folder.path(), &[&all[..], options].concat())
    };
    for options in [
        &["--kernel", "rev*"][..],
        &["--kernel", "reverse", "--skip-kernel", "other"],
    ] {
        let shown = test(options);
        assert!(shown.contains("  2 cases in"), "{shown}");
        ends(&shown, 0);
    }
    for options in [
        &["--kernel", "other"][..],
        &["--skip-kernel", "*"],
        &["--kernel", "rev*", "--skip-kernel", "reverse"],
    ] {
        let shown = test(options);
        assert!(shown.contains("no case launches a kernel"), "{shown}");
        assert!(shown.contains("`racetrap list --catalog mine`"), "{shown}");
        ends(&shown, 2);
    }
}

/// What an H200 and the tools of compute-sanitizer said of the project as it is made (ci/new-project-gpu.sh), in its own matrix.
#[test]
fn the_matrix_of_a_new_project() {
    let folder = made();
    let at = folder.path();
    let evidence = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/new");
    fs::create_dir(at.join("mine/evidence")).unwrap();
    for file in fs::read_dir(evidence).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), at.join("mine/evidence").join(file.file_name())).unwrap();
    }
    let shown = racetrap(at, &["dev", "matrix", "--catalog", "mine", "--all"]);
    insta::assert_snapshot!(shown);
}
