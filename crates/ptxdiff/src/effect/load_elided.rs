//! # load-elided
//!
//! One side loads from memory where the other side does not: the value is already in a register, or it is not needed. If
//! another thread writes the location in between, the two sides compute different results.
//!
//! ## Example
//!
//! ```cpp
//! data[32] = value;
//! value = data[32] + data[31];            // a plain data[32] is still in a register
//! ```
//!
//! ## How it is recognised
//!
//! As `store-elided`, for `ld`. A load that reads again what its own thread has accessed is also
//! `value-kept-in-register`.
//!
//! ## Limitations
//!
//! A load that moved out of a loop is still present: that is `load-hoisted`. Loads of parameters are not counted.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    view.elided(|class| matches!(class, InstructionClass::Load(_)))
}
