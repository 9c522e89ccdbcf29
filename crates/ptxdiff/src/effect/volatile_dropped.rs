//! # volatile-dropped
//!
//! An access is on both sides, but volatile on only one. A non-volatile access may be merged, moved or removed by
//! `ptxas`, and it is part of a data race where a volatile access would be strong.
//!
//! ## How it is recognised
//!
//! Two accesses match, and only one has the qualifier `.volatile`.
//!
//! ## Limitations
//!
//! Accesses that disappeared are `store-elided` and `load-elided`. `ld.relaxed.sys` is as strong as `ld.volatile` (PTX
//! ISA, "Volatile Operation"), but a compiler may remove it; it counts as not volatile.

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
