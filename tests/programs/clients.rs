//! Programs that come to CUDA by way of others' tools: tests of kernels by GoogleTest, a project of CMake, and Rust with the crate `cudarc`.
//! `ci/clients.sh` fetches GoogleTest and CMake; cargo builds the program in Rust, which needs nothing of CUDA.

use super::{RACETRAP, build, findings, folder};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program's run under `racetrap exec`.
pub struct Ran {
    pub output: Output,
    pub report: Value,
}

impl Ran {
    fn new(program: &Path, arguments: &[&str]) -> Ran {
        Ran::with(program, arguments, &[])
    }

    /// With variables of the environment.
    pub fn with(program: &Path, arguments: &[&str], variables: &[(&str, &Path)]) -> Ran {
        let temporary = tempfile::tempdir().unwrap();
        let to = temporary.path().join("report.json");
        let output = Command::new(RACETRAP)
            .args(["exec", "--format", "json", "--report"])
            .arg(&to)
            .arg("--")
            .arg(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let report = std::fs::read(&to).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let report = serde_json::from_slice(&report).unwrap();
        Ran { output, report }
    }

    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// The verdict, the findings as RULE@LINES, and the status of `racetrap exec`.
    fn is(&self, verdict: &str, wanted: &[&str], status: i32) {
        let said = format!("{:?}\n{:#}", self.output, self.report);
        assert_eq!(self.report["checks"][0]["verdict"], verdict, "{said}");
        let wanted: BTreeSet<String> = wanted.iter().map(|w| w.to_string()).collect();
        assert_eq!(findings(&self.report), wanted, "{said}");
        assert_eq!(self.output.status.code(), Some(status), "{said}");
    }
}

/// What GoogleTest prints and its exit status come through, and the kernels that its tests launch are judged.
#[test]
fn tests_by_googletest() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let Some(googletest) = testing::needs_googletest() else {
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let program = temporary.path().join("gtest");
    let options = [
        "-std=c++17".to_owned(),
        format!("-I{}", googletest.join("include").display()),
        format!("-L{}", googletest.join("lib").display()),
        "-lgtest".to_owned(),
        "-lgtest_main".to_owned(),
    ];
    let built = build(&[folder().join("clients/gtest.cu")], &options, &program);
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let run = |test: &str| Ran::new(&program, &[&format!("--gtest_filter=Reverse.{test}")]);

    let ran = run("WithBarrier");
    ran.is("clean", &[], 0);
    let printed = ran.printed();
    assert!(
        printed.contains("[       OK ] Reverse.WithBarrier"),
        "{printed}"
    );
    assert!(printed.contains("[  PASSED  ] 1 test."), "{printed}");

    let ran = run("WithoutBarrier");
    ran.is("findings", &["data-race@17,18"], 1);
    let printed = ran.printed();
    assert!(printed.contains("[ RUN      ] Reverse.WithoutBarrier"));
    assert!(!printed.contains("Reverse.WithBarrier"), "{printed}");

    // Nothing is wrong with the kernel: the status is GoogleTest's own.
    let ran = run("WrongExpectation");
    ran.is("clean", &[], 1);
    let printed = ran.printed();
    for text in [
        "gtest.cu:60: Failure",
        "Which is: 63",
        "[  FAILED  ] 1 test",
    ] {
        assert!(printed.contains(text), "{printed}");
    }
}

/// A project is configured and built by one command each, so the second one needs what the first one wrote down: the compiler, and which
/// GPU the code is for. CMake links by the host's compiler, device code of several files among it.
#[test]
fn a_project_of_cmake() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let Some(cmake) = testing::needs_cmake() else {
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let to = temporary.path().join("build");
    let racetrap = |arguments: &[&OsStr]| {
        let output = Command::new(RACETRAP)
            .args(["build", "--"])
            .arg(cmake.join("bin/cmake"))
            .args(arguments)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("racetrap: warning"), "{said}");
    };
    let sources = folder().join("cmake");
    racetrap(&[
        "-S".as_ref(),
        sources.as_ref(),
        "-B".as_ref(),
        to.as_ref(),
        "-DCMAKE_BUILD_TYPE=Release".as_ref(),
        "-DCMAKE_CUDA_ARCHITECTURES=80".as_ref(),
        "-DCMAKE_CUDA_RUNTIME_LIBRARY=Static".as_ref(),
    ]);
    racetrap(&["--build".as_ref(), to.as_ref()]);

    for name in ["in_cuda", "in_cpp", "by_library"] {
        let ran = Ran::new(&to.join(name), &[]);
        ran.is("findings", &["data-race@11,12"], 1);
        assert_eq!(ran.printed(), "done\n");
    }
    // A test runner asks for the names of tests first. What one process launches, another one need not.
    let exec = |script: &str| {
        let output = Command::new(RACETRAP)
            .args(["exec", "--", "sh", "-c", script])
            .current_dir(&to)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = exec("./in_cuda list && ./in_cuda && ./in_cuda");
    let sum =
        "2 launches of 1 kernel, 128 threads, 104 warp-instructions, as on sm_75; all watched\n";
    assert!(said.contains(sum), "{said}");
    let said = exec("./in_cuda list");
    assert!(
        said.contains("it ended before it launched anything"),
        "{said}"
    );
    let said = exec("true");
    assert!(said.contains("racetrap sees programs that load"), "{said}");

    let ran = Ran::new(&to.join("by_driver"), &[]);
    assert!(ran.printed().starts_with("1 device, "), "{}", ran.printed());
}

/// A build that was configured without racetrap gets a runtime that can't be replaced, and that is said before it is built.
#[test]
fn a_project_that_was_configured_without_racetrap() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("CMakeCache.txt");
    std::fs::write(cache, "CMAKE_CUDA_COMPILER:FILEPATH=/opt/cuda/bin/nvcc\n").unwrap();
    let output = Command::new(RACETRAP)
        .args(["build", "--", "true", "-C"])
        .arg(folder.path())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("` was configured with /opt/cuda/bin/nvcc, so its programs get a runtime"),
        "{said}"
    );
}

/// The example `cudarc-client` of this build. All tests are built with it, and a single test program without.
fn cudarc_client() -> PathBuf {
    let beside = Path::new(RACETRAP).parent().unwrap();
    let program = beside.join("examples/cudarc-client");
    let time = |file: &Path| std::fs::metadata(file).and_then(|m| m.modified()).ok();
    let source = time(&folder().join("clients/cudarc.rs"));
    if time(&program) < source {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        cargo.args(["build", "--locked", "--example", "cudarc-client"]);
        cargo.arg("--target-dir").arg(beside.parent().unwrap());
        if beside.file_name() == Some(OsStr::new("release")) {
            cargo.arg("--release");
        }
        let built = cargo.output().unwrap();
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
    }
    program
}

/// Lines are those of the PTX that the program has.
#[test]
fn rust_with_cudarc() {
    let program = cudarc_client();
    let ran = Ran::new(&program, &["right"]);
    ran.is("clean", &[], 0);
    assert_eq!(ran.printed(), "63 … 0\n");
    Ran::new(&program, &["wrong"]).is("findings", &["data-race@18,21"], 1);
}
