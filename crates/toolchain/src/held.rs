//! What running programs hold: memory, processes, files (proc(5)).
//!
//! Of a process by itself: what it has in use of its own memory, also where that lies in the swap, and huge pages; and all of a file in
//! memory that it was given, mapped or not, by the blocks that the system has for it. Other memory that nobody has mapped it can't
//! have: the calls that make some are not on its list ([`seccomp`](super::seccomp)).
//!
//! A group of processes is counted by what each has in use, so that what they share counts several times.

use std::fs::File;
use std::path::{Path, PathBuf};

/// Threads of a process that count as no memory; each more takes a stack of the kernel's.
const THREADS: u64 = 4096;

/// What a group of processes holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// How many there are.
    pub processes: usize,
    /// Memory that they have in use, bytes.
    pub bytes: u64,
}

/// A file without a name for a process that has it under this number.
#[cfg(target_os = "linux")]
pub(super) fn file_in_memory(_: i32) -> std::io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(File::from(memfd_create("racetrap", MemfdFlags::CLOEXEC)?))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn file_in_memory(_: i32) -> std::io::Result<File> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Memory that a process holds, bytes, with that of a file in memory that it was given.
pub(super) fn by_process(process: u32, file: Option<&File>) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let own = of_status(&status);
    let blocks = file.and_then(|file| file.metadata().ok());
    own.saturating_add(blocks.map_or(0, |m| blocks_of(&m)))
}

/// Of a process's status, what is its own.
fn of_status(status: &str) -> u64 {
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let kib = |name| number(name).unwrap_or(0);
    // What it shares is the file's.
    let resident = kib("VmRSS:").saturating_sub(kib("RssShmem:"));
    let all = resident + kib("VmSwap:") + kib("HugetlbPages:") + kib("VmPTE:");
    match kib("Threads:") > THREADS {
        true => u64::MAX,
        false => all.saturating_mul(1024),
    }
}

/// What the group of processes holds that a process leads.
pub(super) fn by_group(leader: u32) -> Group {
    let mut group = Group::default();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let is_process = entry
            .file_name()
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_digit);
        if !is_process {
            continue;
        }
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name, which stands in brackets, can have some itself. State, parent, group; resident pages are the 24th field.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = fields.split_whitespace();
        if fields.nth(2).and_then(|g| g.parse().ok()) == Some(leader) {
            let pages: Option<u64> = fields.nth(18).and_then(|p| p.parse().ok());
            group.processes += 1;
            group.bytes += pages.unwrap_or(0).saturating_mul(4096);
        }
    }
    group
}

/// What lies in folders, bytes; links are not followed, and what can't be read is nothing.
pub(super) fn in_folders(folders: &[PathBuf]) -> u64 {
    const ENTRIES: usize = 100_000;
    let (mut open, mut bytes, mut entries) = (folders.to_vec(), 0u64, 0);
    while let Some(folder) = open.pop() {
        for entry in list(&folder) {
            entries += 1;
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() {
                open.push(entry.path());
            } else {
                bytes = bytes.saturating_add(blocks_of(&data));
            }
            if entries > ENTRIES {
                // So many files are too much, whatever is in them.
                return u64::MAX;
            }
        }
    }
    bytes
}

fn list(folder: &Path) -> impl Iterator<Item = std::fs::DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

#[cfg(unix)]
fn blocks_of(data: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    data.blocks().saturating_mul(512)
}

#[cfg(not(unix))]
fn blocks_of(data: &std::fs::Metadata) -> u64 {
    data.len()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn what_nobody_has_mapped_is_counted() {
        let mut file = file_in_memory(0).unwrap();
        let own = std::process::id();
        let before = by_process(own, Some(&file));
        assert!(before > 1 << 20);
        file.write_all(&vec![1; 64 << 20]).unwrap();
        let after = by_process(own, Some(&file));
        assert!(after >= before + (48 << 20), "{before} {after}");
    }

    #[test]
    fn a_status_is_added_up() {
        let status = "VmRSS:\t    1000 kB\nRssShmem:\t     900 kB\nVmPTE:\t 1 kB\nVmSwap:\t 20 kB\nThreads:\t4\nHugetlbPages:\t 2048 kB\n";
        assert_eq!(of_status(status), (100 + 1 + 20 + 2048) * 1024);
        assert_eq!(of_status(""), 0);
        assert_eq!(of_status("Threads:\t6000\n"), u64::MAX);
    }
}
