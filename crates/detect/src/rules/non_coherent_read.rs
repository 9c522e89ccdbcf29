//! # non-coherent-read
//!
//! `__ldg(p)`, or what the compiler makes of a pointer that is `const` and `__restrict__`, reads through a cache that is not kept coherent
//! (`ld.global.nc`). Of memory that the same launch has written, it may return the old value, whoever wrote it, the reading thread
//! included. No barrier and no fence helps: they order ordinary accesses only.
//!
//! ## Example
//!
//! ```cpp
//! __global__ void shift(int *data)
//! {
//!     data[threadIdx.x] = threadIdx.x;
//!     __syncthreads();
//!     int left = __ldg(&data[threadIdx.x ^ 1]);    // what was there before the launch, or what was just written
//! ```
//!
//! An ordinary read is coherent:
//!
//! ```cpp
//!     int left = data[threadIdx.x ^ 1];
//! ```
//!
//! Or let one launch write and the next one read.
//!
//! ## What is reported
//!
//! A non-coherent read of bytes that this launch has stored to or updated atomically before, in whichever block. Memory that the host or an
//! earlier launch has written is fine. So is a read before the write, if something orders the two; if nothing does, it is a
//! [data-race], and either may come first. A compiler that believes `__restrict__` where two parameters point to one
//! buffer makes such reads, too: pass two buffers, or leave the word out.
//!
//! ## What is not seen
//!
//! Textures and surfaces, which are read through the same kind of cache.
//!
//! ## Reference
//!
//! PTX ISA, "ld.global.nc" (`.nc`: non-coherent), "ldu". CUDA C++ Programming Guide, "Read-Only Data Cache Load Function",
//! "Read/Write Coherency".
