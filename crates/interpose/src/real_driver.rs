//! The real driver: loaded by its absolute path, so that its names stay its own, and the table of its functions.

use crate::exports::{NAMES, OURS, TABLE};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// `CUDA_ERROR_NOT_FOUND`
pub const NOT_FOUND: u32 = 500;
/// `CUDA_ERROR_NO_DEVICE`
const NO_DEVICE: u32 = 100;

unsafe extern "C" fn missing() -> u32 {
    NOT_FOUND
}

unsafe extern "C" fn no_driver() -> u32 {
    NO_DEVICE
}

/// Where the driver is found, where nobody says so.
const FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/lib",
];

fn path() -> Option<PathBuf> {
    let told = context::options::Options::of_process().and_then(|(_, options)| options.driver);
    told.or_else(|| {
        let files = FOLDERS.iter().map(|f| Path::new(f).join("libcuda.so.1"));
        files.into_iter().find(|file| file.exists())
    })
}

fn load() -> *mut libc::c_void {
    let Some(path) = path().and_then(|p| CString::new(p.as_os_str().as_bytes()).ok()) else {
        return std::ptr::null_mut();
    };
    // What `racetrap exec` says is for this library. The tests put the simulated driver in the real one's place, which would take it for its own.
    // Where the library comes into a process that has threads already, they may be reading variables; no driver but ours looks at this one.
    let alone = std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    let told = std::env::var_os(context::options::VARIABLE).filter(|_| alone);
    // SAFETY: there is no other thread.
    unsafe {
        if alone {
            std::env::remove_var(context::options::VARIABLE);
        }
    }
    // SAFETY: a path that ends in a zero.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if let Some(told) = told {
        // SAFETY: as above.
        unsafe { std::env::set_var(context::options::VARIABLE, told) };
    }
    library
}

/// The library is loaded: the table is filled before any of its names can be called.
extern "C" fn begin() {
    let library = load();
    // SAFETY: nobody else reads or writes it yet.
    let table = unsafe { &mut *TABLE.0.get() };
    for (entry, name) in table.iter_mut().zip(NAMES) {
        // SAFETY: the library is loaded and stays so.
        let address = match library.is_null() {
            true => no_driver as *const () as usize,
            false => unsafe { libc::dlsym(library, name.as_ptr()) as usize },
        };
        *entry = match address {
            0 => missing as *const () as usize,
            address => address,
        };
    }
}

/// Called by the loader when the library is initialised.
#[used]
#[unsafe(link_section = ".init_array")]
// SAFETY: the section holds pointers to functions of this type (System V ABI, "Initialization and Termination Functions").
static BEGIN: extern "C" fn() = begin;

/// The driver's function of a name.
pub fn function(name: &CStr) -> usize {
    static NUMBERS: OnceLock<HashMap<&'static CStr, usize>> = OnceLock::new();
    let numbers = NUMBERS.get_or_init(|| NAMES.iter().enumerate().map(|(i, n)| (*n, i)).collect());
    // SAFETY: it was filled when the library was loaded, and nobody writes it since.
    let table = unsafe { &*TABLE.0.get() };
    numbers
        .get(name)
        .map_or(missing as *const () as usize, |number| table[*number])
}

/// Our function in place of one of the driver's, if it is one that we have.
pub fn ours(theirs: usize) -> Option<usize> {
    static MAP: OnceLock<HashMap<usize, usize>> = OnceLock::new();
    let none = missing as *const () as usize;
    let map = MAP.get_or_init(|| {
        let all = OURS
            .iter()
            .map(|(name, own)| (function(name), *own as usize));
        all.filter(|(theirs, _)| *theirs != none).collect()
    });
    map.get(&theirs).copied()
}

/// Calls a function of the driver by its name: `real!(cuMemFree_v2(address: u64))`.
macro_rules! real {
    ($name:ident($($value:expr => $ty:ty),* $(,)?)) => {{
        let name = {
            const NAME: &[u8] = concat!(stringify!($name), "\0").as_bytes();
            match std::ffi::CStr::from_bytes_with_nul(NAME) {
                Ok(name) => name,
                Err(_) => c"",
            }
        };
        let address = $crate::real_driver::function(name);
        // SAFETY: the public header declares the function with these parameters, and the caller passes what it demands.
        #[allow(unused_unsafe)]
        unsafe {
            let function = std::mem::transmute::<usize, unsafe extern "C" fn($($ty),*) -> u32>(address);
            function($($value),*)
        }
    }};
}
pub(crate) use real;
