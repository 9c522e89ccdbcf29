//! # synchronisation-weakened
//!
//! A fence, a barrier, an atomic operation or another access is on both sides, and orders less, or for fewer threads, on one. The side that is
//! named has the weaker form; on the other it is *strengthened*. Where each is weaker in something (`.acquire.cta` and `.release.gpu`), both sides
//! are named.
//!
//! ## Example
//!
//! ```cpp
//! __threadfence();                        // membar.gl, which is fence.sc.gpu
//! __threadfence_block();                  // membar.cta: other blocks may see another order
//! ```
//!
//! ## How it is recognised
//!
//! Partners (of accesses: with common bytes or from one source position) whose orders or scopes differ, by the PTX ISA: `.weak`, `.relaxed`, then
//! `.acquire` and `.release`, `.acq_rel`, `.sc`; `.cta`, `.cluster`, `.gpu`, `.sys`. `membar` is `fence.sc`, an atomic without qualifiers
//! is `.relaxed.gpu`, `.volatile` orders as `.relaxed.sys`. Of barriers: one for a warp instead of a block, for fewer threads or
//! lanes, or one at which a thread arrives without waiting. Spellings that mean the same, `bar.sync` and `barrier.sync.aligned`, are no
//! difference. What is volatile on one side and weak on the other is `volatile-dropped`.
//!
//! ## What it cannot see
//!
//! Whether the stronger form is needed, orders that moved from a fence into an access, and what stands between two fences. Shared memory of the
//! block's own is seen by the block alone, so no scope is too narrow there.

use super::{Occurrence, View};
use crate::strength::weaker;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter_map(|(index, instr)| {
        let partner = view.partner(index)?;
        let other = &view.other.instructions[partner];
        let alike = match (instr.place, other.place) {
            (Some(x), Some(y)) => x.base == y.base || instr.site != 0 && instr.site == other.site,
            _ => true,
        };
        let note = weaker(instr, other, view.side.other()).filter(|_| alike)?;
        Some(Occurrence {
            note: Some(note),
            ..view.occurrence(vec![index], vec![partner])
        })
    })
    .collect()
}
