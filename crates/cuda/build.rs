//! Exports every public name: those that no file of `src` defines fail with the documented error for what is not supported, and say so;
//! those of the per-thread default stream (`_ptds`, `_ptsz`) are the same functions.

#[path = "names/scan.rs"]
mod scan;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=names");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let mut here = BTreeSet::new();
    scan::functions(Path::new("src"), &mut here);
    let mut text = String::new();
    let mut all = here.clone();
    for (file, library) in [
        ("names/runtime.txt", "runtime"),
        ("names/driver.txt", "driver"),
    ] {
        let names = fs::read_to_string(file).expect("part of the package");
        for name in names.lines().filter(|n| !here.contains(*n)) {
            all.insert(name.to_owned());
            let _ = match scan::same(name).filter(|same| here.contains(*same)) {
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
        // Its memory and its handlers of signals stay, so it does, too.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // Its functions call each other by their public names. A program may have loaded NVIDIA's runtime before (numba-cuda does), whose
        // functions of these names are not meant.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
        println!(
            "cargo::rustc-cdylib-link-arg=-Wl,--version-script={}",
            map.display()
        );
    }
}
