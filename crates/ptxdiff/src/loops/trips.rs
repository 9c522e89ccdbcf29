//! How often a loop runs, where its text tells: its counter's first value, step and end.
//!
//! A loop's counter is the one register that its exit's comparison depends on and that the loop changes, once in each iteration (A. V. Aho et
//! al., "Compilers: Principles, Techniques, and Tools", 9.1.8, induction variables). Where it starts at a constant and is compared with one, the
//! iterations are gone through.
//!
//! What it cannot see: ways out besides that comparison, which only make the number of iterations smaller.

use crate::code::value::{Value, Values};
use crate::code::{Code, Token};
use crate::evaluate::{Definitions, signed};
use ptx::graph::dominates;
use std::collections::HashMap;

/// How a loop counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often its body is executed, unless it is left before.
    pub trips: Option<u32>,
    /// What each iteration adds to its counter.
    pub step: Option<i64>,
}

/// What a loop counts through: how often it runs, where that is not known as a number.
#[derive(Clone, Debug)]
pub struct Course {
    /// The block that the comparison leaves the loop from.
    pub exit: usize,
    /// How often the comparison is made, unless the loop is left before.
    pub tested: Option<u32>,
    start: Option<Value>,
    /// What an iteration makes of the counter.
    next: Option<Value>,
    test: usize,
    /// Which way of the exit stays in the loop.
    stays: Option<usize>,
    after: bool,
}

impl Course {
    /// What the counter is compared with, where that is no constant.
    pub fn bound(&self, code: &Code, values: &Values) -> Option<Value> {
        let sources = code.instructions[self.test].sources.iter().copied();
        let mut known = sources.filter(|v| values.is_fixed(*v));
        known.find(|value| values.constant(*value).is_none())
    }

    /// Whether two loops, of two functions, make their comparison as often: they start with the same value, change it in the
    /// same way and compare it in the same way with the same bound.
    pub fn is_as_long(&self, own: &Code, other: &Course, theirs: &Code, values: &Values) -> bool {
        if let (Some(x), Some(y)) = (self.tested, other.tested) {
            return x == y;
        }
        let (Some((start, next, test)), Some((first, then, compared))) = (
            self.start.zip(self.next).zip(self.compared(own)).map(flat),
            other
                .start
                .zip(other.next)
                .zip(other.compared(theirs))
                .map(flat),
        ) else {
            return false;
        };
        start == first
            && values.is_fixed(start)
            && values.vary_alike(next, then)
            && values.vary_alike(test, compared)
            && self.stays.is_some()
            && (self.stays, self.after) == (other.stays, other.after)
    }

    fn compared(&self, code: &Code) -> Option<Value> {
        code.instructions[self.test].result
    }
}

fn flat(((a, b), c): ((Value, Value), Value)) -> (Value, Value, Value) {
    (a, b, c)
}

/// What each loop of a function counts through.
pub fn courses(code: &Code) -> Vec<Option<Course>> {
    let definitions = Definitions::of(code);
    let loops = 0..code.flow.loops.len();
    loops.map(|own| course(code, &definitions, own)).collect()
}

fn course(code: &Code, definitions: &Definitions, own: usize) -> Option<Course> {
    let found = &code.flow.loops[own];
    let counters = found.nodes.iter().filter_map(|&exit| {
        let counter = counter(code, definitions, own, exit)?;
        let in_front = exit == found.header && found.nodes.len() > 1;
        let trips = trips(code, definitions, own, &counter);
        let ways = &code.flow.blocks[exit].successors;
        Some(Course {
            exit,
            tested: trips.map(|trips| trips + u32::from(in_front)),
            start: first(code, definitions, own, &counter)
                .and_then(|at| code.instructions[at].result),
            next: code.instructions[counter.update].result,
            test: counter.test,
            stays: ways.iter().position(|way| found.nodes.contains(way)),
            after: counter.after,
        })
    });
    counters.reduce(|one, other| if one.tested.is_some() { one } else { other })
}

/// Iterations that are gone through.
const MOST: u32 = 4096;

/// Instructions between a comparison and a counter.
const DEPTH: u32 = 8;

/// A counter and the exit that it decides.
struct Counter {
    /// The register.
    web: u32,
    /// The instruction that changes it.
    update: usize,
    /// The comparison.
    test: usize,
    /// The block that the loop is left from.
    exit: usize,
    /// Whether the comparison is made with what the update gave.
    after: bool,
}

/// How a loop of a function counts.
pub fn count(code: &Code, definitions: &Definitions, own: usize) -> Count {
    let nodes = &code.flow.loops[own].nodes;
    let counters = nodes
        .iter()
        .filter_map(|&exit| counter(code, definitions, own, exit));
    let counted = counters.map(|counter| Count {
        trips: trips(code, definitions, own, &counter),
        step: step(code, definitions, &counter),
    });
    let found = counted.reduce(|one, other| if one.trips.is_some() { one } else { other });
    found.unwrap_or_default()
}

/// The counter that decides whether a loop is left from a block.
fn counter(code: &Code, definitions: &Definitions, own: usize, exit: usize) -> Option<Counter> {
    let nodes = &code.flow.loops[own].nodes;
    let block = &code.flow.blocks[exit];
    let last = &code.instructions[*block.instructions.last()?];
    let leaves = block.successors.iter().any(|next| !nodes.contains(next));
    let Some(Token::Register(predicate)) = last.operands.first().and_then(|guard| guard.first())
    else {
        return None;
    };
    if !leaves || !last.is_conditional() {
        return None;
    }
    let [test] = *definitions.of_register(*predicate) else {
        return None;
    };
    // Registers that the loop changes, each with who reads it.
    let (mut open, mut found) = (vec![(test, 0)], Vec::new());
    while let Some((reader, depth)) = open.pop() {
        let instr = &code.instructions[reader];
        if depth > DEPTH || instr.instr.guard.is_some() {
            return None;
        }
        let tokens = instr.operands.iter().skip(instr.destinations()).flatten();
        for token in tokens {
            let Token::Register(web) = token else {
                continue;
            };
            let all = definitions.of_register(*web);
            let inside = |&&i: &&usize| nodes.contains(&code.instructions[i].block);
            match (all, all.iter().filter(inside).count()) {
                (_, 0) => {}
                ([one], 1) => open.push((*one, depth + 1)),
                (_, 1) => found.push((*web, *all.iter().find(inside)?, reader)),
                _ => return None,
            }
        }
    }
    let &(web, update, first) = found.first()?;
    let after = code.dominates(update, first);
    let one = found
        .iter()
        .all(|f| f.0 == web && code.dominates(update, f.2) == after);
    let always = is_in_each_iteration(code, update, own);
    one.then_some(())?;
    always.then_some(Counter {
        web,
        update,
        test,
        exit,
        after,
    })
}

/// Whether an instruction is executed once in each iteration of a loop.
pub fn is_in_each_iteration(code: &Code, index: usize, own: usize) -> bool {
    let flow = &code.flow;
    let (instr, header) = (&code.instructions[index], flow.loops[own].header);
    let mut ends = flow.loops[own].nodes.iter();
    instr.instr.guard.is_none()
        && flow.innermost[instr.block] == Some(own)
        && ends.all(|&node| {
            let last = flow.blocks[node].successors.contains(&header);
            !last || dominates(&flow.idom, instr.block, node)
        })
}

/// The one instruction that gives a counter its first value.
fn first(code: &Code, definitions: &Definitions, own: usize, counter: &Counter) -> Option<usize> {
    let found = &code.flow.loops[own];
    let all = definitions.of_register(counter.web).iter();
    let outside = all.filter(|&&i| !found.nodes.contains(&code.instructions[i].block));
    let mut before =
        outside.filter(|&&i| dominates(&code.flow.idom, code.instructions[i].block, found.header));
    match (before.next(), before.next()) {
        (Some(&first), None) => Some(first),
        _ => None,
    }
}

fn trips(code: &Code, definitions: &Definitions, own: usize, counter: &Counter) -> Option<u32> {
    let found = &code.flow.loops[own];
    let first = first(code, definitions, own, counter)?;
    let mut value = definitions.with_registers(first, &HashMap::new())?;
    let ways = &code.flow.blocks[counter.exit].successors;
    for tested in 1..=MOST {
        let next =
            definitions.with_registers(counter.update, &HashMap::from([(counter.web, value)]))?;
        let compared = if counter.after { next } else { value };
        let test = HashMap::from([(counter.web, compared)]);
        let holds = definitions.with_registers(counter.test, &test)? & 1 == 1;
        let to = ways.get(usize::from(!holds))?;
        if !found.nodes.contains(to) {
            // What is tested in front of the body is tested once more.
            let in_front = counter.exit == found.header && found.nodes.len() > 1;
            return Some(tested - u32::from(in_front));
        }
        value = next;
    }
    None
}

fn step(code: &Code, definitions: &Definitions, counter: &Counter) -> Option<i64> {
    let ty = code.instructions[counter.update]
        .typed
        .modifiers
        .types()
        .next_back()?;
    let by = |value: u64| {
        let next =
            definitions.with_registers(counter.update, &HashMap::from([(counter.web, value)]));
        next.map(|next| signed(next.wrapping_sub(value), ty.bits()))
    };
    let step = by(1 << 10)?;
    (Some(step) == by(5 << 10) && step != 0).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;

    /// How the loops of a kernel count.
    fn counts(body: &str) -> Vec<Count> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u32 n)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<19>;\n\
             ld.param.u32 %r9, [n];\n{body}\nret;\n}}\n"
        );
        let unit = Unit::parse(text).unwrap();
        let mut values = Values::default();
        let function = unit.entry("k").unwrap();
        let code = Code::of(&unit.text, &unit.map, function, &mut values).unwrap();
        let definitions = Definitions::of(&code);
        let loops = 0..code.flow.loops.len();
        loops.map(|own| count(&code, &definitions, own)).collect()
    }

    fn counted(trips: impl Into<Option<u32>>, step: impl Into<Option<i64>>) -> Vec<Count> {
        let (trips, step) = (trips.into(), step.into());
        vec![Count { trips, step }]
    }

    #[test]
    fn constant_bounds_tell_how_often_a_loop_runs() {
        let up = "mov.u32 %r2, 0; mov.u32 %r1, %r2; L: bar.sync 0; add.s32 %r1, %r1, 3; setp.lt.s32 %p1, %r1, 10; @%p1 bra L;";
        assert_eq!(counts(up), counted(4, 3));
        let down = "mov.u32 %r1, 7; L: bar.sync 0; setp.eq.s32 %p1, %r1, 0; add.s32 %r1, %r1, -1; @!%p1 bra L;";
        assert_eq!(counts(down), counted(8, -1));
        let doubled = "mov.u32 %r1, 1; L: bar.sync 0; shl.b32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 32; @%p1 bra L;";
        assert_eq!(counts(doubled), counted(5, None));
        let in_front = "mov.u32 %r1, 0; L: setp.ge.s32 %p1, %r1, 6; @%p1 bra E; bar.sync 0; add.s32 %r1, %r1, 2; bra L; E:";
        assert_eq!(counts(in_front), counted(3, 2));
    }

    #[test]
    fn what_is_not_known_is_not_counted() {
        let bound = "mov.u32 %r1, 0; L: bar.sync 0; add.s32 %r1, %r1, 4; setp.lt.s32 %p1, %r1, %r9; @%p1 bra L;";
        assert_eq!(counts(bound), counted(None, 4));
        let start = "mov.u32 %r1, %r9; L: bar.sync 0; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 8; @%p1 bra L;";
        assert_eq!(counts(start), counted(None, 1));
        // Only some iterations count.
        let sometimes = "mov.u32 %r1, 0; setp.eq.s32 %p2, %r9, 1; L: @%p2 bra S; add.s32 %r1, %r1, 1; S: setp.lt.s32 %p1, %r1, 8; @%p1 bra L;";
        assert_eq!(counts(sometimes), counted(None, None));
        let endless =
            "mov.u32 %r1, 0; L: add.s32 %r1, %r1, 0; setp.lt.s32 %p1, %r1, 8; @%p1 bra L;";
        assert_eq!(counts(endless), counted(None, None));
    }
}
