//! Exports every public name of the driver: those that no file of `src` defines jump to the real function.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Names of the exported functions of all files of a folder.
fn functions(folder: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("part of the package").flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        for (at, found) in text.match_indices("extern \"C\" fn cu") {
            let rest = &text[at + found.len() - 2..];
            all.insert(
                rest.chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect(),
            );
        }
    }
    all
}

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=names.txt");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let here = functions(Path::new("src"));
    let names = fs::read_to_string("names.txt").expect("part of the package");
    let mut text = String::from("pub static NAMES: &[&std::ffi::CStr] = &[\n");
    let all: Vec<&str> = names.lines().collect();
    for name in &all {
        let _ = writeln!(text, "    c\"{name}\",");
    }
    text += "];\n";
    let _ = writeln!(text, "pub const COUNT: usize = {};", all.len());
    for (number, name) in all.iter().enumerate().filter(|(_, n)| !here.contains(**n)) {
        let _ = writeln!(text, "jump!({name}, {number});");
    }
    text += "pub static OURS: &[(&std::ffi::CStr, unsafe extern \"C\" fn())] = &[\n";
    for name in here.iter().filter(|n| all.contains(&n.as_str())) {
        let _ = writeln!(
            text,
            "    (c\"{name}\", unsafe {{ std::mem::transmute::<*const (), unsafe extern \"C\" fn()>(crate::hooks::{name} as *const ()) }}),"
        );
    }
    text += "];\n";
    fs::write(out.join("exports.rs"), text).expect("OUT_DIR is writable");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    }
}
