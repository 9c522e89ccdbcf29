//! Builds programs so that they can be run: nvcc with the shared runtime, line numbers, and PTX.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use toolchain::CompileOptions;

/// The variable whose words nvcc takes for options after all others (NVCC, "NVCC Environment Variables").
pub const APPENDED: &str = "NVCC_APPEND_FLAGS";

/// Options that every build gets: `library` is the folder with the drop-in libraries.
///
/// Line numbers for kernels and host code, the shared runtime, and PTX beside whatever else is asked for. Where several options name the
/// runtime, the last one counts.
pub fn flags(library: &Path, capability: u32) -> Vec<String> {
    let ptx = format!("arch=compute_{capability},code=compute_{capability}");
    let mut flags: Vec<String> = [
        "-cudart",
        "shared",
        "-lineinfo",
        "-g",
        "-Wno-deprecated-gpu-targets",
        "-gencode",
    ]
    .map(str::to_owned)
    .to_vec();
    flags.push(ptx);
    flags.push("-L".to_owned() + &library.display().to_string());
    flags
}

/// Compiles one CUDA source to a program.
///
/// # Errors
///
/// The compiler can't be started.
pub fn compile(
    nvcc: &Path,
    file: &Path,
    to: &Path,
    library: &Path,
    capability: u32,
    options: &CompileOptions,
    more: &[String],
) -> io::Result<Output> {
    let mut command = Command::new(nvcc);
    if let Some(arch) = &options.arch {
        command.arg(format!("-arch={arch}"));
    }
    if let Some(std) = &options.std {
        command.arg(format!("-std={std}"));
    }
    command.args(options.defines.iter().map(|define| format!("-D{define}")));
    for include in &options.includes {
        command.arg("-I").arg(include);
    }
    command.args(more).args(flags(library, capability));
    command.arg("-o").arg(to).arg(file);
    command.output()
}

/// Runs a build with nvcc's environment set up. `toolkit` is a folder from [`crate::toolkit::make`], whose compiler is first in the path.
///
/// # Errors
///
/// The command can't be started.
pub fn build(
    command: &[OsString],
    toolkit: &Path,
    library: &Path,
    capability: u32,
) -> io::Result<ExitStatus> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut appended = std::env::var_os(APPENDED).unwrap_or_default();
    for flag in flags(library, capability) {
        appended.push(" ");
        appended.push(flag);
    }
    let bin = toolkit.join("bin");
    let mut path: Vec<PathBuf> = vec![bin.clone()];
    if let Some(old) = std::env::var_os("PATH") {
        path.extend(std::env::split_paths(&old));
    }
    let path =
        std::env::join_paths(path).unwrap_or_else(|_| OsStr::new("/usr/bin:/bin").to_owned());
    let mut child = Command::new(program);
    child
        .args(arguments)
        .env(APPENDED, appended)
        .env("PATH", path);
    child.env("CUDA_PATH", toolkit).env("CUDA_HOME", toolkit);
    child.env("CUDACXX", bin.join("nvcc"));
    // For those who link with the host's compiler alone (GCC, "Environment Variables Affecting GCC").
    let mut libraries = vec![library.to_owned()];
    if let Some(old) = std::env::var_os("LIBRARY_PATH") {
        libraries.extend(std::env::split_paths(&old));
    }
    if let Ok(libraries) = std::env::join_paths(libraries) {
        child.env("LIBRARY_PATH", libraries);
    }
    child.status()
}
