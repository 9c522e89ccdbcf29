//! Memory: the words of the device's global memory, of a block's shared memory, a lane's local memory, and their addresses.
//!
//! Global memory is one *arena*. Allocations lie in it with gaps between them, so
//! that an access beyond an allocation hits nothing. An address is
//! [`GLOBAL_BASE`] plus an offset into the arena; detectors index their shadow by
//! the offset. Constant variables are allocations of the arena too.
//!
//! Every word carries four bits that say which of its bytes have been written.

mod arena;
mod block;
mod cells;
mod heap;
mod words;
mod written;

pub(crate) use arena::Arena;
pub use block::FAR;
pub(crate) use block::{Local, Params, Shared};
pub(crate) use cells::Cells;
pub(crate) use heap::Heap;
pub(crate) use words::Words;
pub use written::WORDS as WRITTEN_WORDS;
pub(crate) use written::Written;

/// Generic address of the first byte of the arena.
///
/// Few programs have anything mapped there (executables, heaps, libraries and sanitizers' shadows lie elsewhere), so that a process can
/// have the arena at this very address ([`crate::Device::lent`]).
pub const GLOBAL_BASE: u64 = 0x0000_2000_0000_0000;
/// Generic address of a block's shared memory.
pub const SHARED_BASE: u64 = 0x0000_0100_0000_0000;
/// Generic address of a lane's local memory.
pub const LOCAL_BASE: u64 = 0x0000_0200_0000_0000;
/// Base of device function addresses: a function's address is this plus its index, far away from every data window.
pub(crate) const FUNCTION_BASE: u64 = 0x00f0_0000_0000_0000;
/// Generic address of the kernel's parameters.
pub const PARAM_BASE: u64 = 0x0000_0300_0000_0000;
/// Size of the local and parameter windows, bytes.
pub const WINDOW: u64 = 1 << 24;
/// Blocks of a cluster, at most (CUDA C++ Programming Guide, "Thread Block Clusters": 8, and 16 where a kernel allows sizes that are not portable).
pub const CLUSTER_BLOCKS: u32 = 16;
/// Size of the shared window: a block's own shared memory first, then that of each block of its cluster ([`FAR`]).
pub const SHARED_WINDOW: u64 = FAR * (CLUSTER_BLOCKS as u64 + 1);

/// Bytes between allocations that belong to nobody.
pub(crate) const GAP: u64 = 4096;
/// The device heap's default size (CUDA C++ Programming Guide, "Heap Memory Allocation").
pub(crate) const HEAP: u64 = 8 << 20;

/// What went wrong with an allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The device is full.
    #[error("`{name}` needs {bytes} bytes of global memory, but only {left} of {limit} are left")]
    Full {
        /// What was to be allocated.
        name: String,
        /// Its size.
        bytes: u64,
        /// What is left.
        left: u64,
        /// The device's size.
        limit: u64,
    },
    /// No such allocation, or outside it.
    #[error("the {bytes} bytes at {address:#x} are not within one allocation")]
    NotAllocated {
        /// First byte.
        address: u64,
        /// Length.
        bytes: u64,
    },
}

/// An allocation of global memory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Allocation {
    /// A name for people.
    pub name: String,
    /// Offset in the arena, bytes.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Freed: no access is valid any more.
    pub freed: bool,
    /// Whether it is the host's memory, mapped into the device's addresses.
    pub host: bool,
}

/// The name of memory that belongs to nobody and only keeps allocations apart. Freed, it was never anything to use.
pub const GAP_NAME: &str = "<gap>";

impl Allocation {
    /// Device address of its first byte.
    pub fn address(&self) -> u64 {
        GLOBAL_BASE + self.offset
    }
}
