//! Builds the binary anew when a file of the catalogue inside it is added or changes, and makes the library that
//! `racetrap-device` is linked with.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=kernels");
    println!("cargo:rerun-if-changed=cases");
    println!("cargo:rerun-if-changed=sanitizer/evidence");
    let linux = variable("CARGO_CFG_TARGET_OS").as_deref() == Some("linux");
    if linux && variable("CARGO_FEATURE_DEVICE").is_some() {
        link_with_a_stub();
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Lets `racetrap-device` be linked where there is no driver: with an empty library that has the driver's soname.
/// The loader then wants `libcuda.so.1` when that binary starts, and finds the real one where there is a driver.
/// Its functions are not known when linking, so the linker must leave them open; this
/// holds for that binary alone.
fn link_with_a_stub() {
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let folder = PathBuf::from(variable("OUT_DIR").unwrap_or_default());
    let library = folder.join("libcuda.so");
    // Cargo names the linker of a cross build here.
    let linkers: Vec<String> = variable("RUSTC_LINKER")
        .into_iter()
        .chain(["cc".to_owned()])
        .collect();
    if !linkers.iter().any(|linker| stub(linker, &library)) {
        eprintln!(
            "error: could not make the library that `racetrap-device` is linked with, by {}. \
             A C compiler is needed (`cc`), or build without that binary: `--no-default-features`",
            linkers.join(" or ")
        );
        exit(1);
    }
    for argument in [
        &format!("-L{}", folder.display()),
        "-Wl,--unresolved-symbols=ignore-all",
        "-Wl,--no-as-needed",
        "-lcuda",
    ] {
        println!("cargo:rustc-link-arg-bin=racetrap-device={argument}");
    }
}

fn stub(linker: &str, library: &Path) -> bool {
    Command::new(linker)
        .args([
            "-shared",
            "-nostdlib",
            "-Wl,-soname,libcuda.so.1",
            "-x",
            "c",
        ])
        .args(["/dev/null", "-o"])
        .arg(library)
        .status()
        .is_ok_and(|status| status.success())
}
