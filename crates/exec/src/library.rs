//! The drop-in libraries, under the names that programs look for.

use std::io;
use std::path::{Path, PathBuf};

/// The file that has both libraries' functions.
const FILE: &str = "libracetrap_cuda.so";

/// The names under which the loader looks for it.
const NAMES: [&str; 4] = [
    "libcudart.so",
    "libcudart.so.13",
    "libcuda.so",
    "libcuda.so.1",
];

/// The library is nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{FILE}` was not found")]
pub struct Missing {
    /// Where it was looked for.
    pub searched: Vec<PathBuf>,
}

/// Finds the library: beside the running program, in `deps` there (where cargo puts it), or in `../lib/racetrap`.
///
/// # Errors
///
/// It is nowhere.
pub fn find() -> Result<PathBuf, Missing> {
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
    match searched.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.canonicalize().unwrap_or_else(|_| path.clone())),
        None => Err(Missing { searched }),
    }
}

/// Puts the library into a folder under all its names, with a linker script for those who link the static runtime by name.
///
/// # Errors
///
/// The folder can't be written.
pub fn install(library: &Path, folder: &Path) -> io::Result<()> {
    for name in NAMES {
        let link = folder.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(library, link)?;
    }
    let script = format!("INPUT({})\n", folder.join("libcudart.so").display());
    std::fs::write(folder.join("libcudart_static.a"), script)
}
