//! Which crates have examples in their documentation: those alone are looked through for them (`doctest = false` elsewhere), because looking
//! takes the compiler as long as checking the crate.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The fences of Rust code that rustdoc runs, or at least compiles, in a source's documentation.
fn examples(text: &str) -> usize {
    let mut inside = false;
    let mut count = 0;
    for line in text.lines().map(str::trim_start) {
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let Some(language) = comment.and_then(|c| c.trim_start().strip_prefix("```")) else {
            continue;
        };
        let mut words = language.split([',', ' ']).filter(|word| !word.is_empty());
        let is_rust = words.all(|word| {
            ["rust", "no_run", "should_panic", "compile_fail"].contains(&word)
                || word.starts_with("edition")
        });
        count += usize::from(!inside && is_rust);
        inside = !inside;
    }
    count
}

#[test]
fn crates_with_examples_run_them() {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut with = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let targets = package["targets"].as_array().unwrap();
        let library = targets.iter().find(|target| {
            let kinds = target["kind"].as_array().unwrap();
            kinds.iter().any(|kind| kind == "lib" || kind == "rlib")
        });
        let Some(library) = library else { continue };
        let root = Path::new(library["src_path"].as_str().unwrap());
        let count: usize = racetrap_testing::sources(root.parent().unwrap())
            .iter()
            .map(|file| examples(&std::fs::read_to_string(file).unwrap()))
            .sum();
        with += usize::from(count > 0);
        let (name, runs) = (&package["name"], library["doctest"] == true);
        assert_eq!(
            runs,
            count > 0,
            "{name} has {count} examples in its documentation: `doctest = {}` belongs below `[lib]` of its Cargo.toml",
            count > 0
        );
    }
    assert!(with >= 3, "{with} crates with examples");
}

#[test]
fn fences_are_told_apart() {
    let text = "//! ```\n//! let a = 1;\n//! ```\n/// ```text\n/// a\n/// ```\n/// ```no_run\n/// ```\n/// ```ignore\n/// ```\n// ```\n";
    assert_eq!(examples(text), 2);
}
