//! Launches and what is known of functions (CUDA Driver API, "Execution Control", "Occupancy").

use super::module::kernel;
use crate::entry::{Entry, plain, put};
use crate::runtime::{Action, How, capture, cluster_attributes, parameters};
use context::launch::Request;
use context::module::Kernel;
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};
use std::sync::Arc;

type Handle = *mut c_void;

/// The parameter block from a list of `CU_LAUNCH_PARAM_…` words.
///
/// # Safety
///
/// `extra` is such a list, and its buffer has the size that it says.
pub(crate) unsafe fn packed(kernel: &Kernel, extra: *const *const c_void) -> Result<Vec<u8>> {
    const BUFFER: usize = 1;
    const SIZE: usize = 2;
    let (mut buffer, mut size) = (std::ptr::null::<u8>(), 0);
    // SAFETY: by the function's own condition; a list has two entries at most.
    unsafe {
        for pair in 0..2 {
            let value = || extra.add(2 * pair + 1).read_unaligned();
            match extra.add(2 * pair).read_unaligned().addr() {
                BUFFER => buffer = value().cast(),
                SIZE if value().is_null() => return Err(Error::INVALID_VALUE),
                SIZE => size = value().cast::<usize>().read_unaligned(),
                _ => break,
            }
        }
        if buffer.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // Padding at the end may be there or not, and what is behind it is nobody's.
        let wanted = kernel.program.param_bytes as usize;
        let mut block = std::slice::from_raw_parts(buffer, size.min(wanted)).to_vec();
        block.resize(wanted, 0);
        Ok(block)
    }
}

/// # Safety
///
/// `params` or `extra` are as the documentation of the entry point demands.
unsafe fn launch(
    context: &mut Context,
    entry: Entry,
    kernel: Arc<Kernel>,
    [grid, block]: [[u32; 3]; 2],
    shared: u32,
    stream: Handle,
    (params, extra): (*const *const u8, *const *const c_void),
    how: How,
) -> Result<()> {
    context.stream(stream.addr() as u64, || entry.call())?;
    // SAFETY: by the function's own condition.
    let params = unsafe {
        match extra.is_null() {
            true => parameters(&kernel, params)?,
            false => packed(&kernel, extra)?,
        }
    };
    let request = Request {
        kernel,
        grid,
        block,
        shared: u64::from(shared),
        params,
        cooperative: how.cooperative,
        programmatic: how.programmatic,
        cluster: how.cluster,
        stream: stream.addr() as u64,
    };
    let node = |_: &mut Context| Ok(Action::Kernel(request.clone()));
    match capture(context, entry, request.stream, node)? {
        true => Ok(()),
        false => context.launch(&request, || entry.call()),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Handle,
    params: *const *const u8,
    extra: *const *const c_void,
) -> u32 {
    plain("cuLaunchKernel", |context, entry| {
        let kernel = kernel(context, function)?;
        let shape = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]];
        // SAFETY: the caller passes one pointer for each parameter, or a packed list.
        unsafe {
            launch(
                context,
                entry,
                kernel,
                shape,
                shared,
                stream,
                (params, extra),
                How::default(),
            )
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchCooperativeKernel(
    function: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Handle,
    params: *const *const u8,
) -> u32 {
    plain("cuLaunchCooperativeKernel", |context, entry| {
        let kernel = kernel(context, function)?;
        let shape = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]];
        let params = (params, std::ptr::null());
        let how = How {
            cooperative: true,
            ..How::default()
        };
        // SAFETY: the caller passes one pointer for each parameter.
        unsafe { launch(context, entry, kernel, shape, shared, stream, params, how) }
    })
}

/// `CUlaunchConfig`
#[repr(C)]
pub struct DriverConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: Handle,
    attributes: *const crate::runtime::LaunchAttribute,
    count: c_uint,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const DriverConfig,
    function: Handle,
    params: *const *const u8,
    extra: *const *const c_void,
) -> u32 {
    plain("cuLaunchKernelEx", |context, entry| {
        if config.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let kernel = kernel(context, function)?;
        // SAFETY: the caller passes a configuration with as many attributes as it says, and parameters as for `cuLaunchKernel`.
        unsafe {
            let config = config.read_unaligned();
            let attributes = crate::runtime::attributes(config.attributes, config.count)?;
            let how = crate::runtime::how(context, entry, &attributes)?;
            let shape = [config.grid, config.block];
            launch(
                context,
                entry,
                kernel,
                shape,
                config.shared,
                config.stream,
                (params, extra),
                how,
            )
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(
    to: *mut c_int,
    attribute: c_int,
    function: Handle,
) -> u32 {
    plain("cuFuncGetAttribute", |context, _| {
        let kernel = kernel(context, function)?;
        let program = &kernel.program;
        let constant = program
            .globals
            .iter()
            .filter(|g| g.constant)
            .map(|g| g.bytes)
            .sum::<u64>();
        let value = match attribute {
            0 => program.max_threads.unwrap_or(1024).min(1024) as c_int,
            1 => program.shared_bytes as c_int,
            2 => constant as c_int,
            3 => program.functions[0].frame as c_int,
            4 => context::property::THREAD_REGISTERS as c_int,
            5 => program.target as c_int,
            6 => context.options.capability as c_int,
            7 => 0,
            8 => context.dynamic_limit(&kernel) as c_int,
            9 => -1,
            10..=13 => cluster_attributes(program)[attribute as usize - 10],
            14 => c_int::from(context.cluster_limit(&kernel) > 8),
            15 => 0,
            _ => return Err(Error::INVALID_VALUE),
        };
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, value) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetAttribute(
    to: *mut c_int,
    attribute: c_int,
    kernel: Handle,
    _: c_int,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuFuncGetAttribute(to, attribute, kernel) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) -> u32 {
    plain("cuFuncSetAttribute", |context, _| {
        let kernel = kernel(context, function)?;
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
pub extern "C" fn cuKernelSetAttribute(
    attribute: c_int,
    value: c_int,
    kernel: Handle,
    _: c_int,
) -> u32 {
    cuFuncSetAttribute(kernel, attribute, value)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetCacheConfig(function: Handle, _: c_int) -> u32 {
    plain("cuFuncSetCacheConfig", |context, _| {
        kernel(context, function).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    to: *mut c_int,
    function: Handle,
    threads: c_int,
    shared: usize,
) -> u32 {
    plain(
        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        |context, _| {
            let kernel = kernel(context, function)?;
            let threads = u64::try_from(threads).map_err(|_| Error::INVALID_VALUE)?;
            let all = u64::from(kernel.program.shared_bytes) + shared as u64;
            // SAFETY: the caller passes a place for it.
            unsafe { put(to, context.model.occupancy(threads, all) as c_int) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    to: *mut c_int,
    function: Handle,
    threads: c_int,
    shared: usize,
    _flags: c_uint,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(to, function, threads, shared) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveClusters(
    clusters: *mut c_int,
    function: Handle,
    config: *const DriverConfig,
) -> u32 {
    plain("cuOccupancyMaxActiveClusters", |context, entry| {
        let kernel = kernel(context, function)?;
        if config.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a configuration with as many attributes as it says.
        let (config, attributes) = unsafe {
            let config = config.read_unaligned();
            let attributes = crate::runtime::attributes(config.attributes, config.count)?;
            (config, attributes)
        };
        let how = crate::runtime::how(context, entry, &attributes)?;
        let threads = config
            .block
            .iter()
            .fold(1u64, |n, m| n.saturating_mul(u64::from(*m)));
        let size = how
            .cluster
            .or(kernel.program.required_cluster)
            .unwrap_or([1; 3]);
        let count = context.active_clusters(&kernel, threads, config.shared.into(), size)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(clusters, count as c_int) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialClusterSize(
    size: *mut c_int,
    function: Handle,
    config: *const DriverConfig,
) -> u32 {
    plain("cuOccupancyMaxPotentialClusterSize", |context, _| {
        let kernel = kernel(context, function)?;
        if config.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a place for it.
        unsafe { put(size, context.cluster_limit(&kernel) as c_int) }
    })
}

/// The block that fills a multiprocessor best, and as many blocks as fill the device (CUDA Driver API, "Occupancy").
///
/// # Safety
///
/// `bytes` is null or a function that takes a number of threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    function: Handle,
    bytes: Option<unsafe extern "C" fn(c_int) -> usize>,
    shared: usize,
    limit: c_int,
) -> u32 {
    plain("cuOccupancyMaxPotentialBlockSize", |context, _| {
        let kernel = kernel(context, function)?;
        let program = &kernel.program;
        let most = program.max_threads.unwrap_or(1024).min(1024);
        let most = match u64::try_from(limit) {
            Ok(limit @ 1..) => most.min(limit),
            _ => most,
        };
        let mut best = (0, 0, 0);
        for threads in (1..=most.div_ceil(32))
            .rev()
            .map(|warps| most.min(warps * 32))
        {
            // SAFETY: by the function's own condition.
            let dynamic = bytes.map_or(shared, |bytes| unsafe { bytes(threads as c_int) });
            let all = u64::from(program.shared_bytes).saturating_add(dynamic as u64);
            let blocks = u64::from(context.model.occupancy(threads, all));
            if blocks * threads > best.0 {
                best = (blocks * threads, blocks, threads);
            }
        }
        let (_, blocks, threads) = best;
        // SAFETY: the caller passes places for both.
        unsafe {
            put(
                grid,
                (blocks * u64::from(context.model.multiprocessors)) as c_int,
            )?;
            put(block, threads as c_int)
        }
    })
}

/// The same, with flags that change nothing here.
///
/// # Safety
///
/// As for [`cuOccupancyMaxPotentialBlockSize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: *mut c_int,
    block: *mut c_int,
    function: Handle,
    bytes: Option<unsafe extern "C" fn(c_int) -> usize>,
    shared: usize,
    limit: c_int,
    _flags: c_uint,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cuOccupancyMaxPotentialBlockSize(grid, block, function, bytes, shared, limit) }
}
