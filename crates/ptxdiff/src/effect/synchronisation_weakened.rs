//! # synchronisation-weakened
//!
//! A fence, a barrier, an atomic operation or another access is on both sides, but one side orders less, or for fewer
//! threads. The report names the side with the weaker form; on the other side it is *strengthened*. If each side is
//! weaker in one respect (`.acquire.cta` and `.release.gpu`), the report names both.
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
//! Two instructions match (accesses: by common bytes or by source position), and their order or scope differs by the PTX
//! ISA. Orders from weak to strong: `.weak`, `.relaxed`, then `.acquire` and `.release`, `.acq_rel`, `.sc`. Scopes:
//! `.cta`, `.cluster`, `.gpu`, `.sys`. `membar` is `fence.sc`; an atomic without qualifiers is `.relaxed.gpu`;
//! `.volatile` orders like `.relaxed.sys`.
//!
//! A barrier is weaker if it is for a warp instead of a block, for fewer threads or lanes, or if a thread arrives without
//! waiting. Equivalent spellings, such as `bar.sync` and `barrier.sync.aligned`, are not a difference. An access that is
//! volatile on one side and weak on the other is `volatile-dropped`.
//!
//! ## Limitations
//!
//! The comparison does not check whether the stronger form is needed. It does not see orderings that moved from a fence
//! into an access, or what stands between two fences. For the block's own shared memory every scope is wide enough,
//! because only the block can access it.

use super::{Occurrence, View};
use crate::strength::weaker;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(index, _)| !view.regrouped[view.side as usize].contains(index)).filter_map(|(index, instr)| {
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
