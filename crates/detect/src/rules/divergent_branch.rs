//! # divergent-branch
//!
//! A branch sends lanes of one warp both ways, which are then executed one after the other. It costs time, not correctness; shown with `--perf`.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x % (2 * d) == 0)         // every other lane, then every fourth …
//!     s[threadIdx.x] += s[threadIdx.x + d];
//! ```
//!
//! ```cpp
//! if (threadIdx.x < blockDim.x / 2 / d)   // whole warps, down to the last one
//!     s[threadIdx.x] += s[threadIdx.x + blockDim.x / 2 / d];
//! ```
//!
//! ## The figures
//!
//! Executions of the branch by a warp (or by what is left of it after earlier divergence), and how many of them split it. Short bodies that the
//! compiler turned into predicated instructions are no branches and are not counted.
//!
//! ## Reference
//!
//! CUDA C++ Best Practices Guide, "Branching and Divergence".
