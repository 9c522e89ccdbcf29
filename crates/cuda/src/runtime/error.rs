//! Errors and versions (CUDA Runtime API, "Error Handling", "Version Management").

use super::headers::Release;
use crate::entry::{enter, last, put, set_last};
use context::Error;
use std::os::raw::{c_char, c_int};

/// The version of the runtime, as `CUDART_VERSION` has it.
pub const VERSION: c_int = 13000;

fn report(error: u32) -> u32 {
    if let Some(mut context) = context::existing() {
        context.heard();
        if error == 0
            && let Err(sticky) = context.findings.healthy()
        {
            return sticky.0;
        }
    }
    error
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> u32 {
    std::panic::catch_unwind(|| report(set_last(0))).unwrap_or(Error::UNKNOWN.0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> u32 {
    std::panic::catch_unwind(|| report(last())).unwrap_or(Error::UNKNOWN.0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: u32) -> *const c_char {
    Error(error)
        .runtime_name()
        .unwrap_or(c"unrecognized error code")
        .as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: u32) -> *const c_char {
    Error(error)
        .text()
        .unwrap_or(c"unrecognized error code")
        .as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaRuntimeGetVersion(version: *mut c_int) -> u32 {
    enter("cudaRuntimeGetVersion", |_, entry| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(version, Release::of(entry).version()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDriverGetVersion(version: *mut c_int) -> u32 {
    enter("cudaDriverGetVersion", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(version, VERSION) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaProfilerStart() -> u32 {
    enter("cudaProfilerStart", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaProfilerStop() -> u32 {
    enter("cudaProfilerStop", |_, _| Ok(()))
}
