//! # loop-pipelined
//!
//! One side starts the accesses of the next iteration in the present one: the first iteration's accesses stand in front of
//! the loop. This is software pipelining; with two buffers in shared memory it is double buffering.
//!
//! ## Example
//!
//! ```cpp
//! float x = in[0];                        // in front of the loop
//! for (int i = 0; i < n; i++) {
//!     float next = in[i + 1];             // for the next iteration
//!     sum = sum * x + 1;
//!     x = next;
//! }
//! ```
//!
//! ## How it is recognised
//!
//! Both sides have the loop with the same accesses (`loop-unrolled`). In front of it one side has accesses of the same
//! kind, which the other side does not have; and not the rest of the loop's work, which would be a whole iteration.
//!
//! ## Limitations
//!
//! The comparison does not check that the values of one iteration are used in the next. A pipeline whose last iteration
//! was peeled, or of several stages, may show as other changes.

use super::{Occurrence, View};
use crate::class::InstructionClass;
use crate::code::Code;
use crate::loops::signature::{Bag, Key, Kind};
use crate::loops::{Change, workers};
use ptx::graph::dominates;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let [mine, other] = [view.side as usize, view.side.other() as usize];
    let bags = &view.loops.bags;
    let groups = view.loops.groups.iter();
    groups
        .filter_map(|group| {
            let ([own], [partner]) = (&group.loops[mine][..], &group.loops[other][..]) else {
                return None;
            };
            if !matches!(group.change, Change::Same | Change::Unclear) {
                return None;
            }
            let (mut prologue, mut loads, mut rest) = (Vec::new(), 0, 0);
            for (key, amount) in bags[mine].within(Some(*own)) {
                let there = bags[other].amount(Some(*partner), key);
                let (first, extra) = in_front(view.mine, &bags[mine], *own, key);
                let theirs = in_front_anywhere(view.other, &bags[other], *partner, key);
                let alike = there == amount.amount && extra >= amount.amount + theirs;
                if key.kind.is_access() && alike {
                    prologue.extend(first);
                    loads += usize::from(key.kind == Kind::Read);
                } else if key.kind.weight() > 3 && key.kind != Kind::Barrier {
                    rest += 1;
                }
            }
            (loads > 0 && rest > 0).then(|| {
                prologue.sort_unstable();
                let theirs = std::mem::take(&mut workers(bags, group)[other]);
                view.occurrence(prologue, theirs)
            })
        })
        .collect()
}

/// The instructions of some work in front of a loop, in the same loop around both, and their amount.
fn in_front(code: &Code, bag: &Bag, own: usize, key: &Key) -> (Vec<usize>, u32) {
    let header = code.flow.loops[own].header;
    let loops = code.flow.loops.iter().enumerate();
    let around = loops.filter(|(_, l)| l.header != header && l.nodes.contains(&header));
    let outer = around.min_by_key(|(_, l)| l.nodes.len()).map(|(index, _)| index);
    let found = dominating(code, bag, outer, key, header);
    let amount = bytes(code, &found);
    (found, amount)
}

/// The amount of some work in front of a loop, in any loop around it.
fn in_front_anywhere(code: &Code, bag: &Bag, own: usize, key: &Key) -> u32 {
    let header = code.flow.loops[own].header;
    let stretches = bag.by_loop.keys().filter(|of| **of != Some(own));
    let all = stretches.map(|of| bytes(code, &dominating(code, bag, *of, key, header)));
    all.sum()
}

/// The instructions of some work in a stretch that are executed before a block whenever it is.
fn dominating(code: &Code, bag: &Bag, of: Option<usize>, key: &Key, header: usize) -> Vec<usize> {
    let all = bag.within(of).filter(|(k, _)| *k == key);
    let all = all.flat_map(|(_, amount)| amount.instructions.iter().copied());
    // How often what is called does it, is not known.
    all.filter(|&i| code.instructions[i].class != InstructionClass::Call)
        .filter(|&i| dominates(&code.flow.idom, code.instructions[i].block, header))
        .collect()
}

fn bytes(code: &Code, instructions: &[usize]) -> u32 {
    let width = |i: &usize| code.instructions[*i].place.map_or(1, |place| place.width);
    instructions.iter().map(width).sum()
}
