//! Accesses that stand before a barrier or fence on one side and after it on the other: what the effects of loads and of stores share.

use super::{Occurrence, View};
use crate::Side;
use crate::class::InstructionClass;
use crate::compare::{Match, Pair};
use std::collections::HashSet;

/// The place of each instruction in the order of alignment.
pub(super) fn positions(order: &[usize]) -> Vec<usize> {
    let mut position = vec![0; order.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(place, &index)| position[index] = place);
    position
}

/// Matched accesses of a class that stand before a matched barrier or fence on the view's side and after it on the other.
pub(super) fn crossing(view: &View, wanted: impl Fn(InstructionClass) -> bool) -> Vec<Occurrence> {
    let (in_a, in_b) = (
        positions(&view.matching.order_a),
        positions(&view.matching.order_b),
    );
    let class = |pair: &Pair| match view.side {
        Side::A => view.mine.instructions[pair.a].class,
        Side::B => view.other.instructions[pair.a].class,
    };
    let both = |class: InstructionClass| class.is_barrier() || class == InstructionClass::Fence;
    let pairs = &view.matching.pairs;
    let barriers: Vec<&Pair> = pairs.iter().filter(|p| both(class(p))).collect();
    // Those without a partner, of which bytes are accessed elsewhere.
    let apart = view.cover.pairs.iter().filter(|p| p.crossed);
    let apart = apart.map(|p| Pair {
        a: p.a,
        b: p.b,
        kind: Match::Moved,
    });
    let known: HashSet<(usize, usize)> = pairs.iter().map(|p| (p.a, p.b)).collect();
    let mut apart: Vec<Pair> = apart.filter(|p| !known.contains(&(p.a, p.b))).collect();
    apart.dedup();
    let accesses = pairs
        .iter()
        .chain(&apart)
        .filter(|p| wanted(class(p)) && !view.is_unclear(p));
    let mut found = Vec::new();
    for access in accesses {
        let crosses = |barrier: &&&Pair| {
            // Partners that were aligned stand in one order.
            if access.kind != Match::Moved && barrier.kind != Match::Moved {
                return false;
            }
            let before_a = in_a[access.a] < in_a[barrier.a];
            let before_b = in_b[access.b] < in_b[barrier.b];
            let (mine, other) = match view.side {
                Side::A => (before_a, before_b),
                Side::B => (before_b, before_a),
            };
            mine && !other && !view.is_unclear(barrier)
        };
        if let Some(barrier) = barriers.iter().find(crosses) {
            found.push(Occurrence {
                a: vec![access.a, barrier.a],
                b: vec![access.b, barrier.b],
                ..Occurrence::default()
            });
        }
    }
    found
}
