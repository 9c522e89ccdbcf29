//! # load-elided
//!
//! One side loads from memory where the other does not: the value is in a register already, or nobody needs it. Where another thread
//! writes the place in between, the two sides compute different things.
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
//! As `store-elided`, for `ld`. Those loads that read again what the thread itself has accessed are `value-kept-in-register` as well.
//!
//! ## What it cannot see
//!
//! A load that moved out of a loop is still there: that is `load-hoisted`. Loads of parameters are not counted.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    view.elided(|class| matches!(class, InstructionClass::Load(_)))
}
