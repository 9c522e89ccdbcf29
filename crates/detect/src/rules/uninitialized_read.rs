//! # uninitialized-read
//!
//! A read of bytes that nothing has written: shared memory at the start of a block, fresh device memory, a local variable or array. The value is
//! whatever was there, and differs from run to run.
//!
//! ## Example
//!
//! ```cpp
//! __shared__ int bins[256];
//! atomicAdd(&bins[data[i]], 1);           // counts on top of rubbish
//! ```
//!
//! ```cpp
//! __shared__ int bins[256];
//! for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
//! __syncthreads();
//! atomicAdd(&bins[data[i]], 1);
//! ```
//!
//! Fewer threads than elements is a frequent cause: `if (t < 256) bins[t] = 0` leaves the rest alone in a block of 128.
//!
//! ## What is seen, and what is not
//!
//! Validity is kept for each byte. A byte that was written with a value computed from an uninitialised one counts as written: the report is at the first
//! read. Nor is it a read where the compiler loads in all threads what only some of them ask for, and drops the value in the
//! others: `n > 0 ? s[0] : 0`. Memory that the host filled, and module variables, are initialised.
//!
//! A value that is only copied is not a use of it. Structures are copied with their padding, and unoptimised code copies whole local variables (into a
//! parameter, say, that only some lanes look at). So an element of which some bytes are written, or a single byte behind written ones, may be copied; a local
//! variable always. What that hides: a forgotten byte or a forgotten local variable that is only stored somewhere else.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model", "Initialization"; "State Spaces".
