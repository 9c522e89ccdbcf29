//! Whether an instruction of one side is executed at most as often as instructions of the other side.
//!
//! It is, if it stands in the same loops, which are gone through as often, or in fewer of them, and if all that must hold for the other side's
//! to be executed must hold for it, too. Loops are the same if their counters go through the same numbers ([`Course`]) and if every other way out
//! of the other side's is one of mine as well.

use super::conditions::{Condition, Conditions};
use crate::code::Code;
use crate::code::value::{Node, Value, Values};
use crate::compare::{Match, Matching};
use crate::loops::trips::{Course, courses};
use crate::loops::{Change, Loops};
use ptx::graph::dominates;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

pub(super) struct Often<'p> {
    code: [&'p Code<'p>; 2],
    matching: &'p Matching,
    values: &'p Values,
    loops: Rc<Loops>,
    conditions: [Conditions; 2],
    courses: [Vec<Option<Course>>; 2],
    /// By my side, my loop and the other side's.
    same: RefCell<HashMap<(usize, usize, usize), bool>>,
}

impl<'p> Often<'p> {
    pub fn new(
        code: [&'p Code<'p>; 2],
        matching: &'p Matching,
        values: &'p Values,
        loops: Rc<Loops>,
    ) -> Often<'p> {
        Often {
            code,
            matching,
            values,
            loops,
            conditions: code.map(Conditions::of),
            courses: code.map(courses),
            same: RefCell::default(),
        }
    }

    /// Whether my instruction is executed at most as often as these of the other side together.
    pub fn is_at_most(&self, mine: usize, own: usize, theirs: &[usize]) -> bool {
        self.compare(mine, own, theirs, false)
    }

    /// The same, where the loops that are around the other side's alone are entered if `entered`.
    fn compare(&self, mine: usize, own: usize, theirs: &[usize], entered: bool) -> bool {
        let loops = theirs.iter().all(|at| self.inner(mine, own, *at).is_some());
        let mut needed: Vec<BTreeSet<Condition>> = theirs
            .iter()
            .map(|at| self.needed(mine, own, *at, entered))
            .collect();
        merge(&mut needed, self.code[1 - mine]);
        let given = self.conditions[mine].of_instruction(self.code[mine], own);
        let follows = |needed: &BTreeSet<Condition>| {
            let mut needed = needed.iter();
            needed.all(|condition| given.iter().any(|own| self.is_same(mine, *own, *condition)))
        };
        loops && needed.iter().any(follows)
    }

    /// Whether my instruction is executed less often than one of the other side, where a loop that is around that one alone is gone through
    /// more than once.
    pub fn is_less(&self, mine: usize, own: usize, theirs: usize) -> bool {
        self.inner(mine, own, theirs).is_some_and(|inner| {
            let once = |l: &usize| {
                let course = self.courses[1 - mine][*l].as_ref();
                let tested = course.and_then(|course| course.tested);
                tested.is_some_and(|tested| tested < 3)
            };
            let at_most = self.compare(mine, own, &[theirs], true);
            at_most && !inner.is_empty() && !inner.iter().all(once)
        })
    }

    /// The loops around an instruction of the other side that are not around mine, where all that are around mine are the others.
    fn inner(&self, mine: usize, own: usize, theirs: usize) -> Option<Vec<usize>> {
        let (x, y) = (
            around(self.code[mine], own),
            around(self.code[1 - mine], theirs),
        );
        let outer = x.len();
        let same = x.len() <= y.len()
            && x.iter().zip(&y).all(|(x, y)| {
                self.is_same_loop(mine, *x, *y) && self.is_within(mine, (*x, own), (*y, theirs))
            });
        same.then(|| y[outer.min(y.len())..].to_vec())
    }

    /// Whether mine is behind each way out of a loop that the other side's is behind.
    fn is_within(&self, mine: usize, own: (usize, usize), theirs: (usize, usize)) -> bool {
        let behind = |side: usize, index: usize, exit: usize| {
            let block = self.code[side].instructions[index].block;
            block != exit && dominates(&self.code[side].flow.idom, exit, block)
        };
        exits(self.code[1 - mine], theirs.0).all(|exit| {
            !behind(1 - mine, theirs.1, exit)
                || self
                    .counterpart(mine, own.0, theirs.0, exit)
                    .is_some_and(|at| behind(mine, own.1, at))
        })
    }

    /// Whether a loop of mine goes at most as often through its body as one of the other side.
    fn is_same_loop(&self, mine: usize, own: usize, theirs: usize) -> bool {
        let key = (mine, own, theirs);
        if let Some(known) = self.same.borrow().get(&key) {
            return *known;
        }
        let group = self.loops.of[mine][own].map(|group| &self.loops.groups[group]);
        let partners = self.loops.partner(mine, own) == Some(theirs)
            && group.is_some_and(|group| group.change == Change::Same);
        let found = partners
            && self.is_as_long(mine, own, theirs)
            && exits(self.code[1 - mine], theirs)
                .all(|exit| self.counterpart(mine, own, theirs, exit).is_some());
        self.same.borrow_mut().insert(key, found);
        found
    }

    fn is_as_long(&self, mine: usize, own: usize, theirs: usize) -> bool {
        match (&self.courses[mine][own], &self.courses[1 - mine][theirs]) {
            (Some(x), Some(y)) => {
                x.is_as_long(self.code[mine], y, self.code[1 - mine], self.values)
            }
            // No counter decides: each way out is one of the other side, as the ways out say.
            (None, None) => true,
            _ => false,
        }
    }

    /// My way out of a loop that is one of the other side.
    fn counterpart(&self, mine: usize, own: usize, theirs: usize, exit: usize) -> Option<usize> {
        if let (Some(x), Some(y)) = (&self.courses[mine][own], &self.courses[1 - mine][theirs])
            && y.exit == exit
        {
            return Some(x.exit);
        }
        let last = *self.code[1 - mine].flow.blocks[exit].instructions.last()?;
        let partner = match mine {
            0 => self.matching.a_of(last),
            _ => self.matching.b_of(last),
        }?;
        let way = |side: usize, block: usize, l: usize| {
            let nodes = &self.code[side].flow.loops[l].nodes;
            let ways = &self.code[side].flow.blocks[block].successors;
            ways.iter().position(|way| !nodes.contains(way))
        };
        let block = self.code[mine].instructions[partner].block;
        let (x, y) = (way(mine, block, own)?, way(1 - mine, exit, theirs)?);
        let leaves = self.code[mine].flow.loops[own].nodes.contains(&block);
        let same = self.is_same(mine, Condition::Way(partner, x), Condition::Way(last, y));
        (leaves && same).then_some(block)
    }

    /// What must hold for an instruction of the other side to be executed, the ways out of loops apart that are around both.
    fn needed(&self, mine: usize, own: usize, theirs: usize, entered: bool) -> BTreeSet<Condition> {
        let code = self.code[1 - mine];
        let all = around(code, theirs);
        let outer = around(self.code[mine], own).len();
        let block = code.instructions[theirs].block;
        let of_loop = |condition: &Condition| {
            let Condition::Way(branch, _) = *condition else {
                return false;
            };
            let Some(instr) = code.instructions.get(branch) else {
                return false;
            };
            all.iter().enumerate().any(|(depth, l)| {
                let leaves = exits(code, *l).any(|exit| exit == instr.block);
                // It is executed before it may leave a loop that mine is not in.
                leaves && (depth < outer || dominates(&code.flow.idom, block, instr.block))
                    || entered && depth >= outer && self.is_entrance(1 - mine, branch, *l)
            })
        };
        let needed = self.conditions[1 - mine].of_instruction(code, theirs);
        needed.into_iter().filter(|c| !of_loop(c)).collect()
    }

    /// Whether a branch in front of a loop asks whether it is gone through at all: it looks at the bound that the loop's counter is compared with,
    /// and its ways meet where the loop's do.
    fn is_entrance(&self, side: usize, branch: usize, own: usize) -> bool {
        let (code, values) = (self.code[side], self.values);
        let bound = self.courses[side][own]
            .as_ref()
            .and_then(|course| course.bound(code, values));
        let compared = match self.predicate(code, branch).map(|value| values.node(value)) {
            Some(Node::Computed(_, _, operands)) => bound.is_some_and(|b| operands.contains(&b)),
            _ => false,
        };
        let (block, header) = (code.instructions[branch].block, code.flow.loops[own].header);
        let meet = code.flow.ipdom[block];
        let behind = std::iter::successors(code.flow.ipdom[header], |&at| code.flow.ipdom[at]);
        let mut behind = behind.take(code.flow.blocks.len());
        compared
            && dominates(&code.flow.idom, block, header)
            && meet.is_some_and(|meet| behind.any(|at| at == meet))
    }

    /// Whether a condition of mine is one of the other side.
    fn is_same(&self, mine: usize, own: Condition, theirs: Condition) -> bool {
        let (code, other) = (self.code[mine], self.code[1 - mine]);
        let (x, y) = match (own, theirs) {
            (Condition::Way(x, first), Condition::Way(y, second)) if first == second => (x, y),
            (Condition::Guard(x, first), Condition::Guard(y, second)) if first == second => (x, y),
            (Condition::Way(x, way), Condition::Guard(y, holds))
            | (Condition::Guard(y, holds), Condition::Way(x, way))
                if (way == 0) == holds =>
            {
                // One side branches, the other one guards.
                let (x, y) = match own {
                    Condition::Way(..) => (x, y),
                    Condition::Guard(..) => (y, x),
                };
                return match (self.predicate(code, x), self.predicate(other, y)) {
                    (Some(x), Some(y)) => x == y && self.values.is_fixed(x),
                    _ => false,
                };
            }
            _ => return false,
        };
        let pair = [&self.matching.of_a, &self.matching.of_b][mine]
            .get(x)
            .copied();
        let pair = pair.flatten().map(|pair| &self.matching.pairs[pair]);
        let pair = pair.filter(|pair| [pair.a, pair.b][1 - mine] == y);
        let (Some(p), Some(q)) = (self.predicate(code, x), self.predicate(other, y)) else {
            return pair.is_some_and(|pair| pair.kind == Match::Same);
        };
        let operation = |value: Value| match self.values.node(value) {
            Node::Computed(opcode, modifiers, _) => Some((opcode, modifiers)),
            _ => None,
        };
        let line = code.instructions[x].site;
        let one_line = line != 0 && line == other.instructions[y].site;
        let alike = operation(p).is_some() && operation(p) == operation(q);
        p == q && (self.values.is_fixed(p) || pair.is_some())
            || pair.is_some_and(|pair| pair.kind == Match::Same || one_line && alike)
    }

    /// The value of the predicate that a branch or a guarded instruction looks at.
    fn predicate(&self, code: &Code, index: usize) -> Option<Value> {
        let instr = code.instructions.get(index)?;
        instr.instr.guard.as_ref()?;
        instr.sources.first().copied()
    }
}

/// The loops around an instruction, the outermost first.
fn around(code: &Code, index: usize) -> Vec<usize> {
    let block = code.instructions[index].block;
    let loops = &code.flow.loops;
    let mut all: Vec<usize> = (0..loops.len())
        .filter(|l| loops[*l].nodes.contains(&block))
        .collect();
    all.sort_by_key(|l| std::cmp::Reverse(loops[*l].nodes.len()));
    all
}

/// The blocks that a loop may be left from.
fn exits<'c>(code: &'c Code, own: usize) -> impl Iterator<Item = usize> + 'c {
    let nodes = &code.flow.loops[own].nodes;
    nodes.iter().copied().filter(|&node| {
        let block = &code.flow.blocks[node];
        block.leaves || block.successors.iter().any(|next| !nodes.contains(next))
    })
}

/// Joins sets of conditions that differ in which of its two ways a branch goes.
fn merge(sets: &mut Vec<BTreeSet<Condition>>, code: &Code) {
    let other = |condition: &Condition| match *condition {
        Condition::Way(branch, way) => {
            let block = code.instructions.get(branch).map(|i| i.block);
            let ways = block.map_or(0, |block| code.flow.blocks[block].successors.len());
            (ways == 2 && way < 2).then(|| Condition::Way(branch, 1 - way))
        }
        Condition::Guard(index, holds) => Some(Condition::Guard(index, !holds)),
    };
    let joined = |x: &BTreeSet<Condition>, y: &BTreeSet<Condition>| {
        let (mut left, mut right) = (x.difference(y), y.difference(x));
        let (Some(one), None) = (left.next(), left.next()) else {
            return None;
        };
        let (Some(two), None) = (right.next(), right.next()) else {
            return None;
        };
        (other(one).as_ref() == Some(two)).then(|| x.intersection(y).copied().collect())
    };
    'again: loop {
        for x in 0..sets.len() {
            for y in x + 1..sets.len() {
                if let Some(both) = joined(&sets[x], &sets[y]) {
                    sets.swap_remove(y);
                    sets[x] = both;
                    continue 'again;
                }
            }
        }
        return;
    }
}
