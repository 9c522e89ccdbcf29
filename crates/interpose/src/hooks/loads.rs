//! Modules and libraries, and the kernels that are fetched from them.

use super::entry::{Handle, aside, hooks};
use crate::modules::{Replacement, replacement};
use crate::state::{Kernel, State, state};
use std::ffi::{CStr, c_char, c_uint, c_void};
use std::sync::Arc;

/// Loads an image with checks in its place, or the image itself.
unsafe fn load(
    to: *mut Handle,
    image: *const c_void,
    library: bool,
    call: impl Fn(*const c_void) -> u32,
) -> u32 {
    // SAFETY: the caller passes an image and a place for the handle.
    unsafe {
        let new: Option<Replacement> = aside(|| replacement(image.cast())).flatten();
        let Some(new) = new else {
            return call(image);
        };
        let error = call(new.text.as_ptr().cast());
        if error != 0 {
            aside(|| state().refused(error));
            return call(image);
        }
        aside(|| {
            let mut state = state();
            if library {
                state.told.libraries.insert(*to);
            }
            state.add_module(*to, new);
        });
        0
    }
}

hooks! { cuModuleLoadData (to: *mut Handle, image: *const c_void) |real| {
    load(to, image, false, |image| real(to, image))
} }

hooks! { cuModuleLoadFatBinary (to: *mut Handle, image: *const c_void) |_real| {
    // It takes no PTX alone, and the other takes whatever this one does.
    cuModuleLoadData(to, image)
} }

hooks! { cuModuleLoadDataEx (to: *mut Handle, image: *const c_void, count: c_uint, options: *mut c_uint, values: *mut *mut c_void) |real| {
    load(to, image, false, |image| real(to, image, count, options, values))
} }

hooks! { cuModuleLoad (to: *mut Handle, name: *const c_char) |real| {
    match content(name) {
        Some(bytes) => cuModuleLoadData(to, bytes.as_ptr().cast()),
        None => real(to, name),
    }
} }

hooks! { cuLibraryLoadData (to: *mut Handle, image: *const c_void, jit: *mut c_uint, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_uint, values: *mut *mut c_void, count: c_uint) |real| {
    load(to, image, true, |image| real(to, image, jit, jit_values, jit_count, options, values, count))
} }

hooks! { cuLibraryLoadFromFile (to: *mut Handle, name: *const c_char, jit: *mut c_uint, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_uint, values: *mut *mut c_void, count: c_uint) |real| {
    match content(name) {
        Some(bytes) => {
            // A library may promise that its image stays; this one does.
            let image: &'static [u8] = Vec::leak(bytes);
            cuLibraryLoadData(to, image.as_ptr().cast(), jit, jit_values, jit_count, options, values, count)
        }
        None => real(to, name, jit, jit_values, jit_count, options, values, count),
    }
} }

/// A file's content, with a zero behind it.
unsafe fn content(name: *const c_char) -> Option<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt as _;
    // SAFETY: the caller passes a text.
    let name = unsafe { CStr::from_ptr(name) };
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    let mut bytes = std::fs::read(path).ok()?;
    bytes.resize(bytes.len() + 16, 0);
    Some(bytes)
}

impl State {
    /// A kernel was fetched from a module or library.
    fn fetched(&mut self, kernel: Handle, module: Handle, name: &CStr, of_library: bool) {
        let name = name.to_string_lossy().into_owned();
        let number = self.modules.get(&module).copied();
        let module = number.map(|number| (number, self.loaded[number].clone()));
        let known = Kernel {
            name,
            module,
            of_library,
        };
        self.kernels.insert(kernel, Arc::new(known));
    }

    /// A handle is another one of the same.
    fn alias(&mut self, to: Handle, from: Handle) {
        if let Some(kernel) = self.kernels.get(&from).cloned() {
            let function = Kernel {
                name: kernel.name.clone(),
                module: kernel.module.clone(),
                of_library: false,
            };
            self.kernels.insert(to, Arc::new(function));
        }
        if let Some(module) = self.modules.get(&from).copied() {
            self.modules.insert(to, module);
        }
    }
}

hooks! { cuModuleGetFunction (to: *mut Handle, module: Handle, name: *const c_char) |real| {
    let error = real(to, module, name);
    if error == 0 {
        aside(|| state().fetched(*to, module, CStr::from_ptr(name), false));
    }
    error
} }

hooks! { cuLibraryGetKernel (to: *mut Handle, library: Handle, name: *const c_char) |real| {
    let error = real(to, library, name);
    if error == 0 {
        aside(|| state().fetched(*to, library, CStr::from_ptr(name), true));
    }
    error
} }

hooks! { cuKernelGetFunction, cuLibraryGetModule (to: *mut Handle, from: Handle) |real| {
    let error = real(to, from);
    if error == 0 {
        aside(|| state().alias(*to, from));
    }
    error
} }
