//! # lockstep-assumption
//!
//! Lanes of one warp hand data to each other through `volatile` or relaxed memory with no warp-level synchronisation between the
//! write and the read. No single access is torn, so this is not a data race; but which value is read is right only if the lanes happen
//! to run in lockstep. Since Volta they need not.
//!
//! ## Example
//!
//! ```cpp
//! volatile int *v = s;
//! v[t] += v[t + 16];      // lane t + 16 may already have gone on, or not have come here
//! v[t] += v[t + 8];
//! ```
//!
//! ```cpp
//! int sum = s[t];
//! sum += s[t + 16]; __syncwarp(); s[t] = sum; __syncwarp();
//! sum += s[t + 8];  __syncwarp(); s[t] = sum; __syncwarp();
//! ```
//!
//! or, without memory, `sum += __shfl_down_sync(0xffffffff, sum, 16)`.
//!
//! ## What is reported
//!
//! A strong load and a strong store to one location by different lanes of one warp, neither an atomic read-modify-write, with nothing between
//! them that orders them. Loads whose value only decides a branch are left out: waiting for a flag is what they are for.
//!
//! A warning, since today's compilers and devices often give the expected result. It still is a mistake: try `--schedule lane-by-lane`.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Independent Thread Scheduling" and "Synchronization Functions"; PTX ISA, "bar.warp.sync".
