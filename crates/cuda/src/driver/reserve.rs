//! Addresses and memory apart (CUDA Driver API, "Virtual Memory Management").
//!
//! Reserved addresses have memory of their own from the start; mapping an allocation there says so. An allocation that is mapped twice
//! would have to be one memory at two addresses, which is refused. Blind spot: an access before the mapping.

use crate::entry::{plain, put};
use context::Error;
use context::memory::Kind;
use std::collections::HashMap;
use std::os::raw::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

/// Allocations come in multiples of this many bytes.
const GRANULARITY: usize = 2 << 20;

/// What was allocated.
struct Allocation {
    bytes: usize,
    /// Where it is mapped.
    at: Option<u64>,
    /// `CUmemAllocationProp::allocFlags`, of which nothing follows here: compressed memory holds what was written.
    flags: [u8; 8],
}

/// By handle.
type Allocations = HashMap<u64, Allocation>;

static ALLOCATIONS: Mutex<Option<Allocations>> = Mutex::new(None);

fn allocations<T>(with: impl FnOnce(&mut Allocations) -> T) -> T {
    let mut all = ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    with(all.get_or_insert_default())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAllocationGranularity(
    to: *mut usize,
    _properties: *const c_void,
    _option: c_int,
) -> u32 {
    plain("cuMemGetAllocationGranularity", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, GRANULARITY) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemCreate(
    to: *mut u64,
    bytes: usize,
    properties: *const AllocationProperties,
    _flags: u64,
) -> u32 {
    plain("cuMemCreate", |context, _| {
        if properties.is_null() || to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        if bytes == 0 || !bytes.is_multiple_of(GRANULARITY) {
            return Err(Error::INVALID_VALUE);
        }
        if bytes as u64 > context.memory.room().0 {
            return Err(Error::MEMORY_ALLOCATION);
        }
        let handle = context.handle();
        // SAFETY: the caller passes the structure.
        let flags = unsafe { properties.read_unaligned() }.flags;
        let allocation = Allocation {
            bytes,
            at: None,
            flags,
        };
        allocations(|all| all.insert(handle, allocation));
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, handle) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemRelease(allocation: u64) -> u32 {
    plain("cuMemRelease", |_, _| {
        // Memory that is mapped stays until it is unmapped.
        let known = allocations(|all| all.contains_key(&allocation));
        known.then_some(()).ok_or(Error::INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAddressReserve(
    to: *mut u64,
    bytes: usize,
    _alignment: usize,
    _wanted: u64,
    _flags: u64,
) -> u32 {
    plain("cuMemAddressReserve", |context, entry| {
        if to.is_null() || bytes == 0 || !bytes.is_multiple_of(GRANULARITY) {
            return Err(Error::INVALID_VALUE);
        }
        let address = context.allocate(bytes as u64, Kind::Reserved, entry.call())?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, address) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAddressFree(address: u64, _bytes: usize) -> u32 {
    plain("cuMemAddressFree", |context, entry| {
        context.release(address, entry.call(), |kind| kind == Kind::Reserved)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemMap(
    address: u64,
    bytes: usize,
    offset: usize,
    allocation: u64,
    _flags: u64,
) -> u32 {
    plain("cuMemMap", |context, entry| {
        context.check(address, bytes as u64, &entry.call())?;
        let reserved = context
            .memory
            .block(address)
            .is_some_and(|b| b.kind == Kind::Reserved);
        if !reserved || offset != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let twice = allocations(|all| {
            let known = all.get_mut(&allocation).ok_or(Error::INVALID_VALUE)?;
            if bytes > known.bytes {
                return Err(Error::INVALID_VALUE);
            }
            Ok(known.at.replace(address).is_some())
        })?;
        if twice {
            context
                .findings
                .missing("cuMemMap of an allocation that is mapped already");
            return Err(Error::NOT_SUPPORTED);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemUnmap(address: u64, bytes: usize) -> u32 {
    plain("cuMemUnmap", |context, _| {
        context.synchronize_all()?;
        let range = address..address.saturating_add(bytes as u64);
        let inside = |a: &Allocation| a.at.is_some_and(|at| range.contains(&at));
        allocations(|all| all.retain(|_, allocation| !inside(allocation)));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemSetAccess(
    address: u64,
    bytes: usize,
    _descriptions: *const c_void,
    _count: usize,
) -> u32 {
    plain("cuMemSetAccess", |context, entry| {
        context.check(address, bytes as u64, &entry.call())
    })
}

/// `CUmemAllocationProp`
#[repr(C)]
pub struct AllocationProperties {
    kind: c_int,
    handles: c_int,
    location: [c_int; 2],
    metadata: *mut c_void,
    flags: [u8; 8],
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAllocationPropertiesFromHandle(
    to: *mut AllocationProperties,
    allocation: u64,
) -> u32 {
    const PINNED: c_int = 1;
    const DEVICE: c_int = 1;
    plain("cuMemGetAllocationPropertiesFromHandle", |_, _| {
        let flags = allocations(|all| all.get(&allocation).map(|a| a.flags));
        let flags = flags.ok_or(Error::INVALID_VALUE)?;
        let properties = AllocationProperties {
            kind: PINNED,
            handles: 0,
            location: [DEVICE, 0],
            metadata: std::ptr::null_mut(),
            flags,
        };
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, properties) }
    })
}
