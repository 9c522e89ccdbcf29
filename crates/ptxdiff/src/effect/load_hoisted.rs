//! # load-hoisted
//!
//! One side loads once what the other loads in each round of a loop: the load was moved in front of the loop or behind it. That is right for
//! a thread alone; a loop that waits for another thread's store never sees it.
//!
//! ## Example
//!
//! ```cpp
//! while (*flag == 0) { }                  // a plain flag is loaded once; then the loop is endless
//! ```
//!
//! ## How it is recognised
//!
//! A load has a partner that is in a loop. On its own side it is outside of the loop that this one became: the one that a branch of
//! the other's loop has its partner in, or a loop behind the load that holds no instruction any more.
//!
//! ## What it cannot see
//!
//! Whether another thread writes the place while the loop runs. A loop that was unrolled to its end is none any more.

use super::{Occurrence, View};
use ptx::graph::dominates;
use crate::class::InstructionClass;
use crate::code::Code;

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

/// Whether my instruction is outside of what became of a loop of the other side.
fn is_outside(view: &View, index: usize, theirs: usize) -> bool {
    let block = view.mine.instructions[index].block;
    let own = &view.mine.flow;
    // Branches of this very loop, not of one inside of it.
    let ends = view.other.flow.loops[theirs].nodes.iter();
    let became = ends
        .filter(|&&node| view.other.flow.innermost[node] == Some(theirs))
        .filter_map(|&node| view.other.flow.blocks[node].instructions.last())
        .filter(|&&last| view.other.instructions[last].class == InstructionClass::Branch)
        .filter_map(|&last| view.mine.loop_of(view.back(last)?))
        .next();
    match became {
        Some(became) => !own.loops[became].nodes.contains(&block),
        None => endless(view.mine).any(|header| dominates(&own.idom, block, header)),
    }
}

/// The headers of loops without an instruction.
fn endless<'c>(code: &'c Code) -> impl Iterator<Item = usize> + 'c {
    let blocks = &code.flow.blocks;
    let empty = |nodes: &[usize]| nodes.iter().all(|&node| blocks[node].instructions.is_empty());
    let loops = code.flow.loops.iter();
    loops.filter(move |l| empty(&l.nodes)).map(|l| l.header)
}
