//! # operation-changed
//!
//! One side computes a value with a division, a remainder or a product; the other side computes it with cheaper
//! operations, from the same operand, and gets something else for some operands. The report names the side with the
//! cheaper ones and an operand that shows it.
//!
//! ## Example
//!
//! ```cpp
//! x % 8                                   // of -1 it is -1
//! x & 7                                   // of -1 it is 7
//! ```
//!
//! ## How it is recognised
//!
//! As `strength-reduced`, where the two values differ and instructions that match use them as the same operand.
//!
//! ## Limitations
//!
//! The comparison tries all values of the operand's type. If the program makes only some of them, such as numbers that are
//! never negative, the two may be equal all the same; the note says if only negative operands differ.

use super::{Occurrence, View};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    super::strength_reduced::different(view)
}
