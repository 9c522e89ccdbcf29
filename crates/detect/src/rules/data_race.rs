//! # data-race
//!
//! Two threads access the same byte of memory, at least one of them writes it, and nothing orders the two accesses. At
//! least one of the two is an ordinary (*weak*) access, or the accesses overlap only in part.
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
//! ## Why it goes wrong
//!
//! The value that is read, or left in memory, depends on timing. The compiler may also assume that no race exists, and
//! keep the value in a register or reorder the accesses. A race that gives the right result today may fail with another
//! compiler, device or input.
//!
//! ## How to fix it
//!
//! Order the two accesses:
//!
//! - Within a block: `__syncthreads()`. A loop needs two barriers if a thread overwrites what another thread reads in
//!   the same step: one after the writes and one after the reads.
//! - Within a warp: `__syncwarp()`. The lanes of a warp do not run in lockstep.
//! - Between blocks: end the kernel and launch a second one on the same stream, or synchronise the grid.
//! - With a flag or counter: one thread releases it (`__threadfence()` before an atomic operation, or
//!   `cuda::atomic_ref` with `memory_order_release`) and the other acquires it.
//! - Or make both accesses atomic.
//!
//! ## What orders two accesses
//!
//! - Program order, for two accesses of one thread.
//! - A block barrier in any of its forms, for the threads that take part in it. A thread that has exited takes part in
//!   no later barrier: its last writes stay unordered.
//! - `__syncwarp`, for the lanes in its mask.
//! - Release and acquire patterns of sufficient scope, and what follows from them by causality.
//! - A read-modify-write operation comes after the one whose value it read.
//! - The start and the end of a launch.
//! - Between launches, copies and the host: streams, events that a stream or the host waits for, and
//!   `cudaStreamSynchronize`.
//!
//! The following order nothing:
//!
//! - `__shfl_sync`, `__ballot_sync` and the other warp operations that exchange values do not order memory.
//! - Two lanes that write the same byte in one instruction race. If nothing reads it unordered and all of them write one value, the
//!   rule is `same-value-write`, a warning.
//! - Different streams are not ordered with each other.
//! - An asynchronous copy has only started when its call returns. If the host reads the destination or overwrites the
//!   source before it has waited, it races with the copy. Copies and the host count as ordinary accesses.
//!
//! ## Limitations
//!
//! The memory model decides, not the outcome of the run: a race is reported even if all values came out right. But a run
//! shows only the races on the paths that it takes with its input.
//!
//! After the first race on a location, further races on the same location may be missed, or be reported with another of
//! their accesses.
//!
//! The compiler may load in all threads what the source reads only in some, as in `t < 32 ? s[0] : 0`, and discard the
//! value in the others. Such a load counts as a read only by the threads that use the value.
//!
//! Asynchronous copies are not watched.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model": "Conflict and Data-races", "Causality Order", "Release and Acquire Patterns"; CUDA C++
//! Programming Guide, "Streams", "Events", "Concurrent Data Transfers".
