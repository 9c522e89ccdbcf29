//! Whole homework programs, right and wrong, checked with nothing but the file: launch, arguments, sizes and contents of buffers
//! come from their host code (`tests/homework`); and kernels alone, of which all is guessed (`tests/alone`). The first line of each
//! says what has to come out: `right`, `wrong` with its rule, or `doubtful`: a warning of that rule and no error.

use crate::common::racetrap;
use rstest::rstest;
use std::path::{Path, PathBuf};

/// Checks a file and compares what is said with its first line; what was said, unless there is no compiler.
fn judged(file: &Path) -> Option<String> {
    if toolchain::Nvcc::find().is_err() {
        println!("not checked: there is no CUDA compiler; ci/cuda-toolkit.sh installs one");
        return None;
    }
    let text = std::fs::read_to_string(file).unwrap();
    let wanted = text.lines().next().unwrap_or_default();
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let shown = racetrap(file.parent().unwrap(), &["check", &name]);
    let doubtful = wanted.strip_prefix("// doubtful: ");
    match wanted.strip_prefix("// wrong: ") {
        None if doubtful.is_some() => {
            let warning = format!("warning[{}]", doubtful.unwrap_or_default());
            assert!(shown.contains(&warning), "{shown}");
            assert!(!shown.contains("error["), "{shown}");
            assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
        }
        Some(rule) => {
            assert!(shown.contains(&format!("error[{rule}]")), "{shown}");
            assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
        }
        None => {
            assert_eq!(wanted, "// right", "{name}");
            assert!(
                !shown.contains("error[") && !shown.contains("warning["),
                "{shown}"
            );
            assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
        }
    }
    Some(shown)
}

#[rstest]
fn homework_is_judged_rightly(#[files("tests/homework/*.cu")] file: PathBuf) {
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("int main("), "it is no program");
    if let Some(shown) = judged(&file) {
        // Nothing is guessed where the program says it.
        assert!(shown.contains("launches it"), "{shown}");
    }
}

#[rstest]
fn kernels_alone_are_judged_rightly(#[files("tests/alone/*.cu")] file: PathBuf) {
    if let Some(shown) = judged(&file) {
        assert!(shown.contains("(guessed)"), "{shown}");
    }
}
