//! Updates in several instructions: stores of a value that was computed from what the same place held, as `a[i] += x` makes.
//!
//! A store is one if its value comes, through moves and arithmetic, from a load of the same place, or if a comparison with what
//! the place held decides about it (`if (x > *m) *m = x`). The two places are the same if their addresses are computed by the same
//! instructions from the same values. Definitions are looked up in the order of the text, which is right where a register is assigned
//! once, as compilers do it. Only advice rests on this. Blind spots: addresses and values that pass through memory or calls.

use super::instruction::signature;
use crate::op::*;
use crate::program::{PlainUpdate, Program, UpdateKind};
use ptx::semantics::{Comparison, Opcode, Type, TypedInstruction};
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

/// Instructions of an expression that are followed.
const DEPTH: u32 = 10;
/// Instructions that are looked at for a store: expressions may share their parts many times over.
const LOOKS: u32 = 2_000;
/// Instructions before a store among which the branch around it is looked for.
const NEAR: usize = 24;

/// Fills in [`crate::program::SiteInfo::update`].
pub(super) fn find(program: &mut Program) {
    let mut found = Vec::new();
    for text in Text::all(program) {
        for at in text.range.clone() {
            if let Some(update) = text.update(at) {
                found.push((program.code[at].site, update));
            }
        }
    }
    for (site, update) in found {
        program.sites[site.0 as usize].update = Some(update);
    }
}

/// A row as it is before an instruction.
#[derive(Clone, Copy)]
struct Value {
    class: RegisterClass,
    slot: Slot,
    before: usize,
}

/// What has become of a loaded value.
#[derive(Clone, Copy, PartialEq)]
enum Traced {
    Loaded(usize),
    Changed(usize, UpdateKind, Option<Type>),
}

/// The code of a function, and where its rows are assigned.
pub(super) struct Text<'p> {
    program: &'p Program,
    range: Range<usize>,
    definitions: HashMap<Row, Vec<usize>>,
    /// Looks that are left for the store at hand.
    left: Cell<u32>,
}

impl<'p> Text<'p> {
    /// Of all functions.
    pub(super) fn all(program: &'p Program) -> impl Iterator<Item = Text<'p>> {
        let starts = program.functions.iter().map(|f| f.start as usize);
        let ends = starts.clone().skip(1).chain([program.code.len()]);
        starts
            .zip(ends)
            .map(|(start, end)| Text::of(program, start..end))
    }

    /// Its instructions.
    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Whether two accesses are to one place.
    pub(super) fn is_same_place(&self, x: usize, y: usize) -> bool {
        self.left.set(LOOKS);
        self.same_place(x, y, DEPTH)
    }

    fn of(program: &'p Program, range: Range<usize>) -> Text<'p> {
        let mut definitions: HashMap<Row, Vec<usize>> = HashMap::new();
        for at in range.clone() {
            let mut write = |row| definitions.entry(row).or_default().push(at);
            super::def_use::visit_operands(program, &program.code[at], &mut |_, _| {}, &mut write);
        }
        Text {
            program,
            range,
            definitions,
            left: Cell::new(0),
        }
    }

    fn typed(&self, at: usize) -> &TypedInstruction {
        &self.program.site(self.program.code[at].site).instruction
    }

    /// The last instruction before that assigns a row.
    fn definition(&self, v: Value) -> Option<usize> {
        self.left.set(self.left.get().checked_sub(1)?);
        let all = self.definitions.get(&row_of(v.class, v.slot)?)?;
        let before = all.partition_point(|at| *at < v.before);
        all.get(before.checked_sub(1)?).copied()
    }

    fn access(&self, at: usize) -> Option<&MemoryOp> {
        match &self.program.code[at].op {
            Op::Memory(index) => Some(&self.program.memory_ops[*index as usize]),
            _ => None,
        }
    }

    /// What an arithmetic instruction computes with.
    fn sources(&self, at: usize) -> Vec<Value> {
        let value = |(class, slot): (&RegisterClass, &Slot)| Value {
            class: *class,
            slot: *slot,
            before: at,
        };
        match &self.program.code[at].op {
            Op::Alu { f, s, .. } => signature(f).1.iter().zip(s).map(value).collect(),
            Op::Setp { f, s, .. } => signature(f).1.iter().zip(s).map(value).collect(),
            Op::Cvta { a, .. } => vec![value((&RegisterClass::D, a))],
            _ => Vec::new(),
        }
    }

    /// Whether two rows hold the same value: assigned by the same instruction, or by equal ones from the same values.
    fn same(&self, a: Value, b: Value, depth: u32) -> bool {
        if a.slot.0 & Slot::CONST != 0 || b.slot.0 & Slot::CONST != 0 {
            return a.slot == b.slot;
        }
        let (Some(x), Some(y)) = (self.definition(a), self.definition(b)) else {
            return false;
        };
        if x == y {
            return row_of(a.class, a.slot) == row_of(b.class, b.slot);
        }
        if depth == 0 || self.typed(x) != self.typed(y) {
            return false;
        }
        match (&self.program.code[x].op, &self.program.code[y].op) {
            (Op::Special { which: p, .. }, Op::Special { which: q, .. }) => p == q,
            (Op::Memory(_), Op::Memory(_)) => self.same_place(x, y, depth - 1),
            _ => {
                let (p, q) = (self.sources(x), self.sources(y));
                let mut pairs = p.iter().zip(&q);
                !p.is_empty()
                    && p.len() == q.len()
                    && pairs.all(|(p, q)| self.same(*p, *q, depth - 1))
            }
        }
    }

    /// Whether two accesses are to one place.
    fn same_place(&self, x: usize, y: usize, depth: u32) -> bool {
        let (Some(a), Some(b)) = (self.access(x), self.access(y)) else {
            return false;
        };
        let value = |class, slot, before| Value {
            class,
            slot,
            before,
        };
        a.space == b.space
            && (a.offset, a.element, a.count) == (b.offset, b.element, b.count)
            && match (a.base, b.base) {
                (Base::D(p), Base::D(q)) => {
                    let class = RegisterClass::D;
                    self.same(value(class, p, x), value(class, q, y), depth)
                }
                (Base::W(p), Base::W(q)) => {
                    let class = RegisterClass::W(32);
                    self.same(value(class, p, x), value(class, q, y), depth)
                }
                (Base::Zero, Base::Zero) | (Base::Frame, Base::Frame) => true,
                _ => false,
            }
    }

    /// What a value has to do with what the place of a store held.
    fn trace(&self, v: Value, store: usize, depth: u32) -> Option<Traced> {
        let at = self.definition(v)?;
        let typed = self.typed(at);
        if let Some(load) = self.access(at) {
            let read = !load.store && load.count == 1 && self.same_place(at, store, DEPTH);
            return read.then_some(Traced::Loaded(at));
        }
        let depth = depth.checked_sub(1)?;
        let sources = self.sources(at);
        let mut traced = sources.iter().enumerate();
        let (operand, found) =
            traced.find_map(|(k, s)| Some((k, self.trace(*s, store, depth)?)))?;
        if matches!(typed.opcode, Opcode::Mov | Opcode::Cvt | Opcode::Cvta) {
            return Some(found);
        }
        let kind = match (&typed.opcode, operand) {
            (Opcode::Add, _) | (Opcode::Mad | Opcode::Fma, 2) => UpdateKind::Add,
            (Opcode::Sub, 0) => UpdateKind::Subtract,
            (Opcode::Min, _) => UpdateKind::Min,
            (Opcode::Max, _) => UpdateKind::Max,
            (Opcode::And, _) => UpdateKind::And,
            (Opcode::Or, _) => UpdateKind::Or,
            (Opcode::Xor, _) => UpdateKind::Xor,
            _ => UpdateKind::Other,
        };
        let ty = typed.modifiers.types().last();
        Some(match found {
            Traced::Loaded(load) => Traced::Changed(load, kind, ty),
            Traced::Changed(load, before, _) if before == kind => Traced::Changed(load, kind, ty),
            Traced::Changed(load, ..) => Traced::Changed(load, UpdateKind::Other, ty),
        })
    }

    fn update(&self, store: usize) -> Option<PlainUpdate> {
        let m = self.access(store)?;
        if !m.store || m.private || m.count != 1 || !m.space.is_between_threads() {
            return None;
        }
        self.left.set(LOOKS);
        let stored = Value {
            class: m.class,
            slot: m.regs[0],
            before: store,
        };
        let (load, kind, ty) = match self.trace(stored, store, DEPTH) {
            Some(Traced::Changed(load, kind, ty)) => (load, kind, ty),
            Some(Traced::Loaded(_)) => return None,
            None => self.decided(store, stored)?,
        };
        Some(PlainUpdate {
            load: self.program.code[load].site,
            kind,
            float: ty.is_some_and(is_float),
            bytes: m.element,
        })
    }

    /// A store that a comparison with what its place holds decides about.
    fn decided(&self, store: usize, stored: Value) -> Option<(usize, UpdateKind, Option<Type>)> {
        let guard = |at: usize, holds: bool| {
            let slot = self.program.code[at].guard;
            (slot != Slot::TRUE).then_some((at, slot, holds == (slot.0 & Slot::NEGATED == 0)))
        };
        let (at, slot, mut holds) = guard(store, true).or_else(|| {
            let from = store.saturating_sub(NEAR).max(self.range.start);
            let branches = |at: &usize| matches!(self.program.code[*at].op, Op::Branch { .. });
            // A jump that is always taken ends what the compiler puts behind one that is not.
            let mut jumps = (from..store).rev().filter(branches);
            // The store is behind it if the jump is not taken, or where it leads to.
            jumps.find_map(|at| {
                let Op::Branch { target } = self.program.code[at].op else {
                    return None;
                };
                guard(at, (target as usize) <= store)
            })
        })?;
        let class = RegisterClass::P;
        let mut predicate = Value {
            class,
            slot,
            before: at,
        };
        let compared = loop {
            let at = self.definition(predicate)?;
            match self.typed(at).opcode {
                Opcode::Not => {
                    holds = !holds;
                    predicate = *self.sources(at).first()?;
                }
                Opcode::Setp => break at,
                _ => return None,
            }
        };
        let typed = self.typed(compared);
        let sides = self.sources(compared);
        let [a, b] = sides[..] else { return None };
        let held = |v: Value| match self.trace(v, store, 2) {
            Some(Traced::Loaded(load)) => Some(load),
            _ => None,
        };
        let (load, other, first) = match (held(a), held(b)) {
            (Some(load), _) => (load, b, true),
            (_, Some(load)) => (load, a, false),
            _ => return None,
        };
        let ty = typed.modifiers.types().last();
        use Comparison::*;
        let comparison = typed.modifiers.comparison()?;
        if !self.same(other, stored, DEPTH) {
            // Such as `if (*lock == 0) *lock = 1`.
            let swaps = matches!((comparison, holds), (Eq | Equ, true) | (Ne | Neu, false));
            return swaps.then_some((load, UpdateKind::CompareAndSwap, ty));
        }
        let less = match comparison {
            Lt | Le | Ltu | Leu => true,
            Gt | Ge | Gtu | Geu => false,
            _ => return None,
        };
        // What the place held is less, and the new value is stored.
        let grows = (less == first) == holds;
        let kind = if grows {
            UpdateKind::Max
        } else {
            UpdateKind::Min
        };
        Some((load, kind, ty))
    }
}

fn is_float(ty: Type) -> bool {
    matches!(
        ty,
        Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 | Type::F32 | Type::F32x2 | Type::F64
    )
}
