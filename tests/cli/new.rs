//! `racetrap new` and `racetrap test`: a project from nothing, without cargo. `ci/new-project.sh` does the same with it.

use crate::common::racetrap;
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
    assert!(shown.contains("caught 1/1 · false alarms 0/1"), "{shown}");
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    let shown = racetrap(
        at,
        &["test", "--catalog", "mine", "--locked", "--format", "junit"],
    );
    assert!(shown.contains("tests=\"2\""), "{shown}");
    // Nothing is overwritten.
    let again = racetrap(at, &["new", "mine"]);
    assert!(again.contains("`mine` is not empty"), "{again}");
    assert!(again.ends_with("--- exit status 2\n"), "{again}");
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
        assert!(!shown.contains("clean"), "{shown}");
    }
}
