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

use super::{Instr, Occurrence, View};
use crate::ptxdiff::class::{Class, Space};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    missing(view, |class| matches!(class, Class::Load(_)))
}

/// Accesses of some class that the other side makes and this one does not. An access whose space the instruction leaves open
/// stands for one of any space.
pub(super) fn missing(view: &View, wanted: impl Fn(Class) -> bool) -> Vec<Occurrence> {
    type Key = (Option<Space>, u32);
    let exact: fn(&Instr) -> Option<Key> = |i| i.place.map(|p| (Some(p.space), p.width));
    let any: fn(&Instr) -> Option<Key> = |i| i.place.map(|p| (None, p.width));
    let open: fn(&Instr) -> Option<Key> = |i| {
        let place = i.place.filter(|p| p.space == Space::Generic)?;
        Some((None, place.width))
    };
    view.lacking(|i| wanted(i.class), &[(exact, exact), (any, open), (open, any)])
        .into_iter()
        .filter(|&index| !view.is_copy(index))
        .map(|index| view.occurrence(Vec::new(), vec![index]))
        .collect()
}
