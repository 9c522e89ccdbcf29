//! Where the host program called: its stack as objects and offsets, for the parent to find lines for.
#![allow(unsafe_code)] // The C library's functions that walk the stack take pointers.

use crate::record::{Call, Frame};
use std::ffi::CStr;
use std::os::raw::c_void;
use std::sync::OnceLock;

/// Frames that are kept.
const DEPTH: usize = 24;

/// The stack of whoever called the library's function of this name, innermost first. The library's own frames are left out.
pub fn call(function: &str) -> Call {
    from(function, None)
}

/// The stack of the program at an instruction that a signal has interrupted.
pub fn interrupted(what: &str, instruction: u64) -> Call {
    from(what, Some(instruction))
}

fn from(function: &str, instruction: Option<u64>) -> Call {
    let mut addresses = [std::ptr::null_mut::<c_void>(); 2 * DEPTH];
    // SAFETY: the array is of this length.
    let count = unsafe { libc::backtrace(addresses.as_mut_ptr(), addresses.len() as i32) };
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
    }
}

/// Base address and path of the object that an address lies in.
fn object(address: *const c_void) -> Option<(u64, String)> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is of the right type; any address may be asked for; the name that comes back is the loader's own and ends in zero.
    unsafe {
        if libc::dladdr(address, info.as_mut_ptr()) == 0 {
            return None;
        }
        let info = info.assume_init();
        if info.dli_fname.is_null() {
            return None;
        }
        let path = CStr::from_ptr(info.dli_fname)
            .to_string_lossy()
            .into_owned();
        Some((info.dli_fbase as u64, absolute(path)))
    }
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
