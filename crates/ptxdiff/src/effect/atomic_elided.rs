//! # atomic-elided
//!
//! One side has an atomic operation (`atom`, `red`) on a location that the other side does not access at all.
//!
//! ## Example
//!
//! ```cpp
//! for (int i = 0; i < 4; i++) atomicAdd(sum, 1);   // four operations, or one that adds 4
//! ```
//!
//! ## How it is recognised
//!
//! As `store-elided`, for `atom` and `red`.
//!
//! ## Limitations
//!
//! An operation in a loop counts once, because it appears once in the PTX.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    view.elided(|class| matches!(class, InstructionClass::Atomic(_) | InstructionClass::Reduction(_)))
}
