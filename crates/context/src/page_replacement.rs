//! Pages of the program that are replaced by others with the same content, while its other threads may write to them.
#![allow(unsafe_code)] // Protecting pages.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The pages that are being replaced: from, to.
static REPLACED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Copies pages of the program, and puts others in their place, while nobody writes to them: threads that try wait in the handler of their fault
/// ([`crate::host_access`], which is installed) until it is done. What is done
/// meanwhile allocates nothing, since whoever waits may be the allocator.
///
/// # Errors
///
/// Of what is done.
pub fn while_nobody_writes(
    pages: Range<u64>,
    replace: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    REPLACED[0].store(pages.start, Ordering::SeqCst);
    REPLACED[1].store(pages.end, Ordering::SeqCst);
    let (at, length) = (
        pages.start as *mut libc::c_void,
        (pages.end - pages.start) as usize,
    );
    // SAFETY: pages of the program that are readable and writable, as the system says, and are again at the end.
    unsafe { libc::mprotect(at, length, libc::PROT_READ) };
    let done = replace();
    if done.is_err() {
        // SAFETY: as above.
        unsafe { libc::mprotect(at, length, libc::PROT_READ | libc::PROT_WRITE) };
    }
    REPLACED[1].store(0, Ordering::SeqCst);
    done
}

/// Whether an address lies on pages that are being replaced.
pub fn is_replaced(address: u64) -> bool {
    let [start, end] = &REPLACED;
    (start.load(Ordering::SeqCst)..end.load(Ordering::SeqCst)).contains(&address)
}
