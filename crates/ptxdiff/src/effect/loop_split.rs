//! # loop-split
//!
//! One side has several loops, one after the other, where the other side has one loop: its iterations are divided among
//! them, or the statements of its body. The report names the side with several loops; on the other side they are *fused*.
//!
//! ## Example
//!
//! ```cpp
//! for (int i = 0; i < n; i++) out[i] = 3 * in[i];          // one loop
//! for (int i = 0; i < m; i++) out[i] = 3 * in[i];          // two
//! for (int i = m; i < n; i++) out[i] = 3 * in[i];
//! ```
//!
//! ## How it is recognised
//!
//! Loops are compared as for `loop-unrolled`. Several loops of one side have the work of one loop of the other side, none
//! of them repeats it, and control gets from one to the next.
//!
//! ## Limitations
//!
//! The comparison does not check that the loops run over the same iterations.

use super::{Occurrence, View};
use crate::loops::Change;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    view.changed(|change| change == Change::Split(view.side))
}
