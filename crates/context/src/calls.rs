//! Where the host program called: its stack as objects and offsets, for the parent to find lines for.
#![allow(unsafe_code)] // The C library's functions that walk the stack take pointers.

use crate::call::{Call, Frame};
use crate::pages::PAGE;
use std::ffi::CStr;
use std::os::raw::c_void;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Frames that are kept.
const DEPTH: usize = 24;

/// The call that an operation stands for which is performed later.
static AS_OF: Mutex<Option<Call>> = Mutex::new(None);

/// What is done from now on, until `None` is given, is on behalf of a call of before. Whoever holds the context may say so.
pub(crate) fn as_of(call: Option<Call>) {
    *AS_OF.lock().unwrap_or_else(PoisonError::into_inner) = call;
}

/// The stack of whoever called the library's function of this name, innermost first. The library's own frames are left out.
pub fn call(function: &str) -> Call {
    if crate::context::is_held() {
        let before = AS_OF.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = &*before {
            return call.clone();
        }
    }
    Call {
        script: crate::python::here(),
        ..from(function, None)
    }
}

/// The stack of the program at an instruction that a signal has interrupted.
pub fn interrupted(what: &str, instruction: u64) -> Call {
    from(what, Some(instruction))
}

fn from(function: &str, instruction: Option<u64>) -> Call {
    let mut addresses = [std::ptr::null_mut::<c_void>(); 2 * DEPTH];
    let count = walk(&mut addresses);
    let addresses = &addresses[..count.max(0) as usize];
    // What handles the signal comes first.
    let at = |address: &*mut c_void| Some(address.addr() as u64) == instruction;
    let skipped = addresses.iter().position(at).unwrap_or(0);
    let own = object(call as fn(&str) -> Call as *const c_void).map(|(base, _)| base);
    let mut frames = Vec::new();
    for address in &addresses[skipped..] {
        // The return address is behind the call; the line is that of the call.
        let behind = usize::from(!at(address));
        let inside = address.cast::<u8>().wrapping_sub(behind);
        let Some((base, path)) = object(inside.cast()) else {
            continue;
        };
        if Some(base) != own && frames.len() < DEPTH {
            frames.push(Frame {
                object: path,
                offset: inside.addr() as u64 - base,
            });
        }
    }
    Call {
        function: function.to_owned(),
        kernel: None,
        frames,
        script: None,
    }
}

/// The stack's return addresses, innermost first, and how many there are.
#[cfg(not(target_env = "musl"))]
fn walk(addresses: &mut [*mut c_void]) -> i32 {
    // SAFETY: the array is of this length.
    unsafe { libc::backtrace(addresses.as_mut_ptr(), addresses.len() as i32) }
}

/// musl has no such function, and no program loads the library where it is linked statically.
#[cfg(target_env = "musl")]
fn walk(_: &mut [*mut c_void]) -> i32 {
    0
}

/// Loads what walks the stack. Later, it would need the loader, which may wait for whoever holds the context.
pub fn prepare() {
    walk(&mut [std::ptr::null_mut(); 2]);
}

/// The path by which this library was opened.
pub fn own() -> Option<String> {
    object(call as fn(&str) -> Call as *const c_void).map(|(_, path)| path)
}

/// Base address and path of the object that an address lies in. Not by `dladdr`, whose lock the loader holds while it runs constructors: these may
/// wait for the context, which the caller holds.
fn object(address: *const c_void) -> Option<(u64, String)> {
    let mut find = Find {
        address: address.addr() as u64,
        found: None,
    };
    // SAFETY: the function calls `holds` for each object, with the pointer that it is given.
    unsafe { libc::dl_iterate_phdr(Some(holds), std::ptr::from_mut(&mut find).cast()) };
    let (base, path) = find.found?;
    Some((base, absolute(path)))
}

struct Find {
    address: u64,
    found: Option<(u64, String)>,
}

/// An object that the loader has loaded: whether the address is in it.
extern "C" fn holds(info: *mut libc::dl_phdr_info, _: usize, find: *mut c_void) -> i32 {
    // SAFETY: the loader passes the description of an object that stays while this runs, with as many program headers as it says, and a name
    // that ends in zero. `find` is ours.
    let (info, find) = unsafe { (&*info, &mut *find.cast::<Find>()) };
    if info.dlpi_phdr.is_null() || info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: as above.
    let (headers, name) = unsafe {
        let count = usize::from(info.dlpi_phnum);
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, count);
        (headers, CStr::from_ptr(info.dlpi_name))
    };
    let loads = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
    let at = find.address.wrapping_sub(info.dlpi_addr);
    let within = |h: &libc::Elf64_Phdr| {
        let into = at.checked_sub(h.p_vaddr);
        into.is_some_and(|into| into < h.p_memsz)
    };
    if !loads().any(within) {
        return 0;
    }
    // Where its first page lies.
    let first = loads().map(|h| h.p_vaddr / PAGE * PAGE).min();
    let base = info.dlpi_addr + first.unwrap_or(0);
    find.found = Some((base, name.to_string_lossy().into_owned()));
    1
}

/// The loader has the program itself as it was called, from a folder that may have changed since.
fn absolute(path: String) -> String {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    if path.starts_with('/') {
        return path;
    }
    let program = PROGRAM.get_or_init(|| Some(std::env::current_exe().ok()?.display().to_string()));
    let name = path.rsplit('/').next().unwrap_or_default();
    match program {
        Some(program) if path.is_empty() || program.ends_with(name) => program.clone(),
        _ => path,
    }
}

/// The shared libraries whose names begin so that the process's objects ask for: for each, the object's path and what follows in the name
/// (System V ABI, "Dynamic Section": `DT_NEEDED`).
pub fn needed(prefix: &str) -> Vec<(String, String)> {
    let mut search = Search {
        prefix,
        found: Vec::new(),
    };
    // SAFETY: the function calls `look` for each object, with the pointer that it is given.
    unsafe { libc::dl_iterate_phdr(Some(look), std::ptr::from_mut(&mut search).cast()) };
    search.found
}

struct Search<'s> {
    prefix: &'s str,
    found: Vec<(String, String)>,
}

/// An entry of a dynamic section.
#[repr(C)]
struct Dynamic {
    tag: isize,
    value: usize,
}

/// An object that the loader has loaded.
extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> i32 {
    const NEEDED: isize = 1;
    const STRINGS: isize = 5;
    const LENGTH: isize = 10;
    // SAFETY: the loader passes the description of an object that stays while this runs, whose program headers say where its
    // dynamic section is and how long, and that where its strings are and how long. `search` is ours.
    unsafe {
        let (info, search) = (&*info, &mut *search.cast::<Search<'_>>());
        if info.dlpi_phdr.is_null() || info.dlpi_phnum == 0 {
            return 0;
        }
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let base = info.dlpi_addr as usize;
        let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) else {
            return 0;
        };
        let start = (base + dynamic.p_vaddr as usize) as *const Dynamic;
        let entries = dynamic.p_memsz as usize / size_of::<Dynamic>();
        let entries = std::slice::from_raw_parts(start, entries);
        let (mut names, mut strings, mut length) = (Vec::new(), 0, 0);
        for entry in entries.iter().take_while(|entry| entry.tag != 0) {
            match (entry.tag, entry.value) {
                (NEEDED, value) => names.push(value),
                // glibc has relocated it; other loaders, and the kernel's own object, have not.
                (STRINGS, value) => strings = if value < base { base + value } else { value },
                (LENGTH, value) => length = value,
                _ => {}
            }
        }
        if strings == 0 || info.dlpi_name.is_null() {
            return 0;
        }
        let strings = std::slice::from_raw_parts(strings as *const u8, length);
        for name in names {
            let Some(name) = strings.get(name..) else {
                continue;
            };
            let Ok(name) = CStr::from_bytes_until_nul(name) else {
                continue;
            };
            if let Some(rest) = name.to_string_lossy().strip_prefix(search.prefix) {
                let path = CStr::from_ptr(info.dlpi_name)
                    .to_string_lossy()
                    .into_owned();
                search.found.push((absolute(path), rest.to_owned()));
            }
        }
    }
    0
}
