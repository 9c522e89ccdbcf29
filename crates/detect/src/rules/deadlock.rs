//! # deadlock
//!
//! Every thread that is left waits for something that cannot happen any more: a barrier that the others will never reach, an operation that
//! names lanes which wait elsewhere.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x % 2)
//!     barrier_a.sync();       // bar.sync 1
//! else
//!     barrier_b.sync();       // bar.sync 2: each half waits for all threads
//! ```
//!
//! Let all threads come to the same barrier, or give each barrier the number of threads that really come to it.
//!
//! ## What is reported
//!
//! All who wait, and where. A thread that spins on a memory location still runs: that is `no-progress`.
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier", "exit".
