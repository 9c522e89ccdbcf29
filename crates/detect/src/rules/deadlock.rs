//! # deadlock
//!
//! Every remaining thread waits for something that can no longer happen: a barrier that other threads will never reach,
//! a phase of an mbarrier (`cuda::barrier`, `cuda::pipeline`) in which too few arrive, or a warp operation whose mask names lanes that wait elsewhere.
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
//! Let all threads reach the same barrier, or give each barrier the number of threads that reach it. Initialise an mbarrier with the number of
//! arrivals of a phase, expect as many bytes as its copies bring, and wait for the phase that the arrivals are of.
//!
//! ## What is reported
//!
//! Every waiting group of threads and the line where it waits; of an mbarrier the expected and the actual arrivals, and the bytes that have not
//! come.
//!
//! A thread that spins on a memory location is still running. That is `no-progress`. So is one that polls an mbarrier in a loop that may end
//! otherwise, by a count or a clock.
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier", "exit", "mbarrier.test_wait / mbarrier.try_wait".
