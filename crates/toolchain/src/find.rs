//! Finds programs of the CUDA toolkit.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A program and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// The source of the path: `PATH`, `CUDA_PATH`, …
    pub through: String,
}

/// A toolkit of the process's own: see [`also_in`].
static OWN: OnceLock<PathBuf> = OnceLock::new();

/// Lets [`find_program`] look into a toolkit that came with racetrap, such as that of Python's packages; the first one that is named counts.
pub fn also_in(toolkit: PathBuf) {
    let _ = OWN.set(toolkit);
}

/// The places that were searched, for the error message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched(pub Vec<String>);

/// Finds a toolkit program by name. Searches, in this order: `PATH`, `CUDA_PATH`, `CUDA_HOME`, the toolkit that
/// came with racetrap ([`also_in`]), the project's installation
/// (`.toolchain/cuda` in the current folder or a parent), the user's installation (`racetrap/cuda` in the user's data
/// folder), `/usr/local/cuda`, `/opt/cuda`.
///
/// # Errors
///
/// The places that were searched, if none has the program.
pub fn find_program(name: &str) -> Result<Program, Searched> {
    let mut searched = Vec::new();
    for (through, folder) in folders() {
        let path = folder.join(format!("{name}{}", env::consts::EXE_SUFFIX));
        if is_program(&path) {
            return Ok(Program { path, through });
        }
        if searched.last() != Some(&through) {
            searched.push(through);
        }
    }
    Err(Searched(searched))
}

fn folders() -> Vec<(String, PathBuf)> {
    let mut all: Vec<(String, PathBuf)> = Vec::new();
    if let Some(path) = env::var_os("PATH") {
        all.extend(env::split_paths(&path).map(|p| ("PATH".to_string(), p)));
    }
    for variable in ["CUDA_PATH", "CUDA_HOME"] {
        if let Some(root) = env::var_os(variable).filter(|v| !v.is_empty()) {
            all.push((variable.to_string(), Path::new(&root).join("bin")));
        }
    }
    if let Some(root) = OWN.get() {
        all.push((root.display().to_string(), root.join("bin")));
    }
    let own = ".toolchain/cuda";
    if let Ok(here) = env::current_dir() {
        for folder in here.ancestors() {
            all.push((own.to_string(), folder.join(own).join("bin")));
        }
    }
    if let Some(data) = data_folder() {
        let folder = data.join("racetrap/cuda");
        all.push((folder.display().to_string(), folder.join("bin")));
    }
    for root in ["/usr/local/cuda", "/opt/cuda"] {
        all.push((root.to_string(), Path::new(root).join("bin")));
    }
    all
}

/// The user's data folder (XDG Base Directory Specification).
pub(super) fn data_folder() -> Option<PathBuf> {
    let absolute = |v: std::ffi::OsString| Some(PathBuf::from(v)).filter(|p| p.is_absolute());
    env::var_os("XDG_DATA_HOME")
        .and_then(absolute)
        .or_else(|| Some(env::home_dir()?.join(".local/share")))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
