//! The entry points that the library has in the driver's place (CUDA Driver API; the types are those of its public header).

use crate::launches::{self, Extended, Wanted, is_captured};
use crate::modules::{Replacement, replacement};
use crate::real_driver::{self, real};
use crate::state::{State, state};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Handle = usize;
type Stream = usize;

/// What is done for the program beside its call never becomes its failure.
fn aside<T>(body: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(body)).ok()
}

// Names that are asked for.

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress_v2(
    symbol: *const c_char,
    to: *mut usize,
    version: c_int,
    flags: u64,
    status: *mut c_uint,
) -> u32 {
    let error = real!(cuGetProcAddress_v2(symbol => *const c_char, to => *mut usize, version => c_int, flags => u64, status => *mut c_uint));
    // SAFETY: the driver has written it.
    unsafe { answer(error, to) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress(
    symbol: *const c_char,
    to: *mut usize,
    version: c_int,
    flags: u64,
) -> u32 {
    let error = real!(cuGetProcAddress(symbol => *const c_char, to => *mut usize, version => c_int, flags => u64));
    // SAFETY: the driver has written it.
    unsafe { answer(error, to) }
}

unsafe fn answer(error: u32, to: *mut usize) -> u32 {
    // SAFETY: by the caller's.
    unsafe {
        if error == 0
            && !to.is_null()
            && let Some(ours) = real_driver::ours(*to)
        {
            *to = ours;
        }
    }
    error
}

// Modules.

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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(to: *mut Handle, image: *const c_void) -> u32 {
    let call = |image| real!(cuModuleLoadData(to => *mut Handle, image => *const c_void));
    // SAFETY: the caller's parameters.
    unsafe { load(to, image, false, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadFatBinary(to: *mut Handle, image: *const c_void) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuModuleLoadData(to, image) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    to: *mut Handle,
    image: *const c_void,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> u32 {
    let call = |image| real!(cuModuleLoadDataEx(to => *mut Handle, image => *const c_void, count => c_uint, options => *mut c_uint, values => *mut *mut c_void));
    // SAFETY: the caller's parameters.
    unsafe { load(to, image, false, call) }
}

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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoad(to: *mut Handle, name: *const c_char) -> u32 {
    // SAFETY: the caller's parameters.
    unsafe {
        match content(name) {
            Some(bytes) => cuModuleLoadData(to, bytes.as_ptr().cast()),
            None => real!(cuModuleLoad(to => *mut Handle, name => *const c_char)),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryLoadData(
    to: *mut Handle,
    image: *const c_void,
    jit: *mut c_uint,
    jit_values: *mut *mut c_void,
    jit_count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
    count: c_uint,
) -> u32 {
    let call = |image| real!(cuLibraryLoadData(to => *mut Handle, image => *const c_void, jit => *mut c_uint, jit_values => *mut *mut c_void, jit_count => c_uint, options => *mut c_uint, values => *mut *mut c_void, count => c_uint));
    // SAFETY: the caller's parameters.
    unsafe { load(to, image, true, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryLoadFromFile(
    to: *mut Handle,
    name: *const c_char,
    jit: *mut c_uint,
    jit_values: *mut *mut c_void,
    jit_count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
    count: c_uint,
) -> u32 {
    // SAFETY: the caller's parameters.
    unsafe {
        match content(name) {
            Some(bytes) => {
                // A library may promise that its image stays; this one does.
                let image: &'static [u8] = Vec::leak(bytes);
                cuLibraryLoadData(
                    to,
                    image.as_ptr().cast(),
                    jit,
                    jit_values,
                    jit_count,
                    options,
                    values,
                    count,
                )
            }
            None => {
                real!(cuLibraryLoadFromFile(to => *mut Handle, name => *const c_char, jit => *mut c_uint, jit_values => *mut *mut c_void, jit_count => c_uint, options => *mut c_uint, values => *mut *mut c_void, count => c_uint))
            }
        }
    }
}

impl State {
    /// A kernel was fetched from a module or library.
    fn fetched(&mut self, kernel: Handle, module: Handle, name: &CStr, of_library: bool) {
        let name = name.to_string_lossy().into_owned();
        let number = self.modules.get(&module).copied();
        let module = number.map(|number| (number, self.loaded[number].clone()));
        let known = launches::Kernel {
            name,
            module,
            of_library,
        };
        self.kernels.insert(kernel, Arc::new(known));
    }

    /// A handle is another one of the same.
    fn alias(&mut self, to: Handle, from: Handle) {
        if let Some(kernel) = self.kernels.get(&from).cloned() {
            let function = launches::Kernel {
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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    to: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> u32 {
    let error =
        real!(cuModuleGetFunction(to => *mut Handle, module => Handle, name => *const c_char));
    if error == 0 {
        // SAFETY: the driver has written the handle; the caller passes a text.
        aside(|| unsafe { state().fetched(*to, module, CStr::from_ptr(name), false) });
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryGetKernel(
    to: *mut Handle,
    library: Handle,
    name: *const c_char,
) -> u32 {
    let error =
        real!(cuLibraryGetKernel(to => *mut Handle, library => Handle, name => *const c_char));
    if error == 0 {
        // SAFETY: as above.
        aside(|| unsafe { state().fetched(*to, library, CStr::from_ptr(name), true) });
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetFunction(to: *mut Handle, kernel: Handle) -> u32 {
    let error = real!(cuKernelGetFunction(to => *mut Handle, kernel => Handle));
    if error == 0 {
        // SAFETY: the driver has written the handle.
        aside(|| unsafe { state().alias(*to, kernel) });
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryGetModule(to: *mut Handle, library: Handle) -> u32 {
    let error = real!(cuLibraryGetModule(to => *mut Handle, library => Handle));
    if error == 0 {
        // SAFETY: as above.
        aside(|| unsafe { state().alias(*to, library) });
    }
    error
}

// Memory.

/// Memory came.
fn came(address: u64, bytes: u64) {
    aside(|| {
        let mut device = 0i32;
        if real!(cuCtxGetDevice(&mut device => *mut i32)) != 0 {
            return;
        }
        let mut state = state();
        state.open(device, Some(address));
        if let Some(shadow) = state.shadow.as_mut().filter(|s| s.device == device) {
            shadow.cover(address, bytes);
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocPitch_v2(
    to: *mut u64,
    pitch: *mut usize,
    width: usize,
    height: usize,
    element: c_uint,
) -> u32 {
    let error = real!(cuMemAllocPitch_v2(to => *mut u64, pitch => *mut usize, width => usize, height => usize, element => c_uint));
    if error == 0 {
        // SAFETY: the driver has written both.
        unsafe { came(*to, (*pitch * height) as u64) };
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocManaged(to: *mut u64, bytes: usize, flags: c_uint) -> u32 {
    let error = real!(cuMemAllocManaged(to => *mut u64, bytes => usize, flags => c_uint));
    if error == 0 {
        // SAFETY: the driver has written it.
        unsafe { came(*to, bytes as u64) };
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(to: *mut u64, bytes: usize) -> u32 {
    let error = real!(cuMemAlloc_v2(to => *mut u64, bytes => usize));
    if error == 0 {
        // SAFETY: the driver has written it.
        unsafe { came(*to, bytes as u64) };
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemMap(
    address: u64,
    bytes: usize,
    offset: usize,
    handle: u64,
    flags: u64,
) -> u32 {
    let error = real!(cuMemMap(address => u64, bytes => usize, offset => usize, handle => u64, flags => u64));
    if error == 0 {
        came(address, bytes as u64);
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(to: *mut u64, bytes: usize, stream: Stream) -> u32 {
    let error = real!(cuMemAllocAsync(to => *mut u64, bytes => usize, stream => Stream));
    if error == 0 && !is_captured(stream) {
        // SAFETY: the driver has written it.
        unsafe { came(*to, bytes as u64) };
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocFromPoolAsync(
    to: *mut u64,
    bytes: usize,
    pool: Handle,
    stream: Stream,
) -> u32 {
    let error = real!(cuMemAllocFromPoolAsync(to => *mut u64, bytes => usize, pool => Handle, stream => Stream));
    if error == 0 && !is_captured(stream) {
        // SAFETY: the driver has written it.
        unsafe { came(*to, bytes as u64) };
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync_ptsz(to: *mut u64, bytes: usize, stream: Stream) -> u32 {
    let error = real!(cuMemAllocAsync_ptsz(to => *mut u64, bytes => usize, stream => Stream));
    if error == 0 && !is_captured(stream) {
        // SAFETY: the driver has written it.
        unsafe { came(*to, bytes as u64) };
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocFromPoolAsync_ptsz(
    to: *mut u64,
    bytes: usize,
    pool: Handle,
    stream: Stream,
) -> u32 {
    let error = real!(cuMemAllocFromPoolAsync_ptsz(to => *mut u64, bytes => usize, pool => Handle, stream => Stream));
    if error == 0 && !is_captured(stream) {
        // SAFETY: the driver has written it.
        unsafe { came(*to, bytes as u64) };
    }
    error
}

// Launches.

/// Launches with checks where the kernel has them: `call` gets shared memory, parameters and `extra`.
unsafe fn launch(
    wanted: &Wanted,
    call: impl FnOnce(u32, *mut *mut c_void, *mut *mut c_void) -> u32,
) -> u32 {
    // SAFETY: the caller's parameters.
    let extended: Option<Extended> = aside(|| unsafe { launches::extend(wanted) }).flatten();
    match extended {
        Some(mut extended) => {
            let extended = extended.settle();
            call(extended.shared, extended.params(), extended.extra())
        }
        None => call(wanted.shared, wanted.params, wanted.extra),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: Stream,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> u32 {
    let wanted = Wanted {
        function,
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        shared,
        recorded: is_captured(stream),
        params,
        extra,
    };
    let call = |shared, params, extra| real!(cuLaunchKernel(function => Handle, gx => c_uint, gy => c_uint, gz => c_uint, bx => c_uint, by => c_uint, bz => c_uint, shared => c_uint, stream => Stream, params => *mut *mut c_void, extra => *mut *mut c_void));
    // SAFETY: the caller's parameters.
    unsafe { launch(&wanted, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchCooperativeKernel(
    function: Handle,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: Stream,
    params: *mut *mut c_void,
) -> u32 {
    let wanted = Wanted {
        function,
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        shared,
        recorded: is_captured(stream),
        params,
        extra: std::ptr::null_mut(),
    };
    let call = |shared, params, _| real!(cuLaunchCooperativeKernel(function => Handle, gx => c_uint, gy => c_uint, gz => c_uint, bx => c_uint, by => c_uint, bz => c_uint, shared => c_uint, stream => Stream, params => *mut *mut c_void));
    // SAFETY: the caller's parameters.
    unsafe { launch(&wanted, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const LaunchConfig,
    function: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> u32 {
    // SAFETY: the caller passes a configuration.
    let mut own = unsafe { *config };
    let wanted = own.wanted(function, params, extra);
    let call = |shared, params, extra| {
        own.shared = shared;
        real!(cuLaunchKernelEx(&raw const own => *const LaunchConfig, function => Handle, params => *mut *mut c_void, extra => *mut *mut c_void))
    };
    // SAFETY: the caller's parameters.
    unsafe { launch(&wanted, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel_ptsz(
    function: Handle,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: Stream,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> u32 {
    let wanted = Wanted {
        function,
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        shared,
        recorded: is_captured(stream),
        params,
        extra,
    };
    let call = |shared, params, extra| real!(cuLaunchKernel_ptsz(function => Handle, gx => c_uint, gy => c_uint, gz => c_uint, bx => c_uint, by => c_uint, bz => c_uint, shared => c_uint, stream => Stream, params => *mut *mut c_void, extra => *mut *mut c_void));
    // SAFETY: the caller's parameters.
    unsafe { launch(&wanted, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchCooperativeKernel_ptsz(
    function: Handle,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: Stream,
    params: *mut *mut c_void,
) -> u32 {
    let wanted = Wanted {
        function,
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        shared,
        recorded: is_captured(stream),
        params,
        extra: std::ptr::null_mut(),
    };
    let call = |shared, params, _| real!(cuLaunchCooperativeKernel_ptsz(function => Handle, gx => c_uint, gy => c_uint, gz => c_uint, bx => c_uint, by => c_uint, bz => c_uint, shared => c_uint, stream => Stream, params => *mut *mut c_void));
    // SAFETY: the caller's parameters.
    unsafe { launch(&wanted, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx_ptsz(
    config: *const LaunchConfig,
    function: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> u32 {
    // SAFETY: the caller passes a configuration.
    let mut own = unsafe { *config };
    let wanted = own.wanted(function, params, extra);
    let call = |shared, params, extra| {
        own.shared = shared;
        real!(cuLaunchKernelEx_ptsz(&raw const own => *const LaunchConfig, function => Handle, params => *mut *mut c_void, extra => *mut *mut c_void))
    };
    // SAFETY: the caller's parameters.
    unsafe { launch(&wanted, call) }
}

/// `CUlaunchConfig`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: Stream,
    attributes: *mut c_void,
    count: c_uint,
}

impl LaunchConfig {
    fn wanted(
        &self,
        function: Handle,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Wanted {
        Wanted {
            function,
            grid: self.grid,
            block: self.block,
            shared: self.shared,
            recorded: is_captured(self.stream),
            params,
            extra,
        }
    }
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`; the first version ends before `kernel`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeParams {
    function: Handle,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
    kernel: Handle,
    context: Handle,
}

/// A node of a graph: with the parameter that checks need, and not watched.
unsafe fn node(
    from: *const NodeParams,
    second: bool,
    call: impl FnOnce(*const NodeParams) -> u32,
) -> u32 {
    const FIRST: usize = std::mem::offset_of!(NodeParams, kernel);
    // SAFETY: the caller passes a structure of that version.
    unsafe {
        let mut own: NodeParams = std::mem::zeroed();
        let bytes = if second {
            size_of::<NodeParams>()
        } else {
            FIRST
        };
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut own).cast::<u8>(), bytes);
        let function = match own.function {
            0 => own.kernel,
            function => function,
        };
        let wanted = Wanted {
            function,
            grid: own.grid,
            block: own.block,
            shared: own.shared,
            recorded: true,
            params: own.params,
            extra: own.extra,
        };
        launch(&wanted, |shared, params, extra| {
            own.shared = shared;
            own.params = params;
            own.extra = extra;
            call(&raw const own)
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddKernelNode(
    to: *mut Handle,
    graph: Handle,
    dependencies: *const Handle,
    count: usize,
    params: *const NodeParams,
) -> u32 {
    let call = |params| real!(cuGraphAddKernelNode(to => *mut Handle, graph => Handle, dependencies => *const Handle, count => usize, params => *const NodeParams));
    // SAFETY: the caller's parameters.
    unsafe { node(params, false, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeSetParams(at: Handle, params: *const NodeParams) -> u32 {
    let call =
        |params| real!(cuGraphKernelNodeSetParams(at => Handle, params => *const NodeParams));
    // SAFETY: the caller's parameters.
    unsafe { node(params, false, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecKernelNodeSetParams(
    graph: Handle,
    at: Handle,
    params: *const NodeParams,
) -> u32 {
    let call = |params| real!(cuGraphExecKernelNodeSetParams(graph => Handle, at => Handle, params => *const NodeParams));
    // SAFETY: the caller's parameters.
    unsafe { node(params, false, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddKernelNode_v2(
    to: *mut Handle,
    graph: Handle,
    dependencies: *const Handle,
    count: usize,
    params: *const NodeParams,
) -> u32 {
    let call = |params| real!(cuGraphAddKernelNode_v2(to => *mut Handle, graph => Handle, dependencies => *const Handle, count => usize, params => *const NodeParams));
    // SAFETY: the caller's parameters.
    unsafe { node(params, true, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeSetParams_v2(
    at: Handle,
    params: *const NodeParams,
) -> u32 {
    let call =
        |params| real!(cuGraphKernelNodeSetParams_v2(at => Handle, params => *const NodeParams));
    // SAFETY: the caller's parameters.
    unsafe { node(params, true, call) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecKernelNodeSetParams_v2(
    graph: Handle,
    at: Handle,
    params: *const NodeParams,
) -> u32 {
    let call = |params| real!(cuGraphExecKernelNodeSetParams_v2(graph => Handle, at => Handle, params => *const NodeParams));
    // SAFETY: the caller's parameters.
    unsafe { node(params, true, call) }
}

// Waiting, and the end.

fn waited(error: u32) -> u32 {
    aside(|| {
        let mut state = state();
        match error {
            0 => state.waited(),
            // `CUDA_ERROR_NOT_READY` and misuse say nothing of the device.
            700..=719 => state.doubt(format!("the program's kernels failed (error {error}): what was found since it last waited is lost")),
            _ => {}
        }
    });
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSynchronize() -> u32 {
    waited(real!(cuCtxSynchronize()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamSynchronize(stream: Stream) -> u32 {
    waited(real!(cuStreamSynchronize(stream => Stream)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamSynchronize_ptsz(stream: Stream) -> u32 {
    waited(real!(cuStreamSynchronize_ptsz(stream => Stream)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventSynchronize(event: Handle) -> u32 {
    waited(real!(cuEventSynchronize(event => Handle)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxDestroy_v2(context: Handle) -> u32 {
    aside(|| state().flush());
    aside(|| state().shadow = None);
    real!(cuCtxDestroy_v2(context => Handle))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxReset_v2(device: i32) -> u32 {
    aside(|| state().flush());
    aside(|| state().shadow = None);
    real!(cuDevicePrimaryCtxReset_v2(device => i32))
}
