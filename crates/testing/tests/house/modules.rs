//! Where the source of a module lies: a module `rows` with modules of its own is the file `rows.rs` and the folder `rows`
//! beside it (The Rust Reference, "Module source filenames"), so that a file is found by its name.

use racetrap_testing::root;
use std::path::{Path, PathBuf};

#[test]
fn a_module_is_a_file_of_its_name() {
    let mut wrong = Vec::new();
    for folder in ["benches", "crates", "fuzz", "python", "src", "tests"] {
        sources(&root().join(folder), &mut wrong);
    }
    wrong.retain(|file| file.ends_with("mod.rs"));
    assert!(
        wrong.is_empty(),
        "call them as their module, beside its folder: {wrong:#?}"
    );
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}
