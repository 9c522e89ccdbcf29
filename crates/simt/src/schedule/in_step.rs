//! All warps of a block in step: the one that is furthest behind in the program runs, for one memory or synchronisation operation; blocks
//! take turns.
//!
//! It is the order in which code that lacks a barrier computes what its author had in mind: everybody is done with a line before anybody
//! goes on to the next one, and with a turn of a loop before anybody begins another. No GPU promises anything like it.
//!
//! Where a warp stands follows from its program counter and, for each loop around it, from the turns that it has taken. A loop is seen when
//! somebody jumps back for the first time: it reaches from where that leads to where it came from. So nothing needs to be known of the program,
//! and a compiler that lays out a loop in pieces is understood less well; then warps are in step between loops, and not within this one.

use super::{Decision, Ready, Runnable, Schedule};
use crate::ids::{BlockId, LaneId, WarpId};
use std::cmp::Ordering;
use std::collections::HashMap;

/// A part of a warp: the one with this lowest lane.
type Part = (BlockId, WarpId, LaneId);

fn part(r: &Runnable) -> Part {
    (r.block, r.warp, LaneId(r.lanes.trailing_zeros() as u8))
}

/// Loops of which notes are kept.
const LOOPS: usize = 64;

/// A loop: the first and the last operation of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop {
    first: u32,
    last: u32,
}

impl Loop {
    fn holds(&self, pc: u32) -> bool {
        (self.first..=self.last).contains(&pc)
    }
}

/// See the module's page.
#[derive(Debug, Default)]
pub(crate) struct InStep {
    /// The loops that were seen, the larger before the smaller.
    loops: Vec<Loop>,
    /// Turns that parts have taken, by loop.
    turns: HashMap<(Part, u32), u64>,
    /// Who ran last, and from where.
    last: Option<(Part, u32)>,
}

impl InStep {
    fn taken(&self, part: Part, at: &Loop) -> u64 {
        self.turns.get(&(part, at.first)).copied().unwrap_or(0)
    }

    /// Who of two is further behind.
    fn behind(&self, a: &Runnable, b: &Runnable) -> Ordering {
        let both = self.loops.iter().filter(|l| l.holds(a.pc) && l.holds(b.pc));
        let mut turns = both.map(|l| self.taken(part(a), l).cmp(&self.taken(part(b), l)));
        let turns = turns.find(|order| order.is_ne());
        turns
            .unwrap_or_else(|| a.pc.cmp(&b.pc))
            .then(part(a).cmp(&part(b)))
    }

    /// Takes note of where the one that ran last has come to.
    fn moved(&mut self, to: &Runnable, from: u32) {
        let part = part(to);
        if to.pc <= from {
            let few = self.loops.len() < LOOPS;
            match self.loops.iter_mut().find(|l| l.first == to.pc) {
                Some(known) => known.last = known.last.max(from),
                None if few => self.loops.push(Loop {
                    first: to.pc,
                    last: from,
                }),
                None => {}
            }
            self.loops
                .sort_by_key(|l| (std::cmp::Reverse(l.last - l.first), l.first));
            *self.turns.entry((part, to.pc)).or_default() += 1;
        }
        // Whoever comes to a loop again begins at its first turn.
        for left in self.loops.iter().filter(|l| !l.holds(to.pc)) {
            self.turns.remove(&(part, left.first));
        }
    }
}

impl Schedule for InStep {
    fn decide(&mut self, ready: &Ready) -> Decision {
        let mut from = 0;
        if let Some((last, pc)) = self.last {
            let mut block = ready.of(last.0).iter();
            if let Some(now) = block.find(|r| part(r) == last) {
                self.moved(now, pc);
            }
            // The blocks take turns.
            from = ready.behind(last.0) % ready.len();
        }
        let block = ready.get(from).block;
        let all = ready.of(block).iter();
        let chosen = all.min_by(|a, b| self.behind(a, b)).copied();
        let chosen = chosen.unwrap_or_else(|| ready.get(from));
        self.last = Some((part(&chosen), chosen.pc));
        let index = ready.index(block, |r| part(r) == part(&chosen));
        Decision {
            index: index.unwrap_or(from) as u32,
            lanes: chosen.lanes,
            visible: 1,
            stale: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs warps of one block, each with the operations that it executes; who executes which.
    fn order(programs: &[&[u32]]) -> Vec<(usize, u32)> {
        let mut done = vec![0; programs.len()];
        let mut schedule = InStep::default();
        let mut out = Vec::new();
        loop {
            let mut ready = Ready::default();
            let warps = programs.iter().zip(&done).enumerate();
            let mut all: Vec<Runnable> = warps
                .filter_map(|(warp, (program, done))| {
                    Some(Runnable {
                        block: BlockId(0),
                        warp: WarpId(warp as u32),
                        lanes: !0,
                        pc: *program.get(*done)?,
                    })
                })
                .collect();
            if all.is_empty() {
                return out;
            }
            let mut splits = vec![0; all.len()];
            ready.update(BlockId(0), &mut all, &mut splits);
            let index = schedule.decide(&ready).index as usize;
            let warp = ready.get(index).warp.0 as usize;
            out.push((warp, programs[warp][done[warp]]));
            done[warp] += 1;
        }
    }

    #[test]
    fn everybody_is_done_with_a_line_before_anybody_goes_on() {
        let order = order(&[&[1, 2, 5], &[1, 5], &[1, 2, 3, 4, 5]]);
        let lines: Vec<u32> = order.iter().map(|(_, pc)| *pc).collect();
        assert_eq!(lines, [1, 1, 1, 2, 2, 3, 4, 5, 5, 5]);
    }

    #[test]
    fn nobody_begins_another_turn_of_a_loop_before_all_have_ended_theirs() {
        // One of two warps takes fewer turns, and waits behind the loop.
        let order = order(&[&[1, 2, 3, 2, 3, 2, 3, 9], &[1, 2, 3, 9]]);
        let expected = [
            (0, 1),
            (1, 1),
            (0, 2),
            (1, 2),
            (0, 3),
            (1, 3),
            (0, 2),
            (0, 3),
            (0, 2),
            (0, 3),
            (0, 9),
            (1, 9),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn loops_in_loops_are_taken_turn_by_turn() {
        let inner = [2, 3, 2, 3, 4];
        let long: Vec<u32> = [[1].as_slice(), &inner, &[1], &inner, &[9]].concat();
        let order = order(&[&long, &long, &[1, 2, 3, 4, 1, 4, 9]]);
        // In each turn of the outer loop, all are done with the inner one before anybody goes on.
        let fours: Vec<usize> = (0..order.len()).filter(|i| order[*i].1 == 4).collect();
        let twos: Vec<usize> = (0..order.len()).filter(|i| order[*i].1 == 2).collect();
        assert!(twos[4] < fours[0] && fours[2] < twos[5], "{order:?}");
        assert!(order[order.len() - 3..].iter().all(|(_, pc)| *pc == 9));
    }
}
