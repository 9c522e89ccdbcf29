//! # volatile-dropped
//!
//! An access is there on both sides, volatile on one and not on the other. What is not volatile may be joined with others, moved or
//! left out by `ptxas`, and races where a volatile access would have been strong.
//!
//! ## How it is recognised
//!
//! Partners, of which one has the qualifier `.volatile` and the other has not.
//!
//! ## What it cannot see
//!
//! Accesses that are gone: those are `store-elided` and `load-elided`. `ld.relaxed.sys` is as strong as `ld.volatile` (PTX ISA, "Volatile
//! Operation") but may be left out by a compiler; it counts as not volatile.

use super::{Occurrence, View};
use crate::class::is_volatile;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class.is_access() && !is_volatile(&instr.typed))
        .filter_map(|(index, _)| {
            let partner = view.partner(index)?;
            let dropped = is_volatile(&view.other.instructions[partner].typed);
            dropped.then(|| view.occurrence(vec![index], vec![partner]))
        })
        .collect()
}
