//! # tails-merged
//!
//! One side accesses memory once where the other side does in each of several ways, of which one is executed: the arms of a
//! branch have a common end.
//!
//! ## Example
//!
//! ```cpp
//! if (x > 0) out[t] = 3 * x; else out[t] = x - 5;          // one store behind both arms
//! ```
//!
//! ## How it is recognised
//!
//! An access of one side is executed wherever one of several accesses of the other side to the same bytes is, and those
//! are never executed together.
//!
//! ## Limitations
//!
//! Other instructions at the end of the arms are not compared.

use super::{Occurrence, View};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class.is_access())
        .filter_map(|(index, _)| {
            let shared = view.cover.beside(view.side, index, |pair| pair.shared);
            if shared.is_empty() {
                return None;
            }
            let mut all = view.cover.beside(view.side, index, |_| true);
            all.extend(view.partner(index));
            all.sort_unstable();
            all.dedup();
            let exclusive = shared.iter().all(|&s| {
                all.iter().any(|&other| other != s && crate::exclusive::exclusive(view.other, other, s))
            });
            (all.len() > 1 && exclusive).then(|| view.occurrence(vec![index], all))
        })
        .collect()
}
