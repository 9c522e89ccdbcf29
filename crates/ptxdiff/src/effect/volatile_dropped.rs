//! # volatile-dropped
//!
//! An access is on both sides, but volatile on only one. A non-volatile access may be merged, moved or removed by
//! `ptxas`, and it is part of a data race where a volatile access would be strong.
//!
//! ## How it is recognised
//!
//! Two accesses match, by address or by source line, and only one has the qualifier `.volatile`.
//!
//! ## Limitations
//!
//! Accesses that disappeared are `store-elided` and `load-elided`. `ld.relaxed.sys` is as strong as `ld.volatile` (PTX
//! ISA, "Volatile Operation"), but a compiler may remove it; it counts as not volatile.

use super::{Instr, Occurrence, View};
use crate::class::is_volatile;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let lines_tell = view.has_common_lines();
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class.is_access() && !is_volatile(&instr.typed))
        .filter_map(|(index, _)| {
            let partner = view.partner(index)?;
            let other = &view.other.instructions[partner];
            // Another line's access, at an address that can't be compared, is another one.
            let [own, there] = [&view.mine.instructions[index], other];
            let lines = own.site == there.site || own.site == 0 || there.site == 0;
            let base = |i: &Instr| i.place.map(|place| place.base);
            let same = !lines_tell || lines || base(own) == base(there);
            (same && is_volatile(&other.typed)).then(|| view.occurrence(vec![index], vec![partner]))
        })
        .collect()
}
