//! Modules and libraries, and the kernels that are fetched from them.

use super::entry::{Handle, aside, hooks};
use crate::modules::{Replacement, replacement, replacement_of_file};
use crate::real_driver::real as driver;
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
        let new = aside(|| replacement(image.cast())).flatten();
        in_place(to, library, new, &call, || call(image))
    }
}

/// Loads `new`, where there is one and the driver takes it; else what the program wants.
unsafe fn in_place(
    to: *mut Handle,
    library: bool,
    new: Option<Replacement>,
    call: impl FnOnce(*const c_void) -> u32,
    own: impl FnOnce() -> u32,
) -> u32 {
    let Some(new) = new.filter(|_| !to.is_null()) else {
        return own();
    };
    // A library may promise that its image stays; this one does.
    let text = match library {
        true => Box::leak(new.text.clone().into_boxed_c_str()),
        false => &*new.text,
    };
    let error = call(text.as_ptr().cast());
    if error != 0 {
        aside(|| state().refused(error));
        return own();
    }
    // SAFETY: the driver has written it.
    let handle = unsafe { to.read_unaligned() };
    aside(|| {
        let mut state = state();
        if library {
            state.told.libraries.insert(handle);
        }
        state.add_module(handle, new);
    });
    0
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
    let new = aside(|| of_file(name)).flatten();
    let call = |image: *const c_void| driver!(cuModuleLoadData(to => *mut Handle, image => *const c_void));
    in_place(to, false, new, call, || real(to, name))
} }

hooks! { cuLibraryLoadData (to: *mut Handle, image: *const c_void, jit: *mut c_uint, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_uint, values: *mut *mut c_void, count: c_uint) |real| {
    load(to, image, true, |image| real(to, image, jit, jit_values, jit_count, options, values, count))
} }

hooks! { cuLibraryLoadFromFile (to: *mut Handle, name: *const c_char, jit: *mut c_uint, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_uint, values: *mut *mut c_void, count: c_uint) |real| {
    let new = aside(|| of_file(name)).flatten();
    let call = |image: *const c_void| driver!(cuLibraryLoadData(to => *mut Handle, image => *const c_void, jit => *mut c_uint, jit_values => *mut *mut c_void, jit_count => c_uint, options => *mut c_uint, values => *mut *mut c_void, count => c_uint));
    in_place(to, true, new, call, || real(to, name, jit, jit_values, jit_count, options, values, count))
} }

/// What takes the place of a file's content.
unsafe fn of_file(name: *const c_char) -> Option<Replacement> {
    use std::os::unix::ffi::OsStrExt as _;
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller passes a text.
    let name = unsafe { CStr::from_ptr(name) };
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    replacement_of_file(&std::fs::read(path).ok()?)
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
