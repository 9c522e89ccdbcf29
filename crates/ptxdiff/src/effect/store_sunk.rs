//! # store-sunk
//!
//! One side stores once what the other side stores in each iteration of a loop: the store was moved behind the loop, or in
//! front of it. This is right for a single thread. Another thread that waits for the values in between never sees them.
//!
//! ## Example
//!
//! ```cpp
//! for (int i = 0; i < n; i++) { sum += in[i]; *out = sum; }     // with a plain out, one store behind the loop
//! ```
//!
//! ## How it is recognised
//!
//! A store has a match inside a loop, while the store itself is outside the corresponding loop of its own side, and in no
//! other loop.
//!
//! ## Limitations
//!
//! As for `load-hoisted`.

use super::load_hoisted::moved_out;
use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    moved_out(view, |class| matches!(class, InstructionClass::Store(_)))
}
