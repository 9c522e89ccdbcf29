//! # load-elided
//!
//! One side loads from memory where the other does not: the value is in a register already, or nobody needs it. Where another thread
//! writes the place in between, the two sides compute different things.
//!
//! ## Example
//!
//! ```cpp
//! while (flag == 0) { }                   // a plain flag is loaded once, in front of the loop
//! ```
//!
//! ## How it is recognised
//!
//! As `store-elided`, for `ld`. Those loads that read again what the thread itself has accessed are `value-kept-in-register` as well.
//!
//! ## What it cannot see
//!
//! A load that moved out of a loop is still there and counts as kept. Two loads that became one wider load (`ld.v2`) show as one elided and one
//! changed. Loads of parameters are not counted.

use super::{Occurrence, View};
use crate::ptxdiff::class::Class;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    missing(view, |class| matches!(class, Class::Load(_)))
}

/// Accesses of some class that the other side makes and this one does not.
pub(super) fn missing(view: &View, wanted: impl Fn(Class) -> bool) -> Vec<Occurrence> {
    let alike = |mine: &super::Instr, other: &super::Instr| match (mine.place, other.place) {
        (Some(x), Some(y)) => x.space == y.space && x.width == y.width,
        _ => mine.class == other.class,
    };
    view.lacking(alike, |i| wanted(i.class))
        .into_iter()
        .filter(|&index| !view.is_copy(index))
        .map(|index| view.occurrence(Vec::new(), vec![index]))
        .collect()
}
