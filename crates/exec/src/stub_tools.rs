//! What stands in for NVIDIA's tools, where clients of the driver would have them make machine code: a linker without functions, and an
//! assembler that hands PTX on.

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

/// Where numbers of two bytes, four bytes and eight bytes stand one after the other.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn half(&mut self, n: u16) -> &mut Bytes {
        self.0.extend(n.to_le_bytes());
        self
    }
    fn word(&mut self, n: u32) -> &mut Bytes {
        self.0.extend(n.to_le_bytes());
        self
    }
    fn long(&mut self, n: u64) -> &mut Bytes {
        self.0.extend(n.to_le_bytes());
        self
    }
    fn pad(&mut self, to: u64) {
        self.0.resize(to as usize, 0);
    }
}

/// The file of an empty library of this name (`DT_SONAME`), for this machine's loader: a 64-bit ELF file, little-endian
/// (System V ABI, "Object Files" and "Program Loading and Dynamic Linking").
pub fn empty_library(name: &str) -> Vec<u8> {
    use object::elf::*;
    /// Bytes of the file's header, and of a segment's.
    const HEADER: u64 = 64;
    const SEGMENT: u64 = 56;
    const SEGMENTS: u64 = 3;
    let hash = HEADER + SEGMENTS * SEGMENT;
    let symbols = hash + 16;
    let strings = symbols + 24;
    let strings_bytes = name.len() as u64 + 2;
    let dynamic = (strings + strings_bytes).next_multiple_of(8);
    let entries = [
        (DT_SONAME, 1),
        (DT_HASH, hash),
        (DT_STRTAB, strings),
        (DT_STRSZ, strings_bytes),
        (DT_SYMTAB, symbols),
        (DT_SYMENT, 24),
        (DT_NULL, 0),
    ];
    let dynamic_bytes = 16 * entries.len() as u64;
    let end = dynamic + dynamic_bytes;
    let machine = if cfg!(target_arch = "aarch64") {
        EM_AARCH64
    } else {
        EM_X86_64
    };

    let mut file = Bytes(ELFMAG.to_vec());
    file.0.extend([ELFCLASS64, ELFDATA2LSB, EV_CURRENT]);
    file.pad(16);
    file.half(ET_DYN).half(machine).word(u32::from(EV_CURRENT));
    // No entry; the segments' headers; no sections; no flags.
    file.long(0).long(HEADER).long(0).word(0);
    file.half(HEADER as u16).half(SEGMENT as u16);
    file.half(SEGMENTS as u16).half(64).half(0).half(0);
    // The loader writes addresses into the dynamic section. The stack need not be executable.
    let segments = [
        (PT_LOAD, 0, end, 0x1000),
        (PT_DYNAMIC, dynamic, dynamic_bytes, 8),
        (PT_GNU_STACK, 0, 0, 16),
    ];
    for (kind, at, bytes, align) in segments {
        file.word(kind).word(PF_R | PF_W);
        file.long(at)
            .long(at)
            .long(at)
            .long(bytes)
            .long(bytes)
            .long(align);
    }
    // A table of one bucket, of which nothing hangs, for the one symbol that every table begins with.
    file.word(1).word(1).word(0).word(0);
    file.pad(strings + 1);
    file.0.extend(name.as_bytes());
    file.pad(dynamic);
    for (tag, value) in entries {
        file.long(tag as u64).long(value);
    }
    file.0
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
}
