//! # store-moved-across-barrier
//!
//! A store or an atomic operation stands before a barrier or fence on one side and after it on the other. Behind the
//! barrier, threads that passed it may read the location before it is written; in front of it, they may still need the old
//! value. The report names the side with the store in front.
//!
//! ## Example
//!
//! ```cpp
//! tile[t] = value;                        // must not be stored behind the barrier
//! __syncthreads();
//! int left = tile[t - 1];
//! ```
//!
//! ## How it is recognised
//!
//! As `load-moved-across-barrier`, for `st`, `atom`, `red` and asynchronous copies. Stores that have no match count, too,
//! if both sides write the same bytes at addresses that can be compared.
//!
//! ## Limitations
//!
//! As for `load-moved-across-barrier`.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    use InstructionClass::{AsyncCopy, Atomic, Reduction, Store};
    super::moved::crossing(view, |class| {
        matches!(class, Store(_) | Atomic(_) | Reduction(_) | AsyncCopy(_))
    })
}
