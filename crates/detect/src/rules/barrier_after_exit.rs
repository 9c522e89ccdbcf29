//! # barrier-after-exit
//!
//! A block barrier completed only because the missing threads had exited. Since Volta that is defined: threads that have ended are not
//! waited for. Before, it was not, and tools and readers alike take it for a mistake.
//!
//! ## Example
//!
//! ```cpp
//! if (i >= n) return;         // these threads never come to the barrier
//! s[threadIdx.x] = in[i];
//! __syncthreads();
//! ```
//!
//! ```cpp
//! s[threadIdx.x] = i < n ? in[i] : 0;
//! __syncthreads();
//! if (i >= n) return;
//! ```
//!
//! What the exited threads wrote is not ordered by the barrier: if another thread reads it, that is a `data-race`, reported by itself.
//!
//! ## Reference
//!
//! PTX ISA, "exit" and "bar, barrier"; CUDA C++ Programming Guide, "Synchronization Functions".
