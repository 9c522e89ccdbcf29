//! # unchecked-error
//!
//! A launch failed, and the program never asked whether it did. Found in whole programs (`racetrap exec`).
//!
//! ## Example
//!
//! ```cpp
//! kernel<<<blocks, 2048>>>(data);      // a block has at most 1024 threads: nothing runs
//! cudaMemcpy(h, data, bytes, cudaMemcpyDeviceToHost);
//! ```
//!
//! A launch has no return value. Ask `cudaGetLastError()` after it, and check what every other call returns; a program that does not goes on
//! with results that no kernel has computed.
//!
//! ## What is not seen
//!
//! Return values that the program drops.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Error Checking".

use crate::NoChange;
use crate::rule_text::{RuleText, SUMMARY};

/// Findings of whole programs, and of a kernel's results, come with their title and their help.
pub(crate) const TEXT: RuleText = RuleText {
    no_change: NoChange::Host,
    ..SUMMARY
};
