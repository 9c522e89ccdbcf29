//! The pinned PTX belongs to its sources; where the pinning compiler is installed, it still makes
//! the same PTX of them.

use catalog::load::Catalog;
use catalog::pinned::{compiler_version, pinned, pins};
use catalog::refused::{diagnostics, errors};
use catalog::renew::{compile, refuse};
use catalog::tree::Tree;
use catalog::verify::verify;
use rstest::rstest;
use std::path::PathBuf;

fn catalog() -> Catalog {
    let root = &testing::root();
    Catalog::without_ptx(Tree::read(root).unwrap(), root).unwrap_or_else(|e| panic!("\n{e}"))
}

#[test]
fn pinned_ptx_is_current() {
    let errors: Vec<_> = verify(&catalog()).iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "\n{}", errors.join("\n"));
}

#[test]
fn no_pinned_file_names_a_machine() {
    let catalog = catalog();
    for file in pinned(&catalog.tree).filter(|file| file.ends_with(".diagnostics")) {
        let text = catalog.tree.text(file).unwrap();
        let mut words = text.split([' ', '"', '(', '\'']);
        let absolute = words.find(|word| word.starts_with('/') && !word.starts_with("//"));
        assert_eq!(absolute, None, "{file}");
    }
    for (file, text) in catalog.tree.below("kernels/", ".ptx") {
        for line in text
            .lines()
            .filter(|line| line.trim_start().starts_with(".file"))
        {
            let name = line.split('"').nth(1).unwrap_or_default();
            let known = name.starts_with("kernels/") || name.starts_with("cuda/include/");
            assert!(known, "{file}: {line}");
        }
    }
}

/// One variant of each kernel, which is enough to notice a compiler that makes something else.
#[rstest]
fn compiles_to_what_is_pinned(#[files("../../kernels/**/*.cu")] path: PathBuf) {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let root = &testing::root();
    let source = path
        .strip_prefix(root)
        .unwrap()
        .to_string_lossy()
        .replace('\\', "/");
    let catalog = catalog();
    let pins = pins(&catalog);
    let Some((pin, _)) = pins.values().find(|(pin, _)| pin.source == source) else {
        let refused =
            |e: &&catalog::load::Entry| e.kernel_file() == source && e.case.refusal().is_some();
        let refused = catalog.cases.iter().find(refused);
        assert!(refused.is_some(), "{source} is neither pinned nor refused");
        return;
    };
    let made = compile(&nvcc, root, &catalog.tree, pin).unwrap();
    let pinned = catalog.tree.text(&pin.ptx).unwrap();
    if compiler_version(&made) == compiler_version(pinned) {
        assert!(
            code(&made) == code(pinned),
            "{} is not what the compiler makes now",
            pin.ptx
        );
    } else {
        eprintln!("another compiler than the pinning one: it compiles, no more was checked");
    }
}

#[test]
fn the_compiler_still_refuses_what_it_refused() {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let root = &testing::root();
    let catalog = catalog();
    let needed = diagnostics(&catalog);
    assert!(!needed.is_empty());
    for (file, (of, entry)) in &needed {
        let made = refuse(&nvcc, root, &catalog.tree, of, &entry.id).unwrap();
        let pinned = catalog.tree.text(file).unwrap();
        if compiler_version(&made) == compiler_version(pinned) {
            assert_eq!(made, pinned, "{file} is not what the compiler says now");
        } else {
            let errors = |text| errors(text).unwrap_or_else(|| panic!("{file}: {text}"));
            assert_eq!(errors(&made).len(), errors(pinned).len(), "{file}");
        }
    }
}

/// What a PTX executes: without comments, file names and strings, which tell where the
/// compiler found its own headers.
fn code(ptx: &str) -> Vec<&str> {
    let place = |l: &&str| {
        !["//", ".b8", ".file"]
            .iter()
            .any(|p| l.trim_start().starts_with(p))
    };
    ptx.lines().filter(place).collect()
}
