//! `racetrap grade` as a course calls it.

#[path = "../crates/grade/tests/grade/schema.rs"]
mod schema;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_racetrap");

fn assignment() -> PathBuf {
    testing::root().join("examples/course/reduction/assignment.yaml")
}

fn solution() -> String {
    let path = testing::root().join("examples/course/reduction/solution/reduction.cu");
    std::fs::read_to_string(path).unwrap()
}

fn grade(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("grade").arg(assignment()).args(arguments);
    command.output().unwrap()
}

/// A class of so many, of which each hands in a source of its own.
fn class(folder: &Path, count: usize) {
    for number in 0..count {
        let at = folder.join(format!("student{number}"));
        std::fs::create_dir_all(&at).unwrap();
        let text = format!("// Student {number}.\n{}", solution());
        std::fs::write(at.join("reduction.cu"), text).unwrap();
    }
}

#[test]
fn graded_is_success_whatever_the_score() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("eve.cu");
    std::fs::write(&file, "no CUDA").unwrap();
    let output = grade(&[file.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("0 / 100  in total"), "{text}");
    assert_eq!(grade(&["/nowhere/at/all"]).status.code(), Some(3));
    assert_eq!(grade(&[]).status.code(), Some(2));
}

#[test]
fn results_for_gradescope_are_whole_after_a_kill_at_any_moment() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ada.cu");
    let mut seen = 0;
    for step in 0..8 {
        let out = folder.path().join(format!("results{step}.json"));
        std::fs::write(&file, format!("// {step}\n{}", solution())).unwrap();
        let mut child = Command::new(PROGRAM)
            .arg("grade")
            .arg(assignment())
            .arg(&file)
            .args(["--format", "gradescope", "--out"])
            .arg(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(200 * (step + 1))
            && child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if let Ok(text) = std::fs::read(&out) {
            let value: Value = serde_json::from_slice(&text).unwrap();
            assert!(value["tests"].is_array());
            seen += 1;
        }
    }
    assert!(seen > 0, "no results were written in time");
}

#[test]
fn a_class_goes_on_after_a_kill() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let submissions = folder.path().join("submissions");
    class(&submissions, 6);
    let shown = submissions.to_str().unwrap();
    let results = folder.path().join("submissions-results");
    let mut child = Command::new(PROGRAM)
        .arg("grade")
        .arg(assignment())
        .args([shown, "--jobs", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let count = || {
        std::fs::read_dir(&results).map_or(0, |all| {
            all.flatten()
                .filter(|e| e.path().extension().is_some_and(|x| x == "json"))
                .count()
        })
    };
    while count() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(count() >= 2);
    let roster = folder.path().join("roster.csv");
    std::fs::write(&roster, "name,login\nZero,student0\nNobody,nobody\n").unwrap();
    let roster = roster.to_str().unwrap();
    let output = grade(&[
        shown,
        "--format",
        "csv",
        "--roster",
        roster,
        "--roster-key",
        "login",
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("6 submissions graded, ") && said.contains(" of them before"),
        "{said}"
    );
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("Zero,student0,100,100,graded"), "{table}");
    assert!(table.contains("Nobody,nobody,,,missing"), "{table}");
    assert_eq!(table.lines().count(), 1 + 2 + 5);

    let merged = grade(&[
        "--merge",
        "--results",
        results.to_str().unwrap(),
        "--format",
        "json",
    ]);
    let merged: Value = serde_json::from_slice(&merged.stdout).unwrap();
    assert_eq!(merged.as_array().unwrap().len(), 6);
}

#[test]
fn a_mistake_in_the_assignment_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    let text = std::fs::read_to_string(assignment()).unwrap();
    std::fs::write(&path, text.replace("check: races", "check: rases")).unwrap();
    let output = Command::new(PROGRAM)
        .arg("grade")
        .arg(&path)
        .arg("x")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("a.yaml:") && said.contains("races"), "{said}");
}

/// A copy of the reduction with PTX that was compiled before, so that no compiler is needed.
fn without_compiler(folder: &Path) -> PathBuf {
    let copy = |from: PathBuf, to: PathBuf| {
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
    };
    let course = folder.join("course");
    let example = testing::root().join("examples/course/reduction");
    for part in ["", "solution", "starter"] {
        copy(example.join(part), course.join(part));
    }
    let pinned = testing::root().join("crates/grade/tests/pinned/reduction");
    copy(pinned, course.join("pinned"));
    course.join("assignment.yaml")
}

#[cfg(unix)]
fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_job_array_grades_a_class() {
    let folder = tempfile::tempdir().unwrap();
    let assignment = without_compiler(folder.path());
    let submissions = folder.path().join("the class");
    let starter =
        std::fs::read_to_string(assignment.with_file_name("starter").join("reduction.cu")).unwrap();
    for number in 0..5 {
        let at = submissions.join(format!("student{number}"));
        std::fs::create_dir_all(&at).unwrap();
        let text = if number == 3 {
            starter.clone()
        } else {
            solution()
        };
        std::fs::write(at.join("reduction.cu"), text).unwrap();
    }
    // It writes down what it is asked, and answers as sbatch does.
    let log = folder.path().join("asked");
    let answer = format!("#!/bin/sh\necho \"$@\" >> '{}'\necho 17\n", log.display());
    script(&folder.path().join("bin/sbatch"), &answer);
    let path = format!("{}:/usr/bin:/bin", folder.path().join("bin").display());
    let output = Command::new(PROGRAM)
        .arg("grade")
        .arg(&assignment)
        .arg(&submissions)
        .args([
            "--slurm",
            "--slurm-per",
            "2",
            "--slurm-at-once",
            "4",
            "--slurm-option=--partition=x",
        ])
        .env("PATH", &path)
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let asked = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = asked.lines().collect();
    assert!(
        lines[0].contains("--array=0-2%4") && lines[0].contains("--partition=x"),
        "{asked}"
    );
    assert!(lines[1].contains("--dependency=afterany:17"), "{asked}");
    // As Slurm runs them; one element is lost, and its part is graded when the whole is given again.
    let results = folder.path().join("the class-results");
    let run = |name: &str, element: Option<usize>| {
        let mut command = Command::new(results.join("slurm").join(name));
        command.current_dir("/").env("PATH", "/usr/bin:/bin");
        if let Some(element) = element {
            command
                .env("SLURM_ARRAY_TASK_ID", element.to_string())
                .env("SLURM_ARRAY_TASK_COUNT", "3")
                .env("SLURM_ARRAY_TASK_MIN", "0");
        }
        let output = Command::new("bash")
            .arg(command.get_program())
            .envs(command.get_envs().filter_map(|(n, v)| Some((n, v?))))
            .current_dir("/")
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let rows = || {
        std::fs::read_to_string(results.join("grades.csv"))
            .unwrap()
            .lines()
            .count()
    };
    run("array.sh", Some(0));
    run("array.sh", Some(2));
    run("merge.sh", None);
    let first = rows();
    for element in 0..3 {
        run("array.sh", Some(element));
    }
    run("merge.sh", None);
    assert_eq!(rows(), 6);
    assert!(
        first < 6,
        "the lost element had nothing to do: take other names"
    );
    let table = std::fs::read_to_string(results.join("grades.csv")).unwrap();
    assert!(table.contains("student3,5,100,graded"), "{table}");
}

#[cfg(unix)]
#[test]
fn the_zip_for_gradescope_has_all_that_is_needed() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let assignment = without_compiler(folder.path());
    let toolkit = folder.path().join("cuda");
    script(
        &toolkit.join("bin/nvcc"),
        "#!/bin/sh\necho release 13.0, V13.0.88\n",
    );
    script(&toolkit.join("nvvm/bin/cicc"), "");
    let out = folder.path().join("autograder.zip");
    let output = Command::new(PROGRAM)
        .arg("grade")
        .arg(&assignment)
        .arg("--gradescope")
        .arg(&out)
        .env("CUDA_PATH", &toolkit)
        .env("PATH", toolkit.join("bin"))
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut archive = zip::ZipArchive::new(std::fs::File::open(&out).unwrap()).unwrap();
    // Gradescope Autograder Documentation, "Autograder Specifications": both are at the root, and can be run.
    for (name, says) in [
        ("setup.sh", "--selftest assignment/assignment.yaml"),
        (
            "run_autograder",
            "--format gradescope --out /autograder/results/results.json",
        ),
    ] {
        let mut file = archive.by_name(name).unwrap();
        assert_eq!(file.unix_mode().unwrap() & 0o111, 0o111);
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert!(
            text.starts_with("#!/usr/bin/env bash\n") && text.contains(says),
            "{text}"
        );
    }
    for name in [
        "racetrap",
        "cuda/bin/nvcc",
        "cuda/nvvm/bin/cicc",
        "assignment/assignment.yaml",
        "assignment/solution/reduction.cu",
    ] {
        assert!(archive.by_name(name).is_ok(), "{name}");
    }
}

/// What the service does with the zip of a whole program, as far as it can be done without the service: an empty folder stands for
/// `/autograder`, and nothing of this machine's toolkit or environment is known.
#[cfg(unix)]
#[test]
fn the_zip_of_a_program_grades_in_an_empty_folder() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let example = testing::root().join("examples/course/row-sums");
    let zip = folder.path().join("autograder.zip");
    let output = Command::new(PROGRAM)
        .arg("grade")
        .arg(example.join("assignment.yaml"))
        .arg("--gradescope")
        .arg(&zip)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("can't keep") || said.contains("racetrap-cuda") {
        return testing::skip(&said);
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    let root = folder.path().join("autograder");
    let source = root.join("source");
    let mut archive = zip::ZipArchive::new(std::fs::File::open(&zip).unwrap()).unwrap();
    archive.extract(&source).unwrap();
    let submitted = root.join("submission");
    std::fs::create_dir_all(&submitted).unwrap();
    let solution = std::fs::read_to_string(example.join("solution/rowsums.cu")).unwrap();
    // Without the barrier in the loop.
    let racy = solution.replacen("        __syncthreads();\n", "", 1);
    assert_ne!(racy, solution);
    std::fs::write(submitted.join("rowsums.cu"), racy).unwrap();
    for name in ["setup.sh", "run_autograder"] {
        let path = source.join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let here = text.replace("/autograder/", &format!("{}/", root.display()));
        std::fs::write(&path, here).unwrap();
        let output = Command::new(&path)
            .env_clear()
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("HOME", &root)
            .current_dir(&root)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{name}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        if name == "setup.sh" {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("all 10 as expected"), "{said}");
        }
    }
    let results = std::fs::read(root.join("results/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let path = testing::root().join("crates/grade/tests/services/gradescope.schema.json");
    let shape: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(schema::errors(&shape, &results), Vec::<String>::new());
    let tests = results["tests"].as_array().unwrap();
    let races = tests.iter().find(|t| t["tags"][0] == "races");
    let races = races.unwrap_or_else(|| panic!("{results:#}"));
    assert!(races["score"].as_f64().unwrap() < races["max_score"].as_f64().unwrap());
    assert!(
        races["output"].as_str().unwrap().contains("data-race"),
        "{races:#}"
    );
}

/// An instructor who has nothing but the program.
#[test]
fn an_assignment_begins_with_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.env("CUDA_PATH", testing::root().join(".toolchain/cuda"));
        command.current_dir(folder.path()).arg("grade");
        let output = command.args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (text, output.status.code())
    };
    let (examples, code) = run(&["--new"]);
    assert_eq!(code, Some(0), "{examples}");
    let names: Vec<&str> = examples
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert_eq!(names.len(), 7, "{examples}");
    for name in names {
        let (said, code) = run(&["--new", name]);
        assert_eq!(code, Some(0), "{said}");
        let path = folder.path().join(name).join("assignment.yaml");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(
            !text.contains("change this text") && text.contains("$schema=assignment.schema.json"),
            "{text}"
        );
        assert!(said.contains(&format!("--selftest {name}/assignment.yaml")));
        assert_eq!(run(&["--new", name]).1, Some(2), "it is there already");
    }
    assert_eq!(run(&["--new", "nothing"]).1, Some(2));
    if testing::needs_nvcc().is_some() {
        let (said, code) = run(&["--selftest", "reduction/assignment.yaml"]);
        assert_eq!(code, Some(0), "{said}");
    }
}

/// The files of an input, with the command that runs a program on them: it shows again what a page says.
#[test]
fn an_input_is_written_for_whoever_wants_to_repeat_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let course = testing::root().join("examples/course");
    let run = |assignment: &str, arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        let assignment = course.join(assignment).join("assignment.yaml");
        command.current_dir(folder.path()).arg("grade");
        let output = command.arg(assignment).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (text, output.status.code())
    };
    let size = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len();
    let (said, code) = run("row-sums", &["--write-input", "small", "small"]);
    assert_eq!(
        (said.as_str(), code),
        (
            "small (columns = 64, rows = 2): matrix.bin\n  racetrap exec rowsums.cu -- matrix.bin 2 64 sums.bin\n",
            Some(0)
        )
    );
    assert_eq!(size("small/matrix.bin"), 2 * 64 * 4);
    let fewer = ["--write-input", "small", ".", "--sizes", "columns=2,rows=1"];
    let (said, code) = run("row-sums", &fewer);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("-- matrix.bin 1 2 sums.bin"), "{said}");
    assert_eq!(size("matrix.bin"), 8);
    let (said, code) = run("wb-neighbours", &["--write-input", "block", "wb"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("racetrap exec -I . template.cu -- -e expected -i "),
        "{said}"
    );
    assert!(size("wb/wb.h") > 1000);
    let (said, code) = run("row-sums", &["--write-input", "smal", "x"]);
    assert!(
        code == Some(2) && said.contains("no input `smal`, but `small`, `odd`, `drawn`"),
        "{said}"
    );
    let (said, code) = run(
        "row-sums",
        &["--write-input", "small", "x", "--sizes", "n=1"],
    );
    assert!(
        code == Some(2) && said.contains("no size `n`, but `columns`, `rows`"),
        "{said}"
    );
    assert!(!folder.path().join("x").exists());
    if testing::needs_nvcc().is_none() {
        return;
    }
    // The command that was printed finds the race again.
    let racy = std::fs::read_to_string(course.join("row-sums/solution/rowsums.cu")).unwrap();
    let racy = racy.replacen("    __syncthreads();\n", "", 1);
    std::fs::write(folder.path().join("rowsums.cu"), racy).unwrap();
    let words = [
        "exec",
        "rowsums.cu",
        "--",
        "matrix.bin",
        "1",
        "2",
        "sums.bin",
    ];
    let output = Command::new(PROGRAM)
        .env("CUDA_PATH", testing::root().join(".toolchain/cuda"))
        .current_dir(folder.path())
        .args(words)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("error[data-race]"), "{said}");
}
