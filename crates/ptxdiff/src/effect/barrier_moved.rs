//! # barrier-moved
//!
//! A barrier is in a loop on one side, and outside of this loop on the other. The report names the side with the barrier in
//! the loop. On the other side, threads are not kept together from one iteration to the next.
//!
//! ## Example
//!
//! ```cpp
//! for (int d = 1; d < n; d *= 2) {
//!     __syncthreads();                    // in front of the loop, it separates no two iterations
//!     sum += tile[t ^ d];
//! }
//! ```
//!
//! ## How it is recognised
//!
//! The barrier is on both sides, and so is the loop (`loop-unrolled`), but only one side has the one in the other.
//!
//! ## Limitations
//!
//! Loops that were unrolled, split or dissolved are not looked at.

use super::{Occurrence, View};
use crate::loops::Change;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class.is_barrier())
        .filter_map(|(index, _)| {
            let partner = view.partner(index)?;
            left(view, index, partner).then(|| view.occurrence(vec![index], vec![partner]))
        })
        .collect()
}

/// Whether my barrier is in a loop whose partner the other side's barrier is not in.
fn left(view: &View, index: usize, partner: usize) -> bool {
    let own = &view.mine.flow;
    let block = view.mine.instructions[index].block;
    let theirs = view.other.instructions[partner].block;
    let side = view.side as usize;
    (0..own.loops.len()).any(|inside| {
        let group = view.loops.of[side][inside].map(|group| &view.loops.groups[group]);
        let same = group.is_some_and(|g| g.change == Change::Same);
        own.loops[inside].nodes.contains(&block)
            && same
            && view.loops.partner(side, inside).is_some_and(|other| {
                !view.other.flow.loops[other].nodes.contains(&theirs)
            })
    })
}
