//! # accesses-reordered
//!
//! Two volatile, atomic or ordered accesses of a thread have changed places. Threads that communicate by them may see
//! something else: a flag before the data, or, of two threads that each store and then load, both the old value.
//!
//! ## Example
//!
//! ```cpp
//! *(volatile int *)data = 42;
//! *(volatile int *)flag = 1;              // must not come first
//! ```
//!
//! ## How it is recognised
//!
//! Two accesses are on both sides, stronger than `.weak` there, and in different order. They are not in two arms of a
//! branch.
//!
//! ## Limitations
//!
//! Plain accesses may change places. The memory model allows some of these exchanges, too: `volatile` orders like
//! `.relaxed`, which gives no order between two locations.

use super::moved::positions;
use super::{Occurrence, View};
use crate::code::Instr;
use crate::compare::{Match, Pair};
use ptx::semantics::Order;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let (in_a, in_b) = (
        positions(&view.matching.order_a),
        positions(&view.matching.order_b),
    );
    // The view is A's.
    let strong = |instr: &Instr| {
        let memory = instr.typed.memory.as_ref();
        instr.class.is_access() && memory.is_some_and(|m| m.order != Order::Weak)
    };
    let pairs: Vec<&Pair> = view
        .matching
        .pairs
        .iter()
        .filter(|p| strong(&view.mine.instructions[p.a]) && strong(&view.other.instructions[p.b]))
        .filter(|p| !view.is_unclear(p))
        .collect();
    let mut found = Vec::new();
    for moved in pairs.iter().filter(|p| p.kind == Match::Moved) {
        let exchanged = |other: &&&Pair| {
            // Of two that moved, one is enough.
            let once = other.kind != Match::Moved || moved.a < other.a;
            let differ = (in_a[moved.a] < in_a[other.a]) != (in_b[moved.b] < in_b[other.b]);
            let together = !view.mine.exclusive(moved.a, other.a)
                && !view.other.exclusive(moved.b, other.b);
            other.a != moved.a && once && differ && together
        };
        if let Some(other) = pairs.iter().find(exchanged) {
            found.push(Occurrence {
                a: vec![moved.a, other.a],
                b: vec![moved.b, other.b],
                ..Occurrence::default()
            });
        }
    }
    found
}
