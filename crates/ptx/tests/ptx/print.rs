//! Printing: parsing what was printed gives the tree that was printed, and `ptxas`
//! makes the same machine code of it.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

proptest! {
    #![proptest_config(testing::random(1000))]

    #[test]
    fn what_is_printed_parses_to_the_same_tree(module in crate::tree::module()) {
        let text = ptx::print(&module);
        match ptx::parse(&text) {
            Ok(parsed) => prop_assert_eq!(parsed, module, "{}", text),
            Err(error) => prop_assert!(false, "{}\n{}", error, text),
        }
    }
}

#[test]
fn samples_print_to_the_same_tree() {
    for (name, source) in crate::samples::all() {
        let module = ptx::parse(&source).unwrap();
        let text = ptx::print(&module);
        let again = ptx::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(again == module, "{name}");
        assert_eq!(ptx::print(&again), text, "{name}");
    }
}

#[test]
fn deep_expressions_print_no_deeper_than_they_were() {
    let sum = vec!["1"; 240].join(" * 3 + ");
    let deep = format!("{}x{}", "(2 - ".repeat(90), ")".repeat(90));
    let minus = format!("{} 5 * 2", "- ".repeat(99));
    for expression in [sum, deep, minus] {
        let source = format!(".version 8.0\n.target sm_90\n.global .u32 g = {expression};");
        let module = ptx::parse(&source).unwrap();
        assert_eq!(
            ptx::parse(&ptx::print(&module)).unwrap(),
            module,
            "{expression}"
        );
    }
}

#[test]
fn printed_samples_assemble_to_the_same_machine_code() {
    let Some(ptxas) = testing::needs_ptxas() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for (name, source) in crate::samples::all() {
        let module = ptx::parse(&source).unwrap();
        let original = assemble(&ptxas.path, folder.path(), &module.target[0], &source);
        let printed = assemble(
            &ptxas.path,
            folder.path(),
            &module.target[0],
            &ptx::print(&module),
        );
        let original = match original {
            Ok(cubin) => cubin,
            // Every toolkit drops the oldest targets.
            Err(error) if error.contains("not defined for option 'gpu-name'") => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let printed = printed.unwrap_or_else(|error| panic!("{name}, printed: {error}"));
        // Unoptimised, ptxas adds the 0 of `[a+0]`, which the tree does not keep.
        let unoptimised = module.target.iter().any(|option| option == "debug");
        let same = code(&original) == code(&printed);
        assert!(same || unoptimised, "{name}: the machine code differs");
        checked += 1;
    }
    assert!(
        checked >= 5,
        "only {checked} samples have a target that this ptxas knows"
    );
}

/// The cubin that `ptxas` makes of `source`, or what it complains about.
fn assemble(ptxas: &Path, folder: &Path, target: &str, source: &str) -> Result<Vec<u8>, String> {
    let (input, output) = (folder.join("in.ptx"), folder.join("out.cubin"));
    std::fs::write(&input, source).unwrap();
    let run = Command::new(ptxas)
        .arg(format!("-arch={target}"))
        // Functions that another file defines stay open.
        .arg("-c")
        .arg("-o")
        .args([&output, &input])
        .output()
        .unwrap();
    match run.status.success() {
        true => Ok(std::fs::read(&output).unwrap()),
        false => Err(String::from_utf8_lossy(&run.stderr).into_owned()),
    }
}

/// The machine code and constants in a cubin: an ELF file with 64-bit offsets. The
/// other sections say where in the text the code came from.
fn code(cubin: &[u8]) -> Vec<(String, &[u8])> {
    let number = |at: usize, length: usize| -> usize {
        cubin[at..at + length]
            .iter()
            .rev()
            .fold(0, |sum, &byte| sum << 8 | usize::from(byte))
    };
    let (table, size, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
    let section = |index: usize| {
        let header = table + index * size;
        let (offset, length) = (number(header + 0x18, 8), number(header + 0x20, 8));
        (
            number(header, 4),
            cubin.get(offset..offset + length).unwrap_or_default(),
        )
    };
    let (_, names) = section(number(0x3e, 2));
    let sections: Vec<_> = (0..count)
        .map(|index| {
            let (name, bytes) = section(index);
            let name = names[name..].split(|&byte| byte == 0).next().unwrap();
            (String::from_utf8_lossy(name).into_owned(), bytes)
        })
        .filter(|(name, _)| name.starts_with(".text") || name.starts_with(".nv.constant"))
        .collect();
    assert!(!sections.is_empty());
    sections
}
