//! # uncoalesced-access
//!
//! A warp's access to global memory moves more 32-byte sectors than its data fills. It costs bandwidth, not correctness; shown with `--perf`.
//!
//! ## Example
//!
//! ```cpp
//! float x = in[threadIdx.x * 32];         // a sector for each lane, 28 of its 32 bytes unused
//! ```
//!
//! ```cpp
//! float x = in[blockIdx.x * blockDim.x + threadIdx.x];
//! ```
//!
//! Let neighbouring lanes access neighbouring elements: structure of arrays, row-major traversal, or a detour over shared memory for a transpose.
//!
//! ## The figures
//!
//! *Sectors* are those touched by the requests of the line, *ideal* those that its distinct bytes would fill if they lay together. An access that is merely
//! not aligned to a sector moves one more. Caches are not modelled: a sector that another request brings again counts again. Atomics are
//! not counted. The sectors were compared with an H200's counters (`racetrap dev counters compare`): they are equal, except that a call of `printf` moves some that
//! PTX does not show.
//!
//! ## Reference
//!
//! CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory".
