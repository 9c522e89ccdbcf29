//! What kernels print goes to the program's standard output, through the C library's buffer, so that it comes in order with what the
//! host prints.
#![allow(unsafe_code)] // The C library's `fwrite` takes pointers.

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Writes a text.
pub fn write(text: &str) {
    // SAFETY: the text is of this length; `stdout` is the C library's own.
    unsafe {
        libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
    }
}
