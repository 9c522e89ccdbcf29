//! # mbarrier-misuse
//!
//! An mbarrier (`cuda::barrier`, `mbarrier.*`) gets more arrivals than its phase expects, or is told of more bytes than it can count.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x == 0)
//!     ptx::mbarrier_init(&bar, 1);
//! __syncthreads();
//! ptx::mbarrier_arrive(&bar, 2);                     // one arrival is expected
//! ```
//!
//! Expect as many arrivals as come:
//!
//! ```cpp
//!     ptx::mbarrier_init(&bar, 2 * blockDim.x);
//! ```
//!
//! ## Why it goes wrong
//!
//! One arrival may not count for more than are pending in the current phase. An H100 ends the kernel with a launch failure then.
//! The bytes that are still to come must stay between -(2^20 - 1) and 2^20 - 1, whatever the order in which they are expected and arrive.
//!
//! ## How to fix it
//!
//! Initialise the mbarrier with the number of all arrivals of a phase. Count the arrivals of `cp.async.mbarrier.arrive.noinc`, too. Split
//! copies of 1 MiB and more.
//!
//! ## What is reported
//!
//! The first instruction that arrives with a larger count than is pending, or after which the number of bytes is out of range. The simulator
//! completes the phase and continues.
//!
//! ## Limitations
//!
//! An arrival too many that comes when the phase is complete counts for the next one. That is legal; the wait that it lets through or keeps
//! waiting is found as `async-copy-hazard`, `data-race` or `deadlock`, which names the counts.
//!
//! ## Reference
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier", "Contents of the mbarrier object", "mbarrier.arrive",
//! "mbarrier.expect_tx".
