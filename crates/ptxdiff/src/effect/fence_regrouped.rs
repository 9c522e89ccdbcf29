//! # fence-regrouped
//!
//! One side has an ordering in an access (`ld.acquire`, `st.release`); the other side has a weaker access and a fence
//! beside it, which orders at least as much. The report names the side with the fence. Nothing is lost: the access alone is
//! weaker, but not the two together.
//!
//! ## Example
//!
//! ```cpp
//! int x = flag.load(memory_order_acquire);                                                  // ld.acquire
//! int x = flag.load(memory_order_relaxed); atomic_thread_fence(memory_order_acquire);       // ld.relaxed, fence
//! ```
//!
//! ## How it is recognised
//!
//! Two accesses match, and one is weaker. Its side has fences without a match: behind the access for an acquire, in front
//! of it for a release, with nothing that accesses memory or synchronises in between, and each of the scope of the stronger
//! access or a wider one (PTX ISA, "Release and Acquire Patterns").
//!
//! ## Limitations
//!
//! A fence also orders earlier and later accesses that are not beside it: the side with the fence orders more.

use super::{Occurrence, View};
use crate::class::InstructionClass;
use crate::strength::{Missing, missing, orders};

/// My accesses and fences that are the other side's stronger accesses.
pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| instr.class.is_access())
        .filter_map(|(index, instr)| {
            let partner = view.partner(index)?;
            let stronger = &view.other.instructions[partner];
            let Missing { acquire, release } = missing(instr, stronger)?;
            let mut all = vec![index];
            for (wanted, behind) in [(release, false), (acquire, true)] {
                if wanted {
                    let fence = beside(view, index, behind)?;
                    let enough = orders(&view.mine.instructions[fence], stronger, behind);
                    if view.partner(fence).is_some() || !enough {
                        return None;
                    }
                    all.push(fence);
                }
            }
            all.sort_unstable();
            (all.len() > 1).then(|| view.occurrence(all, vec![partner]))
        })
        .collect()
}

/// The fence beside an access, in its block, with nothing that matters in between.
fn beside(view: &View, index: usize, behind: bool) -> Option<usize> {
    let block = &view.mine.flow.blocks[view.mine.instructions[index].block].instructions;
    let at = block.iter().position(|&i| i == index)?;
    let next: Vec<usize> = match behind {
        true => block[at + 1..].to_vec(),
        false => block[..at].iter().rev().copied().collect(),
    };
    let matters = |&i: &usize| {
        let class = view.mine.instructions[i].class;
        class.is_access()
            || class.is_barrier()
            || matches!(class, InstructionClass::Fence | InstructionClass::Call)
    };
    let first = next.into_iter().find(matters)?;
    (view.mine.instructions[first].class == InstructionClass::Fence).then_some(first)
}
