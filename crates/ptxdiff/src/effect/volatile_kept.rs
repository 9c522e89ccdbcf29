//! # volatile-kept
//!
//! An access is volatile on both sides. This is no difference.
//!
//! ## How it is recognised
//!
//! Partners that both have the qualifier `.volatile`.
//!
//! ## What it cannot see
//!
//! What `volatile` promises is that the access happens, not when: it does not make the lanes of a warp take turns (`racetrap explain
//! lockstep-assumption`).

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
