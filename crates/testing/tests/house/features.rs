//! The features of other people's packages: commands that share a folder for what they build ask for the same. One feature more is another
//! package, and everything that depends on it is built once more, which takes minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The packages that a selection needs, by name and version, each with its sets of features: one for programs, perhaps another for what
/// runs while compiling.
fn packages(selection: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--prefix",
            "none",
            "--format",
            "{p}|{f}",
        ])
        .args(selection)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut packages: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        // Ours have a folder behind their version, and what was shown before has a star.
        if let Some((package, features)) = line.trim_end_matches(" (*)").split_once('|')
            && !package.contains("(/")
        {
            let of = packages.entry(package.to_owned()).or_default();
            of.insert(features.to_owned());
        }
    }
    assert!(packages.len() > 50, "only {} packages", packages.len());
    packages
}

/// What both need, the second not with the features that the first asks for.
fn differences(first: &[&str], second: &[&str]) -> Vec<String> {
    let (first, second) = (packages(first), packages(second));
    first
        .iter()
        .filter_map(|(name, features)| {
            let others = second
                .get(name)
                .filter(|others| !others.is_superset(features))?;
            Some(format!("{name}: {features:?}, but {others:?}"))
        })
        .collect()
}

/// Otherwise `ci/install.sh` builds everything twice.
#[test]
fn the_feature_device_changes_no_other_package() {
    let installed = ["--package", "racetrap", "--edges", "no-dev"];
    let device = [&installed[..], &["--features", "device"]].concat();
    let differences = differences(&installed, &device);
    assert!(
        differences.is_empty(),
        "name these features in Cargo.toml, too:\n{}",
        differences.join("\n")
    );
}

/// Otherwise `cargo doc` and `cargo build` build anew what `cargo clippy --all-targets` and `cargo nextest run` have built.
#[test]
fn tests_ask_for_no_other_features() {
    let differences = differences(&["--workspace", "--edges", "no-dev"], &["--workspace"]);
    assert!(
        differences.is_empty(),
        "name these features in crates/testing/Cargo.toml, too:\n{}",
        differences.join("\n")
    );
}

/// Crates whose `debug_assert` would never be looked at (`debug-assertions = false` in Cargo.toml) have none.
#[test]
fn nothing_is_asserted_where_nobody_looks() {
    let root = racetrap_testing::root();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let names = manifest.lines().filter_map(|line| {
        let name = line.strip_suffix(".debug-assertions = false")?;
        name.strip_prefix("racetrap-")
    });
    let mut count = 0;
    for name in names {
        for file in racetrap_testing::sources(&root.join("crates").join(name)) {
            let text = std::fs::read_to_string(&file).unwrap();
            let uses = text.contains("debug_assert") || text.contains("debug_assertions");
            assert!(!uses, "{}: `assert`, or another profile", file.display());
        }
        count += 1;
    }
    assert!(count >= 5, "{count} crates");
}
