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
    // It forgets what was there (cmake, "Options").
    if command.iter().any(|word| word == "--fresh") {
        return None;
    }
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

/// Whether a command is CMake's.
pub fn is_cmake(command: &[OsString]) -> bool {
    let program = command.first().map(Path::new);
    program.is_some_and(|p| p.file_name().is_some_and(|name| name == "cmake"))
}

/// The folder that a command configures or builds: `cmake -B FOLDER`, `cmake --build FOLDER`, `make -C FOLDER`, `ninja -C FOLDER`; this one
/// where it says nothing.
fn named(command: &[OsString]) -> PathBuf {
    let options: &[&str] = match is_cmake(command) {
        true => &["-B", "--build"],
        false => &["-C", "--directory"],
    };
    let mut words = command.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        for option in options {
            match word.strip_prefix(option) {
                Some("") => return words.next().map_or(".".into(), |w| w.as_ref().into()),
                Some(rest) if option.starts_with("--") => {
                    if let Some(folder) = rest.strip_prefix('=') {
                        return folder.into();
                    }
                }
                Some(folder) => return folder.into(),
                None => {}
            }
        }
    }
    ".".into()
}

/// The CUDA compiler in a cache, of the language or of the module `FindCUDA` before it: `CMAKE_CUDA_COMPILER:TYPE=PATH`.
fn compiler(cache: &str) -> Option<&str> {
    let entries = cache
        .lines()
        .filter_map(|line| line.trim_end().split_once('='));
    let name = |key: &str| {
        let name = key.split(':').next();
        matches!(name, Some("CMAKE_CUDA_COMPILER" | "CUDA_NVCC_EXECUTABLE"))
    };
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
            "cmake -Bout",
            "make -Cout",
            "make --directory=out all",
        ] {
            assert_eq!(told(words, folder.path()), other, "{words}");
        }
        assert_eq!(told("make", &build), other);
        assert_eq!(told("make -C", &build), other);
        assert_eq!(told("make", folder.path()), None);
        assert_eq!(told("make -B out", folder.path()), None);
        assert_eq!(told("cmake --fresh -B out", folder.path()), None);

        write("CUDA_NVCC_EXECUTABLE:FILEPATH=/usr/local/cuda/bin/nvcc");
        assert_eq!(told("cmake --build out", folder.path()), other);
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
