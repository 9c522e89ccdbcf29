//! Builds programs so that they can be run: nvcc with the shared runtime, line numbers, and PTX.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use toolchain::CompileOptions;

/// The variable whose words nvcc takes for options after all others (NVCC, "NVCC Environment Variables").
pub const APPENDED: &str = "NVCC_APPEND_FLAGS";

/// Options that every compilation gets, whatever its other ones are: the shared runtime (where several name one, the last counts), and line
/// numbers of host code.
pub const ALWAYS: [&str; 4] = ["-cudart", "shared", "-g", "-Wno-deprecated-gpu-targets"];

/// Options that every build gets: `library` is the folder with the drop-in libraries, `capability` the virtual architecture to make PTX for: `75`, `90a`.
///
/// Those of [`ALWAYS`], line numbers for kernels, and PTX beside whatever else is asked for.
pub fn flags(library: &Path, capability: &str) -> Vec<String> {
    let ptx = format!("arch=compute_{capability},code=compute_{capability}");
    let mut flags: Vec<String> = ALWAYS.map(str::to_owned).to_vec();
    flags.extend(["-lineinfo", "-gencode"].map(str::to_owned));
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
    capability: &str,
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

/// For which GPU a build makes PTX.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// The one that was asked for.
    pub given: Option<u32>,
    /// The one where neither that nor an option of the compiler says one.
    pub otherwise: u32,
}

/// Runs a build with nvcc's environment set up. `toolkit` is a folder from [`crate::toolkit::make`], whose compiler is first in the path
/// and looks at its options itself; others, which a build calls by their path, get [`flags`] behind theirs.
///
/// # Errors
///
/// The command can't be started.
pub fn build(
    command: &[OsString],
    toolkit: &Path,
    library: &Path,
    device: Device,
) -> io::Result<ExitStatus> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let own = std::env::var_os(APPENDED).unwrap_or_default();
    let mut appended = own.clone();
    let capability = device.given.unwrap_or(device.otherwise);
    for flag in flags(library, &capability.to_string()) {
        // The variable's words end at spaces. The library is found without the option, too.
        if !flag.contains(char::is_whitespace) {
            appended.push(" ");
            appended.push(flag);
        }
    }
    let bin = toolkit.join("bin");
    let mut child = Command::new(program);
    child
        .args(arguments)
        .env(APPENDED, appended)
        .env("RACETRAP_APPENDED", own)
        .env("RACETRAP_BUILD", device.otherwise.to_string())
        .env("PATH", before("PATH", &bin))
        .env("CUDA_PATH", toolkit)
        .env("CUDA_HOME", toolkit)
        .env("CUDACXX", bin.join("nvcc"))
        // For those who link with the host's compiler alone (GCC, "Environment Variables Affecting GCC"), and for what runs while it is built:
        // tests are asked for their names, and the linker looks there for what a library needs.
        .env("LIBRARY_PATH", before("LIBRARY_PATH", library))
        .env("LD_LIBRARY_PATH", before("LD_LIBRARY_PATH", library));
    match device.given {
        Some(given) => child.env("RACETRAP_DEVICE", given.to_string()),
        None => child.env_remove("RACETRAP_DEVICE"),
    };
    child.status()
}

/// A variable that lists folders, with another one before them.
fn before(variable: &str, folder: &Path) -> OsString {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    if let Some(old) = std::env::var_os(variable).filter(|old| !old.is_empty()) {
        folders.extend(std::env::split_paths(&old));
    }
    // A folder with a colon in its name can't be listed.
    std::env::join_paths(folders).unwrap_or_else(|_| folder.as_os_str().to_owned())
}
