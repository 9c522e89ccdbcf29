//! # data-race
//!
//! Two threads touch the same byte of memory, at least one of them writes, and nothing orders the two accesses.
//! At least one of them is an ordinary (*weak*) access, or they overlap only in part. What is read, or what is
//! left in memory, then depends on timing, and the compiler may assume that it does not happen at all.
//!
//! ## Example
//!
//! ```cpp
//! __shared__ int s[256];
//! s[threadIdx.x] = in[i];
//! out[i] = s[255 - threadIdx.x];      // another thread may not have written yet
//! ```
//!
//! Put a barrier between the write and the read:
//!
//! ```cpp
//! s[threadIdx.x] = in[i];
//! __syncthreads();
//! out[i] = s[255 - threadIdx.x];
//! ```
//!
//! In a loop, two barriers are needed where one thread reads what another overwrites in the next step: one after the
//! writes, one after the reads.
//!
//! Other ways to order two accesses: `__syncwarp()` between lanes of one warp (they do not run in lockstep); a second
//! kernel launch on the same stream between blocks; a flag or counter that one side releases (`__threadfence()` before an atomic
//! operation, or `cuda::atomic_ref` with `memory_order_release`) and the other acquires.
//!
//! ## What counts as order
//!
//! Program order; barriers of the block in all forms, for those who take part; `__syncwarp` for the lanes in its mask; release and
//! acquire patterns of sufficient scope, and what follows from them; a read-modify-write after the one whose value it read; the
//! boundaries of a launch. `__shfl_sync`, `__ballot_sync` and their like order no memory. A thread that has exited takes no part in later
//! barriers: what it wrote since the last one stays unordered. Two lanes of one instruction that write the same byte race, even
//! with equal values.
//!
//! Between launches, copies and the host: streams, events that a stream or the host waits for, and `cudaStreamSynchronize`. Streams are
//! not ordered with each other, and an asynchronous copy has only begun when its call returns: a host that reads the
//! destination, or overwrites the source, before it has waited races with the copy. Copies and the host count as ordinary accesses.
//!
//! ## What is seen, and what is not
//!
//! The order is judged by the memory model, not by what happened in this run: a race is reported although the values came out right.
//! One run shows the races on the paths that it takes, for the input given. After the first race on a location, further ones there may be
//! missed or be named by another of their accesses. The compiler may load in all threads what the source reads in some of them, as in
//! `t < 32 ? s[0] : 0`, and drop the value in the others: that is a read by those who use it. Textures, surfaces and asynchronous copies are not watched.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model": "Conflict and Data-races", "Causality Order", "Release and Acquire Patterns"; CUDA C++
//! Programming Guide, "Streams", "Events", "Concurrent Data Transfers".
