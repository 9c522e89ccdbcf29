//! When tests run: each in `ci/test.sh` or in `ci/all.sh`, and none in silence where a program is missing.

use std::path::Path;

fn read(path: &str) -> String {
    let path = racetrap_testing::root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The filter of a profile in `.config/nextest.toml`, as one line.
fn filter<'t>(config: &'t str, profile: &str) -> Vec<&'t str> {
    let header = format!("[profile.{profile}]\n");
    let section = config.split_once(&header).expect(profile).1;
    let section = section.split("\n[").next().unwrap_or_default();
    let filter = section.split_once("default-filter = ").expect(profile).1;
    let filter = match filter.strip_prefix("'''") {
        Some(rest) => rest.split("'''").next(),
        None => filter[1..].split('\'').next(),
    };
    filter.unwrap_or_default().split_whitespace().collect()
}

/// `ci/test.sh` runs all but what `ci/all.sh` runs; what a GPU is needed for is in neither.
#[test]
fn every_test_is_in_one_suite() {
    let config = read(".config/nextest.toml");
    let long = filter(&config, "long");
    assert!(long.len() > 10, "{long:?}");
    let (everything, device) = (filter(&config, "default"), ["not", "binary(device)"]);
    assert_eq!(everything, device);
    let mut short = device.to_vec();
    short.extend(["and", "not", "("]);
    short.extend(&long);
    short.push(")");
    assert_eq!(
        filter(&config, "short"),
        short,
        "the profile `short` of .config/nextest.toml: all but the profile `long`, word for word"
    );
    for (script, profile) in [("ci/test.sh", "short"), ("ci/all.sh", "long")] {
        let runs = format!("--profile {profile}");
        assert!(read(script).contains(&runs), "{script}: {runs}");
    }
}

/// A test that needs a compiler asks `testing` for it, which skips it aloud, or fails it where tools are required.
#[test]
fn no_test_looks_for_a_compiler_by_itself() {
    let root = racetrap_testing::root();
    let mut folders = vec![root.join("tests")];
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let tests = entry.unwrap().path().join("tests");
        // This file names what it looks for.
        if tests.is_dir() && !tests.join("house").is_dir() {
            folders.push(tests);
        }
    }
    let mut count = 0;
    for file in folders.iter().flat_map(|f| racetrap_testing::sources(f)) {
        let text = std::fs::read_to_string(&file).unwrap();
        let shown = shown(&file);
        for word in ["Nvcc::find", "find_program("] {
            let advice = "testing::needs_nvcc() or needs_ptxas()";
            assert!(!text.contains(word), "{shown}: {advice}, not {word}");
        }
        count += 1;
    }
    assert!(count > 50, "{count} files");
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}
