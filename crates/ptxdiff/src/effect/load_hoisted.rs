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
//! other loop. In the loop, it is executed in each
//! iteration, at one address. That loop is found as for `loop-unrolled` or by the match of one of its branches, or it is a loop behind
//! the load that no longer holds any instruction.
//!
//! ## Limitations
//!
//! Where both sides come from the same source lines, lines that speak against it decide. The comparison does not check whether
//! another thread writes the location while the loop runs. A fully unrolled loop no
//! longer counts as a loop.

use super::{Occurrence, View};
use ptx::graph::dominates;
use crate::class::InstructionClass;
use crate::code::{Code, Instr};
use crate::evaluate::Definitions;
use crate::flow::Flow;
use crate::invariant::has_one_address;
use crate::loops::is_in_each_iteration;
use crate::loops::work::work;

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
            let out = alike
                && !lines_differ(view, index, partner, theirs)
                && is_in_each_iteration(view.other, partner, theirs)
                && has_one_address(view.other, &definitions, partner, theirs)
                && is_outside(view, index, partner, theirs);
            out.then(|| view.occurrence(vec![index], vec![partner]))
        })
        .collect()
}

/// Whether my instruction is outside of what became of a loop of the other side, and in no loop in place of it.
fn is_outside(view: &View, index: usize, partner: usize, theirs: usize) -> bool {
    let block = view.mine.instructions[index].block;
    let own = &view.mine.flow;
    let other = view.side.other() as usize;
    if view.loops.is_dissolved(other, theirs) {
        return false;
    }
    let became = view.loops.partner(other, theirs).or_else(|| by_branches(view, theirs));
    let Some(became) = became else {
        return endless(view.mine).any(|header| dominates(&own.idom, block, header));
    };
    if depth(own, became) != depth(&view.other.flow, theirs) {
        return false;
    }
    // What my loop does as often was not moved out of it: it stands in front of it besides. Nor was what stands outside several times, as
    // copies of a body do.
    let bags = &view.loops.bags;
    let short = work(&view.mine.instructions[index]).iter().any(|(key, _)| {
        bags[view.side as usize].amount(Some(became), key) < bags[other].amount(Some(theirs), key)
    });
    let mine = alike(view.mine, index, became);
    let others = alike(view.other, partner, theirs);
    if !short || mine.inside > 0 || mine.outside > others.outside + 1 {
        return false;
    }
    // In another loop it is repeated as well, unless that one is around both.
    let home = own.innermost[block];
    let around = |home: usize| own.loops[home].nodes.contains(&own.loops[became].header);
    home.is_none_or(around) && !own.loops[became].nodes.contains(&block)
}

/// Whether source lines speak against it: the other side has the access of my line elsewhere, or I have another one of this line in a loop as
/// deep as the other side's.
fn lines_differ(view: &View, index: usize, partner: usize, theirs: usize) -> bool {
    let (own, other) = (&view.mine.instructions[index], &view.other.instructions[partner]);
    let twin = |i: &Instr| i.site == own.site && own.site != 0 && i.class.is_alike(own.class);
    let elsewhere = own.site != other.site && view.other.instructions.iter().any(twin);
    let least = depth(&view.other.flow, theirs);
    let mine = view.mine.instructions.iter().enumerate();
    let mut twins = mine.filter(|(at, i)| *at != index && twin(i));
    elsewhere
        || twins.any(|(at, _)| {
            let inside = view.mine.loop_of(at);
            inside.is_some_and(|l| depth(&view.mine.flow, l) >= least)
        })
}

/// How many loops are around a loop, itself among them.
fn depth(flow: &Flow, of: usize) -> usize {
    let header = flow.loops[of].header;
    flow.loops.iter().filter(|l| l.nodes.contains(&header)).count()
}

/// How many accesses of one class are at one place.
struct Alike {
    inside: usize,
    outside: usize,
}

/// The accesses like one, inside of a loop and outside of it.
fn alike(code: &Code, index: usize, within: usize) -> Alike {
    let own = &code.instructions[index];
    let nodes = &code.flow.loops[within].nodes;
    let all = code.instructions.iter().filter(|i| i.class == own.class);
    let same = all.filter(|i| match (i.place, own.place) {
        (Some(x), Some(y)) => x.base == y.base && x.offset == y.offset,
        _ => false,
    });
    let (inside, outside): (Vec<&Instr>, Vec<&Instr>) = same.partition(|i| nodes.contains(&i.block));
    Alike {
        inside: inside.len(),
        outside: outside.len(),
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

/// The headers of loops without an instruction.
fn endless<'c>(code: &'c Code) -> impl Iterator<Item = usize> + 'c {
    let blocks = &code.flow.blocks;
    let empty = |nodes: &[usize]| nodes.iter().all(|&node| blocks[node].instructions.is_empty());
    let loops = code.flow.loops.iter();
    loops.filter(move |l| empty(&l.nodes)).map(|l| l.header)
}
