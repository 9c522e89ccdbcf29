//! What a compiler may read: the parts of its toolkit, the host compiler's, the system's programs and headers, and nothing beside them.
//!
//! A source names any file that its compiler may read. So no folder is given as a whole because something of the compiler lies in it: of the
//! folder in which nvcc is found, its known parts; of those in `PATH`, the host compiler; of those in `LD_LIBRARY_PATH`, the libraries.
//! Links are followed, and where they lead is given as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The system's programs, libraries and headers (Filesystem Hierarchy Standard, "The /usr Hierarchy"), and what the loader reads.
const SYSTEM: [&str; 24] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/bin",
    "/usr/sbin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/libexec",
    "/usr/x86_64-linux-gnu",
    "/usr/aarch64-linux-gnu",
    "/usr/local/bin",
    "/usr/local/include",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/libexec",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf.d",
];

/// Parts of a CUDA toolkit (CUDA installation guide, and how the packages of PyPI lay it out).
const TOOLKIT: [&str; 8] = [
    "bin",
    "include",
    "lib",
    "lib64",
    "nvvm",
    "targets",
    "extras",
    "version.json",
];

/// Parts of an installation of a host compiler.
const HOST: [&str; 7] = [
    "bin",
    "include",
    "lib",
    "lib64",
    "libexec",
    "x86_64-conda-linux-gnu",
    "aarch64-conda-linux-gnu",
];

/// Host compilers, and what they call.
const PROGRAMS: [&str; 10] = [
    "cc", "gcc", "g++", "c++", "cpp", "clang", "clang++", "as", "ld", "ccache",
];

/// Libraries of one folder that are given, at most.
const LIBRARIES: usize = 2000;

/// The files and folders that a compiler may read.
pub fn of_compiler(nvcc: &Path) -> Vec<PathBuf> {
    let mut all: BTreeSet<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    let mut toolkit = vec![nvcc.to_path_buf()];
    for variable in ["CUDA_PATH", "CUDA_HOME"] {
        let root = std::env::var_os(variable).filter(|value| !value.is_empty());
        toolkit.extend(root.map(|root| Path::new(&root).join("bin/nvcc")));
    }
    for program in toolkit.iter().flat_map(|program| both(program)) {
        let root = program.parent().and_then(Path::parent);
        // A script that calls the compiler may lie anywhere.
        let is_toolkit = program.with_file_name("nvcc.profile").is_file()
            || root.is_some_and(|root| root.join("nvvm").is_dir());
        if let (Some(root), true) = (root, is_toolkit) {
            all.extend(parts(root, &TOOLKIT));
        }
        all.insert(program);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut hosts: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| PROGRAMS.map(|name| folder.join(name)))
        .collect();
    hosts.extend(std::env::var_os("NVCC_CCBIN").map(PathBuf::from));
    for program in hosts.into_iter().filter(|program| program.exists()) {
        for program in both(&program) {
            // Where it is, its own parts are; below a folder of somebody's that is no installation there are none.
            let root = program.parent().and_then(Path::parent);
            if let Some(root) = root.filter(|root| root.join("lib/gcc").is_dir()) {
                all.extend(parts(root, &HOST));
            }
            all.insert(program);
        }
    }
    let libraries = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    for folder in std::env::split_paths(&libraries).filter(|folder| folder.is_absolute()) {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let named = entries.filter(|e| e.file_name().to_string_lossy().contains(".so"));
        let files = named.map(|e| e.path()).filter(|path| path.is_file());
        all.extend(files.take(LIBRARIES).flat_map(|path| both(&path)));
    }
    all.into_iter().filter(|path| path.exists()).collect()
}

/// A path, and where it leads.
fn both(path: &Path) -> Vec<PathBuf> {
    let real = path.canonicalize().ok().filter(|real| real != path);
    [Some(path.to_path_buf()), real]
        .into_iter()
        .flatten()
        .collect()
}

fn parts(root: &Path, names: &[&str]) -> Vec<PathBuf> {
    let parts = names.iter().map(|name| root.join(name));
    parts.flat_map(|part| both(&part)).collect()
}

/// What of the readable gives a file or folder away, or something in it; what lies below it is its own.
pub fn exposes<'r>(readable: &'r [PathBuf], path: &Path) -> Option<&'r Path> {
    let real = path.canonicalize().ok()?;
    let lies_in = |folder: &&PathBuf| {
        let folder = folder.canonicalize();
        folder.is_ok_and(|folder| real.starts_with(folder))
    };
    readable.iter().find(lies_in).map(PathBuf::as_path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beside_the_compiler_is_not_given() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for folder in [
            "cuda/bin",
            "cuda/include",
            "cuda/nvvm",
            "cuda/course",
            "bin",
            "course",
        ] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("cuda/bin/nvcc"), "").unwrap();
        std::fs::write(at("cuda/bin/nvcc.profile"), "").unwrap();
        std::fs::write(at("bin/wrapper"), "").unwrap();
        std::os::unix::fs::symlink(at("cuda/bin/nvcc"), at("bin/nvcc")).unwrap();
        for nvcc in ["cuda/bin/nvcc", "bin/nvcc"] {
            let given = of_compiler(&at(nvcc));
            assert!(exposes(&given, &at("cuda/include")).is_some(), "{nvcc}");
            assert_eq!(exposes(&given, &at("course")), None, "{nvcc}");
            assert_eq!(exposes(&given, &at("cuda/course")), None, "{nvcc}");
        }
        let given = of_compiler(&at("bin/wrapper"));
        assert_eq!(exposes(&given, &at("course")), None);
        assert!(exposes(&given, &at("bin/wrapper")).is_some());
        for folder in [
            "/", "/usr", "/opt", "/home", "/root", "/etc", "/tmp", "/var", "/srv",
        ] {
            assert!(!given.contains(&PathBuf::from(folder)), "{folder}");
        }
    }
}
