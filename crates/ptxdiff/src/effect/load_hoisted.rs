//! # load-hoisted
//!
//! One side loads once what the other side loads in each iteration of a loop: the load was moved before or after the
//! loop. This is right for a single thread. But a loop that waits for another thread's store never sees it.
//!
//! ## Example
//!
//! ```cpp
//! while (*flag == 0) { }                  // a plain flag is loaded once; then the loop never ends
//! ```
//!
//! ## How it is recognised
//!
//! A load has a match inside a loop, while the load itself is outside the corresponding loop of its own side, and in no
//! other loop. In the loop, it is executed in each iteration, at one address. All other loads of the side that may read these
//! bytes are loads of the other side, too, executed at most as often (see `store-elided`).
//!
//! ## Limitations
//!
//! The comparison does not check whether another thread writes the location while the loop runs. A fully unrolled loop no
//! longer counts as a loop.

use super::{Occurrence, View};
use crate::class::InstructionClass;
use crate::evaluate::Definitions;
use crate::invariant::has_one_address;
use crate::loops::is_in_each_iteration;
use ptx::graph::dominates;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    moved_out(view, |class| matches!(class, InstructionClass::Load(_)))
}

/// My accesses of a class outside of the loop that the other side's are in.
pub(super) fn moved_out(view: &View, wanted: impl Fn(InstructionClass) -> bool) -> Vec<Occurrence> {
    let definitions = Definitions::of(view.other);
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| wanted(instr.class))
        .filter_map(|(index, _)| {
            let partner = view.partner(index)?;
            let theirs = view.other.loop_of(partner)?;
            // What is at another address in each iteration is no one access.
            let places = (view.mine.instructions[index].place?, view.other.instructions[partner].place?);
            let alike = places.0.base == places.1.base && places.0.offset == places.1.offset;
            let one = alike
                && is_in_each_iteration(view.other, partner, theirs)
                && has_one_address(view.other, &definitions, partner, theirs)
                && has_loop(view, index, theirs);
            one.then_some(())?;
            let proof = view.prover.makes_once(view.side, index, partner)?;
            Some(view.proved(proof, vec![index], vec![partner]))
        })
        .collect()
}

/// Whether a loop of the other side is a loop of mine, which my instruction is not in, or mine has nothing left in it.
fn has_loop(view: &View, index: usize, theirs: usize) -> bool {
    let flow = &view.mine.flow;
    let block = view.mine.instructions[index].block;
    let partner = view.loops.partner(view.side.other() as usize, theirs);
    match partner.or_else(|| by_branches(view, theirs)) {
        Some(own) => !flow.loops[own].nodes.contains(&block),
        None => flow.loops.iter().any(|own| {
            let mut nodes = own.nodes.iter();
            let empty = nodes.all(|&node| flow.blocks[node].instructions.is_empty());
            empty && dominates(&flow.idom, block, own.header)
        }),
    }
}

/// My loop that has a branch of this very loop of the other side, not of one inside of it.
fn by_branches(view: &View, theirs: usize) -> Option<usize> {
    let flow = &view.other.flow;
    let ends = flow.loops[theirs].nodes.iter();
    ends.filter(|&&node| flow.innermost[node] == Some(theirs))
        .filter_map(|&node| flow.blocks[node].instructions.last())
        .filter(|&&last| view.other.instructions[last].class == InstructionClass::Branch)
        .filter_map(|&last| view.mine.loop_of(view.back(last)?))
        .next()
}
