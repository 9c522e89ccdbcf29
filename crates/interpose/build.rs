//! Exports every public name of the driver: those that no file of `src/hooks` defines jump to the real function.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Names of the entry points of a folder's files, which `hooks!` defines.
fn functions(folder: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("part of the package").flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        for hooks in text.split("hooks! {").skip(1) {
            let names = hooks.split('(').next().unwrap_or_default().split(',');
            let names = names.map(|name| name.trim().to_owned());
            all.extend(names.filter(|name| name.starts_with("cu")));
        }
    }
    all
}

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=names.txt");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let here = functions(Path::new("src/hooks"));
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
        // Its memory and its handlers of signals stay, so it does, too.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
