//! Installs the CUDA compiler from PyPI into the user's data folder, where [`find_program`](super::find_program) looks for it: no root,
//! no GPU, nothing outside that folder.
//!
//! `cuda-wheels.txt` names the wheels with the hashes of their files; pip refuses any other file.

use super::find::data_folder;
use super::release::{InstallError, pip};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The wheels, as pip reads them.
pub const WHEELS: &str = include_str!("cuda-wheels.txt");

/// The file that names what a complete installation has.
const STAMP: &str = ".racetrap-versions";

/// What [`setup`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The compiler was there.
    AlreadyThere,
    /// It was installed.
    Installed,
}

/// The folder that it is installed into and found in: `$XDG_DATA_HOME/racetrap/cuda`.
pub fn default_folder() -> Option<PathBuf> {
    Some(data_folder()?.join("racetrap/cuda"))
}

/// The packages with their versions, one a line: what the stamp says.
pub fn versions() -> String {
    let named = WHEELS.lines().filter(|line| line.starts_with("nvidia-"));
    let names: Vec<&str> = named
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    names.join("\n")
}

/// Whether a folder has the compiler, whole and of these versions.
fn is_whole(folder: &Path) -> bool {
    let programs = ["bin/nvcc", "bin/ptxas"];
    programs.iter().all(|p| folder.join(p).is_file())
        && std::fs::read_to_string(folder.join(STAMP)).is_ok_and(|text| text == versions())
}

/// Installs the compiler into a folder, which then belongs to it. pip shows its progress on the standard output.
///
/// # Errors
///
/// See [`InstallError`]. Then the folder is as it was.
pub fn setup(folder: &Path, say: &dyn Fn(&str)) -> Result<Done, InstallError> {
    if is_whole(folder) {
        return Ok(Done::AlreadyThere);
    }
    let failed = |path: &Path, error| InstallError::File {
        path: path.to_owned(),
        error,
    };
    if folder.exists() && !folder.join(STAMP).exists() {
        let is_empty = std::fs::read_dir(folder).is_ok_and(|mut all| all.next().is_none());
        if !is_empty {
            return Err(InstallError::Occupied(folder.to_owned()));
        }
    }
    let beside = folder.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(beside).map_err(|e| failed(beside, e))?;
    // Install beside the final place, so that an interrupted installation is never used.
    let scratch = tempfile::Builder::new()
        .prefix(".install-")
        .tempdir_in(beside)
        .map_err(|e| failed(beside, e))?;
    let wheels = scratch.path().join("cuda-wheels.txt");
    std::fs::write(&wheels, WHEELS).map_err(|e| failed(&wheels, e))?;
    say(&format!(
        "fetching the CUDA compiler from PyPI into {} (about 300 MB)",
        folder.display()
    ));
    let site = scratch.path().join("site");
    let status = pip(scratch.path())?
        .args([
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "--no-deps",
        ])
        .args([
            "--no-compile",
            "--root-user-action=ignore",
            "--only-binary",
            ":all:",
        ])
        .args(["--require-hashes", "--target"])
        .arg(&site)
        .arg("-r")
        .arg(&wheels)
        .stdin(Stdio::null())
        .status()
        .map_err(|_| InstallError::NoPython)?;
    if !status.success() {
        return Err(InstallError::Pip {
            packages: vec!["the CUDA compiler".to_owned()],
            messages: String::new(),
        });
    }
    let root = site.join("nvidia/cu13");
    let nvcc = root.join("bin/nvcc");
    if !nvcc.is_file() {
        return Err(InstallError::Layout {
            release: super::Release::new(13, 0),
            expected: nvcc,
        });
    }
    // nvcc searches lib64.
    #[cfg(unix)]
    if root.join("lib").exists() && !root.join("lib64").exists() {
        let link = root.join("lib64");
        std::os::unix::fs::symlink("lib", &link).map_err(|e| failed(&link, e))?;
    }
    let stamp = root.join(STAMP);
    std::fs::write(&stamp, versions()).map_err(|e| failed(&stamp, e))?;
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|e| failed(folder, e))?;
    }
    std::fs::rename(&root, folder).map_err(|e| failed(folder, e))?;
    Ok(Done::Installed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each wheel has a version and the hash of a file for each kind of processor.
    #[test]
    fn every_wheel_has_its_hashes() {
        let versions = versions();
        let count = versions.lines().count();
        assert!(count >= 8, "{versions}");
        assert!(
            versions.lines().all(|line| line.contains("==")),
            "{versions}"
        );
        let hashes = WHEELS
            .lines()
            .filter(|l| l.trim().starts_with("--hash=sha256:"));
        let long =
            |line: &&str| line.trim().trim_end_matches(" \\").len() == "--hash=sha256:".len() + 64;
        assert_eq!(hashes.filter(long).count(), 2 * count);
    }

    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("thesis.txt"), "mine").unwrap();
        let error = setup(folder.path(), &|_| {}).unwrap_err();
        assert!(matches!(error, InstallError::Occupied(_)), "{error}");
        assert!(folder.path().join("thesis.txt").exists());
    }
}
