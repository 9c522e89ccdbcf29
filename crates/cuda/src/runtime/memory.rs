//! Allocations (CUDA Runtime API, "Memory Management", "Stream Ordered Memory Allocator", "Unified Addressing").

use super::graph::Action;
use super::graph_capture::capture;
use crate::entry::{Entry, enter, put, put_if};
use context::memory::Kind;
use context::property::ALIGNMENT;
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

/// `cudaPitchedPtr`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PitchedPtr {
    pub(super) pointer: *mut c_void,
    pub(super) pitch: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// `cudaExtent`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Extent {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) depth: usize,
}

/// Allocates, and writes the address to where the caller wants it.
///
/// # Safety
///
/// `to` is null or a place for a pointer.
unsafe fn allocate(
    context: &mut Context,
    entry: Entry,
    to: *mut *mut c_void,
    bytes: usize,
    kind: Kind,
) -> Result<()> {
    context.findings.healthy()?;
    if to.is_null() {
        // Nobody could free it.
        return Err(Error::INVALID_VALUE);
    }
    let address = match bytes {
        0 => 0,
        bytes => context.allocate(bytes as u64, kind, entry.call())?,
    };
    // SAFETY: by the function's own condition.
    unsafe { put(to, address as *mut c_void) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMalloc(to: *mut *mut c_void, bytes: usize) -> u32 {
    enter("cudaMalloc", |context, entry| {
        // SAFETY: the caller passes a place for a pointer.
        unsafe { allocate(context, entry, to, bytes, Kind::Device) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocManaged(
    to: *mut *mut c_void,
    bytes: usize,
    _flags: c_uint,
) -> u32 {
    enter("cudaMallocManaged", |context, entry| {
        if bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a place for a pointer.
        unsafe { allocate(context, entry, to, bytes, Kind::Managed) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocHost(to: *mut *mut c_void, bytes: usize) -> u32 {
    enter("cudaMallocHost", |context, entry| {
        // SAFETY: the caller passes a place for a pointer.
        unsafe { allocate(context, entry, to, bytes, Kind::Pinned) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaHostAlloc(to: *mut *mut c_void, bytes: usize, _flags: c_uint) -> u32 {
    enter("cudaHostAlloc", |context, entry| {
        // SAFETY: the caller passes a place for a pointer.
        unsafe { allocate(context, entry, to, bytes, Kind::Pinned) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocAsync(
    to: *mut *mut c_void,
    bytes: usize,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMallocAsync", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        // SAFETY: the caller passes a place for a pointer.
        unsafe { allocate(context, entry, to, bytes, Kind::Device) }?;
        // SAFETY: it was written just now.
        let address = unsafe { to.read_unaligned() }.addr() as u64;
        let stream = stream.addr() as u64;
        let captured = capture(context, entry, stream, |context| {
            context.memory.keep_for_graph(address);
            Ok(Action::Allocate(address))
        })?;
        if !captured {
            context.allocated_on(stream, address, entry.call());
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocFromPoolAsync(
    to: *mut *mut c_void,
    bytes: usize,
    _pool: *mut c_void,
    stream: *mut c_void,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cudaMallocAsync(to, bytes, stream) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocPitch(
    to: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> u32 {
    enter("cudaMallocPitch", |context, entry| {
        let row = width.checked_next_multiple_of(ALIGNMENT as usize);
        let row = row.ok_or(Error::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(Error::MEMORY_ALLOCATION)?;
        // SAFETY: the caller passes places for both.
        unsafe {
            put(pitch, row)?;
            allocate(context, entry, to, bytes, Kind::Device)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMalloc3D(to: *mut PitchedPtr, extent: Extent) -> u32 {
    enter("cudaMalloc3D", |context, entry| {
        let pitch = extent.width.checked_next_multiple_of(ALIGNMENT as usize);
        let pitch = pitch.ok_or(Error::INVALID_VALUE)?;
        let rows = extent.height.checked_mul(extent.depth);
        let bytes = rows
            .and_then(|r| r.checked_mul(pitch))
            .ok_or(Error::MEMORY_ALLOCATION)?;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the caller passes a place for the structure.
        unsafe {
            allocate(context, entry, &mut pointer, bytes, Kind::Device)?;
            put(
                to,
                PitchedPtr {
                    pointer,
                    pitch,
                    width: extent.width,
                    height: extent.height,
                },
            )
        }
    })
}

fn is_global(kind: Kind) -> bool {
    matches!(kind, Kind::Device | Kind::Managed)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFree(pointer: *mut c_void) -> u32 {
    enter("cudaFree", |context, entry| {
        // It waits for all work that was issued.
        context.synchronize_all()?;
        if pointer.is_null() {
            return Ok(());
        }
        context.release(pointer.addr() as u64, entry.call(), is_global)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeHost(pointer: *mut c_void) -> u32 {
    enter("cudaFreeHost", |context, entry| {
        context.synchronize_all()?;
        if pointer.is_null() {
            return Ok(());
        }
        context.release(pointer.addr() as u64, entry.call(), |kind| {
            kind == Kind::Pinned
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeAsync(pointer: *mut c_void, stream: *mut c_void) -> u32 {
    enter("cudaFreeAsync", |context, entry| {
        context.findings.healthy()?;
        context.stream(stream.addr() as u64, || entry.call())?;
        let node = |_: &mut Context| Ok(Action::Free(pointer.addr() as u64));
        if capture(context, entry, stream.addr() as u64, node)? {
            return Ok(());
        }
        let stream = stream.addr() as u64;
        context.release_on(stream, pointer.addr() as u64, entry.call(), is_global)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaHostGetDevicePointer(
    to: *mut *mut c_void,
    host: *mut c_void,
    _flags: c_uint,
) -> u32 {
    enter("cudaHostGetDevicePointer", |context, entry| {
        let address = context.device_address(host.addr() as u64, entry.0)?;
        // SAFETY: the caller passes a place for a pointer.
        unsafe { put(to, address as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostRegister(host: *mut c_void, bytes: usize, _flags: c_uint) -> u32 {
    enter("cudaHostRegister", |context, entry| {
        context.register(host.addr() as u64, bytes as u64, entry.call())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostUnregister(host: *mut c_void) -> u32 {
    enter("cudaHostUnregister", |context, entry| {
        context.synchronize_all()?;
        context.unregister(host.addr() as u64, entry.call())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaHostGetFlags(to: *mut c_uint, host: *mut c_void) -> u32 {
    enter("cudaHostGetFlags", |context, _| {
        let block = context
            .memory
            .block(host.addr() as u64)
            .ok_or(Error::INVALID_VALUE)?;
        if block.kind != Kind::Pinned {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 2) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> u32 {
    enter("cudaMemGetInfo", |context, _| {
        let (left, all) = context.memory.room();
        // SAFETY: the caller passes places for both.
        unsafe {
            put_if(free, left as usize);
            put_if(total, all as usize);
        }
        Ok(())
    })
}

/// `cudaPointerAttributes`
#[repr(C)]
pub struct PointerAttributes {
    kind: c_int,
    device: c_int,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaPointerGetAttributes(
    to: *mut PointerAttributes,
    pointer: *const c_void,
) -> u32 {
    enter("cudaPointerGetAttributes", |context, _| {
        let address = pointer.addr() as u64;
        let (here, null) = (address as *mut c_void, std::ptr::null_mut());
        let (kind, device_pointer, host_pointer) =
            match context.memory.block(address).map(|b| b.kind) {
                Some(Kind::Managed) => (3, here, here),
                Some(Kind::Pinned) => (1, here, here),
                Some(_) => (2, here, null),
                None => match context.memory.is_registered(address) {
                    true => (1, null, here),
                    false => (0, null, here),
                },
            };
        let attributes = PointerAttributes {
            kind,
            device: if kind == 0 { -2 } else { 0 },
            device_pointer,
            host_pointer,
        };
        // SAFETY: the caller passes a place for the structure; its reserved end is left alone.
        unsafe { put(to, attributes) }
    })
}

/// Managed memory needs no hints here.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemAdvise(pointer: *const c_void, bytes: usize, _: c_int, _: u64) -> u32 {
    enter("cudaMemAdvise", |context, entry| {
        context.check(pointer.addr() as u64, bytes as u64, &entry.call())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPrefetchAsync(
    pointer: *const c_void,
    bytes: usize,
    _: u64,
    _: c_uint,
    _: *mut c_void,
) -> u32 {
    enter("cudaMemPrefetchAsync", |context, entry| {
        context.check(pointer.addr() as u64, bytes as u64, &entry.call())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamAttachMemAsync(
    _: *mut c_void,
    pointer: *mut c_void,
    _: usize,
    _: c_uint,
) -> u32 {
    enter("cudaStreamAttachMemAsync", |context, _| {
        let block = context.memory.block(pointer.addr() as u64);
        block.map(|_| ()).ok_or(Error::INVALID_VALUE)
    })
}
