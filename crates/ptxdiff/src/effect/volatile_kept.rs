//! # volatile-kept
//!
//! An access is volatile on both sides. This is not a difference.
//!
//! ## How it is recognised
//!
//! Two accesses match, and both have the qualifier `.volatile`.
//!
//! ## Limitations
//!
//! `volatile` guarantees that the access happens, not when. It does not make the lanes of a warp run in lockstep
//! (`racetrap explain lockstep-assumption`).

use super::{Occurrence, View};
use crate::class::is_volatile;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class.is_access() && is_volatile(&instr.typed))
        .filter_map(|(index, _)| {
            let partner = view.partner(index)?;
            let kept = is_volatile(&view.other.instructions[partner].typed);
            kept.then(|| view.occurrence(vec![index], vec![partner]))
        })
        .collect()
}
