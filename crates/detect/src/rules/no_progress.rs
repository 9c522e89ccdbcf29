//! # no-progress
//!
//! The kernel did not end within its budget of steps, and either no block of it has ended in the last half of them or one block has taken more than
//! half of them: it loops for ever, or waits in a loop for a value that nobody will write, or that block is simply long.
//!
//! ## Example
//!
//! ```cpp
//! for (int d = 1; d < n; d *= 1)      // never grows
//!     ...
//! ```
//!
//! ```cpp
//! while (flag == 0) { }               // a plain load: the compiler may read it once
//! ```
//!
//! Use an atomic load (`cuda::atomic_ref`, or `volatile`) for a flag, and make sure that whoever sets it can run: a block that waits for
//! another needs a cooperative launch, for blocks that do not fit on the device do not start until others have ended.
//!
//! ## What is reported
//!
//! Where the threads are that still run, and those that wait for them, when the budget is spent. A launch of many blocks that
//! went on coming to their end is no finding: the run is inconclusive, and says how many of them had ended.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Independent Thread Scheduling", "Grid Synchronization".
