//! # bank-conflict
//!
//! Lanes of a warp address different words in the same bank of shared memory, so that the request takes several passes. It costs time, not correctness;
//! shown with `--perf`.
//!
//! ## Example
//!
//! ```cpp
//! __shared__ float tile[32][32];
//! float x = tile[threadIdx.x][0];         // all 32 lanes in bank 0: 32 passes
//! ```
//!
//! ```cpp
//! __shared__ float tile[32][33];          // one more column: 32 banks, one pass
//! ```
//!
//! ## The figures
//!
//! There are 32 banks of 4 bytes. *Requests* are the passes needed without conflicts (one for a warp's access of up to 4 bytes a lane, two for 8
//! bytes, four for 16), *wavefronts* the passes taken, as the hardware counters for shared loads and stores have them. *Degree* is the worst single
//! request. Lanes that read the same word do not conflict. Atomics are not counted.
//!
//! The wavefronts were compared with an H200's counters (`racetrap dev counters compare`): they are equal, except where ptxas joins loads of adjacent words into one
//! of 16 bytes. That happens below PTX, and saves wavefronts that are counted here.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Compute Capabilities", "Shared Memory"; CUDA C++ Best Practices Guide, "Shared Memory and Memory Banks".
