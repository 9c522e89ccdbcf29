//! The drop-in libraries, under the names that programs look for.

use object::{Object as _, ObjectSection as _};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

/// The file that has both libraries' functions.
const FILE: &str = "libracetrap_cuda.so";

/// The names under which the loader looks for it.
const NAMES: [&str; 6] = [
    "libcudart.so",
    "libcudart.so.11.0",
    "libcudart.so.12",
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

/// The section of an installed program that has the library.
const SECTION: &str = ".racetrap_cuda";

/// Finds the library: beside the running program, in `deps` there (where cargo puts it), or in `../lib/racetrap`. A program that
/// `cargo install` installed has it inside; it is then written into the user's cache folder.
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
        None => unpacked(&exe).ok_or_else(|| {
            searched.push(exe);
            Missing { searched }
        }),
    }
}

/// The library out of the program's own file, in the user's cache folder; `None` where the program has none, or there is no such folder.
fn unpacked(exe: &Path) -> Option<PathBuf> {
    let program = std::fs::read(exe).ok()?;
    let file = object::File::parse(program.as_slice()).ok()?;
    let library = file.section_by_name(SECTION)?.data().ok()?;
    let mut hash = DefaultHasher::new();
    library.hash(&mut hash);
    let folder = cache_folder()?.join(format!("library-{:016x}", hash.finish()));
    let path = folder.join(FILE);
    // Nobody else's file is put into a program.
    if std::fs::read(&path).is_ok_and(|there| there == library) {
        return Some(path);
    }
    std::fs::create_dir_all(&folder).ok()?;
    let mut new = tempfile::NamedTempFile::new_in(&folder).ok()?;
    io::Write::write_all(&mut new, library).ok()?;
    new.persist(&path).ok()?;
    Some(path)
}

/// The user's cache folder for racetrap (XDG Base Directory Specification).
fn cache_folder() -> Option<PathBuf> {
    let absolute = |v: std::ffi::OsString| Some(PathBuf::from(v)).filter(|p| p.is_absolute());
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .and_then(absolute)
        .or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    Some(cache.join("racetrap"))
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
