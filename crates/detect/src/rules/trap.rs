//! # trap
//!
//! A thread executed `trap`. The launch stops there, as it does on a GPU, where the host then gets `cudaErrorLaunchFailure` or
//! `cudaErrorIllegalInstruction`. What was found before is reported, too.
//!
//! ## Example
//!
//! ```cpp
//! if (node == nullptr)
//!     __trap();               // a list that another thread has not linked yet
//! ```
//!
//! ```cpp
//! while (node == nullptr)
//!     node = ((Node *volatile *)&head)[0];
//! __threadfence();
//! ```
//!
//! ## What is reported
//!
//! The first thread that comes to the instruction. Compilers also put `trap` where code must not be reached (`__builtin_unreachable()`, the
//! end of a function that returns nothing), and libraries where they are misused: `grid.sync()` without a cooperative launch.
//!
//! ## Reference
//!
//! PTX ISA, "trap"; CUDA C++ Programming Guide, "Trap function".
