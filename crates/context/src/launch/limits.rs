//! What the runtime takes: how large a grid, a block and its shared memory may be.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::module::Kernel;
use crate::operation::{Request, volume};
use crate::property;

/// Blocks of a cluster that every GPU with clusters takes, and that some take where a kernel allows it.
const PORTABLE_CLUSTER: u32 = 8;
const LARGE_CLUSTER: u32 = 16;
/// Multiprocessors that can form a cluster.
const GROUP: u32 = 16;

impl Context {
    /// Lets a kernel have more than 48 KiB of shared memory (`cudaFuncAttributeMaxDynamicSharedMemorySize`).
    ///
    /// # Errors
    ///
    /// It is more than the device has.
    pub fn opt_in(&mut self, kernel: &Kernel, bytes: u32) -> Result<()> {
        let all = u64::from(kernel.program.shared_bytes) + u64::from(bytes);
        if all > u64::from(self.model.shared_limit()) {
            return Err(Error::INVALID_VALUE);
        }
        self.modules.opted_in.insert(kernel.id, bytes);
        Ok(())
    }

    /// Dynamic shared memory that a kernel may have, bytes.
    pub fn dynamic_limit(&self, kernel: &Kernel) -> u32 {
        let plain = property::SHARED.saturating_sub(kernel.program.shared_bytes);
        self.modules
            .opted_in
            .get(&kernel.id)
            .copied()
            .unwrap_or(0)
            .max(plain)
    }

    /// Lets a kernel have clusters of more than 8 blocks (`cudaFuncAttributeNonPortableClusterSizeAllowed`), or no longer.
    pub fn allow_large_clusters(&mut self, kernel: &Kernel, allowed: bool) {
        match allowed {
            true => self.modules.large_clusters.insert(kernel.id),
            false => self.modules.large_clusters.remove(&kernel.id),
        };
    }

    /// Blocks that a cluster of a kernel may have (CUDA C++ Programming Guide, "Thread Block Clusters"), 0 on GPUs without clusters.
    pub fn cluster_limit(&self, kernel: &Kernel) -> u32 {
        let most = match self.modules.large_clusters.contains(&kernel.id) {
            true => LARGE_CLUSTER,
            false => PORTABLE_CLUSTER,
        };
        let declared = kernel.program.max_cluster.unwrap_or(u32::MAX);
        match self.options.capability >= 90 {
            true => most.min(declared),
            false => 0,
        }
    }

    /// Clusters of so many blocks that fit on the device at once (CUDA Runtime API, "Occupancy"). The multiprocessors of a cluster are of one group
    /// ("GPU processing cluster"), of which each has 16 here.
    ///
    /// # Errors
    ///
    /// No launch has such clusters.
    pub fn active_clusters(
        &self,
        kernel: &Kernel,
        threads: u64,
        shared: u64,
        size: [u32; 3],
    ) -> Result<u32> {
        let blocks = volume(size);
        if blocks == 0 || blocks > u64::from(self.cluster_limit(kernel)) {
            return Err(Error::INVALID_CLUSTER_SIZE);
        }
        let all = u64::from(kernel.program.shared_bytes) + shared;
        let resident = u64::from(self.model.occupancy(threads, all));
        let groups = u64::from(self.model.multiprocessors / GROUP);
        Ok((groups * (u64::from(GROUP) * resident / blocks)) as u32)
    }

    fn valid_cluster(&self, request: &Request) -> Result<()> {
        let program = &request.kernel.program;
        if request.cluster.is_none()
            && program.explicit_cluster
            && program.required_cluster.is_none()
        {
            return Err(Error::INVALID_CLUSTER_SIZE);
        }
        let (given, required) = (request.cluster, program.required_cluster);
        let Some(size) = given.or(required) else {
            return Ok(());
        };
        let fits = request
            .grid
            .iter()
            .zip(size)
            .all(|(blocks, of)| of > 0 && blocks.is_multiple_of(of));
        let differs = given.is_some() && required.is_some() && given != required;
        // A cluster of one block is none.
        let known =
            volume(size) == 1 || volume(size) <= u64::from(self.cluster_limit(&request.kernel));
        match fits && known && !differs {
            true => Ok(()),
            false => Err(Error::INVALID_CLUSTER_SIZE),
        }
    }

    /// Whether the runtime would take the launch.
    pub(super) fn valid(&self, request: &Request) -> Result<()> {
        let Request { grid, block, .. } = *request;
        let threads = volume(block);
        let program = &request.kernel.program;
        if threads == 0 || grid.contains(&0) || threads > 1024 || block[2] > 64 {
            return Err(Error::INVALID_CONFIGURATION);
        }
        if grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
            return Err(Error::INVALID_CONFIGURATION);
        }
        if request.shared > u64::from(self.dynamic_limit(&request.kernel)) {
            return Err(Error::INVALID_VALUE);
        }
        if program.max_threads.is_some_and(|max| threads > max) {
            return Err(Error::LAUNCH_OUT_OF_RESOURCES);
        }
        if program
            .required_block
            .is_some_and(|required| required != block)
        {
            return Err(Error::INVALID_CONFIGURATION);
        }
        self.valid_cluster(request)?;
        if request.cooperative {
            let shared = u64::from(program.shared_bytes) + request.shared;
            let resident = self.model.occupancy(threads, shared);
            let room = u64::from(resident) * u64::from(self.model.multiprocessors);
            if volume(grid) > room {
                return Err(Error::COOPERATIVE_LAUNCH_TOO_LARGE);
            }
        }
        Ok(())
    }
}
