//! Memory pools (CUDA Driver API, "Stream Ordered Memory Allocator"). There is one pool of the device's memory, and pools that a program
//! creates are others of its kind: what they would keep from the system changes no result, so that a pool is a handle and no more.

use super::memory::cuMemAllocAsync;
use crate::entry::{plain, put};
use context::Error;
use std::os::raw::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

type Handle = *mut c_void;

/// The device's own pool; the runtime has the same (`cudaDeviceGetDefaultMemPool`).
const POOL: usize = 0x5261_0001;

/// The next one that is created.
static NEXT: AtomicU64 = AtomicU64::new(0x5262_0000);

/// What the program said of how much a pool may keep.
static THRESHOLD: AtomicU64 = AtomicU64::new(0);

/// `CU_MEM_LOCATION_TYPE_DEVICE`
const DEVICE: c_int = 1;

/// The beginning of `CUmemPoolProps`.
#[repr(C)]
pub struct PoolProperties {
    allocation: c_int,
    handles: c_int,
    location: c_int,
    device: c_int,
}

/// Functions that give the device's pool.
macro_rules! gives_the_pool {
    ($($name:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(to: *mut Handle, device: c_int) -> u32 {
            plain(stringify!($name), |_, _| {
                if device != 0 {
                    return Err(Error::INVALID_DEVICE);
                }
                // SAFETY: the caller passes a place for it.
                unsafe { put(to, POOL as Handle) }
            })
        }
    )*};
}

gives_the_pool! {
    cuDeviceGetDefaultMemPool;
    cuDeviceGetMemPool;
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceSetMemPool(device: c_int, _: Handle) -> u32 {
    plain("cuDeviceSetMemPool", |_, _| match device {
        0 => Ok(()),
        _ => Err(Error::INVALID_DEVICE),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolCreate(
    to: *mut Handle,
    properties: *const PoolProperties,
) -> u32 {
    plain("cuMemPoolCreate", |context, _| {
        if properties.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes such a structure.
        let (location, device) = unsafe {
            let properties = properties.read_unaligned();
            (properties.location, properties.device)
        };
        match (location, device) {
            (DEVICE, 0) => {
                let handle = NEXT.fetch_add(1, Ordering::Relaxed);
                // SAFETY: the caller passes a place for it.
                unsafe { put(to, handle as Handle) }
            }
            (DEVICE, _) => Err(Error::INVALID_DEVICE),
            _ => {
                context
                    .findings
                    .missing("cuMemPoolCreate (of the host's memory)");
                Err(Error::NOT_SUPPORTED)
            }
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolDestroy(_: Handle) -> u32 {
    plain("cuMemPoolDestroy", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolTrimTo(_: Handle, _: usize) -> u32 {
    plain("cuMemPoolTrimTo", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolSetAccess(_: Handle, _: *const c_void, _: usize) -> u32 {
    plain("cuMemPoolSetAccess", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAccess(to: *mut c_int, _: Handle, _: *const c_void) -> u32 {
    const READ_WRITE: c_int = 3;
    plain("cuMemPoolGetAccess", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, READ_WRITE) }
    })
}

/// Three numbers that say how memory is used again, of 4 bytes, and those of bytes, of 8 (CUDA Driver API, "CUmemPool_attribute").
const REUSE: std::ops::RangeInclusive<c_int> = 1..=3;
const RELEASE_THRESHOLD: c_int = 4;
const RESERVED_OR_USED: std::ops::RangeInclusive<c_int> = 5..=8;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAttribute(
    _: Handle,
    attribute: c_int,
    value: *const c_void,
) -> u32 {
    plain("cuMemPoolSetAttribute", |_, _| {
        if value.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        if attribute == RELEASE_THRESHOLD {
            // SAFETY: the caller passes a number of 8 bytes.
            let value = unsafe { value.cast::<u64>().read_unaligned() };
            THRESHOLD.store(value, Ordering::Relaxed);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAttribute(
    _: Handle,
    attribute: c_int,
    to: *mut c_void,
) -> u32 {
    plain("cuMemPoolGetAttribute", |context, _| {
        let (left, all) = context.memory.room();
        // SAFETY: the caller passes a place of the attribute's size.
        unsafe {
            match attribute {
                a if REUSE.contains(&a) => put(to.cast::<c_int>(), 1),
                RELEASE_THRESHOLD => put(to.cast(), THRESHOLD.load(Ordering::Relaxed)),
                a if RESERVED_OR_USED.contains(&a) => put(to.cast::<u64>(), all - left),
                _ => Err(Error::INVALID_VALUE),
            }
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocFromPoolAsync(
    to: *mut u64,
    bytes: usize,
    _: Handle,
    stream: Handle,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuMemAllocAsync(to, bytes, stream) }
}
