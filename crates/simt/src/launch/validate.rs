//! Launches that the hardware would refuse.

use super::Launch;
use crate::ids::Dim3;
use crate::memory::CLUSTER_BLOCKS;
use crate::program::Program;
use crate::stop::Stop;

/// Limits of a launch (CUDA C++ Programming Guide, "Compute Capabilities", "Technical Specifications").
const BLOCK_THREADS: u64 = 1024;
const BLOCK_DIM: [u32; 3] = [1024, 1024, 64];
const GRID_DIM: [u64; 3] = [(1 << 31) - 1, 65535, 65535];

/// Shared memory that a block can have, bytes, with the opt-in for more than 48 KiB
/// (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
pub fn shared_limit(target: u32) -> u32 {
    let kib = match target {
        0..=69 => 48,
        70..=74 => 96,
        75..=79 => 64,
        80 | 87 => 163,
        86 | 89 | 120.. => 99,
        _ => 227,
    };
    kib << 10
}

/// Says what is wrong with a launch.
pub(super) fn validate(program: &Program, launch: &Launch) -> Result<(), Stop> {
    let no = |text: String| Err(Stop::InvalidLaunch(text));
    let (grid, block) = (launch.grid, launch.block);
    if block.count() == 0 || grid.count() == 0 {
        return no(format!(
            "a launch needs at least one block of one thread (grid {grid}, block {block})"
        ));
    }
    if block.count() > BLOCK_THREADS {
        return no(format!(
            "the block has {} threads{}, more than the maximum of {BLOCK_THREADS}",
            block.count(),
            match u64::from(block.x) == block.count() {
                true => String::new(),
                false => format!(" ({block})"),
            }
        ));
    }
    for (size, limit) in [block.x, block.y, block.z].into_iter().zip(BLOCK_DIM) {
        if size > limit {
            return no(format!(
                "block {block} exceeds the maximum of {},{},{} threads",
                BLOCK_DIM[0], BLOCK_DIM[1], BLOCK_DIM[2]
            ));
        }
    }
    for (size, limit) in [grid.x, grid.y, grid.z].into_iter().zip(GRID_DIM) {
        if u64::from(size) > limit {
            return no(format!(
                "grid {grid} exceeds the maximum of {},{},{} blocks",
                GRID_DIM[0], GRID_DIM[1], GRID_DIM[2]
            ));
        }
    }
    if grid.count() > u64::from(u32::MAX) {
        return no(format!(
            "grid {grid} exceeds racetrap's maximum of {} blocks",
            u32::MAX
        ));
    }
    let shared = u64::from(program.shared_bytes) + u64::from(launch.dynamic_shared);
    let limit = shared_limit(program.device);
    if shared > u64::from(limit) {
        return no(format!(
            "the block needs {shared} bytes of shared memory, but sm_{} has at most {limit}",
            program.device
        ));
    }
    if let Some([x, y, z]) = program.required_block
        && [x, y, z] != [block.x, block.y, block.z]
    {
        return no(format!(
            "the block is {block}, but the kernel is compiled for blocks of {}",
            Dim3 { x, y, z }
        ));
    }
    clusters(program, launch)?;
    if let Some(max) = program.max_threads
        && block.count() > max
    {
        return no(format!(
            "the block has {} threads, but the kernel is compiled for at most {max}",
            block.count()
        ));
    }
    if launch.params.len() != program.param_bytes as usize {
        return no(format!(
            "the launch passes {} bytes of parameters, but the kernel takes {}",
            launch.params.len(),
            program.param_bytes
        ));
    }
    Ok(())
}

/// Says what is wrong with a launch's clusters (CUDA C++ Programming Guide, "Thread Block Clusters"; PTX ISA, "Cluster Dimension Directives").
fn clusters(program: &Program, launch: &Launch) -> Result<(), Stop> {
    let no = |text: String| Err(Stop::InvalidLaunch(text));
    let required = program.required_cluster.map(|[x, y, z]| Dim3 { x, y, z });
    if let (Some(required), Some(given)) = (required, launch.cluster)
        && required != given
    {
        return no(format!(
            "the cluster is {given}, but the kernel is compiled for clusters of {required}"
        ));
    }
    let Some(size) = launch.cluster.or(required) else {
        return match program.explicit_cluster {
            true => {
                no("the kernel is compiled for launches that state the size of clusters".into())
            }
            false => Ok(()),
        };
    };
    if program.device < 90 {
        return no(format!("sm_{} has no clusters of blocks", program.device));
    }
    if size.count() == 0 || size.count() > u64::from(CLUSTER_BLOCKS) {
        return no(format!(
            "a cluster of {size} blocks exceeds the maximum of {CLUSTER_BLOCKS}"
        ));
    }
    if let Some(max) = program.max_cluster
        && size.count() > u64::from(max)
    {
        return no(format!(
            "a cluster has {} blocks, but the kernel is compiled for at most {max}",
            size.count()
        ));
    }
    let grid = launch.grid;
    let axes = [(grid.x, size.x), (grid.y, size.y), (grid.z, size.z)];
    if axes
        .iter()
        .any(|(blocks, cluster)| !blocks.is_multiple_of(*cluster))
    {
        return no(format!(
            "the grid of {grid} blocks is not a multiple of the cluster of {size}"
        ));
    }
    Ok(())
}
