//! # accesses-merged
//!
//! One side loads or stores a wider word where the other accesses its parts: one `st.u32` for two `st.u16`. The side that is named has
//! the wider one; the other side's accesses are *split*.
//!
//! ## Example
//!
//! ```cpp
//! *(int *)(out + 2 * t) = 0x00010001;     // st.global.u32
//! out[2 * t] = 1; out[2 * t + 1] = 1;     // two st.global.u16
//! ```
//!
//! ## How it is recognised
//!
//! As `accesses-vectorised`, for an access that has no more lanes than those of the other side.
//!
//! ## What it cannot see
//!
//! Whether the address is aligned to the wider word. Another thread may see the parts one by one on one side, and only together on the other.

use super::{Occurrence, View};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    super::accesses_vectorised::wider(view, |mine, others| mine <= others)
}
