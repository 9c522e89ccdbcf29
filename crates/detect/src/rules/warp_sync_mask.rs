//! # warp-sync-mask
//!
//! The mask of a warp-level operation (`__syncwarp`, `__shfl_sync`, `__ballot_sync`, …) does not match the lanes that execute it: it leaves out a
//! lane that does, or names one that never comes. The result is undefined; waiting for a lane that never comes may hang.
//!
//! ## Example
//!
//! ```cpp
//! if (lane < 16)
//!     sum += __shfl_down_sync(0xffffffff, sum, 8);    // lanes 16 to 31 are named and not there
//! ```
//!
//! ```cpp
//! if (lane < 16)
//!     sum += __shfl_down_sync(0x0000ffff, sum, 8, 16);
//! ```
//!
//! `__activemask()` is not the answer: it tells which lanes happen to be together at that moment, not which ones took the branch. Compute the mask
//! before the branch, with `__ballot_sync(0xffffffff, condition)`.
//!
//! ## What is reported
//!
//! A lane that its own mask leaves out; named lanes that have exited, wait elsewhere for good or went past; lanes that meet at one operation with
//! different masks. A lane that comes later is waited for, as the hardware does.
//!
//! ## Reference
//!
//! PTX ISA, "bar.warp.sync", "shfl.sync", "vote.sync"; CUDA C++ Programming Guide, "Warp Shuffle Functions".
