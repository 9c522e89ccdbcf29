//! `ptxas` accepts what comes out where it accepts what went in.

use racetrap_instrument::{RUNTIME, Refused, instrument};
use std::path::{Path, PathBuf};
use std::process::Command;
use testing::root;

/// PTX files below a folder.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
    entries.sort_by_key(|e| e.path());
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            into.push(path);
        }
    }
}

fn pins() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in ["kernels", "tests"] {
        files(&root().join(folder), &mut all);
    }
    all
}

/// Whether `ptxas` accepts a text; what it says, if not.
fn assembles(ptxas: &Path, text: &str, folder: &Path) -> Result<(), String> {
    let target = text.lines().find_map(|l| l.strip_prefix(".target "));
    let target = target.unwrap_or("sm_75").split(',').next().unwrap();
    let file = folder.join("module.ptx");
    std::fs::write(&file, text).unwrap();
    let output = Command::new(ptxas)
        .args(["-O0", "-o", "/dev/null", "-arch", target.trim()])
        .arg(&file)
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn every_pin_can_be_instrumented() {
    let mut refused = Vec::new();
    for (number, file) in pins().into_iter().enumerate() {
        let text = std::fs::read_to_string(&file).unwrap();
        let Ok(module) = ptx::parse(&text) else {
            continue;
        };
        match instrument(&module) {
            Ok(_) if number % 8 != 0 => {}
            Ok(checked) => {
                let printed = ptx::print(&checked.module);
                assert!(ptx::parse(&printed).is_ok(), "{}", file.display());
                assert_eq!(
                    instrument(&ptx::parse(&printed).unwrap()).unwrap_err(),
                    Refused::Instrumented
                );
            }
            Err(error) => refused.push(format!("{}: {error}", file.display())),
        }
    }
    // PTX for a GPU before sm_70.
    assert_eq!(refused.len(), 1, "{refused:?}");
}

#[test]
fn ptxas_accepts_the_result() {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let ptxas = nvcc.program.path.with_file_name("ptxas");
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    // A part of them, which are of different kernels, targets and compiler options.
    for file in pins().into_iter().step_by(50) {
        let text = std::fs::read_to_string(&file).unwrap();
        let Some(checked) = ptx::parse(&text).ok().and_then(|m| instrument(&m).ok()) else {
            continue;
        };
        if assembles(&ptxas, &text, folder.path()).is_err() {
            continue;
        }
        let result = assembles(&ptxas, &ptx::print(&checked.module), folder.path());
        assert_eq!(result, Ok(()), "{}", file.display());
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
}

#[test]
fn the_pinned_runtime_is_current() {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    if nvcc.version().is_none_or(|v| !v.starts_with("13.0")) {
        return;
    }
    let runtime = root().join("crates/instrument/runtime");
    let folder = tempfile::tempdir().unwrap();
    for file in ["runtime.cu", "pin.sh"] {
        std::fs::copy(runtime.join(file), folder.path().join(file)).unwrap();
    }
    let made = Command::new(folder.path().join("pin.sh"))
        .arg(&nvcc.program.path)
        .status();
    assert!(made.unwrap().success());
    let made = std::fs::read_to_string(folder.path().join("runtime.ptx")).unwrap();
    assert!(
        made == RUNTIME,
        "renew it with crates/instrument/runtime/pin.sh"
    );
}
