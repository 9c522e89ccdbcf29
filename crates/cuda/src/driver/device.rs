//! Initialisation, devices, contexts, and the addresses of functions (CUDA Driver API, "Initialization", "Device Management",
//! "Context Management", "Driver Entry Point Access").

use crate::entry::{plain, put, put_if, text};
use crate::runtime;
use context::Error;
use context::suspended::Awaited;
use std::os::raw::{c_char, c_int, c_uint, c_void};

type Handle = *mut c_void;

/// The only context.
const CONTEXT: usize = 0x5261_0100;

fn only(device: c_int) -> context::Result<()> {
    match device {
        0 => Ok(()),
        _ => Err(Error::INVALID_DEVICE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_: c_uint) -> u32 {
    plain("cuInit", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(to: *mut c_int) -> u32 {
    plain("cuDriverGetVersion", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, runtime::VERSION) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(error: u32, to: *mut *const c_char) -> u32 {
    let name = Error(error).driver_name();
    // SAFETY: the caller passes a place for it; names are constants.
    unsafe { put_if(to, name.map_or(std::ptr::null(), |n| n.as_ptr())) };
    name.map_or(Error::INVALID_VALUE.0, |_| 0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(error: u32, to: *mut *const c_char) -> u32 {
    let text = Error(error).text();
    // SAFETY: the caller passes a place for it; texts are constants.
    unsafe { put_if(to, text.map_or(std::ptr::null(), |n| n.as_ptr())) };
    text.map_or(Error::INVALID_VALUE.0, |_| 0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(to: *mut c_int, ordinal: c_int) -> u32 {
    plain("cuDeviceGet", |_, _| {
        only(ordinal)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(to: *mut c_int) -> u32 {
    plain("cuDeviceGetCount", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 1) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(to: *mut c_char, length: c_int, device: c_int) -> u32 {
    plain("cuDeviceGetName", |context, _| {
        only(device)?;
        let name = context.model.name.as_bytes();
        let room = usize::try_from(length)
            .ok()
            .filter(|l| *l > 0 && !to.is_null());
        let count = room
            .ok_or(Error::INVALID_VALUE)?
            .saturating_sub(1)
            .min(name.len());
        // SAFETY: the caller passes a place for so many characters.
        unsafe {
            std::ptr::copy_nonoverlapping(name.as_ptr(), to.cast(), count);
            *to.add(count) = 0;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(to: *mut [u8; 16], device: c_int) -> u32 {
    plain("cuDeviceGetUuid", |_, _| {
        only(device)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, *b"racetrap-0000000") }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(to: *mut [u8; 16], device: c_int) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuDeviceGetUuid(to, device) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(to: *mut usize, device: c_int) -> u32 {
    plain("cuDeviceTotalMem", |context, _| {
        only(device)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, context.room().1 as usize) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(
    to: *mut c_int,
    attribute: c_int,
    device: c_int,
) -> u32 {
    plain("cuDeviceGetAttribute", |context, _| {
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
pub unsafe extern "C" fn cuDeviceComputeCapability(
    major: *mut c_int,
    minor: *mut c_int,
    device: c_int,
) -> u32 {
    plain("cuDeviceComputeCapability", |context, _| {
        only(device)?;
        // SAFETY: the caller passes places for both.
        unsafe {
            put(major, (context.model.capability / 10) as c_int)?;
            put(minor, (context.model.capability % 10) as c_int)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceCanAccessPeer(to: *mut c_int, _: c_int, _: c_int) -> u32 {
    plain("cuDeviceCanAccessPeer", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

/// Functions that give the only context.
macro_rules! gives_the_context {
    ($($name:ident($($parameter:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(to: *mut Handle, $($parameter: $type),*) -> u32 {
            plain(stringify!($name), |_, _| {
                // SAFETY: the caller passes a place for it.
                unsafe { put(to, CONTEXT as Handle) }
            })
        }
    )*};
}

gives_the_context! {
    cuDevicePrimaryCtxRetain(_device: c_int);
    cuCtxGetCurrent();
    cuCtxCreate_v2(_flags: c_uint, _device: c_int);
    cuCtxCreate_v4(_parameters: *const c_void, _flags: c_uint, _device: c_int);
}

/// The one context stays current; whoever does not want its handle passes a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(to: *mut Handle) -> u32 {
    plain("cuCtxPopCurrent", |_, _| match to.is_null() {
        true => Ok(()),
        // SAFETY: the caller passes a place for it.
        false => unsafe { put(to, CONTEXT as Handle) },
    })
}

/// Functions that have nothing to do where there is one context.
macro_rules! accepts {
    ($($name:ident($($type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($(_: $type),*) -> u32 {
            plain(stringify!($name), |_, _| Ok(()))
        }
    )*};
}

accepts! {
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuDevicePrimaryCtxSetFlags_v2(c_int, c_uint);
    cuCtxSetCurrent(Handle);
    cuCtxPushCurrent_v2(Handle);
    cuCtxDestroy_v2(Handle);
    cuCtxSetCacheConfig(c_int);
    cuCtxSetFlags(c_uint);
    cuCtxSetLimit(c_int, usize);
    cuProfilerInitialize(*const c_char, *const c_char, c_int);
    cuProfilerStart();
    cuProfilerStop();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxGetState(
    _: c_int,
    flags: *mut c_uint,
    active: *mut c_int,
) -> u32 {
    plain("cuDevicePrimaryCtxGetState", |_, _| {
        // SAFETY: the caller passes places for both.
        unsafe {
            put(flags, 0)?;
            put(active, 1)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxReset_v2(device: c_int) -> u32 {
    plain("cuDevicePrimaryCtxReset", |context, _| {
        only(device)?;
        context.reset();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(to: *mut c_int) -> u32 {
    plain("cuCtxGetDevice", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

/// The device of a context, whichever it is: there is one device. Programs that were written before CUDA 13, and take the newest name of a
/// function that they find, pass no context (Numba 0.60 does).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice_v2(to: *mut c_int, _: Handle) -> u32 {
    plain("cuCtxGetDevice", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetApiVersion(_: Handle, to: *mut c_uint) -> u32 {
    plain("cuCtxGetApiVersion", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 3020) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetFlags(to: *mut c_uint) -> u32 {
    plain("cuCtxGetFlags", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { runtime::cudaDeviceGetStreamPriorityRange(least, greatest) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetLimit(to: *mut usize, limit: c_int) -> u32 {
    // SAFETY: the same parameters.
    unsafe { runtime::cudaDeviceGetLimit(to, limit) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> u32 {
    let _ = std::panic::catch_unwind(|| context::suspended::patience(Awaited::All));
    plain("cuCtxSynchronize", |context, _| context.synchronize_all())
}

/// Of a context, whichever it is: there is one.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize_v2(_: Handle) -> u32 {
    cuCtxSynchronize()
}

/// How the names begin of a table that every runtime asks for that is linked into a program, and without which it fails (observed).
const OF_THE_RUNTIME: [u8; 4] = [0x6b, 0xd5, 0xfb, 0x6c];

/// There is none of these tables: they are not documented. Most clients do without; whose runtime does not is named.
///
/// # Safety
///
/// `id` is null or a `CUuuid`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetExportTable(_: *mut *const c_void, id: *const [u8; 16]) -> u32 {
    // SAFETY: by the function's own condition.
    if !id.is_null() && unsafe { id.read_unaligned() }.starts_with(&OF_THE_RUNTIME) {
        plain("cuGetExportTable", |context, entry| {
            let call = entry.call();
            let whose = call.frames.first().map_or("the program", |f| &f.object);
            // NVIDIA's own library, which programs load to ask for its version.
            if whose.contains("/libcudart.so") {
                return Ok(());
            }
            context.doubt(&format!(
                "`{whose}` contains the CUDA runtime (it is linked statically), whose calls fail with `cudaErrorSymbolNotFound`: \
                 it asks the driver for functions that are not documented"
            ));
            Ok(())
        });
    }
    Error::SYMBOL_NOT_FOUND.0
}

/// The newest form of a function that is here.
///
/// # Safety
///
/// `name` is null or ends in a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    to: *mut *mut c_void,
    _version: c_int,
    flags: u64,
    status: *mut c_int,
) -> u32 {
    const PER_THREAD: u64 = 2;
    // SAFETY: by the function's own condition.
    let name = unsafe { text(name) }.filter(|n| n.starts_with("cu"));
    let found = name.and_then(|name| {
        let suffixes: &[&str] = match flags & PER_THREAD {
            0 => &["_v4", "_v3", "_v2", ""],
            _ => &[
                "_v2_ptds", "_v2_ptsz", "_ptds", "_ptsz", "_v4", "_v3", "_v2", "",
            ],
        };
        suffixes
            .iter()
            .find_map(|suffix| own_symbol(&format!("{name}{suffix}")))
    });
    let missing = c_int::from(found.is_none());
    // SAFETY: the caller passes places for both, or null.
    unsafe {
        put_if(to, found.unwrap_or(std::ptr::null_mut()));
        put_if(status, missing);
    }
    match found {
        Some(_) => 0,
        None => Error::SYMBOL_NOT_FOUND.0,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress(
    name: *const c_char,
    to: *mut *mut c_void,
    version: c_int,
    flags: u64,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuGetProcAddress_v2(name, to, version, flags, std::ptr::null_mut()) }
}

/// An exported function of this very library.
fn own_symbol(name: &str) -> Option<*mut c_void> {
    let name = std::ffi::CString::new(name).ok()?;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is of the right type, the library's name is the loader's own, and the library is loaded already.
    unsafe {
        if libc::dladdr(cuInit as *const c_void, info.as_mut_ptr()) == 0 {
            return None;
        }
        let own = libc::dlopen(
            info.assume_init().dli_fname,
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        );
        if own.is_null() {
            return None;
        }
        let found = libc::dlsym(own, name.as_ptr());
        libc::dlclose(own);
        (!found.is_null()).then_some(found)
    }
}
