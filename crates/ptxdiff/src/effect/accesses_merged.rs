//! # accesses-merged
//!
//! One side loads or stores a wide word where the other side accesses its parts, for example one `st.u32` for two
//! `st.u16`. The report names the side with the wide access; on the other side the accesses are *split*.
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
//! As `accesses-vectorised`, for an access with no more vector elements than those of the other side.
//!
//! ## Limitations
//!
//! The comparison does not check that the address is aligned to the wide word. Another thread may see the parts one by
//! one on one side, and only together on the other.

use super::{Occurrence, View};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    super::accesses_vectorised::wider(view, |mine, others| mine <= others)
}
