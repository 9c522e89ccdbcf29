//! Functions of the C library that hand memory of the program to the system: they go through here where the program finds this library first,
//! so that pages which the library has closed ([`context::host_access`]) don't make them fail.

use context::host_access::before_system_call;
use std::ffi::CStr;
use std::os::raw::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The C library's own function of a name.
fn next(name: &CStr, known: &AtomicPtr<c_void>) -> *mut c_void {
    let mut function = known.load(Ordering::Relaxed);
    if function.is_null() {
        // SAFETY: a name that ends in zero.
        function = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        known.store(function, Ordering::Relaxed);
    }
    function
}

macro_rules! through {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $writes:literal, $address:ident, $bytes:expr, $failure:expr;)*) => {$(
        /// # Safety
        ///
        /// As the C library demands.
        // SAFETY: the name is the C library's, and so is what is done, but for a page that is opened first.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            before_system_call(stringify!($name), $address.addr() as u64, $bytes as u64, $writes);
            let name = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => next(name, &NEXT),
                Err(_) => std::ptr::null_mut(),
            };
            if name.is_null() {
                return $failure;
            }
            // SAFETY: the function of this name has this type; by the function's own condition.
            unsafe {
                let function: unsafe extern "C" fn($($type),*) -> $result = std::mem::transmute(name);
                function($($argument),*)
            }
        }
    )*};
}

through! {
    read(file: c_int, to: *mut c_void, bytes: usize) -> isize, true, to, bytes, -1;
    write(file: c_int, from: *const c_void, bytes: usize) -> isize, false, from, bytes, -1;
    pread(file: c_int, to: *mut c_void, bytes: usize, at: i64) -> isize, true, to, bytes, -1;
    pread64(file: c_int, to: *mut c_void, bytes: usize, at: i64) -> isize, true, to, bytes, -1;
    pwrite(file: c_int, from: *const c_void, bytes: usize, at: i64) -> isize, false, from, bytes, -1;
    pwrite64(file: c_int, from: *const c_void, bytes: usize, at: i64) -> isize, false, from, bytes, -1;
    recv(socket: c_int, to: *mut c_void, bytes: usize, flags: c_int) -> isize, true, to, bytes, -1;
    send(socket: c_int, from: *const c_void, bytes: usize, flags: c_int) -> isize, false, from, bytes, -1;
    fread(to: *mut c_void, size: usize, count: usize, file: *mut c_void) -> usize, true, to, size.saturating_mul(count), 0;
    fwrite(from: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize, false, from, size.saturating_mul(count), 0;
}
