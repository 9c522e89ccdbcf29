//! Products of a warpgroup (PTX ISA, "wgmma.mma_async", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"), and uses of the registers that they
//! use: [`crate::exec`] judges those when they are executed, and [`mark`] puts an operation before each.

use super::Lowering;
use super::def_use::visit_operands;
use super::operand::Decoded;
use crate::inline::Inline;
use crate::matrix::Element;
use crate::matrix::warpgroup::{DEPTH, First, GroupProduct};
use crate::op::*;
use crate::program::Program;
use ptx::ast::{Instruction, Operand, ScalarType};
use ptx::semantics::{Modifier, Opcode, Type, TypedInstruction};
use std::collections::HashSet;

const W: RegisterClass = RegisterClass::W(32);
const D: RegisterClass = RegisterClass::D;

impl Lowering<'_> {
    /// Any of them. All are `.sync`: the lanes of the warp meet.
    pub(super) fn wgmma(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let op = match t.opcode {
            Opcode::WgmmaFence => WgmmaOp::Fence,
            Opcode::WgmmaCommitGroup => WgmmaOp::Commit,
            Opcode::WgmmaWaitGroup => match i.operands.first() {
                Some(Operand::Int(newest, _)) => {
                    WgmmaOp::Wait(u32::try_from(*newest).map_err(|_| "that many groups")?)
                }
                _ => return Err("a wait of this form".into()),
            },
            _ => {
                let product = self.group_product(i, t)?;
                self.program.group_products.push(product);
                WgmmaOp::Begin(self.program.group_products.len() as u32 - 1)
            }
        };
        self.together()?;
        self.emit(Op::Wgmma(op));
        Ok(())
    }

    /// `wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a, b-desc, scale-d{, imm-scale-a, imm-scale-b{, imm-trans-a}{, imm-trans-b}}`; `a` is a
    /// vector of registers, or a descriptor.
    fn group_product(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<GroupProduct> {
        if t.has(Modifier::Sp) {
            return Err("a sparse factor".into());
        }
        let types: Option<Vec<Element>> = t.modifiers.types().map(Element::of).collect();
        let Some([sum, a, b]) = types.as_deref() else {
            return Err("a matrix of this type".into());
        };
        let (sum, elements) = (*sum, [*a, *b]);
        let popc = t.has(Modifier::And) && t.has(Modifier::Popc);
        if (elements[0] == Element::Bits) != popc {
            return Err("a matrix of this type".into());
        }
        let shape = t.modifiers.iter().find_map(|m| match m {
            Modifier::Shape(64, n, k) => Some((usize::from(*n), usize::from(*k))),
            _ => None,
        });
        let (n, k) = shape.ok_or("a matrix of this shape")?;
        let k = match elements[0] {
            Element::Bits if k as u32 != DEPTH => 0,
            Element::Bits => k / 32,
            _ => k,
        };
        let first = match self.operand(i, 1)? {
            registers @ Operand::Vector(_) => First::Registers(self.rows_of(registers, W)?),
            descriptor => First::Shared(self.source(descriptor, D, ScalarType::B64)?),
        };
        let adds = match self.operand(i, 3)? {
            Operand::Int(0, _) => Slot::FALSE,
            Operand::Int(..) => Slot::TRUE,
            predicate => self.source(predicate, RegisterClass::P, ScalarType::Pred)?,
        };
        let numbers: Option<Vec<i64>> = i.operands.iter().skip(4).map(number).collect();
        let numbers = numbers.ok_or("an operand that is not a constant")?;
        let (scales, turns) = match &numbers[..] {
            [] => ([1, 1], [0, 0]),
            [a, b] => ([*a, *b], [0, 0]),
            [a, b, turn] if matches!(first, First::Registers(_)) => ([*a, *b], [0, *turn]),
            [a, b, first, second] => ([*a, *b], [*first, *second]),
            _ => return Err("operands of this number".into()),
        };
        let within = scales.iter().all(|s| matches!(s, 1 | -1));
        if !within || !turns.iter().all(|t| matches!(t, 0 | 1)) {
            return Err("a scale or a transposition by this number".into());
        }
        let product = GroupProduct {
            n,
            k,
            a: first,
            b: self.source(self.operand(i, 2)?, D, ScalarType::B64)?,
            elements,
            negated: scales.map(|scale| scale < 0),
            across: turns.map(|turn| turn == 1),
            sum,
            d: self.results(self.operand(i, 0)?, W)?,
            adds,
            saturates: t.has(Modifier::Satfinite),
        };
        match product.is_sound() && !t.has(Modifier::Type(Type::B16)) {
            true => Ok(product),
            false => Err("a matrix of this shape and type".into()),
        }
    }
}

/// A constant.
fn number(operand: &Operand) -> Option<i64> {
    match operand {
        Operand::Int(number, _) => Some(*number as i64),
        Operand::Neg(inner) => number(inner).map(i64::wrapping_neg),
        _ => None,
    }
}

/// Puts [`WgmmaOp::Use`] before each instruction that uses registers which products use. Copies are followed: compilers make some of their own, so
/// a copy's destination is such a register, too, and so is its source.
pub(super) fn mark(bodies: &mut [Vec<Instr>], program: &mut Program) {
    let mut used: HashSet<Slot> = HashSet::new();
    for product in &program.group_products {
        used.extend(product.d.iter());
        if let First::Registers(slots) = &product.a {
            used.extend(slots.iter());
        }
    }
    used.retain(|slot| row_of(W, *slot).is_some());
    if used.is_empty() {
        return;
    }
    let all: Vec<(Slot, Slot)> = (bodies.iter().flatten())
        .flat_map(|i| copies(program, i))
        .collect();
    loop {
        let before = used.len();
        for (d, s) in &all {
            if used.contains(d) || used.contains(s) {
                let both = [*d, *s].into_iter();
                used.extend(both.filter(|slot| row_of(W, *slot).is_some()));
            }
        }
        if used.len() == before {
            break;
        }
    }
    for body in bodies {
        put_marks(body, program, &used);
    }
}

/// What an instruction copies from row to row, if it does nothing else.
fn copies(program: &Program, i: &Instr) -> Vec<(Slot, Slot)> {
    match &i.op {
        Op::Alu { d, s, .. }
            if program.sites[i.site.0 as usize].instruction.opcode == Opcode::Mov =>
        {
            vec![(*d, s[0])]
        }
        Op::Pack { d, s } => {
            let words = |parts: &[Part]| parts.iter().all(|p| matches!(p.class, W));
            match (&d[..], &s[..]) {
                ([d], [s]) if words(&[*d, *s]) => vec![(d.slot, s.slot)],
                _ => Vec::new(),
            }
        }
        // Unoptimised code keeps variables in local memory, and passes their addresses on.
        Op::Memory(index) => {
            let m = &program.memory_ops[*index as usize];
            let own = matches!(m.space, AddressSpace::Local | AddressSpace::Generic);
            let regs = m.regs[..usize::from(m.count)].iter().copied();
            match (own && matches!(m.class, W), m.store) {
                (true, true) => regs.map(|s| (Slot::NONE, s)).collect(),
                (true, false) => regs.map(|d| (d, Slot::NONE)).collect(),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// What it does to these rows, if anything.
fn use_of(program: &Program, i: &Instr, used: &HashSet<Slot>) -> Option<RegisterUse> {
    let concerned = |slot: &Slot| used.contains(slot);
    let copied: Vec<(Slot, Slot)> = copies(program, i)
        .into_iter()
        .filter(|(d, s)| concerned(d) || concerned(s))
        .map(|(d, s)| (d, if concerned(&s) { s } else { Slot::NONE }))
        .collect();
    if !copied.is_empty() {
        return Some(RegisterUse {
            copies: copied.into(),
            ..RegisterUse::default()
        });
    }
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    visit_operands(program, i, &mut |row, _| reads.push(row), &mut |row| {
        writes.push(row)
    });
    let slots = |rows: Vec<Row>| -> Box<[Slot]> {
        let words = rows.into_iter().filter(|(class, _)| *class == 0);
        words.map(|(_, at)| Slot(at)).filter(concerned).collect()
    };
    let found = RegisterUse {
        reads: slots(reads),
        writes: slots(writes),
        copies: Box::default(),
    };
    (!found.reads.is_empty() || !found.writes.is_empty()).then_some(found)
}

fn put_marks(body: &mut Vec<Instr>, program: &mut Program, used: &HashSet<Slot>) {
    let mut new = Vec::with_capacity(body.len());
    let mut moved = Vec::with_capacity(body.len());
    for i in body.drain(..) {
        moved.push(new.len() as u32);
        let found = match &i.op {
            Op::Wgmma(_) => None,
            _ => use_of(program, &i, used),
        };
        if let Some(found) = found {
            program.register_uses.push(found);
            new.push(Instr {
                guard: i.guard,
                op: Op::Wgmma(WgmmaOp::Use(program.register_uses.len() as u32 - 1)),
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
                targets.iter_mut().for_each(|t| *t = moved[*t as usize]);
            }
            _ => {}
        }
    }
    *body = new;
}
