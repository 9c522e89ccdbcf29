//! Launches (CUDA Runtime API, "Execution Control").

use super::graph::Action;
use super::graph_capture::capture;
use super::headers::Release;
use crate::entry::{Entry, enter, put};
use context::launch::Request;
use context::module::Kernel;
use context::{Context, Error, Result};
use std::cell::Cell;
use std::os::raw::{c_int, c_uint, c_void};
use std::sync::Arc;

/// `dim3`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dim {
    x: u32,
    y: u32,
    z: u32,
}

impl Dim {
    pub(super) fn all(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// What `<<<…>>>` was given.
#[derive(Clone, Copy)]
struct Configuration {
    grid: Dim,
    block: Dim,
    shared: usize,
    stream: usize,
}

/// Configurations that a thread can have open: arguments of a launch may launch themselves.
const OPEN: usize = 16;

const NONE: Configuration = Configuration {
    grid: Dim { x: 0, y: 0, z: 0 },
    block: Dim { x: 0, y: 0, z: 0 },
    shared: 0,
    stream: 0,
};

thread_local! {
    static CONFIGURATIONS: Cell<(usize, [Configuration; OPEN])> = const { Cell::new((0, [NONE; OPEN])) };
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: Dim,
    block: Dim,
    shared: usize,
    stream: *mut c_void,
) -> c_uint {
    let pushed = CONFIGURATIONS.try_with(|cell| {
        let (count, mut all) = cell.get();
        let place = all.get_mut(count)?;
        *place = Configuration {
            grid,
            block,
            shared,
            stream: stream.addr(),
        };
        cell.set((count + 1, all));
        Some(())
    });
    u32::from(pushed.ok().flatten().is_none())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim,
    block: *mut Dim,
    shared: *mut usize,
    stream: *mut *mut c_void,
) -> u32 {
    let popped = CONFIGURATIONS.try_with(|cell| {
        let (count, all) = cell.get();
        let last = *all.get(count.checked_sub(1)?)?;
        cell.set((count - 1, all));
        Some(last)
    });
    let Some(last) = popped.ok().flatten() else {
        return Error::MISSING_CONFIGURATION.0;
    };
    // SAFETY: nvcc's own code passes places for these.
    let written = unsafe {
        put(grid, last.grid)
            .and(put(block, last.block))
            .and(put(shared, last.shared))
            .and(put(stream, last.stream as *mut c_void))
    };
    written.err().map_or(0, |e| e.0)
}

/// The parameter block of a launch, from pointers to the arguments.
///
/// # Safety
///
/// `args` points to as many pointers as the kernel has parameters, each to a value of the parameter's size.
pub(crate) unsafe fn parameters(kernel: &Kernel, args: *const *const u8) -> Result<Vec<u8>> {
    let program = &kernel.program;
    let mut block = vec![0; program.param_bytes as usize];
    if program.params.is_empty() {
        return Ok(block);
    }
    if args.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    for (index, parameter) in program.params.iter().enumerate() {
        let (at, bytes) = (parameter.offset as usize, parameter.bytes as usize);
        // SAFETY: by the function's own condition.
        unsafe {
            let value = args.add(index).read_unaligned();
            if value.is_null() {
                return Err(Error::INVALID_VALUE);
            }
            let value = std::slice::from_raw_parts(value, bytes);
            block
                .get_mut(at..at + bytes)
                .ok_or(Error::INVALID_VALUE)?
                .copy_from_slice(value);
        }
    }
    Ok(block)
}

/// Launches a kernel with arguments by pointers.
///
/// # Safety
///
/// As for [`parameters`].
unsafe fn launch(
    context: &mut Context,
    entry: Entry,
    kernel: Arc<Kernel>,
    (grid, block): (Dim, Dim),
    args: *const *const u8,
    shared: usize,
    stream: usize,
    how: How,
) -> Result<()> {
    context.stream(stream as u64, || entry.call())?;
    // SAFETY: by the function's own condition.
    let params = unsafe { parameters(&kernel, args) }?;
    let request = Request {
        kernel,
        grid: grid.all(),
        block: block.all(),
        shared: shared as u64,
        params,
        cooperative: how.cooperative,
        programmatic: how.programmatic,
        cluster: how.cluster,
        stream: stream as u64,
    };
    let node = |_: &mut Context| Ok(Action::Kernel(request.clone()));
    match capture(context, entry, request.stream, node)? {
        true => Ok(()),
        false => context.launch(&request, || entry.call()),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchKernel(
    function: *const c_void,
    grid: Dim,
    block: Dim,
    args: *const *const u8,
    shared: usize,
    stream: *mut c_void,
) -> u32 {
    enter("cudaLaunchKernel", |context, entry| {
        let kernel = context.function(function.addr() as u64)?;
        // SAFETY: the caller passes one pointer for each parameter (CUDA Runtime API, "cudaLaunchKernel").
        unsafe {
            launch(
                context,
                entry,
                kernel,
                (grid, block),
                args,
                shared,
                stream.addr(),
                How::default(),
            )
        }
    })
}

/// Kernels are known by the address of their host code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaGetKernel(
    kernel: *mut *const c_void,
    function: *const c_void,
) -> u32 {
    enter("__cudaGetKernel", |_, _| {
        // SAFETY: nvcc's own code passes a place for it.
        unsafe { put(kernel, function) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetKernel(kernel: *mut *const c_void, function: *const c_void) -> u32 {
    enter("cudaGetKernel", |context, _| {
        context.function(function.addr() as u64)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(kernel, function) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetFuncBySymbol(
    function: *mut *const c_void,
    symbol: *const c_void,
) -> u32 {
    enter("cudaGetFuncBySymbol", |context, _| {
        context.function(symbol.addr() as u64)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(function, symbol) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel(
    function: *const c_void,
    grid: Dim,
    block: Dim,
    args: *const *const u8,
    shared: usize,
    stream: *mut c_void,
) -> u32 {
    enter("kernel<<<…>>>", |context, entry| {
        let kernel = context.function(function.addr() as u64)?;
        // SAFETY: nvcc's own code passes one pointer for each parameter.
        unsafe {
            launch(
                context,
                entry,
                kernel,
                (grid, block),
                args,
                shared,
                stream.addr(),
                How::default(),
            )
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchCooperativeKernel(
    function: *const c_void,
    grid: Dim,
    block: Dim,
    args: *const *const u8,
    shared: usize,
    stream: *mut c_void,
) -> u32 {
    enter("cudaLaunchCooperativeKernel", |context, entry| {
        let kernel = context.function(function.addr() as u64)?;
        let how = How {
            cooperative: true,
            ..How::default()
        };
        let (shape, stream) = ((grid, block), stream.addr());
        // SAFETY: the caller passes one pointer for each parameter.
        context.answered(|context| unsafe {
            launch(context, entry, kernel, shape, args, shared, stream, how)
        })
    })
}

/// `cudaLaunchConfig_t`
#[repr(C)]
pub struct LaunchConfig {
    pub(super) grid: Dim,
    pub(super) block: Dim,
    pub(super) shared: usize,
    pub(super) stream: *mut c_void,
    pub(super) attributes: *const LaunchAttribute,
    pub(super) count: c_uint,
}

/// The attributes of a configuration.
///
/// # Safety
///
/// There are as many as `count` says, or `list` is null.
pub(crate) unsafe fn attributes(
    list: *const LaunchAttribute,
    count: c_uint,
) -> Result<Vec<LaunchAttribute>> {
    /// There are some twenty kinds.
    const MOST: c_uint = 256;
    if count > MOST || (count > 0 && list.is_null()) {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    let one = |at: c_uint| unsafe { list.add(at as usize).read_unaligned() };
    Ok((0..count).map(one).collect())
}

/// `cudaLaunchAttribute`: an identifier, padding to 8 bytes, and a union of 64.
#[repr(C)]
pub struct LaunchAttribute {
    id: c_uint,
    pad: [u8; 4],
    value: [u32; 16],
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchKernelExC(
    config: *const LaunchConfig,
    function: *const c_void,
    args: *const *const u8,
) -> u32 {
    enter("cudaLaunchKernelEx", |context, entry| {
        if config.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let kernel = context.function(function.addr() as u64)?;
        // SAFETY: the caller passes a configuration with as many attributes as it says, and one pointer for each parameter.
        unsafe {
            let config = config.read_unaligned();
            let attributes = attributes(config.attributes, config.count)?;
            let how = how(context, entry, &attributes)?;
            let shape = (config.grid, config.block);
            let stream = config.stream.addr();
            context.answered(|context| {
                launch(
                    context,
                    entry,
                    kernel,
                    shape,
                    args,
                    config.shared,
                    stream,
                    how,
                )
            })
        }
    })
}

/// What a launch's attributes ask for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How {
    /// All blocks are resident together.
    pub cooperative: bool,
    /// It may begin before the launch in front of it has ended.
    pub programmatic: bool,
    /// Blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
}

/// What a launch's attributes ask for.
///
/// # Errors
///
/// They ask for what is not there.
pub(crate) fn how(
    context: &mut Context,
    entry: Entry,
    attributes: &[LaunchAttribute],
) -> Result<How> {
    let mut how = How::default();
    for attribute in attributes {
        match attribute.id {
            // Ignored, access window, synchronisation policy, priority, memory domains, carveout: hints.
            0 | 1 | 3 | 8 | 9 | 10 | 14 => {}
            2 => how.cooperative = attribute.value[0] != 0,
            4 => {
                let [x, y, z, ..] = attribute.value;
                how.cluster = Some([x, y, z]);
            }
            // How the hardware places clusters.
            5 => {}
            6 => how.programmatic = attribute.value[0] != 0,
            _ => {
                context
                    .findings
                    .missing(&format!("{} with programmatic events", entry.0));
                return Err(Error::NOT_SUPPORTED);
            }
        }
    }
    Ok(how)
}

/// `cudaFuncAttributes` of CUDA 11. CUDA 12 and 13 have fields for clusters behind it.
#[repr(C)]
pub struct FuncAttributes {
    shared: usize,
    constant: usize,
    local: usize,
    max_threads: c_int,
    registers: c_int,
    ptx: c_int,
    binary: c_int,
    cache: c_int,
    max_dynamic: c_int,
    carveout: c_int,
}

const _: () = assert!(
    size_of::<FuncAttributes>() == 56,
    "cudaFuncAttributes of CUDA 11"
);

/// Where the fields for clusters lie since CUDA 12: from the end of `carveout` to the end of the structure.
const OF_CLUSTERS: std::ops::Range<usize> = 52..144;

/// Whether a launch of a kernel must say how many blocks a cluster has, and how many the kernel says itself; 0 where it does not.
pub(crate) fn cluster_attributes(program: &simt::Program) -> [c_int; 4] {
    let [x, y, z] = program.required_cluster.unwrap_or_default();
    let must = program.explicit_cluster && program.required_cluster.is_none();
    [c_int::from(must), x as c_int, y as c_int, z as c_int]
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFuncGetAttributes(
    to: *mut FuncAttributes,
    function: *const c_void,
) -> u32 {
    enter("cudaFuncGetAttributes", |context, entry| {
        let kernel = context.function(function.addr() as u64)?;
        let program = &kernel.program;
        let capability = context.options.capability as c_int;
        let constant = program
            .globals
            .iter()
            .filter(|g| g.constant)
            .map(|g| g.bytes)
            .sum::<u64>();
        let attributes = FuncAttributes {
            shared: program.shared_bytes as usize,
            constant: constant as usize,
            local: program.functions[0].frame as usize,
            max_threads: program.max_threads.unwrap_or(1024).min(1024) as c_int,
            registers: context::property::THREAD_REGISTERS as c_int,
            ptx: program.target as c_int,
            binary: capability,
            cache: 0,
            max_dynamic: context.dynamic_limit(&kernel) as c_int,
            carveout: -1,
        };
        // SAFETY: the caller passes a place for the whole structure of its release.
        unsafe {
            put(to, attributes)?;
            if Release::of(entry) >= Release::Twelve {
                let clusters = to.cast::<u8>().add(OF_CLUSTERS.start);
                clusters.write_bytes(0, OF_CLUSTERS.len());
                // Whether a launch must say the size, the size that the kernel says, the placement, and whether large ones are allowed.
                let [must, x, y, z] = cluster_attributes(program);
                let large = c_int::from(context.cluster_limit(&kernel) > 8);
                let fields = [must, x, y, z, 0, large];
                clusters.copy_from_nonoverlapping(fields.as_ptr().cast(), size_of_val(&fields));
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetAttribute(
    function: *const c_void,
    attribute: c_int,
    value: c_int,
) -> u32 {
    enter("cudaFuncSetAttribute", |context, _| {
        let kernel = context.function(function.addr() as u64)?;
        match attribute {
            8 => {
                let bytes = u32::try_from(value).map_err(|_| Error::INVALID_VALUE)?;
                context.opt_in(&kernel, bytes)
            }
            // Carveout, and how the hardware places clusters: hints.
            9 | 15 => Ok(()),
            14 => {
                context.allow_large_clusters(&kernel, value != 0);
                Ok(())
            }
            _ => Err(Error::INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetCacheConfig(function: *const c_void, _: c_int) -> u32 {
    enter("cudaFuncSetCacheConfig", |context, _| {
        context.function(function.addr() as u64).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetSharedMemConfig(function: *const c_void, _: c_int) -> u32 {
    enter("cudaFuncSetSharedMemConfig", |context, _| {
        context.function(function.addr() as u64).map(|_| ())
    })
}
