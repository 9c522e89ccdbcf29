//! Loads that the compiler speculated: in which lanes their value is used.
//!
//! `v = c ? s[0] : 0` becomes an unconditional `ld` and a `selp` where the load can do no harm. The source reads `s[0]` only
//! in the threads for which `c` holds: a value that is dropped is no read to a detector. For such loads
//! [`MemoryOp::used_if`] holds the predicate that the `selp` decides by.
//!
//! A load qualifies if it is weak, of one element, without guard, from memory whose reads are watched, the only
//! definition of its register, and if every use of the value, through arithmetic alone, comes to a `selp` that takes it where one
//! predicate has one value. Where the predicate is computed only behind the load, what computes it is copied in
//! front of the load.
//!
//! Loops are no exception. Let the definition of a register be the only one and dominate its use. Then no path from the one to the
//! other, and none from anything that lies between them in the dominator tree, passes something higher up in that tree: it
//! could otherwise be reached without passing the definition. So load, predicate and `selp` that dominate each other
//! in a row, in whatever order the first two come, always belong to the same round, and so does all that the predicate
//! is computed from.
//!
//! Blind spots: predicates that depend on what is loaded behind the load; values that branches select.

use super::barrier_postdominators::Blocks;
use super::def_use::visit_operands;
use super::instruction::signature;
use super::scope::Scopes;
use crate::alu::AluOp;
use crate::observer::Order;
use crate::op::*;
use crate::program::{FunctionInfo, Program};
use ptx::graph::{self, Forest};
use std::collections::{HashMap, HashSet};

/// Steps of arithmetic that a value is followed through, and a predicate traced back through.
const DEPTH: u32 = 4;
/// Instructions that are copied in front of one load at most.
const COPIES: usize = 8;

/// Finds such loads in the functions of a program and marks them.
pub(super) fn find(functions: &mut [Vec<Instr>], program: &mut Program, scopes: &mut Scopes) {
    for (index, code) in functions.iter_mut().enumerate() {
        let loads: Vec<usize> = (0..code.len())
            .filter(|at| may_be_speculated(&code[*at], program))
            .collect();
        if loads.is_empty() || !code.iter().any(|i| selection(i).is_some()) {
            continue;
        }
        let flow = Flow::of(code, program, &program.functions[index]);
        let mut found: Vec<(usize, Slot, Vec<Op>)> = Vec::new();
        for at in loads {
            if let Some((condition, copies)) = flow.used_if(at, scopes) {
                found.push((at, condition, copies));
            }
        }
        for (at, condition, _) in &found {
            if let Op::Memory(m) = code[*at].op {
                program.memory_ops[m as usize].used_if = *condition;
            }
        }
        let copies = found.into_iter().map(|(at, _, copies)| (at, copies));
        insert(code, copies.filter(|(_, c)| !c.is_empty()).collect());
    }
}

fn may_be_speculated(i: &Instr, program: &Program) -> bool {
    let Op::Memory(m) = i.op else { return false };
    let m = &program.memory_ops[m as usize];
    let plain = !m.store && m.count == 1 && m.order == Order::Weak && !m.private;
    let watched = m.space.is_between_threads() || m.space == AddressSpace::Local;
    plain && watched && i.guard == Slot::TRUE && m.element < 16
}

/// The operands of a `selp`: what it takes where the predicate holds, what it takes elsewhere, the predicate.
fn selection(i: &Instr) -> Option<[Slot; 3]> {
    match &i.op {
        Op::Alu {
            f: AluOp::WWP_W(_) | AluOp::DDP_D(_),
            s: [a, b, p, ..],
            ..
        } => Some([*a, *b, *p]),
        _ => None,
    }
}

/// Whether it computes one row from others and does nothing else.
fn is_arithmetic(f: &AluOp) -> bool {
    use AluOp::*;
    !matches!(
        f,
        WW_W_Carry(_) | WWW_W_Carry(_) | DD_D_Carry(_) | DDD_D_Carry(_) | WW_PP(_) | WWWWP_WP(_)
    )
}

/// Where a function defines and uses its rows.
struct Flow<'a> {
    program: &'a Program,
    code: &'a [Instr],
    blocks: Blocks,
    idoms: Forest,
    definitions: HashMap<Row, Vec<usize>>,
    uses: HashMap<Row, Vec<usize>>,
    /// Rows that callers write or read.
    outside: HashSet<Row>,
}

impl<'a> Flow<'a> {
    fn of(code: &'a [Instr], program: &'a Program, info: &FunctionInfo) -> Flow<'a> {
        let (mut definitions, mut uses) = (HashMap::new(), HashMap::new());
        for (at, i) in code.iter().enumerate() {
            let note = |map: &mut HashMap<Row, Vec<usize>>, r: Row| {
                map.entry(r).or_default().push(at);
            };
            let mut read = |r: Row, _| note(&mut uses, r);
            visit_operands(program, i, &mut read, &mut |r| note(&mut definitions, r));
        }
        let carried = info.params.iter().chain(&info.results);
        let outside = carried.filter_map(|c| match c {
            Carried::Register(slot, class) => row_of(*class, *slot),
            Carried::Frame { .. } => None,
        });
        let blocks = Blocks::of(code);
        Flow {
            program,
            code,
            idoms: Forest::of(&graph::dominators(0, &blocks.successors)),
            blocks,
            definitions,
            uses,
            outside: outside.collect(),
        }
    }

    /// The only definition of a row, where it defines all lanes that come to it.
    fn definition(&self, row: Row) -> Option<usize> {
        match self.definitions.get(&row)?[..] {
            [at] if self.code[at].guard == Slot::TRUE && !self.outside.contains(&row) => Some(at),
            _ => None,
        }
    }

    /// Whether every path to `b` leads through `a` first.
    fn dominates(&self, a: usize, b: usize) -> bool {
        let (of_a, of_b) = (self.blocks.of_instruction(a), self.blocks.of_instruction(b));
        match of_a == of_b {
            true => a < b,
            false => self.idoms.dominates(of_a, of_b),
        }
    }

    /// The predicate under which the value of a load is used, and what computes it if that is not there yet.
    fn used_if(&self, load: usize, scopes: &mut Scopes) -> Option<(Slot, Vec<Op>)> {
        let mut condition = None;
        self.follow(load, DEPTH, &mut condition)?;
        let condition = condition?;
        let mut copies = Copies {
            flow: self,
            load,
            scopes,
            ops: Vec::new(),
            known: HashMap::new(),
        };
        let here = copies.available(condition, RegisterClass::P, DEPTH)?;
        Some((here, copies.ops))
    }

    /// Follows what an instruction computes to the `selp`s that take or drop it. `None` where something else uses it, or
    /// they don't all take it under the same condition.
    fn follow(&self, from: usize, depth: u32, condition: &mut Option<Slot>) -> Option<()> {
        let result = self.result(from)?;
        if self.definition(result) != Some(from) {
            return None;
        }
        for &at in self.uses.get(&result)? {
            if !self.dominates(from, at) {
                return None;
            }
            let Some([a, b, p]) = selection(&self.code[at]) else {
                self.arithmetic(at).filter(|_| depth > 0)?;
                self.follow(at, depth - 1, condition)?;
                continue;
            };
            let here = match (a.0 == result.1, b.0 == result.1) {
                (true, false) => p,
                (false, true) => p.inverted(),
                _ => return None,
            };
            // The predicate must be of the same round as the value.
            let decided = self.definition(row_of(RegisterClass::P, p)?)?;
            if !self.dominates(decided, at) || *condition.get_or_insert(here) != here {
                return None;
            }
        }
        Some(())
    }

    fn arithmetic(&self, at: usize) -> Option<&'a AluOp> {
        match &self.code[at].op {
            Op::Alu { f, .. } if is_arithmetic(f) => Some(f),
            _ => None,
        }
    }

    /// The row that a load or arithmetic writes, unless it is a predicate.
    fn result(&self, at: usize) -> Option<Row> {
        let (class, d) = match &self.code[at].op {
            Op::Memory(m) => {
                let m = &self.program.memory_ops[*m as usize];
                (m.class, m.regs[0])
            }
            Op::Alu { f, d, .. } => (signature(f).0, *d),
            _ => return None,
        };
        row_of(class, d).filter(|_| class != RegisterClass::P)
    }
}

/// What is copied in front of a load.
struct Copies<'f, 'a, 's> {
    flow: &'f Flow<'a>,
    load: usize,
    scopes: &'s mut Scopes,
    ops: Vec<Op>,
    known: HashMap<Row, Slot>,
}

impl Copies<'_, '_, '_> {
    /// The slot in front of the load that holds what `slot` will hold, or holds already.
    fn available(&mut self, slot: Slot, class: RegisterClass, depth: u32) -> Option<Slot> {
        let Some(wanted) = row_of(class, slot) else {
            return Some(slot); // a constant
        };
        // Negation stays.
        let bits = slot.0 & !wanted.1;
        if let Some(known) = self.known.get(&wanted) {
            return Some(Slot(known.0 | bits));
        }
        let at = self.flow.definition(wanted)?;
        if self.flow.dominates(at, self.load) {
            return Some(slot);
        }
        if depth == 0 || !self.flow.dominates(self.load, at) {
            return None;
        }
        let fresh = self.scopes.rows(class, 1);
        let op = self.copy(at, wanted, fresh, depth - 1)?;
        self.ops.push(op);
        self.known.insert(wanted, fresh);
        (self.ops.len() <= COPIES).then_some(Slot(fresh.0 | bits))
    }

    /// An operand of the instruction at `at`.
    fn operand(&mut self, slot: Slot, class: RegisterClass, at: usize, depth: u32) -> Option<Slot> {
        if let Some(read) = row_of(class, slot)
            && !self.flow.dominates(self.flow.definition(read)?, at)
        {
            return None;
        }
        self.available(slot, class, depth)
    }

    /// The instruction at `at`, with its row `wanted` written to `fresh` instead.
    fn copy(&mut self, at: usize, wanted: Row, fresh: Slot, depth: u32) -> Option<Op> {
        match self.flow.code[at].op.clone() {
            Op::Alu { f, mut s, .. } if is_arithmetic(&f) => {
                for (slot, class) in s.iter_mut().zip(signature(&f).1) {
                    *slot = self.operand(*slot, *class, at, depth)?;
                }
                Some(Op::Alu { f, d: fresh, s })
            }
            Op::Setp {
                f,
                p,
                q,
                mut s,
                combine,
            } => {
                for (slot, class) in s.iter_mut().zip(signature(&f).1) {
                    *slot = self.operand(*slot, *class, at, depth)?;
                }
                let combine = match combine {
                    Some((how, c)) => Some((how, self.operand(c, RegisterClass::P, at, depth)?)),
                    None => None,
                };
                let write = |d: Slot| match row_of(RegisterClass::P, d) == Some(wanted) {
                    true => fresh,
                    false => Slot::NONE,
                };
                Some(Op::Setp {
                    f,
                    p: write(p),
                    q: write(q),
                    s,
                    combine,
                })
            }
            // What a thread is does not change.
            Op::Special { which, wide, .. } => {
                use Special::*;
                let constant = matches!(which, Tid(_) | Ntid(_) | Ctaid(_) | Nctaid(_) | LaneId);
                constant.then_some(Op::Special {
                    which,
                    d: fresh,
                    wide,
                })
            }
            _ => None,
        }
    }
}

/// Puts operations in front of instructions: who jumps to one of these comes to them first.
fn insert(code: &mut Vec<Instr>, before: HashMap<usize, Vec<Op>>) {
    if before.is_empty() {
        return;
    }
    let mut new = Vec::with_capacity(code.len() + before.len());
    let mut moved = Vec::with_capacity(code.len());
    for (at, i) in code.drain(..).enumerate() {
        moved.push(new.len() as u32);
        for op in before.get(&at).into_iter().flatten() {
            new.push(Instr {
                guard: Slot::TRUE,
                op: op.clone(),
                site: i.site,
                inline: Inline::No,
            });
        }
        new.push(i);
    }
    for i in &mut new {
        match &mut i.op {
            Op::Branch { target } => *target = moved[*target as usize],
            Op::BranchIndexed { targets, .. } => {
                targets.iter_mut().for_each(|t| *t = moved[*t as usize])
            }
            _ => {}
        }
    }
    *code = new;
}

#[cfg(test)]
mod tests;
