//! Loops that wait for a phase of an mbarrier and do nothing else: `while (!mbarrier.try_wait(…))` as written by hand, and libcu++'s, which look at
//! the clock and sleep between two looks.
//!
//! A thread in such a loop need not run until its phase is complete ([`crate::exec`], `AwaitPhase`): going around before changes nothing
//! but its own registers. It stays there for ever where the phase can't complete. Both need that nothing else ends the loop, so that is looked
//! at. The loop of a test is all code on ways from the test to itself that only computes, sleeps and looks at the clock, wherever the compiler has
//! put it.
//!
//! * There is no other test in it.
//! * Whether it is left depends, over whatever registers, on its test and on what does not change in the loop. Each register on the way has
//!   one definition in the loop, which is executed each time around, and does not depend on itself: so its value is the same each time.
//!
//! A loop that gives up after a while, or polls two mbarriers, is no such loop: it runs, and looks.

use super::def_use::visit_operands;
use crate::ids::Site;
use crate::op::*;
use crate::program::Program;
use std::collections::{BTreeSet, HashSet};

/// Instructions of a loop, at most.
const MOST: usize = 1024;

/// Marks the tests in such loops.
pub(super) fn find(program: &mut Program) {
    let is_test = |at: &usize| matches!(program.code[*at].op, Op::AwaitPhase(_));
    let tests = (0..program.code.len()).filter(is_test);
    let waits: Vec<usize> = tests
        .filter(|test| Loop::of(program, *test).is_some_and(|l| l.only_waits()))
        .collect();
    for at in waits {
        if let Op::AwaitPhase(test) = &mut program.code[at].op {
            test.waits = true;
        }
    }
}

/// A test and the code on ways back to it.
struct Loop<'p> {
    program: &'p Program,
    test: usize,
    code: BTreeSet<usize>,
}

/// Where an instruction leads to.
fn successors(program: &Program, at: usize) -> impl Iterator<Item = usize> {
    let i = &program.code[at];
    let (next, jump) = match i.op {
        Op::Branch { target } => (i.guard != Slot::TRUE, Some(target as usize)),
        _ => (true, None),
    };
    next.then_some(at + 1).into_iter().chain(jump)
}

/// Whether nobody notices how often an instruction is executed. What belongs to a test looks at its mbarrier.
fn may_repeat(i: &Instr, test: Site) -> bool {
    match i.op {
        Op::Alu { .. }
        | Op::Setp { .. }
        | Op::Set { .. }
        | Op::Lop3Test { .. }
        | Op::Pack { .. }
        | Op::Special { .. }
        | Op::IsSpace { .. }
        | Op::Cvta { .. }
        | Op::MapShared(_)
        | Op::FrameAddress { .. }
        | Op::Video(_)
        | Op::Yield
        | Op::Nop
        | Op::Branch { .. }
        | Op::AwaitPhase(_)
        | Op::PhaseAwaited { .. } => true,
        Op::BarrierBypass {
            consumes_arrival, ..
        } => !consumes_arrival,
        Op::Memory(_) => i.site == test,
        _ => false,
    }
}

impl<'p> Loop<'p> {
    /// That of a test; `None` if there is none, or one that is too long to be looked at.
    fn of(program: &'p Program, test: usize) -> Option<Loop<'p>> {
        let site = program.code[test].site;
        let (mut reached, mut left) = (BTreeSet::new(), vec![test]);
        let mut edges = Vec::new();
        while let Some(at) = left.pop() {
            let repeats = program.code.get(at).is_some_and(|i| may_repeat(i, site));
            if !repeats || !reached.insert(at) {
                continue;
            }
            if reached.len() > MOST {
                return None;
            }
            for next in successors(program, at) {
                edges.push((at, next));
                left.push(next);
            }
        }
        // Of these, what leads back.
        let mut code = BTreeSet::from([test]);
        loop {
            let back = |(from, to): &(usize, usize)| code.contains(to) && !code.contains(from);
            let new: Vec<usize> = edges.iter().filter(|e| back(e)).map(|e| e.0).collect();
            if new.is_empty() {
                break;
            }
            code.extend(new);
        }
        let closed = edges
            .iter()
            .any(|(from, to)| *to == test && code.contains(from));
        closed.then_some(Loop {
            program,
            test,
            code,
        })
    }

    /// Whether it is left when its test finds the phase complete, and never otherwise.
    fn only_waits(&self) -> bool {
        let other = |(at, i): (usize, &Instr)| at != self.test && matches!(i.op, Op::AwaitPhase(_));
        if self.body().any(other) {
            return false;
        }
        let inputs = self.body().filter(|(_, i)| i.site == self.site());
        let inputs = inputs.flat_map(|(_, i)| self.read(i));
        let mut steady = HashSet::new();
        inputs
            .chain(self.deciders())
            .all(|row| self.is_steady(row, &mut Vec::new(), &mut steady))
    }

    fn body(&self) -> impl Iterator<Item = (usize, &Instr)> {
        self.code.iter().map(|at| (*at, &self.program.code[*at]))
    }

    fn site(&self) -> Site {
        self.program.code[self.test].site
    }

    /// Whether an instruction is executed each time around.
    fn is_on_every_way(&self, at: usize) -> bool {
        let (mut seen, mut left) = (HashSet::new(), vec![self.test]);
        while let Some(from) = left.pop() {
            if from == at || !self.code.contains(&from) || !seen.insert(from) {
                continue;
            }
            for next in successors(self.program, from) {
                if next == self.test {
                    return false;
                }
                left.push(next);
            }
        }
        true
    }

    /// The predicates that decide whether the loop is left.
    fn deciders(&self) -> Vec<Row> {
        let branches = || {
            self.body()
                .filter(|(_, i)| matches!(i.op, Op::Branch { .. }))
        };
        let leaves = |at: usize| successors(self.program, at).any(|to| !self.code.contains(&to));
        // Where a way out is reached only now and then, what leads to it decides.
        let hidden = branches().any(|(at, _)| leaves(at) && !self.is_on_every_way(at));
        let all = branches().filter(|(at, _)| hidden || leaves(*at));
        all.filter_map(|(_, i)| row_of(RegisterClass::P, i.guard))
            .collect()
    }

    fn read(&self, i: &Instr) -> Vec<Row> {
        let mut rows = Vec::new();
        visit_operands(self.program, i, &mut |row, _| rows.push(row), &mut |_| {});
        rows
    }

    fn writes(&self, i: &Instr, row: Row) -> bool {
        let mut writes = false;
        visit_operands(self.program, i, &mut |_, _| {}, &mut |r| writes |= r == row);
        writes
    }

    /// Whether a register has the same value each time around, as long as the test finds its phase incomplete.
    fn is_steady(&self, row: Row, above: &mut Vec<Row>, known: &mut HashSet<Row>) -> bool {
        if known.contains(&row) {
            return true;
        }
        if above.contains(&row) {
            return false;
        }
        let definitions = self.body().filter(|(_, i)| self.writes(i, row));
        let definitions: Vec<(usize, &Instr)> = definitions.collect();
        let steady = match definitions[..] {
            [] => true,
            // What the test finds; what it looks at is asked for by itself.
            [..] if definitions.iter().all(|(_, i)| i.site == self.site()) => true,
            [(at, i)] => {
                above.push(row);
                let computed = !matches!(i.op, Op::Special { .. }) && self.is_on_every_way(at);
                let mut from = self.read(i).into_iter();
                let steady = computed && from.all(|r| self.is_steady(r, above, known));
                above.pop();
                steady
            }
            _ => false,
        };
        if steady {
            known.insert(row);
        }
        steady
    }
}
