//! The drop-in libraries, under the names that programs look for.

use crate::atomic_file;
use object::elf;
use object::read::elf::{Dyn as _, FileHeader as _};
use object::{Object as _, ObjectSection as _};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use toolchain::Nvcc;

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
    let name = format!("racetrap/library-{:016x}", hash.finish());
    let folder = toolchain::cache_folder()?.join(name);
    let path = folder.join(FILE);
    std::fs::create_dir_all(&folder).ok()?;
    // Its content is compared: nobody else's file is put into a program.
    atomic_file::file(&path, library, false).ok()?;
    Some(path)
}

/// The runtimes of earlier releases, by their names.
const EARLIER: [(u32, &str); 2] = [(11, "libcudart.so.11.0"), (12, "libcudart.so.12")];

/// The name of the runtime that a compiler's headers belong to, where it is not the library's own.
pub fn runtime_of(nvcc: &Nvcc) -> Option<&'static str> {
    let version = nvcc.version()?;
    let major: u32 = version.split('.').next()?.parse().ok()?;
    EARLIER.iter().find(|e| e.0 == major).map(|e| e.1)
}

/// Puts the library into a folder under all its names, with a linker script for those who link the static runtime by name.
///
/// `runtime` is the name of the runtime that a program is for. A program keeps the name that the library had when it was linked
/// (ELF, "Dynamic Section", `DT_SONAME` and `DT_NEEDED`), and the library tells from it which release's structures and parameters the program's
/// calls have. So a program for an earlier release gets a copy with that release's name.
///
/// # Errors
///
/// The folder can't be written.
pub fn install(library: &Path, folder: &Path, runtime: Option<&str>) -> io::Result<()> {
    let mut file = library.to_owned();
    if let Some((_, name)) = EARLIER.iter().find(|e| Some(e.1) == runtime) {
        let renamed = renamed(std::fs::read(library)?, name);
        let renamed = renamed.ok_or_else(|| io::Error::other("the library has no such name"))?;
        file = folder.join(FILE);
        atomic_file::file(&file, &renamed, false)?;
    }
    for name in NAMES {
        atomic_file::link(&file, &folder.join(name))?;
    }
    // Where a toolkit has the driver's library to link with, and makefiles look for it.
    let stubs = folder.join("stubs");
    std::fs::create_dir_all(&stubs)?;
    atomic_file::link(&file, &stubs.join("libcuda.so"))?;
    let script = format!("INPUT(\"{}\")\n", folder.join("libcudart.so").display());
    atomic_file::file(&folder.join("libcudart_static.a"), script.as_bytes(), false)
}

/// The library with another `DT_SONAME`. The name is among its strings already, as that of a version (`crates/cuda/build.rs`); `None` if not.
fn renamed(mut library: Vec<u8>, name: &str) -> Option<Vec<u8>> {
    let (at, to) = {
        let data = library.as_slice();
        let header = elf::FileHeader64::<object::Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, data).ok()?;
        let (entries, link) = sections.dynamic(endian, data).ok()??;
        let strings = sections.section(link).ok()?;
        let strings = object::read::elf::SectionHeader::data(strings, endian, data).ok()?;
        let wanted = format!("\0{name}\0").into_bytes();
        let to = 1 + strings.windows(wanted.len()).position(|w| w == wanted)? as u64;
        let index = entries
            .iter()
            .position(|entry| entry.d_tag(endian) == elf::DT_SONAME)?;
        let (place, _) = sections
            .iter()
            .find(|s| object::read::elf::SectionHeader::sh_type(*s, endian) == elf::SHT_DYNAMIC)
            .and_then(|s| object::read::elf::SectionHeader::file_range(s, endian))?;
        // A tag and a value, 8 bytes each.
        let at = usize::try_from(place).ok()? + 16 * index + 8;
        let bytes = match endian {
            object::Endianness::Little => to.to_le_bytes(),
            object::Endianness::Big => to.to_be_bytes(),
        };
        (at, bytes)
    };
    library.get_mut(at..at + 8)?.copy_from_slice(&to);
    Some(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name that a library has for the loader.
    fn soname(data: &[u8]) -> String {
        let header = elf::FileHeader64::<object::Endianness>::parse(data).unwrap();
        let endian = header.endian().unwrap();
        let sections = header.sections(endian, data).unwrap();
        let (entries, link) = sections.dynamic(endian, data).unwrap().unwrap();
        let strings = sections.strings(endian, data, link).unwrap();
        let mut names = entries
            .iter()
            .filter(|entry| entry.d_tag(endian) == elf::DT_SONAME);
        let name = names.next().unwrap().string(endian, strings).unwrap();
        String::from_utf8(name.to_vec()).unwrap()
    }

    #[test]
    fn the_library_is_named_as_the_program_wants_it() {
        let Ok(library) = find() else { return };
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for (wanted, name) in [
            (None, "libcudart.so.13"),
            (Some("libcudart.so.12"), "libcudart.so.12"),
            (Some("libcudart.so.11.0"), "libcudart.so.11.0"),
            (Some("libcudart.so.13"), "libcudart.so.13"),
            (Some("libcudart.so.14"), "libcudart.so.13"),
        ] {
            install(&library, folder, wanted).unwrap();
            for file in NAMES.into_iter().chain(["stubs/libcuda.so"]) {
                assert_eq!(soname(&std::fs::read(folder.join(file)).unwrap()), name);
            }
        }
        assert_eq!(
            renamed(std::fs::read(&library).unwrap(), "libother.so.1"),
            None
        );
        assert_eq!(renamed(b"no library".to_vec(), "libcudart.so.12"), None);
    }
}
