//! What the runtime takes: how large a grid, a block and its shared memory may be.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::module::Kernel;
use crate::operation::{Request, volume};
use crate::property;

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
