//! # load-moved-across-barrier
//!
//! A load stands before a barrier on one side and after it on the other. Before the barrier it may read a location that
//! other threads have not written yet. The report names the side with the load before the barrier: the load was hoisted
//! on that side or sunk on the other.
//!
//! ## Example
//!
//! ```cpp
//! __syncthreads();
//! int left = tile[t - 1];                 // must not be read before the barrier
//! ```
//!
//! ## How it is recognised
//!
//! The load and the barrier both have a match, and their order differs. Barriers of a warp, a block and a cluster count.
//!
//! ## Limitations
//!
//! The comparison does not check whether other threads write the location. A compiler may move loads of read-only memory.
//! In a loop every instruction is both before and after every other one; there the order in the text decides.

use super::{Occurrence, View};
use crate::Side;
use crate::class::InstructionClass;
use crate::compare::Match;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let positions = |order: &[usize]| {
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &index)| position[index] = place);
        position
    };
    let (in_a, in_b) = (positions(&view.matching.order_a), positions(&view.matching.order_b));
    let pairs = &view.matching.pairs;
    let barriers: Vec<_> = pairs.iter().filter(|p| class(view, p.a).is_barrier()).collect();
    let loads = pairs.iter().filter(|p| matches!(class(view, p.a), InstructionClass::Load(_)));
    let mut found = Vec::new();
    for load in loads {
        let crosses = |barrier: &&&crate::compare::Pair| {
            // Partners that were aligned stand in one order.
            if load.kind != Match::Moved && barrier.kind != Match::Moved {
                return false;
            }
            let before_a = in_a[load.a] < in_a[barrier.a];
            let before_b = in_b[load.b] < in_b[barrier.b];
            let (mine, other) = match view.side {
                Side::A => (before_a, before_b),
                Side::B => (before_b, before_a),
            };
            mine && !other
        };
        if let Some(barrier) = barriers.iter().find(crosses) {
            found.push(Occurrence {
                a: vec![load.a, barrier.a],
                b: vec![load.b, barrier.b],
                ..Occurrence::default()
            });
        }
    }
    found
}

fn class(view: &View, a: usize) -> InstructionClass {
    match view.side {
        Side::A => view.mine.instructions[a].class,
        Side::B => view.other.instructions[a].class,
    }
}
