//! # does-more
//!
//! One side does what the other side does, and more: other work besides, or the same work several times as often without
//! a loop, for more items. What the other side does not do is then neither elided nor lost.
//!
//! ## Example
//!
//! ```cpp
//! template <int ITEMS> __global__ void sort();             // sort<16> beside sort<8>
//! ```
//!
//! ## How it is recognised
//!
//! By the work of each side, as for `unrelated`, with accesses told apart by what they start from. Either most of the work
//! of one side is of kinds that the other side does not do, while it does nearly all of the other side's; or it does most
//! kinds, arithmetic among them, at least one and a half times as often, and loops don't account for it.
//!
//! ## Limitations
//!
//! A side of which one loop was unrolled is not compared by numbers.

use super::{Occurrence, View};
use crate::similar::{More, Similarity};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let similarity = Similarity::of((view.mine, view.my_module), (view.other, view.other_module));
    let note = match similarity.more(view.loops) {
        Some(More::Kinds(percent)) => format!("{percent} % of its work is of kinds that the other side does not do"),
        Some(More::Times(factor)) => format!("the same work {factor:.1} times as often"),
        None => return Vec::new(),
    };
    vec![Occurrence {
        note: Some(note),
        ..Occurrence::default()
    }]
}
