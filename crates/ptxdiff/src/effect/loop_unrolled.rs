//! # loop-unrolled
//!
//! One side has a loop where the other side repeats the loop's body several times, in a loop with fewer iterations or
//! without a loop.
//!
//! ## Example
//!
//! ```cpp
//! #pragma unroll
//! for (int d = 1; d < 32; d *= 2)         // five bodies, no branch
//!     sum += data[32 - d];
//! ```
//!
//! ## How it is recognised
//!
//! Two loops are one if they do the same work: accesses by direction and by the parameter or variable that they start
//! from, barriers, fences, exchanges between lanes, floating-point operations and logic. Moves, addresses, counters and
//! branches do not count, and source lines only decide between equals. Loops around two such loops are one as well. If
//! one side's body does that work at least twice as often, by the median over the kinds of work, it is unrolled. Where the
//! PTX tells how often both loops run, or what their counters are increased by, this decides the factor. A loop beside it
//! with the same work is its remainder. If the work is outside of all loops, or in the loop around it, the loop is
//! unrolled completely.
//!
//! Accesses and barriers of a loop that was unrolled are neither elided nor lost, unless the other side does not do this
//! work at all.
//!
//! ## Limitations
//!
//! A cycle with several entries does not count as a loop. Peeling one iteration, or a loop that runs once, does not count
//! as unrolling. Optimisations that unrolling made possible (values kept from one iteration to the next) are not counted:
//! a loop repeats its accesses, but they appear once in the PTX.

use super::{Occurrence, View};
use crate::loops::{Change, workers};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let groups = view.loops.groups.iter();
    groups
        .filter_map(|group| match group.change {
            Change::Unrolled(side, factor) if side == view.side => {
                let mut all = workers(&view.loops.bags, group);
                let [mine, other] = [view.side as usize, view.side.other() as usize];
                if all[mine].is_empty() {
                    all[mine] = view.copies(group, other);
                }
                let mut occurrence =
                    view.occurrence(std::mem::take(&mut all[mine]), std::mem::take(&mut all[other]));
                occurrence.factor = factor;
                Some(occurrence)
            }
            _ => None,
        })
        .collect()
}
