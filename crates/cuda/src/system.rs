//! Functions of the C library that hand memory of the program to the system: they go through here where the program finds this library first,
//! so that pages which the library has closed ([`context::host_access`]) don't make them fail.

use context::host_access::before_system_call;
use std::ffi::CStr;
use std::os::raw::{c_int, c_void};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The C library's own function of a number, which is looked up when the library is loaded: later, it may be a signal's handler that asks.
fn next(index: Next) -> *mut c_void {
    let function = KNOWN[index as usize].load(Ordering::Relaxed);
    match function.is_null() {
        false => function,
        true => look_up(index as usize),
    }
}

fn look_up(index: usize) -> *mut c_void {
    // SAFETY: a name that ends in zero.
    let function = unsafe { libc::dlsym(libc::RTLD_NEXT, NAMES[index].as_ptr()) };
    KNOWN[index].store(function, Ordering::Relaxed);
    function
}

/// Looks all of them up.
pub fn prepare() {
    (0..NAMES.len()).for_each(|index| {
        look_up(index);
    });
}

macro_rules! through {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $writes:literal, $address:ident, $bytes:expr, $failure:expr;)*) => {
        /// The functions, in order.
        #[allow(non_camel_case_types)] // They are called so.
        #[derive(Clone, Copy)]
        enum Next {
            $($name),*
        }

        const NAMES: [&CStr; [$(Next::$name),*].len()] = [$(named(concat!(stringify!($name), "\0"))),*];
        static KNOWN: [AtomicPtr<c_void>; NAMES.len()] = [const { AtomicPtr::new(std::ptr::null_mut()) }; NAMES.len()];

        $(
        /// # Safety
        ///
        /// As the C library demands.
        // SAFETY: the name is the C library's, and so is what is done, but for a page that is opened first.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            let (address, bytes) = ($address.addr() as u64, $bytes as u64);
            // What is wrong with us is no reason to end the program.
            let _ = catch_unwind(|| before_system_call(stringify!($name), address, bytes, $writes));
            let function = next(Next::$name);
            if function.is_null() {
                return $failure;
            }
            // SAFETY: the function of this name has this type; by the function's own condition.
            unsafe {
                let function: unsafe extern "C" fn($($type),*) -> $result = std::mem::transmute(function);
                function($($argument),*)
            }
        }
        )*
    };
}

/// A name as the C library takes it.
const fn named(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
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
