//! Registered memory of the host: pages of the program's own that are pages of the arena, too ([`crate::arena`], `adopt`).
//!
//! They are closed and opened together with the arena's, so that the host's accesses by its own pointers are seen as well. Nobody knows what else
//! lies on a page of which the registered range is a part: the C library's allocator may keep its books there, and a system call that is given a
//! buffer on a closed page fails. So a page is closed only where all of it is registered, or where the rest of it is the rest of one
//! allocation that has its pages to itself; and none that the allocator cuts pieces from. There it writes into the midst of what was freed, with
//! a lock that the signal's handler would wait for.
//!
//! # Blind spots
//!
//! * What the host does to registered memory that it has from `malloc` in pieces of less than 128 KiB (or whatever `M_MMAP_THRESHOLD` is).
//! * Other allocators than the C library's may keep books in what was freed.
#![allow(unsafe_code)] // Protecting pages.

use crate::pages::{PAGE, mappings};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pages with two addresses.
#[derive(Clone, Debug)]
pub struct Alias {
    /// The first page, in the program's own memory.
    pub host: u64,
    /// The same in the arena.
    pub device: u64,
    /// How many bytes of it are the arena's.
    pub bytes: u64,
    /// The arena's file.
    pub file: i32,
    /// Addresses of pages in the program's own memory that may be closed.
    closable: Range<u64>,
}

static ALL: Mutex<Vec<Alias>> = Mutex::new(Vec::new());

/// Between which addresses of the host there are any: most addresses are told from these without a lock.
static LOWEST: AtomicU64 = AtomicU64::new(u64::MAX);
static END: AtomicU64 = AtomicU64::new(0);

fn all() -> MutexGuard<'static, Vec<Alias>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// So many bytes of the program, from `page` on, are those from `device` on; these may be closed.
pub fn add(page: u64, device: u64, bytes: u64, closable: Range<u64>, file: i32) {
    LOWEST.fetch_min(closable.start, Ordering::Relaxed);
    END.fetch_max(closable.end, Ordering::Relaxed);
    all().push(Alias {
        host: page,
        device,
        bytes,
        file,
        closable,
    });
}

/// The pages of the program from `page` on are its own again: new ones, or those that they were, which are opened.
pub fn remove(page: u64, old: bool) {
    let mut all = all();
    if let Some(at) = all.iter().position(|alias| alias.host == page) {
        let alias = all.swap_remove(at);
        if old {
            protect_pages(&alias.closable, libc::PROT_READ | libc::PROT_WRITE);
        }
    }
}

/// All, which are forgotten; none where another thread holds them: in a child that was forked just now, it will never let go.
pub fn take() -> Vec<Alias> {
    ALL.try_lock()
        .map_or_else(|_| Vec::new(), |mut all| std::mem::take(&mut *all))
}

/// Says what the host may do to the pages that are these of the arena.
pub fn protect(device: Range<u64>, protection: i32) {
    if END.load(Ordering::Relaxed) == 0 {
        return;
    }
    for alias in all().iter() {
        let at = |address: u64| (alias.host + address).saturating_sub(alias.device);
        let pages =
            at(device.start).max(alias.closable.start)..at(device.end).min(alias.closable.end);
        protect_pages(&pages, protection);
    }
}

fn protect_pages(pages: &Range<u64>, protection: i32) {
    if pages.start < pages.end {
        let length = (pages.end - pages.start) as usize;
        // SAFETY: pages of the program that are mapped from the arena; nothing of ours refers to them.
        unsafe { libc::mprotect(pages.start as *mut libc::c_void, length, protection) };
    }
}

/// Of a range of the program's memory, what lies on pages that may be closed, by its address in the arena.
pub fn in_arena(address: u64, bytes: u64) -> Option<(u64, u64)> {
    let end = address.saturating_add(bytes);
    if end <= LOWEST.load(Ordering::Relaxed) || address >= END.load(Ordering::Relaxed) {
        return None;
    }
    all().iter().find_map(|alias| {
        let from = address.max(alias.closable.start);
        let to = end.min(alias.closable.end);
        (from < to).then(|| (alias.device + (from - alias.host), to - from))
    })
}

/// The pages of a registered range that may be closed; to be asked before they are the arena's.
pub fn closable(registered: Range<u64>) -> Range<u64> {
    let (first, end) = (
        registered.start / PAGE * PAGE,
        registered.end.next_multiple_of(PAGE),
    );
    if has_its_pages(&registered) {
        return first..end;
    }
    if is_cut(&registered) {
        return first..first;
    }
    let whole = registered.start.next_multiple_of(PAGE)..registered.end / PAGE * PAGE;
    match whole.start < whole.end {
        true => whole,
        false => first..first,
    }
}

/// Whether a range is an allocation of the C library's that lies on pages of its own: a large one, which it maps. Two words precede each
/// allocation, of which the second one is its size with those words, and has a bit for this (glibc, "Malloc Internals": `mchunk_size`,
/// `IS_MMAPPED`).
#[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
fn has_its_pages(registered: &Range<u64>) -> bool {
    const HEAD: u64 = 16;
    const FLAGS: u64 = 7;
    const MAPPED: u64 = 2;
    if registered.start % PAGE != HEAD {
        return false;
    }
    // SAFETY: it lies on the same page as the range's first byte, which the caller knows to be readable.
    let size = unsafe { ((registered.start - 8) as *const u64).read_volatile() };
    let end = registered.start - HEAD + (size & !FLAGS);
    size & FLAGS == MAPPED && end == registered.end.next_multiple_of(PAGE)
}

/// Whether a range may lie where the C library's allocator cuts pieces: in the heap that the system names, or in one of those that further threads
/// have, which begin at multiples of 64 MiB with the address of their arena, that of the heap before, and their size (glibc, "Malloc Internals":
/// `heap_info`, `HEAP_MAX_SIZE`). Where the system does not tell, it may.
#[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
fn is_cut(registered: &Range<u64>) -> bool {
    const HEAP: u64 = 64 << 20;
    let Ok(all) = mappings() else {
        return true;
    };
    // Parts of it may have been put into the arena already, and have another name.
    let first = all.iter().find(|mapping| mapping.name == "[heap]");
    // SAFETY: it is asked where the heap ends, and not moved.
    let end = unsafe { libc::sbrk(0) }.addr() as u64;
    if first.is_some_and(|first| (first.pages.start..end).contains(&registered.start)) {
        return true;
    }
    let heap = registered.start / HEAP * HEAP;
    let around = all.iter().find(|mapping| mapping.pages.contains(&heap));
    if !around.is_some_and(|m| m.mode.starts_with("rw")) {
        return false;
    }
    // SAFETY: the page can be read, as the system says; nothing is taken for more than a number.
    let [arena, before, size] = unsafe { (heap as *const [u64; 3]).read_volatile() };
    arena != 0
        && before.is_multiple_of(HEAP)
        && size.is_multiple_of(PAGE)
        && size <= HEAP
        && registered.start - heap < size
}

#[cfg(not(all(target_env = "gnu", target_pointer_width = "64")))]
fn is_cut(_: &Range<u64>) -> bool {
    false
}

#[cfg(not(all(target_env = "gnu", target_pointer_width = "64")))]
fn has_its_pages(_: &Range<u64>) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_are_closed_where_others_may_live_beside() {
        assert_eq!(closable(4096..12288), 4096..12288);
        assert_eq!(closable(5000..20000), 8192..16384);
        assert!(closable(5000..6000).is_empty(), "a part of a page");
        assert!(closable(5000..9000).is_empty(), "parts of two pages");
        assert!(closable(4096..4100).is_empty());
    }

    #[test]
    fn a_large_allocation_has_its_pages_to_itself() {
        let large = vec![1u8; 1 << 21];
        let start = large.as_ptr().addr() as u64;
        let pages = closable(start..start + large.len() as u64);
        if cfg!(target_env = "gnu") && start % PAGE == 16 {
            assert_eq!(pages.start, start - 16);
            assert!(pages.end >= start + large.len() as u64);
        }
        let part = closable(start..start + 5000);
        assert!(part.end <= start + 5000, "not all of it is registered");
    }

    #[test]
    #[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
    fn pages_that_the_allocator_cuts_pieces_from_stay_open() {
        // In the heap of a thread, and in the process's own, which `brk` moves.
        let middle = || {
            let some = vec![1u8; 60_000];
            let start = some.as_ptr().addr() as u64;
            let pages = closable(start..start + 60_000);
            assert!(pages.is_empty(), "{pages:x?} of {start:x}");
        };
        std::thread::spawn(middle).join().unwrap();
        let named = mappings().unwrap().into_iter().find(|m| m.name == "[heap]");
        if let Some(named) = named {
            let pages = closable(named.pages.start..named.pages.end);
            assert!(pages.is_empty(), "{pages:x?}");
        }
        // What a program maps itself is closed.
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let open = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, which stays.
        let own = unsafe { libc::mmap(std::ptr::null_mut(), 8192, open, flags, -1, 0) };
        let own = own.addr() as u64;
        assert_eq!(closable(own..own + 8192), own..own + 8192);
    }
}
