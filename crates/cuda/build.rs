//! Exports every public name: those that no file of `src` defines fail with the documented error for what is not supported, and say so;
//! those of the per-thread default stream (`_ptds`, `_ptsz`) are the same functions.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=names");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let mut here = BTreeSet::new();
    functions(Path::new("src"), &mut here);
    let mut text = String::new();
    let mut all = here.clone();
    for (file, library) in [
        ("names/runtime.txt", "runtime"),
        ("names/driver.txt", "driver"),
    ] {
        let names = fs::read_to_string(file).expect("part of the package");
        for name in names.lines().filter(|n| !here.contains(*n)) {
            all.insert(name.to_owned());
            let same = name.strip_suffix("_ptds").or(name.strip_suffix("_ptsz"));
            let _ = match same.filter(|same| here.contains(*same)) {
                Some(same) => writeln!(text, "same!({name}, {library}, {same});"),
                None => writeln!(text, "missing!({name}, {library});"),
            };
        }
    }
    fs::write(out.join("exports.rs"), text).expect("OUT_DIR is writable");
    let nodes = ["10.1", "10.2", "11.0", "12", "13"];
    let mut script = String::new();
    for node in nodes {
        let _ = writeln!(script, "libcudart.so.{node} {{ }};");
    }
    let map = out.join("versions.map");
    fs::write(&map, script).expect("OUT_DIR is writable");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.13");
        println!(
            "cargo::rustc-cdylib-link-arg=-Wl,--version-script={}",
            map.display()
        );
    }
}

/// Names of the exported functions of all files under a folder.
fn functions(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("part of the package").flatten() {
        let path = entry.path();
        if path.is_dir() {
            functions(&path, into);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for (at, found) in text.match_indices("extern \"C\" fn ") {
            let name: String = text[at + found.len()..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if name.starts_with("cu") || name.starts_with("__cuda") {
                into.insert(name);
            }
        }
        // Those that tables make: `    cuMemcpy, cuMemcpyAsync, …;` and `    cuCtxGetCurrent(…);`.
        for line in text
            .lines()
            .filter(|l| l.starts_with("    cu") && l.ends_with(';'))
        {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let table = line.contains(", \"cu");
            let names = words.filter(|w| w.starts_with("cu"));
            into.extend(names.take(if table { 2 } else { 1 }).map(str::to_owned));
        }
    }
}
