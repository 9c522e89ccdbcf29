//! # leak
//!
//! Memory that the program allocated and had not freed when it ended. Found in whole programs (`racetrap exec`).
//!
//! ## Example
//!
//! ```cpp
//! for (int i = 0; i < 1000; i++) {
//!     cudaMalloc(&buffer, bytes);
//!     step<<<blocks, threads>>>(buffer);
//! }
//! ```
//!
//! The system takes everything back when a process ends, so a leak at the end costs nothing; one in a loop fills the device.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Device Memory".

use crate::NoChange;
use crate::rule_text::{RuleText, SUMMARY};

/// Findings of whole programs, and of a kernel's results, come with their title and their help.
pub(crate) const TEXT: RuleText = RuleText {
    no_change: NoChange::Host,
    ..SUMMARY
};
