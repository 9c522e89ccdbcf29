//! Whether a program of a stranger leaves the library its place.
//!
//! The library watches the program from inside the program's process. Its records are sealed with a key that it reads when it is
//! loaded, before the program's own code runs. A program whose code would run before that, or stand between the library and the
//! system, is told here by its file (System V ABI, "Object Files" and "Dynamic Linking"; ELF gABI).

use object::read::elf::{
    Dyn as _, FileHeader as _, ProgramHeader as _, SectionHeader as _, Sym as _,
};
use object::{Endianness, elf};
use std::collections::{BTreeMap, BTreeSet};

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

/// The loaders of the platforms' ABIs.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

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
    /// It names folders of its own for its libraries.
    #[error(
        "the program is linked with a folder of its own for libraries (`rpath`); leave out `-rpath`"
    )]
    Folder,
    /// Its sections do not say what the loader reads.
    #[error("the program's file is not as linkers write it")]
    Contradicts,
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
    let known = |path: &str| LOADERS.contains(&path);
    if !facts.loader.as_deref().is_some_and(known) {
        return Err(Evasion::Loader);
    }
    if facts.own_folders {
        return Err(Evasion::Folder);
    }
    if facts.contradicts {
        return Err(Evasion::Contradicts);
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
    let own = library.defined.keys().filter(|name| !cuda(name));
    let mut known = library.undefined.iter().chain(own);
    let taken = |name: &&String| match facts.defined.get(*name) {
        // Linkers copy the system's data into programs that name it.
        Some(Type::Data) => !library.data.contains(*name),
        Some(Type::Code) => true,
        None => false,
    };
    if let Some(name) = known.find(taken) {
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
    /// Whether it tells the loader where to look for libraries.
    own_folders: bool,
    /// Whether its sections are not what the loader goes by.
    contradicts: bool,
    /// What others can see.
    defined: BTreeMap<String, Type>,
    /// What it takes from others.
    undefined: BTreeSet<String>,
    /// What it takes from others that is data.
    data: BTreeSet<String>,
}

/// What a symbol says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Code,
    Data,
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
            facts.own_folders |= [elf::DT_RPATH, elf::DT_RUNPATH].contains(&tag);
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
        let value = |tag| {
            let mut all = dynamic.iter().filter(|e| e.d_tag(endian) == tag);
            let found = all.next().map(|e| e.d_val(endian));
            // Of two, the loader takes the last.
            (all.next().is_none()).then_some(found.unwrap_or(0))
        };
        // Symbols and their names lie one behind the other, and the loader reads those that the sections show.
        let table = sections.section(symbols.section()).ok()?;
        let (from, size) = (table.sh_addr(endian), table.sh_size(endian));
        let names = sections.section(link).ok()?.sh_addr(endian);
        facts.contradicts = value(elf::DT_SYMTAB) != Some(from)
            || value(elf::DT_STRTAB) != Some(names)
            || symbols.string_section() != link
            || from.checked_add(size) != Some(names)
            || !laid_out(header, endian, data);
        for symbol in symbols.iter() {
            let name = symbol.name(endian, symbols.strings()).ok()?;
            let name = String::from_utf8_lossy(name).into_owned();
            if symbol.st_type() == elf::STT_GNU_IFUNC {
                facts.early = Some("a function that is chosen at start, `ifunc`");
            }
            let data = [elf::STT_OBJECT, elf::STT_TLS].contains(&symbol.st_type());
            if symbol.is_undefined(endian) {
                if data {
                    facts.data.insert(name.clone());
                }
                facts.undefined.insert(name);
            } else if symbol.st_bind() != elf::STB_LOCAL {
                let is = if data { Type::Data } else { Type::Code };
                facts.defined.insert(name, is);
            }
        }
        let tables = [
            (value(elf::DT_RELA), value(elf::DT_RELASZ)),
            (value(elf::DT_JMPREL), value(elf::DT_PLTRELSZ)),
        ];
        for (from, size) in tables {
            let relocations = relocations(header, endian, data, from?, size?)?;
            let chosen = [elf::R_X86_64_IRELATIVE, elf::R_AARCH64_IRELATIVE];
            let mut all = relocations.iter();
            if all.any(|r| chosen.contains(&r.r_type(endian, false))) {
                facts.early = Some("a function that is chosen at start, `ifunc`");
            }
        }
        Some(facts)
    }
}

type Header = elf::FileHeader64<Endianness>;

/// What is loaded, in the order of the file: address, and the bytes that the file has for it.
fn loaded<'d>(
    header: &Header,
    endian: Endianness,
    data: &'d [u8],
) -> Option<Vec<(u64, u64, &'d [u8])>> {
    let segments = header.program_headers(endian, data).ok()?.iter();
    let loads = segments.filter(|s| s.p_type(endian) == elf::PT_LOAD);
    loads
        .map(|s| {
            Some((
                s.p_vaddr(endian),
                s.p_memsz(endian),
                s.data(endian, data).ok()?,
            ))
        })
        .collect()
}

/// Whether each address is loaded once: pages of segments do not overlap, and go up.
fn laid_out(header: &Header, endian: Endianness, data: &[u8]) -> bool {
    const PAGE: u64 = 4096;
    let mut end = 0;
    loaded(header, endian, data).is_some_and(|all| {
        all.iter().all(|(from, size, _)| {
            let free = from / PAGE * PAGE >= end;
            end = from
                .saturating_add(*size)
                .div_ceil(PAGE)
                .saturating_mul(PAGE);
            free
        })
    })
}

/// Relocations, where the loader reads them.
fn relocations<'d>(
    header: &Header,
    endian: Endianness,
    data: &'d [u8],
    from: u64,
    size: u64,
) -> Option<&'d [elf::Rela64<Endianness>]> {
    if size == 0 {
        return Some(&[]);
    }
    let all = loaded(header, endian, data)?;
    let bytes = all.iter().find_map(|(start, _, bytes)| {
        let at = usize::try_from(from.checked_sub(*start)?).ok()?;
        bytes.get(at..at.checked_add(usize::try_from(size).ok()?)?)
    })?;
    let count = bytes.len() / size_of::<elf::Rela64<Endianness>>();
    Some(object::pod::slice_from_bytes(bytes, count).ok()?.0)
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
