//! What kernels print goes to the program's standard output, through the C library's buffer, so that it comes in order with what the
//! host prints.
#![allow(unsafe_code)] // The C library's `fwrite` takes pointers.

use std::time::{Duration, Instant};

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    fn ftrylockfile(file: *mut libc::FILE) -> libc::c_int;
    fn funlockfile(file: *mut libc::FILE);
}

/// Writes a text; `false` where another thread prints for longer than `patience`. It may be waiting for the context, which the caller holds.
pub fn write(text: &str, patience: Duration) -> bool {
    let began = Instant::now();
    // SAFETY: `stdout` is the C library's own.
    while unsafe { ftrylockfile(stdout) } != 0 {
        if began.elapsed() >= patience {
            return false;
        }
        std::thread::yield_now();
    }
    // SAFETY: the text is of this length; the thread has the lock.
    unsafe {
        libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
        funlockfile(stdout);
    }
    true
}
