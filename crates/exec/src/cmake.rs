//! What CMake has written down of the compiler, when it configured a build.
//!
//! It links with the host's compiler, and with the libraries of the toolkit that it found then (CMake, `CMAKE_CUDA_RUNTIME_LIBRARY`). So a
//! build that was configured with another toolkit gets that one's static runtime, whatever nvcc is told later.

use crate::toolkit;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The file that a configured build begins with, if it has one (CMake, "CMake Language": the cache).
const CACHE: &str = "CMakeCache.txt";

/// A build that was configured with a compiler that is not in a folder of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The folder of the build.
    pub folder: PathBuf,
    /// The compiler.
    pub nvcc: PathBuf,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "warning: `{}` was configured with {}, so its programs get a runtime that racetrap can't replace, unless CMAKE_CUDA_RUNTIME_LIBRARY is Shared; configure another folder: `racetrap build -- cmake -B build-racetrap -S .`, then build that",
            self.folder.display(),
            self.nvcc.display()
        )
    }
}

/// Of a command that runs in a folder: the build that it names, if that was configured with a compiler of neither `toolkit` nor another
/// folder of [`toolkit::kept`].
pub fn configured_with(command: &[OsString], within: &Path, toolkit: &Path) -> Option<Elsewhere> {
    let folder = within.join(named(command));
    let cache = std::fs::read_to_string(folder.join(CACHE)).ok()?;
    let nvcc = PathBuf::from(compiler(&cache)?);
    let ours = |folder: &Path| nvcc.starts_with(folder);
    if ours(toolkit) || toolkit::kept().is_some_and(|kept| ours(&kept)) {
        return None;
    }
    let folder = folder.components().collect();
    Some(Elsewhere { folder, nvcc })
}

/// The folder that a command configures or builds: `cmake -B FOLDER`, `cmake --build FOLDER`, `make -C FOLDER`, `ninja -C FOLDER`; this one
/// where it says nothing.
fn named(command: &[OsString]) -> &Path {
    let cmake = command
        .first()
        .is_some_and(|c| Path::new(c).file_name().is_some_and(|name| name == "cmake"));
    let options: &[&str] = if cmake { &["-B", "--build"] } else { &["-C"] };
    let mut words = command.iter();
    words.find(|word| options.iter().any(|option| *word == option));
    words.next().map_or(Path::new("."), Path::new)
}

/// The CUDA compiler in a cache: `CMAKE_CUDA_COMPILER:TYPE=PATH`.
fn compiler(cache: &str) -> Option<&str> {
    let entries = cache
        .lines()
        .filter_map(|line| line.trim_end().split_once('='));
    let name = |key: &str| key.split(':').next() == Some("CMAKE_CUDA_COMPILER");
    let (_, path) = entries.into_iter().find(|(key, _)| name(key))?;
    Some(path).filter(|path| path.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_of_another_toolkit_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let build = folder.path().join("out");
        std::fs::create_dir(&build).unwrap();
        let toolkit = Path::new("/ours/toolkit");
        let told = |words: &str, within: &Path| {
            let command: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            configured_with(&command, within, toolkit).map(|told| told.nvcc)
        };
        let write = |text: &str| std::fs::write(build.join(CACHE), text).unwrap();
        assert_eq!(told("cmake --build out", folder.path()), None);

        let other = Some(PathBuf::from("/usr/local/cuda/bin/nvcc"));
        write(
            "# a comment\n//CUDA compiler\nCMAKE_CUDA_COMPILER_AR:FILEPATH=/usr/bin/ar\nCMAKE_CUDA_COMPILER:FILEPATH=/usr/local/cuda/bin/nvcc\n",
        );
        for words in [
            "cmake --build out -j 4",
            "make -j4 -C out",
            "ninja -C out all",
            "/usr/bin/cmake -S . -B out",
        ] {
            assert_eq!(told(words, folder.path()), other, "{words}");
        }
        assert_eq!(told("make", &build), other);
        assert_eq!(told("make -C", &build), other);
        assert_eq!(told("make", folder.path()), None);
        assert_eq!(told("make -B out", folder.path()), None);

        for fine in [
            "CMAKE_CUDA_COMPILER:FILEPATH=/ours/toolkit/bin/nvcc",
            "CMAKE_CUDA_COMPILER:UNINITIALIZED=nvcc",
            "CMAKE_CUDA_COMPILER",
            "no CUDA",
            "\u{0}\u{7f}=",
        ] {
            write(fine);
            assert_eq!(told("cmake --build out", folder.path()), None, "{fine}");
        }
        std::fs::write(build.join(CACHE), b"\xff=\xff").unwrap();
        assert_eq!(told("cmake --build out", folder.path()), None);
    }
}
