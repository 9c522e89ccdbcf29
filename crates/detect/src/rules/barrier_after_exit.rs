//! # barrier-after-exit
//!
//! A block barrier completed only because the threads that never reached it had exited.
//!
//! ## Example
//!
//! ```cpp
//! if (i >= n) return;         // these threads never reach the barrier
//! s[threadIdx.x] = in[i];
//! __syncthreads();
//! ```
//!
//! Let every thread reach the barrier, and exit after it:
//!
//! ```cpp
//! s[threadIdx.x] = i < n ? in[i] : 0;
//! __syncthreads();
//! if (i >= n) return;
//! ```
//!
//! ## Why it is a warning
//!
//! Since Volta the behaviour is defined: a barrier does not wait for threads that have exited. On older devices it is
//! undefined. The CUDA programming guide still asks for every thread of the block to reach `__syncthreads()`, and other
//! tools report this code as an error.
//!
//! The barrier does not order what the exited threads wrote. If another thread reads it, racetrap reports a `data-race`
//! as well.
//!
//! ## Reference
//!
//! PTX ISA, "exit" and "bar, barrier"; CUDA C++ Programming Guide, "Synchronization Functions".
