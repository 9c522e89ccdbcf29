//! # misaligned-access
//!
//! The address of an access is not a multiple of its size. The hardware stops the kernel.
//!
//! ## Example
//!
//! ```cpp
//! float4 v = *(float4 *)(data + 1);       // 4 bytes in, needs a multiple of 16
//! ```
//!
//! ```cpp
//! float4 v = *(float4 *)(data + 4);
//! ```
//!
//! Often a dynamic shared buffer that was cut in pieces of different types: put the type with the largest alignment first, or round up.
//!
//! ## Reference
//!
//! PTX ISA, "ld", "st": addresses must be aligned to a multiple of the access size; CUDA C++ Programming Guide, "Device Memory Accesses".
