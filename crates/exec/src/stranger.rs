//! Whether a program of a stranger leaves the library its place.
//!
//! The library watches the program from inside the program's process. Its records are sealed with a key that it reads when it is
//! loaded, before the program's own code runs. A program whose code would run before that, or stand between the library and the
//! system, is told here by its file (System V ABI, "Object Files" and "Dynamic Linking"; ELF gABI).

use object::read::elf::{
    Dyn as _, FileHeader as _, ProgramHeader as _, SectionHeader as _, Sym as _,
};
use object::{Endianness, elf};
use std::collections::BTreeSet;

/// Libraries that a program may name: the drop-in ones, and those of the system's C and C++.
const LIBRARIES: [&str; 10] = [
    "libcudart.so",
    "libcuda.so",
    "libc.so",
    "libm.so",
    "libdl.so",
    "librt.so",
    "libpthread.so",
    "libstdc++.so",
    "libgcc_s.so",
    "ld-linux",
];

/// Why a program can't be watched as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Evasion {
    /// Not a program for this machine.
    #[error("what was built is not a program for this machine")]
    NoProgram,
    /// The runtime is inside it, or it names none.
    #[error(
        "the program is not linked with the shared CUDA runtime, so its kernels can't be watched; leave out `-cudart` and `-static`"
    )]
    NoRuntime,
    /// It names its own loader.
    #[error("the program names a loader of its own")]
    Loader,
    /// Its code runs before the libraries'.
    #[error("the program has code that runs before its libraries are ready ({0})")]
    Early(&'static str),
    /// It names a library that is not the system's.
    #[error("the program needs the library `{0}`, which is not there when it is graded")]
    Library(String),
    /// It takes the place of a function of the system.
    #[error("the program defines `{0}`, a function of the system's; call it something else")]
    Replaces(String),
}

/// Looks at a program's file, and at the library's.
///
/// # Errors
///
/// Why it can't be watched.
pub fn judge(program: &[u8], library: &[u8]) -> Result<(), Evasion> {
    let facts = Facts::of(program).ok_or(Evasion::NoProgram)?;
    let library = Facts::of(library).ok_or(Evasion::NoProgram)?;
    if !facts
        .needed
        .iter()
        .any(|n| n.starts_with("libcudart.so") || n.starts_with("libcuda.so"))
    {
        return Err(Evasion::NoRuntime);
    }
    if !facts
        .loader
        .as_deref()
        .is_some_and(|path| path.starts_with("/lib"))
    {
        return Err(Evasion::Loader);
    }
    if let Some(what) = facts.early {
        return Err(Evasion::Early(what));
    }
    let strange = |name: &&String| !LIBRARIES.iter().any(|known| name.starts_with(known));
    if let Some(name) = facts.needed.iter().find(strange) {
        return Err(Evasion::Library(name.chars().take(100).collect()));
    }
    // What the library calls is looked up in the program first; and so is what it puts before the system's own functions.
    let cuda = |name: &&String| name.starts_with("cu") || name.starts_with("__cuda");
    let own = library.defined.iter().filter(|name| !cuda(name));
    let mut known = library.undefined.iter().chain(own);
    if let Some(name) = known.find(|name| facts.defined.contains(*name)) {
        return Err(Evasion::Replaces(name.chars().take(100).collect()));
    }
    Ok(())
}

/// What a file tells.
#[derive(Debug, Default)]
struct Facts {
    needed: Vec<String>,
    loader: Option<String>,
    early: Option<&'static str>,
    /// Functions that others can see.
    defined: BTreeSet<String>,
    /// Functions of others that it calls.
    undefined: BTreeSet<String>,
}

impl Facts {
    fn of(data: &[u8]) -> Option<Facts> {
        let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let own = if cfg!(target_arch = "aarch64") {
            elf::EM_AARCH64
        } else {
            elf::EM_X86_64
        };
        if header.e_machine.get(endian) != own {
            return None;
        }
        let mut facts = Facts::default();
        let mut dynamic = None;
        for segment in header.program_headers(endian, data).ok()? {
            if let Ok(Some(path)) = segment.interpreter(endian, data) {
                facts.loader = Some(String::from_utf8_lossy(path).into_owned());
            }
            if let Ok(Some(entries)) = segment.dynamic(endian, data) {
                dynamic = Some(entries);
            }
        }
        // What the loader goes by, sections or not.
        let dynamic = dynamic.unwrap_or_default();
        for entry in dynamic {
            if entry.d_tag(endian) == elf::DT_PREINIT_ARRAY {
                facts.early = Some("`.preinit_array`");
            }
            let tag = entry.d_tag(endian);
            let others = [
                elf::DT_AUDIT,
                elf::DT_DEPAUDIT,
                elf::DT_FILTER,
                elf::DT_AUXILIARY,
            ];
            if others.contains(&tag) {
                facts.early = Some("an audit library or a filter");
            }
        }
        let sections = header.sections(endian, data).ok()?;
        let (entries, link) = sections.dynamic(endian, data).ok()??;
        // Sections are for linkers, and may lie.
        if entries.as_ptr() != dynamic.as_ptr() {
            return None;
        }
        let strings = sections.strings(endian, data, link).ok()?;
        for entry in entries.iter().filter(|e| e.d_tag(endian) == elf::DT_NEEDED) {
            let name = entry.string(endian, strings).ok()?;
            facts
                .needed
                .push(String::from_utf8_lossy(name).into_owned());
        }
        let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).ok()?;
        for symbol in symbols.iter() {
            let name = symbol.name(endian, symbols.strings()).ok()?;
            let name = String::from_utf8_lossy(name).into_owned();
            if symbol.st_type() == elf::STT_GNU_IFUNC {
                facts.early = Some("a function that is chosen at start, `ifunc`");
            }
            match symbol.is_undefined(endian) {
                true => facts.undefined.insert(name),
                false => symbol.st_type() == elf::STT_FUNC && facts.defined.insert(name),
            };
        }
        for section in sections.iter() {
            let Ok(Some((relocations, _))) = section.rela(endian, data) else {
                continue;
            };
            let chosen = [elf::R_X86_64_IRELATIVE, elf::R_AARCH64_IRELATIVE];
            if relocations
                .iter()
                .any(|r| chosen.contains(&r.r_type(endian, false)))
            {
                facts.early = Some("a function that is chosen at start, `ifunc`");
            }
        }
        Some(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_program_names_its_loader_and_calls_the_system() {
        let data = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let facts = Facts::of(&data).unwrap();
        assert!(facts.loader.is_some_and(|l| l.starts_with("/lib")));
        assert!(facts.undefined.contains("write") && facts.early.is_none());
        assert_eq!(judge(&data, &data), Err(Evasion::NoRuntime));
        assert_eq!(judge(b"#!/bin/sh\n", &data), Err(Evasion::NoProgram));
        assert_eq!(judge(&data[..100], &data), Err(Evasion::NoProgram));
    }
}
