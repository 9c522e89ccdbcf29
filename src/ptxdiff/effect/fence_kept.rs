//! # fence-kept
//!
//! A memory fence is on both sides. This is no difference.
//!
//! ## How it is recognised
//!
//! Two `fence` or `membar` that are partners.
//!
//! ## What it cannot see
//!
//! Whether both have the same scope: where they have not, the listing shows the two as changed.

use super::{Occurrence, View};
use crate::ptxdiff::class::Class;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class == Class::Fence)
        .filter_map(|(index, _)| Some(view.occurrence(vec![index], vec![view.partner(index)?])))
        .collect()
}
