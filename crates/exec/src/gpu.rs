//! Programs on a GPU: the library that goes in front of NVIDIA's driver, and where that driver is.

use crate::atomic_file;
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
