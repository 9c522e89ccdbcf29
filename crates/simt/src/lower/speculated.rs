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
use ptx::graph;
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
    idoms: Vec<Option<usize>>,
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
            idoms: graph::dominators(0, &blocks.successors),
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
            false => graph::dominates(&self.idoms, of_a, of_b),
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
mod tests {
    use super::*;
    use ptx::parser::parse;

    /// A kernel with `n` in `%r1` and the thread's number in `%r2`.
    fn lowered(body: &str) -> Program {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .visible .entry k(.param .u32 n)\n{{\n\
             .reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n\
             .shared .align 4 .b8 s[64];\n.shared .align 4 .b8 out[64];\n\
             ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n{body}\nst.shared.b32 [out], %r9;\nret;\n}}\n"
        );
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let program = Program::lower(&module, &text, "k").unwrap();
        let missing = program.sites.iter().find_map(|s| s.missing.as_ref());
        assert_eq!(missing, None, "{text}");
        program
    }

    /// The condition of each load from shared memory.
    fn conditions(program: &Program) -> Vec<Slot> {
        let loads = program.memory_ops.iter();
        let loads = loads.filter(|m| !m.store && m.space == AddressSpace::Shared);
        loads.map(|m| m.used_if).collect()
    }

    /// Whether the only load from shared memory is taken for speculated.
    fn speculated(body: &str) -> bool {
        let all = conditions(&lowered(body));
        assert_eq!(all.len(), 1);
        all[0] != Slot::TRUE
    }

    #[test]
    fn a_predicate_that_is_there() {
        let program = lowered(
            "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, 5, %p1;",
        );
        let before = lowered("ld.shared.u32 %r9, [s];");
        let Some(Op::Alu { d, .. }) = program
            .code
            .iter()
            .map(|i| &i.op)
            .find(|op| matches!(op, Op::Alu { f, .. } if signature(f).0 == RegisterClass::P))
        else {
            panic!("a comparison");
        };
        assert_eq!(conditions(&program), [*d]);
        assert_eq!(
            program.code.len(),
            before.code.len() + 2,
            "nothing is copied"
        );
    }

    #[test]
    fn the_other_side() {
        let program = lowered(
            "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, 5, %r3, %p1;",
        );
        let [condition] = conditions(&program)[..] else {
            panic!("one load");
        };
        assert!(condition.0 & Slot::NEGATED != 0 && condition != Slot::TRUE);
        // `selp` under a negated predicate, and both ways to say it.
        assert!(speculated(
            "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r4, %r3, 5, !%p1;
             selp.b32 %r5, 6, %r3, %p1;
             add.s32 %r9, %r4, %r5;"
        ));
    }

    /// What computes it is copied in front of the load, and whoever jumps to the load comes to the copies first.
    #[test]
    fn a_predicate_computed_behind_the_load() {
        let program = lowered(
            "bra.uni HERE;
             HERE:
             ld.shared.u32 %r3, [s];
             bar.sync 0;
             setp.gt.s32 %p1, %r1, 0;
             and.b32 %r4, %r2, 31;
             setp.lt.u32 %p2, %r4, 8;
             not.pred %p3, %p2;
             or.pred %p4, %p1, %p3;
             selp.b32 %r9, %r3, 5, %p4;",
        );
        let load = program
            .code
            .iter()
            .position(|i| matches!(i.op, Op::Memory(m) if program.memory_ops[m as usize].used_if != Slot::TRUE))
            .expect("a speculated load");
        let target = program.code.iter().find_map(|i| match i.op {
            Op::Branch { target } => Some(target as usize),
            _ => None,
        });
        assert_eq!(target, Some(load - 5), "five copies");
        let Op::Alu { d, .. } = program.code[load - 1].op else {
            panic!("the last one is `or.pred`");
        };
        assert_eq!(conditions(&program), [d]);
    }

    #[test]
    fn through_arithmetic() {
        assert!(speculated(
            "ld.shared.u32 %r3, [s];
             mul.lo.s32 %r4, %r3, 3;
             add.s32 %r5, %r3, %r4;
             setp.eq.s32 %p1, %r1, 7;
             selp.b32 %r9, %r5, 0, %p1;"
        ));
        // … one way out of which is taken always.
        assert!(!speculated(
            "ld.shared.u32 %r3, [s];
             mul.lo.s32 %r4, %r3, 3;
             setp.eq.s32 %p1, %r1, 7;
             selp.b32 %r5, %r4, 0, %p1;
             add.s32 %r9, %r3, %r5;"
        ));
    }

    #[test]
    fn a_value_used_elsewhere_too() {
        assert!(!speculated(
            "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r4, %r3, 5, %p1;
             add.s32 %r9, %r4, %r3;"
        ));
        assert!(!speculated(
            "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             st.shared.u32 [out+4], %r3;
             selp.b32 %r9, %r3, 5, %p1;"
        ));
    }

    #[test]
    fn a_value_used_on_the_other_side_too() {
        assert!(!speculated(
            "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r4, %r3, 5, %p1;
             selp.b32 %r5, 6, %r3, %p1;
             add.s32 %r9, %r4, %r5;"
        ));
        assert!(!speculated(
            "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, %r3, %p1;"
        ));
    }

    #[test]
    fn a_value_used_under_two_conditions() {
        assert!(!speculated(
            "setp.gt.s32 %p1, %r1, 0;
             setp.gt.s32 %p2, %r2, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r4, %r3, 5, %p1;
             selp.b32 %r5, %r3, 6, %p2;
             add.s32 %r9, %r4, %r5;"
        ));
    }

    #[test]
    fn a_value_that_nothing_uses() {
        assert!(!speculated(
            "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, 4, 5, %p1;"
        ));
    }

    #[test]
    fn strong_guarded_and_vector_loads() {
        for load in [
            "ld.volatile.shared.u32 %r3, [s];",
            "ld.relaxed.cta.shared.u32 %r3, [s];",
            "ld.acquire.cta.shared.u32 %r3, [s];",
            "@%p2 ld.shared.u32 %r3, [s];",
            "ld.shared.v2.u32 {%r3, %r4}, [s];",
        ] {
            let body = format!(
                "setp.gt.s32 %p1, %r1, 0;\nsetp.gt.s32 %p2, %r1, 1;\n{load}\nselp.b32 %r9, %r3, 5, %p1;"
            );
            assert!(!speculated(&body), "{load}");
        }
    }

    #[test]
    fn a_predicate_with_two_definitions() {
        assert!(!speculated(
            "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             @%p1 bra OVER;
             setp.gt.s32 %p1, %r2, 0;
             OVER:
             selp.b32 %r9, %r3, 5, %p1;"
        ));
        // Guarded: it may be the one or the other.
        assert!(!speculated(
            "setp.gt.s32 %p2, %r2, 7;
             ld.shared.u32 %r3, [s];
             @%p2 setp.gt.s32 %p1, %r1, 0;
             selp.b32 %r9, %r3, 5, %p1;"
        ));
    }

    #[test]
    fn a_predicate_of_what_has_two_definitions() {
        assert!(!speculated(
            "mov.u32 %r4, %r1;
             ld.shared.u32 %r3, [s];
             add.s32 %r4, %r4, 1;
             setp.gt.s32 %p1, %r4, 0;
             selp.b32 %r9, %r3, 5, %p1;"
        ));
    }

    #[test]
    fn a_predicate_of_what_is_loaded_behind() {
        let program = lowered(
            "ld.shared.u32 %r3, [s];
             ld.shared.u32 %r4, [s+4];
             setp.gt.s32 %p1, %r4, 0;
             selp.b32 %r9, %r3, 5, %p1;",
        );
        assert_eq!(conditions(&program), [Slot::TRUE, Slot::TRUE]);
        // In front it may be.
        let program = lowered(
            "ld.shared.u32 %r4, [s+4];
             ld.shared.u32 %r3, [s];
             setp.gt.s32 %p1, %r4, 0;
             selp.b32 %r9, %r3, 5, %p1;",
        );
        let all = conditions(&program);
        assert!(all[0] == Slot::TRUE && all[1] != Slot::TRUE, "{all:?}");
    }

    #[test]
    fn a_round_of_a_loop() {
        // The predicate is this round's.
        assert!(speculated(
            "mov.u32 %r4, 0;
             AGAIN:
             setp.gt.s32 %p1, %r4, %r2;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, 5, %p1;
             add.s32 %r4, %r4, 1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
        ));
        // The last round's.
        assert!(!speculated(
            "mov.u32 %r4, 0;
             AGAIN:
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, 5, %p1;
             setp.gt.s32 %p1, %r4, %r2;
             add.s32 %r4, %r4, 1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
        ));
        // The counter has moved on when the predicate is computed.
        assert!(!speculated(
            "mov.u32 %r4, 0;
             AGAIN:
             ld.shared.u32 %r3, [s];
             add.s32 %r4, %r4, 1;
             setp.gt.s32 %p1, %r4, %r2;
             selp.b32 %r9, %r3, 5, %p1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
        ));
        // The value is looked at behind the loop as well, and the load is not in every round.
        assert!(!speculated(
            "mov.u32 %r4, 0;
             AGAIN:
             setp.gt.s32 %p1, %r4, %r2;
             @%p1 bra OVER;
             ld.shared.u32 %r3, [s];
             OVER:
             selp.b32 %r9, %r3, 5, %p1;
             add.s32 %r4, %r4, 1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
        ));
    }

    #[test]
    fn a_copied_predicate_of_a_round() {
        assert!(speculated(
            "mov.u32 %r4, 0;
             AGAIN:
             add.s32 %r5, %r4, %r2;
             ld.shared.u32 %r3, [s];
             bar.sync 0;
             setp.gt.s32 %p1, %r5, %r1;
             selp.b32 %r9, %r3, 5, %p1;
             add.s32 %r4, %r4, 1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
        ));
    }

    /// Whether the source reads depends on the order of threads, then, as if it branched.
    #[test]
    fn a_condition_steers() {
        let program = lowered(
            "atom.shared.add.u32 %r4, [s+8], 1;
             setp.eq.u32 %p1, %r4, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, 5, %p1;",
        );
        let mut sources = crate::lower::dependence::OrderSources::default();
        sources
            .reads
            .extend((0..program.sites.len() as u32).map(crate::ids::Site));
        assert!(crate::lower::dependence::dependence(&program, &sources).steered);
    }
}
