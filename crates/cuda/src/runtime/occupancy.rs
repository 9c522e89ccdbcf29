//! How much of a GPU a kernel can fill (CUDA Runtime API, "Occupancy").

use super::launch::{How, LaunchConfig, attributes, how};
use crate::entry::{Entry, enter, put};
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

/// A launch's configuration: its kernel's threads, dynamic shared memory and clusters.
///
/// # Safety
///
/// There are as many attributes as it says.
unsafe fn configured(
    context: &mut Context,
    entry: Entry,
    config: &LaunchConfig,
) -> Result<(u64, u64, How)> {
    // SAFETY: by the function's own condition.
    let attributes = unsafe { attributes(config.attributes, config.count)? };
    let [x, y, z] = config.block.all();
    let threads = [x, y, z]
        .into_iter()
        .fold(1u64, |n, m| n.saturating_mul(m.into()));
    Ok((
        threads,
        config.shared as u64,
        how(context, entry, &attributes)?,
    ))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxActiveClusters(
    clusters: *mut c_int,
    function: *const c_void,
    config: *const LaunchConfig,
) -> u32 {
    enter("cudaOccupancyMaxActiveClusters", |context, entry| {
        let kernel = context.function(function.addr() as u64)?;
        if config.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a configuration with as many attributes as it says.
        let (threads, shared, how) =
            unsafe { configured(context, entry, &config.read_unaligned()) }?;
        let size = how
            .cluster
            .or(kernel.program.required_cluster)
            .unwrap_or([1; 3]);
        let count = context.active_clusters(&kernel, threads, shared, size)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(clusters, count as c_int) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxPotentialClusterSize(
    size: *mut c_int,
    function: *const c_void,
    config: *const LaunchConfig,
) -> u32 {
    enter("cudaOccupancyMaxPotentialClusterSize", |context, _| {
        let kernel = context.function(function.addr() as u64)?;
        if config.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a place for it.
        unsafe { put(size, context.cluster_limit(&kernel) as c_int) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    function: *const c_void,
    threads: c_int,
    shared: usize,
    _flags: c_uint,
) -> u32 {
    enter(
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
        |context, _| {
            let kernel = context.function(function.addr() as u64)?;
            let threads = u64::try_from(threads).map_err(|_| Error::INVALID_VALUE)?;
            let all = u64::from(kernel.program.shared_bytes).saturating_add(shared as u64);
            let count = match kernel.program.max_threads {
                Some(max) if threads > max => 0,
                _ => context.model.occupancy(threads, all),
            };
            // SAFETY: the caller passes a place for it.
            unsafe { put(blocks, count as c_int) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: *const c_void,
    threads: c_int,
    shared: usize,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe {
        cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    function: *const c_void,
    blocks: c_int,
    _threads: c_int,
) -> u32 {
    enter("cudaOccupancyAvailableDynamicSMemPerBlock", |context, _| {
        let kernel = context.function(function.addr() as u64)?;
        let blocks = u32::try_from(blocks)
            .ok()
            .filter(|b| *b > 0)
            .ok_or(Error::INVALID_VALUE)?;
        let each = (context.model.shared / blocks)
            .saturating_sub(kernel.program.shared_bytes.saturating_add(1024));
        let most = context.model.shared_limit();
        let most = most.saturating_sub(kernel.program.shared_bytes);
        // SAFETY: the caller passes a place for it.
        unsafe { put(bytes, each.min(most) as usize) }
    })
}
