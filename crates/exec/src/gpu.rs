//! Programs on a GPU: the library that goes in front of NVIDIA's driver, and where that driver is.

use crate::atomic_file;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The library's file.
const FILE: &str = "libracetrap_interpose.so";

/// The driver's names.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// Where the driver usually is.
const FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/lib",
];

/// Why a program can't be watched on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoGpu {
    /// The library is nowhere.
    #[error("`{FILE}` was not found")]
    Library {
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },
    /// The driver is nowhere.
    #[error("NVIDIA's driver (`libcuda.so.1`) was not found")]
    Driver,
}

/// Finds the library: beside the running program, in `deps` there (where cargo puts it), or in `../lib/racetrap`.
///
/// # Errors
///
/// It is nowhere.
pub fn library() -> Result<PathBuf, NoGpu> {
    let exe = std::env::current_exe().unwrap_or_default();
    let folder = exe.parent().unwrap_or(Path::new("."));
    let mut searched = vec![
        folder.join(FILE),
        folder.join("deps").join(FILE),
        folder.join("../lib/racetrap").join(FILE),
        folder.join("..").join(FILE),
    ];
    // cargo renews the one that it was asked for; where both are there, the newer one counts.
    searched.sort_by_key(|path| {
        let time = path.metadata().and_then(|m| m.modified());
        std::cmp::Reverse(time.ok())
    });
    let found = searched.iter().find(|path| path.is_file());
    let found = found.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
    found.ok_or(NoGpu::Library { searched })
}

/// Finds the driver: where the loader would look, and in the usual folders.
///
/// # Errors
///
/// It is nowhere.
pub fn driver() -> Result<PathBuf, NoGpu> {
    let told = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let told: Vec<PathBuf> = std::env::split_paths(&told).collect();
    let usual = FOLDERS.iter().map(PathBuf::from);
    let mut files = told
        .into_iter()
        .filter(|folder| folder.is_absolute())
        .chain(usual)
        .map(|folder| folder.join(NAMES[0]));
    files.find(|file| file.is_file()).ok_or(NoGpu::Driver)
}

/// Where NVIDIA's driver is to keep what it compiles, as variables for the program ("CUDA Environment Variables": the driver tells entries apart by
/// PTX, options, GPU and its own version). The PTX with checks has the runtime in it, so whatever changes that makes another entry. Usually the
/// driver keeps them in the home folder; kernels with checks take longer to compile, and would push out the user's own there.
pub fn compiler_cache() -> Vec<(&'static str, OsString)> {
    const NAMES: [&str; 3] = [
        "CUDA_CACHE_PATH",
        "CUDA_CACHE_DISABLE",
        "CUDA_CACHE_MAXSIZE",
    ];
    if NAMES.iter().any(|name| std::env::var_os(name).is_some()) {
        return Vec::new();
    }
    let folder = toolchain::cache_folder().map(|f| f.join("racetrap/gpu"));
    // Where none can be made, the driver keeps nothing.
    let folder = folder.filter(|f| std::fs::create_dir_all(f).is_ok());
    let folder = folder.map(|f| (NAMES[0], f.into_os_string()));
    folder
        .into_iter()
        .chain([(NAMES[2], "1073741824".into())])
        .collect()
}

/// Puts the library into a folder under the driver's names.
///
/// # Errors
///
/// The folder can't be written.
pub fn install(library: &Path, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    NAMES
        .iter()
        .try_for_each(|name| atomic_file::link(library, &folder.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_driver_compiles_is_kept_apart_and_bounded() {
        let told = compiler_cache();
        let set = |name| std::env::var_os(name).is_some();
        if set("CUDA_CACHE_PATH") || set("CUDA_CACHE_DISABLE") || set("CUDA_CACHE_MAXSIZE") {
            assert!(told.is_empty());
            return;
        }
        assert!(told.iter().any(|(name, _)| *name == "CUDA_CACHE_MAXSIZE"));
        let folder = told.iter().find(|(name, _)| *name == "CUDA_CACHE_PATH");
        assert!(folder.is_none_or(|(_, f)| Path::new(f).ends_with("racetrap/gpu")));
    }
}
