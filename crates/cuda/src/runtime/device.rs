//! Devices, of which there is one (CUDA Runtime API, "Device Management", "Peer Device Memory Access").

use crate::entry::{enter, put, put_if};
use context::property::{CONSTANT, PITCH, REGISTERS, SHARED};
use context::{Context, Error, Result};
use std::os::raw::{c_char, c_int, c_uint, c_void};

/// What limits are set to, by `cudaLimit`: kept for programs that ask again.
static LIMITS: std::sync::Mutex<[usize; 7]> =
    std::sync::Mutex::new([1024, 1 << 20, 8 << 20, 2, 2048, 64, 0]);

fn only(device: c_int) -> Result<()> {
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
        context.healthy()
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
    enter("cudaDeviceSynchronize", |context, _| {
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

/// `cudaDeviceProp` of CUDA 13, up to where it is the same for all models.
#[repr(C)]
struct Properties {
    name: [u8; 256],
    uuid: [u8; 16],
    luid: [u8; 8],
    luid_mask: c_uint,
    memory: usize,
    shared: usize,
    registers: c_int,
    warp: c_int,
    pitch: usize,
    threads: c_int,
    block: [c_int; 3],
    grid: [c_int; 3],
    constant: usize,
    major: c_int,
    minor: c_int,
    texture_alignment: usize,
    texture_pitch_alignment: usize,
    multiprocessors: c_int,
    integrated: c_int,
    maps_host: c_int,
    textures: [c_int; 25],
    surfaces: [c_int; 14],
    surface_alignment: usize,
    concurrent_kernels: c_int,
    ecc: c_int,
    bus_id: c_int,
    device_id: c_int,
    domain_id: c_int,
    tcc: c_int,
    engines: c_int,
    unified: c_int,
    bus: c_int,
    l2: c_int,
    persisting: c_int,
    multiprocessor_threads: c_int,
    priorities: c_int,
    global_l1: c_int,
    local_l1: c_int,
    multiprocessor_shared: usize,
    multiprocessor_registers: c_int,
    managed: c_int,
    multi_board: c_int,
    board_group: c_int,
    native_atomics: c_int,
    pageable: c_int,
    concurrent_managed: c_int,
    preemption: c_int,
    registered_pointer: c_int,
    cooperative: c_int,
    shared_optin: usize,
    host_tables: c_int,
    direct_managed: c_int,
    multiprocessor_blocks: c_int,
    window: c_int,
    reserved_shared: usize,
    register_host: c_int,
    sparse: c_int,
    register_read_only: c_int,
    semaphores: c_int,
    pools: c_int,
    rest: [c_int; 71],
}

const _: () = assert!(
    size_of::<Properties>() == 1008,
    "sizeof(cudaDeviceProp) of CUDA 13"
);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties(to: *mut c_void, device: c_int) -> u32 {
    enter("cudaGetDeviceProperties", |context, _| {
        only(device)?;
        let properties = properties(context);
        // SAFETY: the caller passes a place for the structure.
        unsafe { put(to.cast(), properties) }
    })
}

fn properties(context: &Context) -> Properties {
    let model = &context.model;
    // SAFETY: numbers and arrays of numbers, for which zero is a value.
    let mut p: Properties = unsafe { std::mem::zeroed() };
    p.name[..model.name.len()].copy_from_slice(model.name.as_bytes());
    p.uuid = *b"racetrap-0000000";
    p.memory = context.room().1 as usize;
    p.shared = SHARED as usize;
    p.registers = REGISTERS as c_int;
    p.warp = 32;
    p.pitch = PITCH as usize;
    p.threads = 1024;
    p.block = [1024, 1024, 64];
    p.grid = [i32::MAX, 65535, 65535];
    p.constant = CONSTANT as usize;
    p.major = (model.capability / 10) as c_int;
    p.minor = (model.capability % 10) as c_int;
    p.texture_alignment = 512;
    p.texture_pitch_alignment = 32;
    p.multiprocessors = model.multiprocessors as c_int;
    p.maps_host = 1;
    // 1D, its mipmap, 2D, its mipmap, linear 2D, gathered 2D, 3D, the other 3D, cubemap, layered 1D, layered 2D, layered cubemap.
    p.textures = [
        131_072, 32768, 131_072, 65536, 32768, 32768, 131_072, 65000, 2_097_120, 32768, 32768,
        16384, 16384, 16384, 8192, 8192, 32768, 32768, 32768, 2048, 32768, 32768, 2048, 32768,
        2046,
    ];
    // 1D, 2D, 3D, layered 1D, layered 2D, cubemap, layered cubemap.
    p.surfaces = [
        32768, 131_072, 65536, 16384, 16384, 16384, 32768, 2048, 32768, 32768, 2048, 32768, 32768,
        2046,
    ];
    p.surface_alignment = 512;
    p.concurrent_kernels = 1;
    p.bus_id = 1;
    p.engines = 3;
    p.unified = 1;
    p.bus = model.bus as c_int;
    p.l2 = model.l2 as c_int;
    p.persisting = (model.l2 / 2) as c_int;
    p.multiprocessor_threads = model.threads as c_int;
    p.priorities = 1;
    p.global_l1 = 1;
    p.local_l1 = 1;
    p.multiprocessor_shared = model.shared as usize;
    p.multiprocessor_registers = REGISTERS as c_int;
    p.managed = 1;
    p.concurrent_managed = 1;
    p.preemption = 1;
    p.cooperative = 1;
    p.shared_optin = model.shared_limit() as usize;
    p.multiprocessor_blocks = model.blocks as c_int;
    p.window = (model.l2 / 2) as c_int;
    p.reserved_shared = model.attribute(111).unwrap_or(0) as usize;
    p.register_host = 1;
    p.pools = 1;
    p
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
        if to.is_null() || (length as usize) < id.len() {
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
