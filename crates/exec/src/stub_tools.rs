//! What stands in for NVIDIA's tools, where clients of the driver would have them make machine code: a linker without functions, and an
//! assembler that hands PTX on.

use object::Endianness;
use object::elf::*;
use object::write::elf::{FileHeader, ProgramHeader, Writer};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Writes a program that takes the options of `ptxas` and copies its input.
pub fn ptxas(folder: &Path) -> io::Result<PathBuf> {
    let file = folder.join("ptxas");
    std::fs::write(&file, include_str!("ptxas.sh"))?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?;
    Ok(file)
}

/// The file of an empty library of this name (`DT_SONAME`), for this machine's loader: a 64-bit ELF file, little-endian
/// (System V ABI, "Object Files" and "Program Loading and Dynamic Linking").
pub fn empty_library(name: &str) -> Vec<u8> {
    library(name, None)
}

/// The same of a library that brings another one (`DT_NEEDED`): who looks for a function in it finds that of the other.
pub fn forwarding_library(name: &str, to: &Path) -> Vec<u8> {
    library(name, Some(&to.display().to_string()))
}

fn library(name: &str, to: Option<&str>) -> Vec<u8> {
    let mut file = Vec::new();
    let written = write(&mut file, name, to);
    written.expect("a file of 64 bits has room for every number");
    file
}

fn write(file: &mut Vec<u8>, name: &str, to: Option<&str>) -> object::write::Result<()> {
    const SEGMENTS: u32 = 3;
    let mut writer = Writer::new(Endianness::Little, true, file);
    let name = writer.add_dynamic_string(name.as_bytes());
    let to = to.map(|to| writer.add_dynamic_string(to.as_bytes()));
    writer.reserve_file_header();
    writer.reserve_program_headers(SEGMENTS);
    // A table of one bucket, of which nothing hangs, for the one symbol that every table begins with.
    let hash = writer.reserve_hash(1, 1) as u64;
    writer.reserve_null_dynamic_symbol_index();
    let symbols = writer.reserve_dynsym() as u64;
    let strings = writer.reserve_dynstr() as u64;
    let numbers = [
        (DT_HASH, hash),
        (DT_STRTAB, strings),
        (DT_STRSZ, writer.dynstr_len() as u64),
        (DT_SYMTAB, symbols),
        (DT_SYMENT, size_of::<Sym64<Endianness>>() as u64),
        (DT_NULL, 0),
    ];
    let names = [(DT_SONAME, Some(name)), (DT_NEEDED, to)];
    let names = names
        .into_iter()
        .filter_map(|(tag, name)| Some((tag, name?)));
    let dynamic = writer.reserve_dynamic(names.clone().count() + numbers.len());
    let end = writer.reserved_len();

    writer.write_file_header(&FileHeader {
        os_abi: ELFOSABI_NONE,
        abi_version: 0,
        e_type: ET_DYN,
        e_machine: match cfg!(target_arch = "aarch64") {
            true => EM_AARCH64,
            false => EM_X86_64,
        },
        e_entry: 0,
        e_flags: 0,
    })?;
    writer.write_align_program_headers();
    // The loader writes addresses into the dynamic section. The stack need not be executable.
    for (kind, range, align) in [
        (PT_LOAD, 0..end, 0x1000),
        (PT_DYNAMIC, dynamic..end, 8),
        (PT_GNU_STACK, 0..0, 16),
    ] {
        writer.write_program_header(&ProgramHeader {
            p_type: kind,
            p_flags: PF_R | PF_W,
            p_offset: range.start as u64,
            p_vaddr: range.start as u64,
            p_paddr: range.start as u64,
            p_filesz: range.len() as u64,
            p_memsz: range.len() as u64,
            p_align: align,
        });
    }
    writer.write_hash(1, 1, |_| None);
    writer.write_null_dynamic_symbol();
    writer.write_dynstr();
    writer.write_align_dynamic();
    for (tag, name) in names {
        writer.write_dynamic_string(tag, name)?;
    }
    for (tag, value) in numbers {
        writer.write_dynamic(tag, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_stands_in_for_ptxas_copies_its_input() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let program = ptxas(folder).unwrap();
        let version = Command::new(&program).arg("--version").output().unwrap();
        assert!(String::from_utf8_lossy(&version.stdout).contains("release 13."));
        let input = folder.join("a kernel.ptx");
        std::fs::write(&input, ".version 8.0").unwrap();
        for how in [
            vec!["-o", "out"],
            vec!["--output-file", "out"],
            vec!["--output-file=out"],
        ] {
            let mut command = Command::new(&program);
            command
                .current_dir(folder)
                .args(["-lineinfo", "-v", "--gpu-name=sm_80"]);
            assert!(command.arg(&input).args(how).status().unwrap().success());
            assert_eq!(std::fs::read(folder.join("out")).unwrap(), b".version 8.0");
            std::fs::remove_file(folder.join("out")).unwrap();
        }
    }

    /// The loader takes it, and knows it by its name.
    #[test]
    fn the_loader_takes_an_empty_library() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("another-name.so");
        std::fs::write(&file, empty_library("libnvJitLink.so.13")).unwrap();
        let mut program = Command::new("/bin/true");
        let ran = program
            .env("LD_PRELOAD", &file)
            .env("LD_DEBUG", "files")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{said}");
        assert!(!said.contains("cannot be preloaded"), "{said}");
        assert!(said.contains("another-name.so"), "{said}");
        let library = object::File::parse(&*std::fs::read(&file).unwrap()).is_ok();
        assert!(library);
    }

    /// Who loads it gets the other one, too.
    #[test]
    fn the_loader_takes_a_forwarding_library_and_what_it_brings() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("other.so"), empty_library("libother.so.7")).unwrap();
        let bytes = forwarding_library("libcuda.so.1", &at("other.so"));
        std::fs::write(at("driver.so"), bytes).unwrap();
        let ran = Command::new("/bin/true")
            .env("LD_PRELOAD", at("driver.so"))
            .env("LD_DEBUG", "files")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        let needed = format!(
            "file={} [0];  needed by {}",
            at("other.so").display(),
            at("driver.so").display()
        );
        assert!(said.contains(&needed), "{said}");
    }
}
