//! Memory (CUDA Driver API, "Memory Management", "Stream Ordered Memory Allocator", "Unified Addressing").

use crate::entry::{Entry, plain, put, put_if};
use crate::runtime::{Copy, Rows, copy};
use context::memory::Kind;
use context::property::ALIGNMENT;
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

type Handle = *mut c_void;

/// # Safety
///
/// `to` is null or a place for an address.
unsafe fn allocate(
    context: &mut Context,
    entry: Entry,
    to: *mut u64,
    bytes: usize,
    kind: Kind,
) -> Result<()> {
    context.findings.healthy()?;
    if bytes == 0 || to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let address = context.allocate(bytes as u64, kind, entry.call())?;
    // SAFETY: by the function's own condition.
    unsafe { put(to, address) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(to: *mut u64, bytes: usize) -> u32 {
    plain("cuMemAlloc", |context, entry| {
        // SAFETY: the caller passes a place for it.
        unsafe { allocate(context, entry, to, bytes, Kind::Device) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(to: *mut u64, bytes: usize, stream: Handle) -> u32 {
    plain("cuMemAllocAsync", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        // SAFETY: the caller passes a place for it, where the address is found then.
        let address = unsafe {
            allocate(context, entry, to, bytes, Kind::Device)?;
            to.read_unaligned()
        };
        context.allocated_on(stream.addr() as u64, address, entry.call());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocManaged(to: *mut u64, bytes: usize, _flags: c_uint) -> u32 {
    plain("cuMemAllocManaged", |context, entry| {
        // SAFETY: the caller passes a place for it.
        unsafe { allocate(context, entry, to, bytes, Kind::Managed) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocPitch_v2(
    to: *mut u64,
    pitch: *mut usize,
    width: usize,
    height: usize,
    _: c_uint,
) -> u32 {
    plain("cuMemAllocPitch", |context, entry| {
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
pub unsafe extern "C" fn cuMemHostAlloc(to: *mut u64, bytes: usize, _flags: c_uint) -> u32 {
    plain("cuMemHostAlloc", |context, entry| {
        // SAFETY: the caller passes a place for it.
        unsafe { allocate(context, entry, to, bytes, Kind::Pinned) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocHost_v2(to: *mut u64, bytes: usize) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuMemHostAlloc(to, bytes, 0) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> u32 {
    plain("cuMemFree", |context, entry| {
        context.synchronize_all()?;
        context.release(address, entry.call(), |kind| {
            matches!(kind, Kind::Device | Kind::Managed)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: u64, stream: Handle) -> u32 {
    plain("cuMemFreeAsync", |context, entry| {
        let stream = stream.addr() as u64;
        context.stream(stream, || entry.call())?;
        context.release_on(stream, address, entry.call(), |kind| {
            matches!(kind, Kind::Device | Kind::Managed)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> u32 {
    plain("cuMemFreeHost", |context, entry| {
        context.synchronize_all()?;
        context.release(pointer.addr() as u64, entry.call(), |kind| {
            kind == Kind::Pinned
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetDevicePointer_v2(
    to: *mut u64,
    host: *mut c_void,
    _: c_uint,
) -> u32 {
    plain("cuMemHostGetDevicePointer", |context, entry| {
        let address = context.device_address(host.addr() as u64, entry.0)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, address) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostRegister_v2(host: *mut c_void, bytes: usize, _: c_uint) -> u32 {
    plain("cuMemHostRegister", |context, entry| {
        context.register(host.addr() as u64, bytes as u64, entry.call())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostUnregister(host: *mut c_void) -> u32 {
    plain("cuMemHostUnregister", |context, entry| {
        context.synchronize_all()?;
        context.unregister(host.addr() as u64, entry.call())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> u32 {
    plain("cuMemGetInfo", |context, _| {
        let (left, all) = context.memory.room();
        // SAFETY: the caller passes places for both.
        unsafe {
            put_if(free, left as usize);
            put_if(total, all as usize);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAddressRange_v2(
    base: *mut u64,
    size: *mut usize,
    address: u64,
) -> u32 {
    plain("cuMemGetAddressRange", |context, _| {
        let block = context
            .memory
            .block(address)
            .ok_or(Error::SYMBOL_NOT_FOUND)?;
        // SAFETY: the caller passes places for both, or null.
        unsafe {
            put_if(base, block.address);
            put_if(size, block.bytes as usize);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttribute(
    to: *mut c_void,
    attribute: c_int,
    address: u64,
) -> u32 {
    plain("cuPointerGetAttribute", |context, _| {
        let kind = context
            .memory
            .block(address)
            .map(|b| b.kind)
            .ok_or(Error::INVALID_VALUE)?;
        let host = kind == Kind::Pinned;
        // SAFETY: the caller passes a place for what the attribute is.
        unsafe {
            match attribute {
                1 => put(to.cast::<usize>(), 0x5261_0100),
                2 => put(to.cast::<c_uint>(), if host { 1 } else { 2 }),
                3 => put(to.cast::<u64>(), address),
                4 if kind.is_open() => put(to.cast::<u64>(), address),
                8 => put(to.cast::<c_uint>(), u32::from(kind == Kind::Managed)),
                9 => put(to.cast::<c_int>(), 0),
                _ => Err(Error::INVALID_VALUE),
            }
        }
    })
}

/// `cudaMemcpyKind`, by which the runtime's copies say their direction.
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;
const DEVICE_TO_DEVICE: c_int = 3;
const DEFAULT: c_int = 4;

/// # Safety
///
/// The program's side of the copy is its own, of this size.
unsafe fn flat(
    name: &'static str,
    to: u64,
    from: u64,
    bytes: usize,
    kind: c_int,
    stream: Option<Handle>,
) -> u32 {
    plain(name, |context, entry| {
        let rows = |address| Rows {
            address,
            pitch: 0,
            slice: 0,
        };
        let what = Copy {
            to: rows(to),
            from: rows(from),
            size: [bytes, 1, 1],
            kind,
            stream: stream.map_or(0, |s| s.addr() as u64),
            asynchronous: stream.is_some(),
        };
        // SAFETY: by the function's own condition.
        unsafe { copy(context, entry, &what) }
    })
}

/// Copies, each with its direction.
macro_rules! copies {
    ($($name:ident, $asynchronous:ident, $text:literal, $to:ty, $from:ty, $kind:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(to: $to, from: $from, bytes: usize) -> u32 {
            // SAFETY: the caller's buffers have this size.
            unsafe { flat($text, to as u64, from as u64, bytes, $kind, None) }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $asynchronous(to: $to, from: $from, bytes: usize, stream: Handle) -> u32 {
            // SAFETY: the caller's buffers have this size.
            unsafe { flat(concat!($text, "Async"), to as u64, from as u64, bytes, $kind, Some(stream)) }
        }
    )*};
}

copies! {
    cuMemcpy, cuMemcpyAsync, "cuMemcpy", u64, u64, DEFAULT;
    cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, "cuMemcpyHtoD", u64, *const c_void, HOST_TO_DEVICE;
    cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, "cuMemcpyDtoH", *mut c_void, u64, DEVICE_TO_HOST;
    cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, "cuMemcpyDtoD", u64, u64, DEVICE_TO_DEVICE;
}

fn fill(name: &'static str, to: u64, pattern: &[u8], count: usize, stream: Option<Handle>) -> u32 {
    plain(name, |context, entry| {
        context.findings.healthy()?;
        let asynchronous = stream.is_some();
        let stream = stream.map_or(0, |s| s.addr() as u64);
        context.stream(stream, || entry.call())?;
        let bytes = (count as u64).saturating_mul(pattern.len() as u64);
        context.check(to, bytes, &entry.call())?;
        context.memory.fill(to, pattern, count as u64)?;
        // Fills of memory that the host shares keep it waiting (CUDA Driver API, "API synchronization behavior").
        let open = context.memory.block(to).is_some_and(|b| b.kind.is_open());
        let write = Some((to, bytes));
        context.transfer(stream, None, write, open && !asynchronous, || entry.call());
        Ok(())
    })
}

/// Fills, each with its element.
macro_rules! fills {
    ($($name:ident, $asynchronous:ident, $text:literal, $type:ty;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(to: u64, value: $type, count: usize) -> u32 {
            fill($text, to, &value.to_le_bytes(), count, None)
        }
        #[unsafe(no_mangle)]
        pub extern "C" fn $asynchronous(to: u64, value: $type, count: usize, stream: Handle) -> u32 {
            fill(concat!($text, "Async"), to, &value.to_le_bytes(), count, Some(stream))
        }
    )*};
}

fills! {
    cuMemsetD8_v2, cuMemsetD8Async, "cuMemsetD8", u8;
    cuMemsetD16_v2, cuMemsetD16Async, "cuMemsetD16", u16;
    cuMemsetD32_v2, cuMemsetD32Async, "cuMemsetD32", u32;
}
