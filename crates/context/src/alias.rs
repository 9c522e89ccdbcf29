//! Registered memory of the host: pages of the program's own that are pages of the arena, too ([`crate::arena`], `adopt`).
//!
//! They are closed and opened together with the arena's, so that the host's accesses by its own pointers are seen as well. Nobody knows what else
//! lies on a page of which the registered range is a part: the C library's allocator may keep its books there, and a system call that is given a
//! buffer on a closed page fails. So a page is closed only where all of it is registered, or where the rest of it is the rest of one
//! allocation that has its pages to itself.
#![allow(unsafe_code)] // Protecting pages.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pages, as the protections have them.
pub const PAGE: u64 = 4096;

/// Pages with two addresses.
#[derive(Clone, Debug)]
struct Alias {
    /// The first page, in the program's own memory.
    host: u64,
    /// The same in the arena.
    device: u64,
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

/// Pages of the program, from `page` on, are those from `device` on, for a range that is registered.
pub fn add(page: u64, device: u64, registered: Range<u64>) {
    let closable = closable(registered);
    LOWEST.fetch_min(closable.start, Ordering::Relaxed);
    END.fetch_max(closable.end, Ordering::Relaxed);
    all().push(Alias {
        host: page,
        device,
        closable,
    });
}

/// The pages of the program from `page` on are its own again, and open.
pub fn remove(page: u64) {
    let mut all = all();
    if let Some(at) = all.iter().position(|alias| alias.host == page) {
        let alias = all.swap_remove(at);
        protect_pages(&alias.closable, libc::PROT_READ | libc::PROT_WRITE);
    }
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

/// The pages of a registered range that may be closed.
fn closable(registered: Range<u64>) -> Range<u64> {
    let (first, end) = (
        registered.start / PAGE * PAGE,
        registered.end.next_multiple_of(PAGE),
    );
    if has_its_pages(&registered) {
        return first..end;
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
}
