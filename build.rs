//! Makes the library that `racetrap-device` is linked with.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(embedded_library)");
    let linux = variable("CARGO_CFG_TARGET_OS").as_deref() == Some("linux");
    if linux && variable("CARGO_CFG_TARGET_ENV").as_deref() == Some("gnu") {
        embed_the_library();
    }
    if linux && variable("CARGO_FEATURE_DEVICE").is_some() {
        link_with_a_stub();
    }
}

/// Lets the program `racetrap` carry the library that `racetrap exec` puts into programs: `cargo install` installs programs alone. Not in
/// builds for development, where it lies beside the program, unless RACETRAP_EMBED=1.
fn embed_the_library() {
    println!("cargo:rerun-if-env-changed=RACETRAP_EMBED");
    let wanted = variable("RACETRAP_EMBED").is_some_and(|v| v == "1")
        || variable("PROFILE").as_deref() == Some("release");
    // OUT_DIR is TARGET/PROFILE/build/PACKAGE/out, and dependencies are built in TARGET/PROFILE/deps. If a cargo of the future has another
    // order, the program is built without the library, and `exec` says what it lacks.
    let out = PathBuf::from(variable("OUT_DIR").unwrap_or_default());
    let Some(deps) = out.ancestors().nth(3).map(|folder| folder.join("deps")) else {
        return;
    };
    if wanted && deps.is_dir() {
        let library = deps.join("libracetrap_cuda.so");
        println!("cargo:rustc-env=RACETRAP_LIBRARY={}", library.display());
        println!("cargo:rustc-cfg=embedded_library");
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Lets `racetrap-device` be linked where there is no driver: with a library that has the driver's soname and the functions
/// that the program calls. The loader then wants `libcuda.so.1` when the program starts, and finds the real one where
/// there is a driver. What `cust` refers to and the program never reaches may stay open; this holds for that binary alone.
fn link_with_a_stub() {
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let folder = PathBuf::from(variable("OUT_DIR").unwrap_or_default());
    let (source, library) = (folder.join("cuda.c"), folder.join("libcuda.so"));
    if let Err(error) = std::fs::write(&source, functions()) {
        eprintln!("error: {}: {error}", source.display());
        exit(1);
    }
    // Cargo names the linker of a cross build here.
    let linkers: Vec<String> = variable("RUSTC_LINKER")
        .into_iter()
        .chain(["cc".to_owned()])
        .collect();
    if !linkers.iter().any(|linker| stub(linker, &source, &library)) {
        eprintln!(
            "error: could not make the library that `racetrap-device` is linked with, by {}. \
             A C compiler is needed (`cc`), or build without that binary: without the feature `device`",
            linkers.join(" or ")
        );
        exit(1);
    }
    for argument in [
        &format!("-L{}", folder.display()),
        "-Wl,--unresolved-symbols=ignore-all",
    ] {
        println!("cargo:rustc-link-arg-bin=racetrap-device={argument}");
    }
}

/// Where the program declares the functions that it calls itself.
const CALLED: &str = "src/bin/racetrap-device/driver.rs";
/// Those that it calls through `cust`.
const CALLED_BY_CUST: [&str; 8] = [
    "cuInit",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuGetErrorString",
];

/// The library's source. Nobody runs it: each function says `CUDA_ERROR_STUB_LIBRARY`.
fn functions() -> String {
    println!("cargo:rerun-if-changed={CALLED}");
    let source = std::fs::read_to_string(CALLED).unwrap_or_default();
    let declared = source.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub fn cu")?;
        Some(format!("cu{}", rest.split_once('(')?.0))
    });
    declared
        .chain(CALLED_BY_CUST.map(str::to_owned))
        .map(|name| format!("int {name}(void) {{ return 34; }}\n"))
        .collect()
}

fn stub(linker: &str, source: &Path, library: &Path) -> bool {
    Command::new(linker)
        .args([
            "-shared",
            "-fPIC",
            "-nostdlib",
            "-Wl,-soname,libcuda.so.1",
            "-o",
        ])
        .args([library, source])
        .status()
        .is_ok_and(|status| status.success())
}
