//! # warp-sync-mask
//!
//! The mask of a warp-level operation (`__syncwarp`, `__shfl_sync`, `__ballot_sync`, …) does not match the lanes that
//! execute it: a lane executes it that the mask leaves out, or the mask names a lane that never does.
//!
//! ## Example
//!
//! ```cpp
//! if (lane < 16)
//!     sum += __shfl_down_sync(0xffffffff, sum, 8);    // lanes 16 to 31 are named but absent
//! ```
//!
//! ```cpp
//! if (lane < 16)
//!     sum += __shfl_down_sync(0x0000ffff, sum, 8, 16);
//! ```
//!
//! ## Why it goes wrong
//!
//! The result is undefined. The operation may also hang, waiting for a lane that never executes it.
//!
//! ## How to fix it
//!
//! Compute the mask before the branch, with `__ballot_sync(0xffffffff, condition)`. Do not use `__activemask()`: it
//! returns the lanes that happen to be together at that moment, not the lanes that took the branch.
//!
//! ## What is reported
//!
//! - A lane that executes the operation and is not in its own mask.
//! - Named lanes that have exited, wait elsewhere forever, or have passed the operation.
//! - Lanes that meet at one operation with different masks.
//!
//! A lane that arrives later is not reported: the operation waits for it, as on the hardware.
//!
//! ## Reference
//!
//! PTX ISA, "bar.warp.sync", "shfl.sync", "vote.sync"; CUDA C++ Programming Guide, "Warp Shuffle Functions".
