//! # use-after-free
//!
//! An access to memory that was freed, by the host or by the device's `free`.
//!
//! ## Example
//!
//! ```cpp
//! int *p = (int *)malloc(4);
//! free(p);
//! *p = 1;
//! ```
//!
//! Free last, and once all threads that use the memory are known to be done: a barrier before the `free` where one thread frees for the block.
//!
//! ## What is not seen
//!
//! An access through an old pointer to memory that has been allocated again.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations".
