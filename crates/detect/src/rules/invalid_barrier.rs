//! # invalid-barrier
//!
//! A named barrier (`bar.sync a, b`, `barrier.arrive`, cooperative groups of several warps) is given a number or a count of threads that there is not. A block
//! has the barriers 0 to 15. The count is in whole warps: a multiple of 32, at most as many as the block has warps. To arrive without waiting needs a count above
//! zero.
//!
//! ## Example
//!
//! ```cpp
//! asm volatile("bar.sync 1, %0;" :: "r"(n) : "memory");    // n = 48
//! ```
//!
//! ```cpp
//! asm volatile("bar.sync 1, %0;" :: "r"((n + 31) / 32 * 32) : "memory");
//! ```
//!
//! Where the number is known when it compiles, `ptxas` refuses the program; in a register, nobody looks.
//!
//! ## What is reported
//!
//! The first thread that comes to the barrier with such a number. A count of zero at `bar.sync` and `bar.red` is taken as none:
//! all threads of the block, as `ptxas` accepts it; a count that is no multiple of the warp size is rounded up, and the kernel goes
//! on, to show what else is wrong. A count above the block's can't be reached: a [deadlock] follows.
//!
//! Threads that meet at one barrier with different counts are [divergent-barrier].
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier": the operands `a` and `b`.
