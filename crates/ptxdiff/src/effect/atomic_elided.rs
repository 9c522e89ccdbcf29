//! # atomic-elided
//!
//! One side makes an atomic operation (`atom`, `red`) where the other touches the place in no way.
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
//! ## What it cannot see
//!
//! Operations that a loop makes again and again count once, as in the text.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    view.elided(|class| matches!(class, InstructionClass::Atomic(_) | InstructionClass::Reduction(_)))
}
