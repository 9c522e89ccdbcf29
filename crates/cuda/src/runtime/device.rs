//! Devices, of which there is one (CUDA Runtime API, "Device Management", "Peer Device Memory Access").

use super::headers::Release;
use crate::entry::{enter, enter_and_wait, put, put_if};
use context::suspended::Awaited;
use context::{Error, Result};
use std::os::raw::{c_char, c_int, c_uint, c_void};

/// What limits are set to, by `cudaLimit`: kept for programs that ask again.
static LIMITS: std::sync::Mutex<[usize; 7]> =
    std::sync::Mutex::new([1024, 1 << 20, 8 << 20, 2, 2048, 64, 0]);

pub(super) fn only(device: c_int) -> Result<()> {
    match device {
        0 => Ok(()),
        _ => Err(Error::INVALID_DEVICE),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceCount(to: *mut c_int) -> u32 {
    enter("cudaGetDeviceCount", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 1) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDevice(to: *mut c_int) -> u32 {
    enter("cudaGetDevice", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDevice(device: c_int) -> u32 {
    enter("cudaSetDevice", |context, _| {
        only(device)?;
        context.findings.healthy()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaInitDevice(device: c_int, _: c_uint, _: c_uint) -> u32 {
    enter("cudaInitDevice", |_, _| only(device))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDeviceFlags(_: c_uint) -> u32 {
    enter("cudaSetDeviceFlags", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceFlags(to: *mut c_uint) -> u32 {
    enter("cudaGetDeviceFlags", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 8) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetValidDevices(_: *mut c_int, count: c_int) -> u32 {
    enter("cudaSetValidDevices", |_, _| match count {
        0 | 1 => Ok(()),
        _ => Err(Error::INVALID_VALUE),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaChooseDevice(to: *mut c_int, _: *const c_void) -> u32 {
    enter("cudaChooseDevice", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSynchronize() -> u32 {
    enter_and_wait("cudaDeviceSynchronize", Awaited::All, |context, _| {
        context.synchronize_all()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadSynchronize() -> u32 {
    cudaDeviceSynchronize()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceReset() -> u32 {
    enter("cudaDeviceReset", |context, _| {
        let _ = context.synchronize_all();
        context.reset();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadExit() -> u32 {
    cudaDeviceReset()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetAttribute(
    to: *mut c_int,
    attribute: c_int,
    device: c_int,
) -> u32 {
    enter("cudaDeviceGetAttribute", |context, _| {
        only(device)?;
        let value = context
            .model
            .attribute(attribute)
            .ok_or(Error::INVALID_VALUE)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, value) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCtxResetPersistingL2Cache() -> u32 {
    enter("cudaCtxResetPersistingL2Cache", |_, _| Ok(()))
}

/// Two devices are asked about, of which there are never two.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetP2PAttribute(
    to: *mut c_int,
    _: c_int,
    from: c_int,
    into: c_int,
) -> u32 {
    enter("cudaDeviceGetP2PAttribute", |_, _| {
        only(from)?;
        only(into)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetLimit(to: *mut usize, limit: c_int) -> u32 {
    enter("cudaDeviceGetLimit", |_, _| {
        let limits = LIMITS.lock().map_err(|_| Error::UNKNOWN)?;
        let value = limits.get(limit as usize).ok_or(Error::UNSUPPORTED_LIMIT)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, *value) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetLimit(limit: c_int, value: usize) -> u32 {
    enter("cudaDeviceSetLimit", |_, _| {
        let mut limits = LIMITS.lock().map_err(|_| Error::UNKNOWN)?;
        *limits
            .get_mut(limit as usize)
            .ok_or(Error::UNSUPPORTED_LIMIT)? = value;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> u32 {
    enter("cudaDeviceGetStreamPriorityRange", |_, _| {
        // SAFETY: the caller passes places for both, or null.
        unsafe {
            put_if(least, 0);
            put_if(greatest, -5);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetCacheConfig(_: c_int) -> u32 {
    enter("cudaDeviceSetCacheConfig", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetCacheConfig(to: *mut c_int) -> u32 {
    enter("cudaDeviceGetCacheConfig", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetSharedMemConfig(_: c_int) -> u32 {
    enter("cudaDeviceSetSharedMemConfig", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetSharedMemConfig(to: *mut c_int) -> u32 {
    enter("cudaDeviceGetSharedMemConfig", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 1) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceCanAccessPeer(to: *mut c_int, _: c_int, _: c_int) -> u32 {
    enter("cudaDeviceCanAccessPeer", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceEnablePeerAccess(_: c_int, _: c_uint) -> u32 {
    enter("cudaDeviceEnablePeerAccess", |_, _| {
        Err(Error::INVALID_DEVICE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceDisablePeerAccess(_: c_int) -> u32 {
    enter("cudaDeviceDisablePeerAccess", |_, _| {
        Err(Error::INVALID_DEVICE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetPCIBusId(
    to: *mut c_char,
    length: c_int,
    device: c_int,
) -> u32 {
    enter("cudaDeviceGetPCIBusId", |_, _| {
        only(device)?;
        let id = c"0000:01:00.0".to_bytes_with_nul();
        if to.is_null()
            || usize::try_from(length).is_ok_and(|length| length < id.len())
            || length < 0
        {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a place for so many characters.
        unsafe { std::ptr::copy_nonoverlapping(id.as_ptr(), to.cast(), id.len()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetByPCIBusId(to: *mut c_int, _: *const c_char) -> u32 {
    enter("cudaDeviceGetByPCIBusId", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

/// The only memory pool.
const POOL: usize = 0x5261_0001;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetDefaultMemPool(to: *mut *mut c_void, device: c_int) -> u32 {
    enter("cudaDeviceGetDefaultMemPool", |_, _| {
        only(device)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, POOL as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetMemPool(to: *mut *mut c_void, device: c_int) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cudaDeviceGetDefaultMemPool(to, device) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetMemPool(device: c_int, _: *mut c_void) -> u32 {
    enter("cudaDeviceSetMemPool", |_, _| only(device))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolSetAttribute(_: *mut c_void, _: c_int, _: *const c_void) -> u32 {
    enter("cudaMemPoolSetAttribute", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolSetAccess(_: *mut c_void, _: *const c_void, _: usize) -> u32 {
    enter("cudaMemPoolSetAccess", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolTrimTo(_: *mut c_void, _: usize) -> u32 {
    enter("cudaMemPoolTrimTo", |_, _| Ok(()))
}

/// Finds a function of the driver for a program that uses the runtime (CUDA Runtime API, "Driver Entry Point Access"). In CUDA 11 there is no
/// place for a status.
///
/// # Safety
///
/// As for [`crate::driver::cuGetProcAddress_v2`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDriverEntryPoint(
    name: *const c_char,
    to: *mut *mut c_void,
    flags: u64,
    status: *mut c_int,
) -> u32 {
    enter("cudaGetDriverEntryPoint", |_, entry| {
        let status = match Release::of(entry) {
            Release::Eleven => std::ptr::null_mut(),
            _ => status,
        };
        // SAFETY: the same parameters.
        match unsafe { crate::driver::cuGetProcAddress_v2(name, to, 0, flags, status) } {
            0 => Ok(()),
            // A symbol that is not there is no error: the status says so.
            _ if !status.is_null() => Ok(()),
            error => Err(Error(error)),
        }
    })
}

/// # Safety
///
/// As for [`crate::driver::cuGetProcAddress_v2`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDriverEntryPointByVersion(
    name: *const c_char,
    to: *mut *mut c_void,
    _version: c_uint,
    flags: u64,
    status: *mut c_int,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cudaGetDriverEntryPoint(name, to, flags, status) }
}
