//! # use-after-free
//!
//! A thread accesses memory that the host or the device's `free` has freed, or frees it again. In whole programs also: a stream frees memory (`cudaFreeAsync`)
//! that another stream's work, which nothing orders before the free, may still use, or work uses memory that nothing orders it after the allocation of
//! (`cudaMallocAsync`).
//!
//! ## Example
//!
//! ```cpp
//! int *p = (int *)malloc(4);
//! free(p);
//! *p = 1;
//! ```
//!
//! ## How to fix it
//!
//! Free memory after the last use by any thread. If one thread frees for the whole block, put a barrier before the
//! `free`. Let a stream wait for an event that was recorded behind the last use on another stream before it frees.
//!
//! ## Limitations
//!
//! The rule does not see an access through an old pointer if the memory has been allocated again.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations", "Stream Ordered Memory Allocator".
