//! # invalid-barrier
//!
//! A named barrier (`bar.sync a, b`, `barrier.arrive`, cooperative groups of several warps) gets a barrier number or a
//! thread count that PTX does not allow.
//!
//! ## Example
//!
//! ```cpp
//! asm volatile("bar.sync 1, %0;" :: "r"(n) : "memory");    // n = 48
//! ```
//!
//! Round the count up to whole warps:
//!
//! ```cpp
//! asm volatile("bar.sync 1, %0;" :: "r"((n + 31) / 32 * 32) : "memory");
//! ```
//!
//! ## Why it goes wrong
//!
//! - A block has 16 barriers, numbered 0 to 15.
//! - The thread count must be a multiple of the warp size (32), and no more than the warps of the block hold.
//! - `barrier.arrive` needs a count above zero.
//! - A thread arrives at the barrier of its cluster once, and waits before it arrives again (`barrier.cluster.arrive`, `barrier.cluster.wait`).
//!
//! `ptxas` rejects a constant that breaks these rules. Nothing checks a value in a register.
//!
//! ## What is reported
//!
//! The first thread that executes the barrier with such a value. Execution continues, to show what else is wrong: a count
//! that is not a multiple of 32 is rounded up. A count above the size of the block can never be reached, so a `deadlock`
//! follows.
//!
//! A count of zero is allowed for `bar.sync` and `bar.red`, as `ptxas` allows it: it stands for all threads of the block.
//!
//! If threads reach one barrier with different counts, the finding is `divergent-barrier`.
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier": the operands `a` and `b`; "barrier.cluster".
