//! # deadlock
//!
//! Every remaining thread waits for something that can no longer happen: a barrier that other threads will never reach,
//! or a warp operation whose mask names lanes that wait elsewhere.
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
//! ## How to fix it
//!
//! Let all threads reach the same barrier, or give each barrier the number of threads that reach it.
//!
//! ## What is reported
//!
//! Every waiting group of threads and the line where it waits.
//!
//! A thread that spins on a memory location is still running. That is `no-progress`.
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier", "exit".
