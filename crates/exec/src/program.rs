//! What an executable file tells before it runs (System V ABI, "Object Files").

use context::fatbin::{self, FatbinError, Room};
use object::read::elf::{Dyn as _, FileHeader as _};
use object::{Object as _, ObjectSection as _, elf};
use std::path::{Path, PathBuf};

/// What is known of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Whether it is an ELF file: otherwise it is a script.
    pub is_elf: bool,
    /// The libraries that it names.
    pub needed: Vec<String>,
    /// Whether nvcc put kernels into it.
    pub has_kernels: bool,
}

impl Program {
    /// Reads an executable.
    ///
    /// # Errors
    ///
    /// It can't be read.
    pub fn read(path: &Path) -> std::io::Result<Program> {
        let data = std::fs::read(path)?;
        Ok(Program::of(&data))
    }

    /// What an executable's bytes tell.
    pub fn of(data: &[u8]) -> Program {
        let Ok(file) = object::File::parse(data) else {
            return Program::default();
        };
        let kernels = [".nv_fatbin", ".nvFatBinSegment"];
        let has_kernels = file
            .sections()
            .any(|s| s.name().is_ok_and(|name| kernels.contains(&name)));
        Program {
            is_elf: true,
            needed: needed(data).unwrap_or_default(),
            has_kernels,
        }
    }

    /// The CUDA runtime that it names, if it does: `libcudart.so.12`.
    pub fn runtime(&self) -> Option<&str> {
        let mut all = self.needed.iter();
        all.find(|n| n.starts_with("libcudart.so"))
            .map(String::as_str)
    }

    /// Whether the CUDA runtime is inside it, where no other library can take its place.
    pub fn has_static_runtime(&self) -> bool {
        let driver = self.needed.iter().any(|n| n.starts_with("libcuda.so"));
        self.has_kernels && self.runtime().is_none() && !driver
    }
}

/// The PTX that a program brings along for a device of this compute capability: a text for each of its fat binaries, which lie one after
/// the other in their section. Fat binaries without such PTX have none.
///
/// # Errors
///
/// All of them unpack to more than there is room for.
pub fn device_code(data: &[u8], capability: u32, room: Room) -> Result<Vec<String>, FatbinError> {
    let mut all = Vec::new();
    for contents in fat_binaries(data, room)? {
        if let Some(ptx) = fatbin::choose(&contents.ptx, capability)
            && !all.contains(&ptx.text)
        {
            all.push(ptx.text.clone());
        }
    }
    Ok(all)
}

/// Of each fat binary with PTX, the oldest architecture that it has PTX for. The toolkit's own library is none of the program's.
pub fn lowest_targets(data: &[u8]) -> Vec<u32> {
    let all = fat_binaries(data, Room::default()).unwrap_or_default();
    all.iter()
        .filter(|contents| !contents.is_device_runtime())
        .filter_map(|contents| contents.ptx.iter().map(|ptx| ptx.arch).min())
        .collect()
}

/// What the fat binaries of an executable hold, one after the other as they lie in their section.
fn fat_binaries(data: &[u8], mut room: Room) -> Result<Vec<fatbin::Contents>, FatbinError> {
    let Ok(file) = object::File::parse(data) else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for name in [".nv_fatbin", "__nv_relfatbin"] {
        let section = file.section_by_name(name).and_then(|s| s.data().ok());
        let mut rest = section.unwrap_or_default();
        while let Some(header) = rest.first_chunk() {
            // What lies between them fills up to whole words.
            let size = fatbin::size(header).map_or(8, |size| size.max(fatbin::HEADER));
            match fatbin::read_within(rest, &mut room) {
                Ok(contents) => all.push(contents),
                Err(error @ FatbinError::TooLarge) => return Err(error),
                // What is not understood is left out.
                Err(_) => {}
            }
            rest = rest.get(size.next_multiple_of(8)..).unwrap_or_default();
        }
    }
    Ok(all)
}

/// `DT_NEEDED`
fn needed(data: &[u8]) -> Option<Vec<String>> {
    let header = elf::FileHeader64::<object::Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let (entries, link) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, link).ok()?;
    let wanted = entries
        .iter()
        .filter(|entry| entry.d_tag(endian) == elf::DT_NEEDED);
    let names = wanted.filter_map(|entry| entry.string(endian, strings).ok());
    Some(
        names
            .map(|n| String::from_utf8_lossy(n).into_owned())
            .collect(),
    )
}

/// The file that a command names: with a slash as it is, without one looked for in `PATH`.
pub fn find(command: &str) -> Option<PathBuf> {
    if command.contains('/') {
        return Path::new(command).is_file().then(|| command.into());
    }
    let folders = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&folders).map(|folder| folder.join(command));
    all.find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_libraries() {
        let own = Program::read(&std::env::current_exe().unwrap()).unwrap();
        assert!(
            own.is_elf && own.needed.iter().any(|n| n.starts_with("libc.so")),
            "{own:?}"
        );
        assert!(!own.has_static_runtime());
        assert_eq!(Program::of(b"#!/bin/sh\n"), Program::default());
    }

    #[test]
    fn kernels_without_a_shared_runtime_mean_a_static_one() {
        let of = |needed: &[&str], has_kernels| Program {
            is_elf: true,
            needed: needed.iter().map(|n| (*n).to_owned()).collect(),
            has_kernels,
        };
        assert!(of(&["libc.so.6"], true).has_static_runtime());
        assert!(!of(&["libcudart.so.13", "libc.so.6"], true).has_static_runtime());
        assert!(!of(&["libc.so.6"], false).has_static_runtime());
    }
}
