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
//! Since Volta the behaviour is defined: a barrier waits only for threads that have not exited. On older devices it is
//! undefined. The code is also fragile: if you later add work after the barrier for the exited threads, they miss it.
//!
//! The barrier does not order what the exited threads wrote. If another thread reads it, racetrap reports a `data-race`
//! as well.
//!
//! ## Reference
//!
//! PTX ISA, "exit" and "bar, barrier"; CUDA C++ Programming Guide, "Synchronization Functions".
