//! # use-after-free
//!
//! A thread accesses memory that the host or the device's `free` has freed, or frees it again.
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
//! `free`.
//!
//! ## Limitations
//!
//! The rule does not see an access through an old pointer if the memory has been allocated again.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations".
