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
use crate::loops::Change;
use crate::loops::work::{Key, Kind};
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
            let header = view.mine.flow.loops[*own].header;
            let outer = view.mine.flow.loops.iter().position(|l| {
                l.header != header && l.nodes.contains(&header)
            });
            let before = |key: &Key| -> Vec<usize> {
                let all = bags[mine].within(outer).filter(|(k, _)| *k == key);
                let all = all.flat_map(|(_, a)| a.instructions.iter().copied());
                all.filter(|&i| dominates(&view.mine.flow.idom, view.mine.instructions[i].block, header))
                    .collect()
            };
            let (mut prologue, mut loads, mut rest) = (Vec::new(), 0, 0);
            for (key, amount) in bags[mine].within(Some(*own)) {
                let there = bags[other].amount(Some(*partner), key);
                let in_front = before(key);
                let width = |i: &usize| view.mine.instructions[*i].place.map_or(1, |p| p.width);
                let extra: u32 = in_front.iter().map(width).sum();
                let outside = bags[other].amount(None, key);
                let own_access = key.kind.is_access();
                if own_access && there == amount.amount && extra >= amount.amount + outside {
                    prologue.extend(in_front);
                    loads += usize::from(key.kind == Kind::Read);
                } else if key.kind.weight() > 3 && key.kind != Kind::Barrier {
                    rest += 1;
                }
            }
            (loads > 0 && rest > 0).then(|| {
                prologue.sort_unstable();
                let all = crate::loops::workers(bags, group);
                view.occurrence(prologue, all[other].clone())
            })
        })
        .collect()
}
