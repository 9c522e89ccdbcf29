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
//! other loop. That loop is found as for `loop-unrolled` or by the match of one of its branches, or it is a loop behind
//! the load that no longer holds any instruction.
//!
//! ## Limitations
//!
//! The comparison does not check whether another thread writes the location while the loop runs. A fully unrolled loop no
//! longer counts as a loop.

use super::{Occurrence, View};
use ptx::graph::dominates;
use crate::class::InstructionClass;
use crate::code::Code;
use crate::loops::work::work;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| matches!(instr.class, InstructionClass::Load(_)))
        .filter_map(|(index, _)| {
            let partner = view.partner(index)?;
            let theirs = view.other.loop_of(partner)?;
            is_outside(view, index, theirs).then(|| view.occurrence(vec![index], vec![partner]))
        })
        .collect()
}

/// Whether my instruction is outside of what became of a loop of the other side, and in no loop in place of it.
pub(super) fn is_outside(view: &View, index: usize, theirs: usize) -> bool {
    let block = view.mine.instructions[index].block;
    let own = &view.mine.flow;
    let other = view.side.other() as usize;
    let Some(became) = view.loops.partner(other, theirs).or_else(|| by_branches(view, theirs)) else {
        return endless(view.mine).any(|header| dominates(&own.idom, block, header));
    };
    // What my loop does as often was not moved out of it: it stands in front of it besides.
    let bags = &view.loops.bags;
    let short = work(&view.mine.instructions[index]).iter().any(|(key, _)| {
        bags[view.side as usize].amount(Some(became), key) < bags[other].amount(Some(theirs), key)
    });
    if !short {
        return false;
    }
    // In another loop it is repeated as well, unless that one is around both.
    let home = own.innermost[block];
    let around = |home: usize| own.loops[home].nodes.contains(&own.loops[became].header);
    home.is_none_or(around) && !own.loops[became].nodes.contains(&block)
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

/// The headers of loops without an instruction.
fn endless<'c>(code: &'c Code) -> impl Iterator<Item = usize> + 'c {
    let blocks = &code.flow.blocks;
    let empty = |nodes: &[usize]| nodes.iter().all(|&node| blocks[node].instructions.is_empty());
    let loops = code.flow.loops.iter();
    loops.filter(move |l| empty(&l.nodes)).map(|l| l.header)
}
