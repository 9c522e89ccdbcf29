//! What kernels ask the driver to do after them: launches of other kernels, copies (CUDA C++ Programming Guide, "CUDA Dynamic
//! Parallelism").
//!
//! A kernel can't wait for what it launches, so all of it may run when the kernel has ended. The functions that device code calls are
//! declared in `cuda_device_runtime_api.h`; nvcc puts `__cudaCDP2` in front of their names since CUDA 12.

use crate::ids::BlockId;
use std::collections::HashMap;

/// Addresses of kernels: this plus the index in [`crate::Program::kernels`].
pub(crate) const KERNEL_BASE: u64 = 0x00e0_0000_0000_0000;

/// A kernel whose address a program takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelName {
    /// Its name in the PTX.
    pub name: String,
    /// Bytes of its parameters.
    pub bytes: u32,
}

/// Something that is to be done when the kernel has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// A launch.
    Launch {
        /// The kernel's name in the PTX of the module.
        kernel: String,
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// Bytes of dynamic shared memory.
        shared: u32,
        /// The parameter block.
        params: Vec<u8>,
        /// On which stream of the device, and who launched it.
        order: ChildOrder,
    },
    /// A copy between device addresses.
    Copy {
        /// Where to.
        to: u64,
        /// Where from.
        from: u64,
        /// How much.
        bytes: u64,
        /// On which stream of the device, and who asked for it.
        order: ChildOrder,
    },
}

/// What orders a child among its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChildOrder {
    /// The default stream, which the threads of a block share: behind what they asked for before.
    OfBlock(BlockId),
    /// A stream that the kernel created, by its handle.
    Stream(u64),
    /// `cudaStreamFireAndForget`: nothing.
    FireAndForget,
    /// `cudaStreamTailLaunch`: behind the kernel and all that it launched otherwise.
    Tail,
}

impl ChildOrder {
    /// By the handle of a stream in device code (`cuda_device_runtime_api.h`).
    pub(crate) fn of(stream: u64, block: BlockId) -> ChildOrder {
        match stream {
            0 => ChildOrder::OfBlock(block),
            3 => ChildOrder::Tail,
            4 => ChildOrder::FireAndForget,
            handle => ChildOrder::Stream(handle),
        }
    }
}

/// Handles of streams that kernels create begin behind this: smaller ones have a meaning of their own.
pub(crate) const STREAMS: u64 = 1 << 32;

/// Launches that are prepared, and what is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Children {
    pub prepared: HashMap<u64, (KernelName, [u32; 3], [u32; 3], u32)>,
    pub ready: Vec<Child>,
    pub streams: u64,
}
