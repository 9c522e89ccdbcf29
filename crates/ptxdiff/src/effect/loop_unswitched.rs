//! # loop-unswitched
//!
//! One side decides in front of several loops what the other side decides in each iteration of one loop.
//!
//! ## Example
//!
//! ```cpp
//! for (int i = 0; i < n; i++) { if (mode) f(i); else g(i); }     // one loop
//! if (mode) for (int i = 0; i < n; i++) f(i);                    // two loops, of which one runs
//! else      for (int i = 0; i < n; i++) g(i);
//! ```
//!
//! ## How it is recognised
//!
//! Loops are compared as for `loop-unrolled`. Several loops of one side have the work of one loop of the other side, and
//! control gets from none of them to another.
//!
//! ## Limitations
//!
//! The comparison does not check the condition.

use super::{Occurrence, View};
use crate::loops::Change;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    view.changed(|change| change == Change::Unswitched(view.side))
}
