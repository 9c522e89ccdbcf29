//! # invalid-api-use
//!
//! The host program uses the CUDA runtime or driver in a way that its documentation forbids: a copy past the end of an allocation, memory
//! freed twice or with the wrong function, a stream or event that was destroyed. Found in whole programs (`racetrap exec`).
//!
//! ## Example
//!
//! ```cpp
//! float *d;
//! cudaMalloc(&d, n);                                          // n bytes, not n floats
//! cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyHostToDevice);
//! ```
//!
//! The call fails with an error that says little (`invalid argument`), or, on a GPU, corrupts a neighbour in silence. The finding names both
//! the call and where the memory came from.
//!
//! ## What is not seen
//!
//! Host buffers that are too small: their sizes are not known to CUDA.
//!
//! ## Reference
//!
//! CUDA Runtime API, "Memory Management", "Stream Management", "Event Management".

use crate::NoChange;
use crate::rule_text::{RuleText, SUMMARY};

/// Findings of whole programs, and of a kernel's results, come with their title and their help.
pub(crate) const TEXT: RuleText = RuleText {
    no_change: NoChange::Host,
    ..SUMMARY
};
