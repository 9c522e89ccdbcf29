//! # divergent-barrier
//!
//! Threads of a block do not all come to the same barrier: some wait at one `__syncthreads()` while others wait at another, or have gone
//! past it, or an aligned barrier is reached by part of a warp. On current devices this may hang, or pair up barriers that were never meant to
//! meet and so order nothing where order was needed.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x < 128)
//!     __syncthreads();        // the others don't come
//! ```
//!
//! ```cpp
//! if (threadIdx.x < 128) {
//!     ...                     // no barrier in here
//! }
//! __syncthreads();
//! ```
//!
//! A loop whose number of rounds depends on the thread has the same problem when there is a barrier inside: let all threads run all rounds, and put
//! the work, not the barrier, under the condition.
//!
//! ## What is reported
//!
//! Who waits, and where the others are: at another barrier, or past this one (at a point that every path from it leads through). Named
//! barriers with a thread count are meant for part of a block; of them only warps that come in pieces are reported.
//!
//! ## What is not seen
//!
//! The optimiser may give `if (t >= n) { o[t] = 0; return; }` and the kernel's last lines one common end, behind a barrier that the threads which
//! leave never came to. Compiled both ways, `check` sees that the source has them leave before it, and warns of
//! `barrier-after-exit` alone; in PTX by itself that can't be told.
//!
//! A barrier that is divergent only for other inputs. If nothing can run any more the finding is `deadlock`.
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier"; CUDA C++ Programming Guide, "Synchronization Functions".
