//! Whole homework programs, right and wrong, checked with nothing but the file: launch, arguments, sizes and contents of buffers
//! come from their host code (`tests/homework`); and kernels alone, of which all is guessed (`tests/alone`). The first line of each
//! says what has to come out: `right`, `wrong` with its rule (and perhaps `nothing else`), or `doubtful`: a warning of that rule and no error.
//!
//! What `racetrap check` compiles of each is pinned in the folder `pinned`; `tests/pin.sh` renews it.

use crate::pins;
use rstest::rstest;
use std::path::{Path, PathBuf};
use std::process::Command;
use toolchain::{CompileOptions, Optimisation};

/// Checks a file as a user does, where the compiler has its two builds already, and compares what is said with its first line; what was
/// said.
fn judged(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let wanted = text.lines().next().unwrap_or_default();
    let toolkit = pins::toolkit(file);
    let output = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .args(["check", "--no-cache"])
        .arg(file.file_name().unwrap())
        .current_dir(file.parent().unwrap())
        .env("NO_COLOR", "1")
        .env("PATH", pins::path(&toolkit))
        .output()
        .unwrap();
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let shown = said.concat();
    let (errors, doubts) = (shown.contains("error["), shown.contains("warning["));
    let status = match (
        wanted.strip_prefix("// wrong: "),
        wanted.strip_prefix("// doubtful: "),
    ) {
        (Some(rule), _) => {
            let alone = rule.strip_suffix(", nothing else");
            let error = format!("error[{}]", alone.unwrap_or(rule));
            let (all, these) = (
                shown.matches("error[").count(),
                shown.matches(&error).count(),
            );
            assert!(these > 0 && (alone.is_none() || these == all), "{shown}");
            1
        }
        (_, Some(rule)) => {
            assert!(shown.contains(&format!("warning[{rule}]")), "{shown}");
            assert!(!errors, "{shown}");
            0
        }
        _ => {
            assert_eq!(wanted, "// right");
            assert!(!errors && !doubts, "{shown}");
            0
        }
    };
    assert_eq!(output.status.code(), Some(status), "{shown}");
    shown
}

#[rstest]
fn homework_is_judged_rightly(#[files("tests/homework/*.cu")] file: PathBuf) {
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("int main("), "it is no program");
    // Nothing is guessed where the program says it.
    let shown = judged(&file);
    assert!(shown.contains("launches it"), "{shown}");
}

#[rstest]
fn kernels_alone_are_judged_rightly(#[files("tests/alone/*.cu")] file: PathBuf) {
    let shown = judged(&file);
    assert!(shown.contains("(guessed)"), "{shown}");
}

/// The pins are what `racetrap check` would have compiled, here of the sources whose names begin with `b`. Not compared: comments, names of
/// headers, debug information, and the hash of the source's path in names that only one file knows.
#[test]
fn pins_are_what_is_compiled() {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let code = |ptx: &str| -> Vec<String> {
        let kept = |line: &&str| !line.starts_with("//") && !line.trim().starts_with(".file");
        let lines = ptx.lines().filter(kept);
        let lines = lines.take_while(|line| !line.trim().starts_with(".section"));
        let everywhere = |line: &str| {
            let mut parts = line.split("_INTERNAL_");
            let first = parts.next().unwrap_or_default().to_owned();
            // Eight digits.
            let rest = parts.map(|part| part.get(8..).unwrap_or(part));
            rest.fold(first, |line, part| line + "_INTERNAL_" + part)
        };
        lines.map(everywhere).collect()
    };
    let folder = testing::root().join("tests/homework");
    let mut compared = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let source = entry.unwrap().path();
        let name = source.file_stem().unwrap().to_str().unwrap();
        if !source.is_file() || !name.starts_with('b') {
            continue;
        }
        for optimisation in [Optimisation::Optimised, Optimisation::Unoptimised] {
            let pin = folder.join(format!("pinned/{name}.{}.ptx", optimisation.name()));
            let pin = std::fs::read_to_string(&pin).unwrap();
            let compiled = nvcc.compile(&source, optimisation, &CompileOptions::default());
            assert_eq!(code(&pin), code(&compiled.unwrap()), "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared}");
}
