//! # insufficient-scope
//!
//! Threads synchronise with atomic operations, locks or fences, but the scope of one of them does not include the other
//! thread. Examples are a block-scope atomic on a counter that other blocks use, and a `__threadfence_block()` before a
//! flag that another block reads.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x == 0)
//!     atomicAdd_block(&total, sum);       // all blocks add to one total
//! ```
//!
//! ```cpp
//! if (threadIdx.x == 0)
//!     atomicAdd(&total, sum);             // device scope
//! ```
//!
//! The same with a fence, in code that passes data from block to block:
//!
//! ```cpp
//! data[blockIdx.x] = sum;
//! __threadfence_block();                  // must be __threadfence()
//! atomicAdd(&ready, 1);
//! ```
//!
//! ## Why it goes wrong
//!
//! An operation is atomic, and a fence orders, only for the threads inside its scope. For all other threads it has no
//! such effect: updates get lost, and data may arrive after the flag.
//!
//! ## How to fix it
//!
//! Widen the scope until it includes both threads: `.cta` includes the own block, `.gpu` all blocks of the device, `.sys`
//! also the host and other devices. `volatile` has system scope.
//!
//! ## What is reported
//!
//! One of two things:
//!
//! - Two strong operations (atomic, `volatile`, `cuda::atomic_ref`) on the same location that are not ordered, where the
//!   scope of one does not include the other's thread.
//! - Two data accesses that would be ordered if every scope between them were wide enough. The finding names the data
//!   accesses; look for the lock, flag or fence between them.
//!
//! ## Limitations
//!
//! The rule does not report scopes that are wider than needed. It does not check scopes between devices, or between
//! device and host.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model": "Scope", "Morally strong operations", "Memory synchronization".
