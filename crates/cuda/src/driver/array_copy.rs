//! Copies to and from arrays of one dimension (CUDA Driver API, "Memory Management": `cuMemcpyAtoH` and the like).

use crate::entry::plain;
use crate::runtime::{Side, copy_flat};
use std::os::raw::{c_int, c_void};

type Handle = *mut c_void;

/// The sides say themselves where they are (`cudaMemcpyDefault`).
const DEFAULT: c_int = 4;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyAtoH_v2(
    to: *mut c_void,
    from: Handle,
    x: usize,
    bytes: usize,
) -> u32 {
    plain("cuMemcpyAtoH", |context, entry| {
        let sides = (Side::Memory(to.addr() as u64, 0), Side::Array(from, x, 0));
        // SAFETY: the caller's memory has this size.
        unsafe { copy_flat(context, entry, sides, bytes, DEFAULT, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyAtoHAsync_v2(
    to: *mut c_void,
    from: Handle,
    x: usize,
    bytes: usize,
    stream: Handle,
) -> u32 {
    plain("cuMemcpyAtoHAsync", |context, entry| {
        let sides = (Side::Memory(to.addr() as u64, 0), Side::Array(from, x, 0));
        // SAFETY: the caller's memory has this size.
        unsafe { copy_flat(context, entry, sides, bytes, DEFAULT, Some(stream)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoA_v2(
    to: Handle,
    x: usize,
    from: *const c_void,
    bytes: usize,
) -> u32 {
    plain("cuMemcpyHtoA", |context, entry| {
        let sides = (Side::Array(to, x, 0), Side::Memory(from.addr() as u64, 0));
        // SAFETY: the caller's memory has this size.
        unsafe { copy_flat(context, entry, sides, bytes, DEFAULT, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoAAsync_v2(
    to: Handle,
    x: usize,
    from: *const c_void,
    bytes: usize,
    stream: Handle,
) -> u32 {
    plain("cuMemcpyHtoAAsync", |context, entry| {
        let sides = (Side::Array(to, x, 0), Side::Memory(from.addr() as u64, 0));
        // SAFETY: the caller's memory has this size.
        unsafe { copy_flat(context, entry, sides, bytes, DEFAULT, Some(stream)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyAtoD_v2(to: u64, from: Handle, x: usize, bytes: usize) -> u32 {
    plain("cuMemcpyAtoD", |context, entry| {
        let sides = (Side::Memory(to, 0), Side::Array(from, x, 0));
        // SAFETY: the caller's memory has this size.
        unsafe { copy_flat(context, entry, sides, bytes, DEFAULT, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoA_v2(to: Handle, x: usize, from: u64, bytes: usize) -> u32 {
    plain("cuMemcpyDtoA", |context, entry| {
        let sides = (Side::Array(to, x, 0), Side::Memory(from, 0));
        // SAFETY: the caller's memory has this size.
        unsafe { copy_flat(context, entry, sides, bytes, DEFAULT, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyAtoA_v2(
    to: Handle,
    to_x: usize,
    from: Handle,
    x: usize,
    bytes: usize,
) -> u32 {
    plain("cuMemcpyAtoA", |context, entry| {
        let sides = (Side::Array(to, to_x, 0), Side::Array(from, x, 0));
        // SAFETY: the caller's memory has this size.
        unsafe { copy_flat(context, entry, sides, bytes, DEFAULT, None) }
    })
}
