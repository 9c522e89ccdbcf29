//! # divergent-barrier
//!
//! The threads of a block do not all reach the same barrier. Some wait at one `__syncthreads()` while others wait at
//! another one or have passed it; or only part of a warp reaches an aligned barrier.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x < 128)
//!     __syncthreads();        // the other threads do not reach it
//! ```
//!
//! Move the barrier out of the condition:
//!
//! ```cpp
//! if (threadIdx.x < 128) {
//!     ...                     // no barrier in here
//! }
//! __syncthreads();
//! ```
//!
//! ## Why it goes wrong
//!
//! The behaviour is undefined. On current devices the kernel may hang. Or the hardware may pair up barriers that do not
//! belong together, and accesses that the barrier should order stay unordered.
//!
//! ## How to fix it
//!
//! Put the work under the condition, not the barrier. If a loop contains a barrier, let all threads run the same number
//! of iterations.
//!
//! ## What is reported
//!
//! Which threads wait, at which line, and where the others are: at another barrier, or past this one (at a point that
//! every path from the barrier leads through).
//!
//! Named barriers with a thread count are meant for a part of the block. For these, racetrap reports only warps that
//! arrive in parts.
//!
//! ## Limitations
//!
//! Only barriers that diverge with the given input are seen. If no thread can run any more, the finding is `deadlock`
//! instead.
//!
//! The optimiser may merge the end of `if (t >= n) { o[t] = 0; return; }` with the last lines of the kernel. The threads
//! that leave early then pass a point behind a barrier that they never reached, and look divergent. `check` compiles CUDA
//! source both optimised and unoptimised; it recognises this case and downgrades it to a `barrier-after-exit` warning.
//! With PTX alone it cannot tell.
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier"; CUDA C++ Programming Guide, "Synchronization Functions".
