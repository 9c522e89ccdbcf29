//! # assertion-failed
//!
//! A thread called `assert` with a condition that does not hold. The launch stops there, as it does on a GPU, where the host then gets
//! `cudaErrorAssert`. What was found before the assertion failed is reported, too; a race is often its cause.
//!
//! ## Example
//!
//! ```cpp
//! int slot = atomicAdd(&count, 1);
//! assert(slot < capacity);    // more threads come than there is room for
//! ```
//!
//! ```cpp
//! int slot = atomicAdd(&count, 1);
//! if (slot >= capacity)
//!     return;
//! ```
//!
//! ## What is reported
//!
//! The first thread whose condition is false, with the text, file and line that the assertion hands over. Other threads may fail it as well:
//! the launch ends with the first. Another schedule may end it elsewhere, or not at all; `racetrap check` tells which schedule it was.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Assertion".
