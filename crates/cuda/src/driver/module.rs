//! Modules, libraries and the linker (CUDA Driver API, "Module Management", "Library Management").

use crate::entry::{Entry, plain, put, put_if, text};
use crate::runtime::{Wrapper, container, containers};
use context::module::{Image, Kernel};
use context::{Context, Error, Result, fatbin};
use std::collections::HashMap;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

type Handle = *mut c_void;

/// Text that is read as PTX at most, bytes.
const LONGEST: usize = 512 << 20;

/// What a caller hands over as an image: PTX, a fat binary, or its wrapper; `None` for machine code.
///
/// # Safety
///
/// `image` is one of these, or machine code.
unsafe fn image(image: *const c_void) -> Option<Image> {
    // SAFETY: by the function's own condition.
    unsafe {
        // A text may be shorter than a number.
        let mut first = [0u8; 4];
        for (at, byte) in first.iter_mut().enumerate() {
            *byte = image.cast::<u8>().add(at).read();
            if *byte == 0 {
                break;
            }
        }
        match u32::from_le_bytes(first) {
            fatbin::MAGIC => container(image.cast()).map(|c| Image::FatBinaries(vec![c])),
            fatbin::WRAPPER_MAGIC => Some(Image::FatBinaries(containers(image.cast::<Wrapper>()))),
            first if first.to_le_bytes() == *b"\x7fELF" => None,
            _ => {
                let length = libc::strnlen(image.cast(), LONGEST);
                let bytes = std::slice::from_raw_parts(image.cast::<u8>(), length);
                Some(Image::Text(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
    }
}

/// What a file has. A wrapper leads to addresses, so it is none of these.
fn image_of_file(bytes: &[u8]) -> Option<Image> {
    match bytes.first_chunk::<4>() {
        Some(first) if u32::from_le_bytes(*first) == fatbin::MAGIC => {
            Some(Image::FatBinaries(vec![bytes.to_vec()]))
        }
        Some(b"\x7fELF") => None,
        _ => {
            let text = bytes.split(|b| *b == 0).next().unwrap_or_default();
            Some(Image::Text(String::from_utf8_lossy(text).into_owned()))
        }
    }
}

/// Loads a module; its handle.
///
/// # Safety
///
/// As for [`image`].
unsafe fn load(context: &mut Context, entry: Entry, from: *const c_void) -> Result<usize> {
    if from.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    add(context, entry, unsafe { image(from) })
}

/// Adds a module; its handle.
fn add(context: &mut Context, entry: Entry, image: Option<Image>) -> Result<usize> {
    let Some(image) = image else {
        context.findings.doubt(&format!(
            "`{}` was given machine code, which racetrap can't run: let the program hand over PTX",
            entry.0
        ));
        return Err(Error::NO_KERNEL_IMAGE_FOR_DEVICE);
    };
    let module = context
        .modules
        .add(&format!("a module that `{}` loads", entry.0), image);
    context.load(module)?;
    Ok(module + 1)
}

fn number(module: Handle) -> Result<usize> {
    module
        .addr()
        .checked_sub(1)
        .ok_or(Error::INVALID_RESOURCE_HANDLE)
}

/// The kernel that a handle stands for.
pub(super) fn kernel(context: &Context, function: Handle) -> Result<Arc<Kernel>> {
    let id = function.addr().checked_sub(1);
    id.and_then(|id| context.modules.kernel_of(id))
        .ok_or(Error::INVALID_RESOURCE_HANDLE)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(to: *mut Handle, from: *const c_void) -> u32 {
    plain("cuModuleLoadData", |context, entry| {
        // SAFETY: the caller passes an image, and a place for the handle.
        unsafe {
            let module = load(context, entry, from)?;
            put(to, module as Handle)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadFatBinary(to: *mut Handle, from: *const c_void) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuModuleLoadData(to, from) }
}

/// `CU_JIT_ERROR_LOG_BUFFER`
const ERROR_LOG: u32 = 5;
/// `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`
const ERROR_LOG_BYTES: u32 = 6;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    to: *mut Handle,
    from: *const c_void,
    count: c_uint,
    options: *const u32,
    values: *const *mut c_void,
) -> u32 {
    // SAFETY: the same parameters; as many options and values as the caller says; a log of the size that goes with it.
    unsafe {
        let error = cuModuleLoadData(to, from);
        if error != 0 && !options.is_null() && !values.is_null() {
            let value = |option: u32| {
                let mut all = 0..count as usize;
                all.find(|i| *options.add(*i) == option)
                    .map(|i| *values.add(i))
            };
            if let (Some(log), Some(bytes)) = (value(ERROR_LOG), value(ERROR_LOG_BYTES)) {
                let text = c"racetrap can't run this module".to_bytes_with_nul();
                if !log.is_null() && bytes.addr() >= text.len() {
                    std::ptr::copy_nonoverlapping(text.as_ptr(), log.cast(), text.len());
                }
            }
        }
        error
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoad(to: *mut Handle, path: *const c_char) -> u32 {
    // SAFETY: the caller passes a path.
    let path = unsafe { text(path) };
    plain("cuModuleLoad", |context, entry| {
        let path = path.ok_or(Error::INVALID_VALUE)?;
        let bytes = std::fs::read(path).map_err(|_| Error::FILE_NOT_FOUND)?;
        let module = add(context, entry, image_of_file(&bytes))?;
        // SAFETY: the caller passes a place for the handle.
        unsafe { put(to, module as Handle) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: Handle) -> u32 {
    plain("cuModuleUnload", |_, _| number(module).map(|_| ()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    to: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> u32 {
    // SAFETY: the caller passes a name.
    let name = unsafe { text(name) };
    plain("cuModuleGetFunction", |context, _| {
        let name = name.ok_or(Error::INVALID_VALUE)?;
        let kernel = context
            .kernel(number(module)?, &name)
            .map_err(|error| match error {
                Error::INVALID_DEVICE_FUNCTION => Error::SYMBOL_NOT_FOUND,
                error => error,
            })?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, (kernel.id + 1) as Handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    to: *mut u64,
    bytes: *mut usize,
    module: Handle,
    name: *const c_char,
) -> u32 {
    // SAFETY: the caller passes a name.
    let name = unsafe { text(name) };
    plain("cuModuleGetGlobal", |context, _| {
        let name = name.ok_or(Error::INVALID_VALUE)?;
        let found = context.variable(number(module)?, &name);
        let (address, size) = found.map_err(|error| match error {
            Error::INVALID_SYMBOL => Error::SYMBOL_NOT_FOUND,
            error => error,
        })?;
        // SAFETY: the caller passes places for both, or null.
        unsafe {
            put_if(to, address);
            put_if(bytes, size as usize);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetLoadingMode(to: *mut c_int) -> u32 {
    plain("cuModuleGetLoadingMode", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 2) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryLoadData(
    to: *mut Handle,
    from: *const c_void,
    _jit: *const c_int,
    _jit_values: *const *mut c_void,
    _jit_count: c_uint,
    _options: *const c_int,
    _values: *const *mut c_void,
    _count: c_uint,
) -> u32 {
    // SAFETY: the same image and place.
    unsafe { cuModuleLoadData(to, from) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryUnload(library: Handle) -> u32 {
    cuModuleUnload(library)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryGetKernel(
    to: *mut Handle,
    library: Handle,
    name: *const c_char,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuModuleGetFunction(to, library, name) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryGetGlobal(
    to: *mut u64,
    bytes: *mut usize,
    library: Handle,
    name: *const c_char,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuModuleGetGlobal_v2(to, bytes, library, name) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryGetModule(to: *mut Handle, library: Handle) -> u32 {
    plain("cuLibraryGetModule", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, library) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetFunction(to: *mut Handle, kernel: Handle) -> u32 {
    plain("cuKernelGetFunction", |_, _| {
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, kernel) }
    })
}

/// What a linker was given.
static LINKERS: Mutex<(usize, Option<HashMap<usize, Linker>>)> = Mutex::new((0, None));

#[derive(Default)]
struct Linker {
    texts: Vec<String>,
    /// What was made of them, for as long as the linker is there.
    made: Vec<u8>,
}

fn linker<T>(state: Handle, with: impl FnOnce(&mut Linker) -> Result<T>) -> Result<T> {
    let mut all = LINKERS.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all.1.get_or_insert_default();
    with(
        all.get_mut(&state.addr())
            .ok_or(Error::INVALID_RESOURCE_HANDLE)?,
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkCreate_v2(
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
    to: *mut Handle,
) -> u32 {
    plain("cuLinkCreate", |_, _| {
        let mut all = LINKERS.lock().unwrap_or_else(PoisonError::into_inner);
        all.0 += 1;
        let number = all.0;
        all.1
            .get_or_insert_default()
            .insert(number, Linker::default());
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, number as Handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkAddData_v2(
    state: Handle,
    kind: c_int,
    data: *const c_void,
    size: usize,
    _name: *const c_char,
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> u32 {
    const PTX: c_int = 1;
    plain("cuLinkAddData", |context, entry| {
        if kind != PTX || data.is_null() {
            context
                .findings
                .missing(&format!("{} of anything but PTX", entry.0));
            return Err(Error::NOT_SUPPORTED);
        }
        if size > LONGEST {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's buffer has this size.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
        let text = String::from_utf8_lossy(bytes)
            .trim_end_matches('\0')
            .to_owned();
        linker(state, |linker| {
            linker.texts.push(text);
            Ok(())
        })
    })
}

/// What comes out is PTX again, which only [`cuModuleLoadData`] and its like have to understand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkComplete(
    state: Handle,
    to: *mut *mut c_void,
    size: *mut usize,
) -> u32 {
    plain("cuLinkComplete", |_, _| {
        linker(state, |linker| {
            // It stays where it is until the linker is destroyed, also when somebody asks twice.
            if linker.made.is_empty() {
                let made = context::link::texts(&linker.texts).map_err(|_| Error::INVALID_PTX)?;
                linker.made = made.into_bytes();
                linker.made.push(0);
            }
            // SAFETY: the caller passes places for both.
            unsafe {
                put(to, linker.made.as_mut_ptr().cast())?;
                put_if(size, linker.made.len());
            }
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLinkDestroy(state: Handle) -> u32 {
    plain("cuLinkDestroy", |_, _| {
        let mut all = LINKERS.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = all.1.get_or_insert_default().remove(&state.addr());
        gone.map(|_| ()).ok_or(Error::INVALID_RESOURCE_HANDLE)
    })
}
