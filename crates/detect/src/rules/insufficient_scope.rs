//! # insufficient-scope
//!
//! Threads synchronise with atomic operations, locks or fences, but a scope leaves one of the two out: a block-scope atomic on a
//! counter that other blocks use, a `__threadfence_block()` before a flag that another block reads. The operation is atomic, or the fence
//! orders, only for the threads inside its scope; for the others it is as if it were not there.
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
//! The same with a fence, in code that hands data from block to block:
//!
//! ```cpp
//! data[blockIdx.x] = sum;
//! __threadfence_block();                  // must be __threadfence()
//! atomicAdd(&ready, 1);
//! ```
//!
//! ## What is reported
//!
//! Either two strong operations (atomic, `volatile`, `cuda::atomic_ref`) on the same location that are not ordered and of which one's scope
//! does not include the other's thread; or two accesses to data that would be ordered if every scope on the way were wide enough. The second
//! names the data accesses: look for the lock, flag or fence that is meant to stand between them.
//!
//! `.cta` includes the own block, `.gpu` all blocks of the device, `.sys` the host and other devices too. `volatile` has
//! system scope.
//!
//! ## What is not seen
//!
//! A scope that is wider than needed; scopes that only matter between devices, or between device and host.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model": "Scope", "Morally strong operations", "Memory synchronization".
