//! Device memory at its real addresses: one reservation of the process's address space.
//!
//! The memory is a file without a name that is mapped twice (`memfd_create(2)`, `mmap(2)`). The simulator's view is readable and
//! writable; the program's view lies at [`GLOBAL_BASE`], so that a device pointer is an address of the process, and is open only where
//! the host may look: managed, pinned and mapped memory. Elsewhere a host that follows a device pointer gets the fault that it
//! would get on a machine with a GPU, and a finding. Nothing is used before it is touched.
#![allow(unsafe_code)] // Mapping memory, and calling it a slice, is what this file is for.

use crate::alias;
use crate::page_replacement::while_nobody_writes;
use crate::pages::{PAGE, is_private, mappings};
use simt::memory::{GLOBAL_BASE, WRITTEN_WORDS};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Address space that is reserved, bytes; less where the system refuses.
const RESERVED: usize = 1 << 40;
/// The least that is of use.
const LEAST: usize = 1 << 32;
/// The reservation.
#[derive(Debug)]
pub struct Arena {
    file: i32,
    bytes: usize,
}

/// What the simulator works on.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    /// The memory.
    pub words: &'static [AtomicU32],
    /// Which bytes of it were written, by [`WRITTEN_WORDS`] words.
    pub valid: &'static [AtomicU64],
}

impl Arena {
    /// Reserves the address space. It is never given back: the program may hold addresses until it ends.
    ///
    /// # Errors
    ///
    /// The system refuses, or something else lies at [`GLOBAL_BASE`].
    ///
    /// `file` is the number of a file without a name that the process was started with, where it can make none.
    pub fn reserve(file: Option<i32>) -> io::Result<(Arena, Cells)> {
        let mut bytes = RESERVED;
        loop {
            match Arena::of(bytes, file) {
                Err(_) if bytes > LEAST => bytes /= 4,
                result => return result,
            }
        }
    }

    /// None at all: for a context whose memory is no program's.
    pub(crate) fn nowhere() -> Arena {
        Arena { file: -1, bytes: 0 }
    }

    fn of(bytes: usize, given: Option<i32>) -> io::Result<(Arena, Cells)> {
        let file = match given {
            // Whatever becomes of it, it is there for the next try. SAFETY: a number, which is checked.
            Some(given) => unsafe { libc::fcntl(given, libc::F_DUPFD_CLOEXEC, 0) },
            // SAFETY: a name that ends in zero and flags as documented.
            None => unsafe { libc::memfd_create(c"racetrap".as_ptr(), libc::MFD_CLOEXEC) },
        };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let arena = Arena { file, bytes };
        // SAFETY: the descriptor is ours.
        if unsafe { libc::ftruncate(file, bytes as libc::off_t) } != 0 {
            return Err(arena.give_up());
        }
        let shared = libc::MAP_SHARED | libc::MAP_NORESERVE;
        let open = libc::PROT_READ | libc::PROT_WRITE;
        let own = arena.map(std::ptr::null_mut(), bytes, open, shared, file);
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // Four bits for each word.
        let written = bytes / (4 * WRITTEN_WORDS) * size_of::<AtomicU64>();
        let valid = arena.map(std::ptr::null_mut(), written, open, private, -1);
        let base = GLOBAL_BASE as *mut libc::c_void;
        let fixed = shared | libc::MAP_FIXED_NOREPLACE;
        let program = arena.map(base, bytes, libc::PROT_NONE, fixed, file);
        let (Ok(own), Ok(valid), Ok(program)) = (&own, &valid, &program) else {
            let error = arena.give_up();
            for (mapped, length) in [(own, bytes), (valid, written), (program, bytes)] {
                if let Ok(at) = mapped {
                    // SAFETY: our own mapping, of this size, to which nothing refers.
                    unsafe { libc::munmap(at, length) };
                }
            }
            return Err(error);
        };
        if *program != base {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        // SAFETY: both mappings are of this size, zero at first, page-aligned, and stay until the process ends; every bit pattern is
        // a value, and all accesses are atomic.
        let cells = unsafe {
            Cells {
                words: std::slice::from_raw_parts(own.cast(), bytes / 4),
                valid: std::slice::from_raw_parts(valid.cast(), bytes / (4 * WRITTEN_WORDS)),
            }
        };
        Ok((arena, cells))
    }

    fn map(
        &self,
        at: *mut libc::c_void,
        bytes: usize,
        protection: i32,
        flags: i32,
        file: i32,
    ) -> io::Result<*mut libc::c_void> {
        // SAFETY: a new mapping; `MAP_FIXED_NOREPLACE` replaces none.
        let at = unsafe { libc::mmap(at, bytes, protection, flags, file, 0) };
        match at {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            at => Ok(at),
        }
    }

    fn give_up(&self) -> io::Error {
        let error = io::Error::last_os_error();
        // SAFETY: the descriptor is ours. What was mapped stays reserved, and is of no further use.
        unsafe { libc::close(self.file) };
        error
    }

    /// The file that has the memory.
    pub fn file(&self) -> i32 {
        self.file
    }

    /// Bytes that are reserved.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Whether an address lies in the program's view.
    pub fn contains(&self, address: u64) -> bool {
        (GLOBAL_BASE..GLOBAL_BASE + self.bytes as u64).contains(&address)
    }

    /// Opens pages for the host, or closes them: for memory that host and device share.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn open(&self, address: u64, bytes: u64, open: bool) -> io::Result<()> {
        let protection = match open {
            true => libc::PROT_READ | libc::PROT_WRITE,
            false => libc::PROT_NONE,
        };
        self.protect(address, bytes, protection)
    }

    /// Says what the host may do to pages: `PROT_READ` and so on (`mprotect(2)`). The same holds for their [aliases](alias).
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn protect(&self, address: u64, bytes: u64, protection: i32) -> io::Result<()> {
        let start = address / PAGE * PAGE;
        let end = address.checked_add(bytes);
        let end = end.and_then(|end| end.checked_next_multiple_of(PAGE));
        let end = end.ok_or(io::ErrorKind::InvalidInput)?;
        if !self.contains(start) || end > GLOBAL_BASE + self.bytes as u64 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        alias::protect(start..end, protection);
        let length = (end - start) as usize;
        // SAFETY: the pages are of the program's view of the arena, which nothing of ours refers to.
        match unsafe { libc::mprotect(start as *mut libc::c_void, length, protection) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Puts memory of the program itself into the arena: from now on its pages from `host` on are those from `address` on, with what was
    /// in them. Memory that is not the process's alone, a file's for example, is left as it is. Other threads that write there meanwhile wait; a
    /// system call that does fails with `EFAULT`.
    ///
    /// # Errors
    ///
    /// The system refuses, or the memory is of another kind.
    pub fn adopt(&self, address: u64, host: u64, bytes: u64) -> io::Result<()> {
        if !is_private(host, bytes)? {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.open(address, bytes, true)?;
        let length = bytes.next_multiple_of(PAGE);
        let pages = host..host + length;
        let offset = (address - GLOBAL_BASE) as libc::off_t;
        let (from, length) = (host as *mut libc::c_void, length as usize);
        while_nobody_writes(pages, || {
            self.transfer(libc::SYS_pwrite64, from, length, offset)?;
            let open = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_FIXED;
            // SAFETY: it replaces the pages by others with the same content.
            match unsafe { libc::mmap(from, length, open, flags, self.file, offset) } {
                libc::MAP_FAILED => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        })
    }

    /// Gives pages that were [adopted](Arena::adopt) back to the program, with what is in them: those that still are the arena's. The program may have
    /// unmapped others, or mapped something else there. Other threads wait as they do for [`Arena::adopt`].
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn disown(&self, address: u64, host: u64, bytes: u64) -> io::Result<()> {
        let open = libc::PROT_READ | libc::PROT_WRITE;
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        for part in self.still(address, host, bytes.next_multiple_of(PAGE))? {
            let length = (part.end - part.start) as usize;
            let new = self.map(std::ptr::null_mut(), length, open, private, -1)?;
            let offset = address - GLOBAL_BASE + (part.start - host);
            let at = part.start as *mut libc::c_void;
            while_nobody_writes(part, || {
                self.transfer(libc::SYS_pread64, new, length, offset as libc::off_t)?;
                let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                // SAFETY: both are of this length; the new pages take the place of the old ones, with the same content.
                match unsafe { libc::mremap(new, length, length, flags, at) } {
                    libc::MAP_FAILED => Err(io::Error::last_os_error()),
                    _ => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// Copies between memory and the arena's file, by the system, which answers with an error where memory is not what the program says.
    fn transfer(
        &self,
        call: libc::c_long,
        at: *mut libc::c_void,
        length: usize,
        offset: libc::off_t,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < length {
            let (from, left) = (at.cast::<u8>().wrapping_add(done), length - done);
            let to = offset + done as libc::off_t;
            // SAFETY: `pread64` and `pwrite64` take these; the system checks the addresses. Not the C library's functions of these names, which
            // may be this library's own.
            match unsafe { libc::syscall(call, self.file, from, left, to) } {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count if count > 0 => done += count as usize,
                _ => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// The parts of the program's pages from `host` on that are the arena's from `address` on.
    fn still(&self, address: u64, host: u64, bytes: u64) -> io::Result<Vec<Range<u64>>> {
        // SAFETY: a structure of numbers, which the system fills.
        let inode = unsafe {
            let mut file: libc::stat = std::mem::zeroed();
            if libc::fstat(self.file, &mut file) != 0 {
                return Err(io::Error::last_os_error());
            }
            file.st_ino
        };
        let mut parts = Vec::new();
        for mapping in mappings()? {
            let from = mapping.pages.start.max(host);
            let to = mapping.pages.end.min(host + bytes);
            if from < to
                && mapping.inode == inode
                && mapping.offset + (from - mapping.pages.start)
                    == address - GLOBAL_BASE + (from - host)
            {
                parts.push(from..to);
            }
        }
        Ok(parts)
    }

    /// Gives the memory of whole pages back to the system; they read as zero afterwards.
    pub fn discard(&self, address: u64, bytes: u64) {
        let Some(offset) = address.checked_sub(GLOBAL_BASE) else {
            return;
        };
        let start = offset.saturating_add(PAGE - 1) / PAGE * PAGE;
        let end = offset.saturating_add(bytes) / PAGE * PAGE;
        if end > start && end <= self.bytes as u64 {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            let (start, length) = (start as libc::off_t, (end - start) as libc::off_t);
            // SAFETY: a range of our own file; the cells over it read zero from then on.
            unsafe { libc::fallocate(self.file, mode, start, length) };
        }
    }
}

/// In a child that was forked just now: pages that were [adopted](Arena::adopt) become its own, as they are. What a child writes to its memory is
/// not its parent's business.
pub fn forked() {
    for alias in alias::take() {
        let arena = Arena {
            file: alias.file,
            bytes: 0,
        };
        let _ = arena.disown(alias.device, alias.host, alias.bytes);
    }
}
