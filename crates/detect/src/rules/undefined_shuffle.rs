//! # undefined-shuffle
//!
//! A shuffle (`__shfl_sync`, `__shfl_down_sync`, …) reads from a lane that gives it nothing: one that the mask leaves out, or that
//! the block does not have. What it gets is undefined, and the kernel makes something of it.
//!
//! ## Example
//!
//! ```cpp
//! if (lane < 16) {
//!     for (int d = 16; d > 0; d /= 2)                 // 16 is too far for 16 lanes
//!         sum += __shfl_down_sync(0x0000ffff, sum, d);
//!     if (lane == 0)
//!         *out = sum;
//! }
//! ```
//!
//! ```cpp
//!     for (int d = 8; d > 0; d /= 2)
//!         sum += __shfl_down_sync(0x0000ffff, sum, d);
//! ```
//!
//! ## What is reported
//!
//! An undefined value that matters: it is stored to global memory or handed to an atomic operation or to `printf`, is an
//! address, or decides a branch, a barrier or whether an access is made. In the second example the lanes 8 to 15 read outside of their mask as
//! well, and nobody looks at their sums: that is correct, common, and not reported. A source outside of the segment
//! (`width`) is defined: the lane keeps its own value.
//!
//! Undefined values are followed through registers, lane by lane, through local and shared memory, calls and further warp operations. What is computed
//! from one is undefined, except where the other operand decides alone: `x & 0`, `x * 0`, the other side of a selection.
//!
//! ## What is not seen
//!
//! Lanes that their mask names and that never come are [warp-sync-mask], and reported as that alone. Nothing is followed once it is in global
//! memory: the store is reported. A recursive function loses track of the values that it puts aside.
//!
//! ## Reference
//!
//! PTX ISA, "shfl.sync": undefined, if a thread sources a register from an inactive thread or from one that is not in the member mask. CUDA C++
//! Programming Guide, "Warp Shuffle Functions".
