//! What nvcc's host code registers before `main`: fat binaries, kernels, variables (`crt/host_runtime.h`).

use crate::entry::{enter, put_if, text};
use context::Error;
use context::fatbin::{self, HEADER};
use context::module::Image;
use std::os::raw::{c_char, c_int, c_void};

/// `__fatBinC_Wrapper_t` (`fatbinary_section.h`).
#[repr(C)]
pub struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    /// With version 2, a list of the objects' own containers that ends in null.
    fatbins: *const *const u8,
}

/// Objects of one linked binary that are read at most.
const OBJECTS: usize = 1 << 16;

/// A container, copied.
///
/// # Safety
///
/// A container begins at `data`, or other memory.
pub(crate) unsafe fn container(data: *const u8) -> Option<Vec<u8>> {
    if data.is_null() {
        return None;
    }
    let here = |bytes: usize| context::pages::readable(data.addr() as u64, bytes as u64) as usize;
    if here(HEADER) < HEADER {
        return None;
    }
    // SAFETY: so many bytes can be read, as the system says.
    unsafe {
        let header: &[u8; HEADER] = &*data.cast();
        // It may say more than there is.
        let size = fatbin::size(header).ok()?;
        let size = here(size);
        if size < HEADER {
            return None;
        }
        Some(std::slice::from_raw_parts(data, size).to_vec())
    }
}

/// The containers that a wrapper leads to.
///
/// # Safety
///
/// `wrapper` is as nvcc writes it.
pub(crate) unsafe fn containers(wrapper: *const Wrapper) -> Vec<Vec<u8>> {
    // SAFETY: by the function's own condition.
    unsafe {
        if wrapper.is_null() {
            return Vec::new();
        }
        let wrapper = wrapper.read_unaligned();
        if wrapper.magic != fatbin::WRAPPER_MAGIC {
            return Vec::new();
        }
        let mut all = Vec::new();
        let list = wrapper.fatbins;
        if wrapper.version == 2 && !list.is_null() {
            // The linked image has machine code only; each object's own container has its PTX.
            let objects = (0..OBJECTS)
                .map(|i| list.add(i).read_unaligned())
                .take_while(|p| !p.is_null());
            all.extend(objects.filter_map(|object| container(object)));
        } else {
            all.extend(container(wrapper.data));
        }
        all
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const Wrapper) -> *mut *mut c_void {
    let mut number = 0;
    enter("__cudaRegisterFatBinary", |context, _| {
        // SAFETY: nvcc's own code calls this with its own structure.
        let all = unsafe { containers(wrapper) };
        number = context.modules.add("the program", Image::FatBinaries(all)) + 1;
        Ok(())
    });
    // The handle is a number that nobody follows.
    number as *mut *mut c_void
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_: *mut *mut c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(_: *mut *mut c_void) {
    enter("__cudaUnregisterFatBinary", |context, _| {
        context.print();
        Ok(())
    });
}

pub(super) fn module(handle: *mut *mut c_void) -> usize {
    (handle.addr()).wrapping_sub(1)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_char,
    _device: *mut c_char,
    name: *const c_char,
    _limit: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _warp: *mut c_int,
) {
    // SAFETY: nvcc's own code passes a name.
    let name = unsafe { text(name) };
    enter("__cudaRegisterFunction", |context, _| {
        let name = name.ok_or(Error::INVALID_VALUE)?;
        context
            .modules
            .register_function(module(handle), host.addr() as u64, &name);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_char,
    _device: *mut c_char,
    name: *const c_char,
    _ext: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: nvcc's own code passes a name.
    let name = unsafe { text(name) };
    enter("__cudaRegisterVar", |context, _| {
        let name = name.ok_or(Error::INVALID_VALUE)?;
        context
            .modules
            .register_variable(module(handle), host.addr() as u64, &name, size as u64);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    host: *mut *mut c_void,
    _device: *mut c_char,
    name: *const c_char,
    _ext: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: nvcc's own code passes a name.
    let name = unsafe { text(name) };
    enter("__cudaRegisterManagedVar", |context, _| {
        let name = name.ok_or(Error::INVALID_VALUE)?;
        context
            .modules
            .register_variable(module(handle), host.addr() as u64, &name, size as u64);
        let (address, _) = context.symbol(host.addr() as u64)?;
        // SAFETY: the program reads the variable through this pointer of its own.
        unsafe { put_if(host, address as *mut c_void) };
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(handle: *mut *mut c_void) -> c_char {
    let error = enter("__cudaInitModule", |context, _| {
        context.load(module(handle))
    });
    c_char::from(error == 0)
}
