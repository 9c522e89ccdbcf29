//! Which rows an operation reads and writes, and what for.

use super::instruction::signature;
use crate::op::*;
use crate::program::Program;

/// What a row is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The operation's result is computed from it.
    Data,
    /// It is stored to memory, passed to a call or to other lanes.
    Escape,
    /// It is an address.
    Address,
    /// It decides whether or where something is executed.
    Control,
}

/// A row of a class, the class reduced to what tells row files apart.
pub type Row = (u8, u32);

/// The row that a slot of a class means; none for constants.
pub fn row(class: RegisterClass, slot: Slot) -> Option<Row> {
    if slot == Slot::NONE || slot.0 & Slot::CONST != 0 {
        return None;
    }
    Some(match class {
        RegisterClass::W(_) => (0, slot.0),
        RegisterClass::D | RegisterClass::Q => (1, slot.0),
        RegisterClass::P => (2, slot.0 & !Slot::NEGATED),
    })
}

const W: RegisterClass = RegisterClass::W(32);

fn width(wide: bool) -> RegisterClass {
    if wide { RegisterClass::D } else { W }
}

/// Calls `read` with every row that an instruction reads and `write` with every
/// row that it writes.
pub fn rows(
    program: &Program,
    i: &Instr,
    read: &mut dyn FnMut(Row, Use),
    write: &mut dyn FnMut(Row),
) {
    let mut reads = |class: RegisterClass, slot: Slot, what: Use| {
        if let Some(r) = row(class, slot) {
            read(r, what);
            if class == RegisterClass::Q {
                read((r.0, r.1 + 1), what);
            }
        }
    };
    let mut writes = |class: RegisterClass, slot: Slot| {
        if let Some(r) = row(class, slot) {
            write(r);
            if class == RegisterClass::Q {
                write((r.0, r.1 + 1));
            }
        }
    };
    reads(RegisterClass::P, i.guard, Use::Control);
    match &i.op {
        Op::Alu { f, d, s } => {
            let (out, ins) = signature(f);
            ins.iter()
                .zip(s)
                .for_each(|(c, s)| reads(*c, *s, Use::Data));
            writes(out, *d);
        }
        Op::Setp {
            f,
            p,
            q,
            s,
            combine,
        } => {
            let (_, ins) = signature(f);
            ins.iter()
                .zip(s)
                .for_each(|(c, s)| reads(*c, *s, Use::Data));
            if let Some((_, c)) = combine {
                reads(RegisterClass::P, *c, Use::Data);
            }
            writes(RegisterClass::P, *p);
            writes(RegisterClass::P, *q);
        }
        Op::Set {
            f, d, s, combine, ..
        } => {
            let (_, ins) = signature(f);
            ins.iter()
                .zip(s)
                .for_each(|(c, s)| reads(*c, *s, Use::Data));
            if let Some((_, c)) = combine {
                reads(RegisterClass::P, *c, Use::Data);
            }
            writes(W, *d);
        }
        Op::Lop3Test { d, p, s, .. } => {
            s[..4].iter().for_each(|s| reads(W, *s, Use::Data));
            reads(RegisterClass::P, s[4], Use::Data);
            writes(W, *d);
            writes(RegisterClass::P, *p);
        }
        Op::Pack { d, s } => {
            s.iter().for_each(|p| reads(p.class, p.slot, Use::Data));
            d.iter().for_each(|p| writes(p.class, p.slot));
        }
        Op::Special { d, wide, .. } | Op::FrameAddress { d, wide, .. } => writes(width(*wide), *d),
        Op::IsSpace { p, a, wide, .. } => {
            reads(width(*wide), *a, Use::Data);
            writes(RegisterClass::P, *p);
        }
        Op::Cvta { d, a, .. } => {
            reads(RegisterClass::D, *a, Use::Data);
            writes(RegisterClass::D, *d);
        }
        Op::Alloca {
            d,
            wide,
            size,
            wide_size,
            ..
        } => {
            reads(width(*wide_size), *size, Use::Address);
            writes(width(*wide), *d);
        }
        Op::Memory(index) => {
            let m = &program.memory_ops[*index as usize];
            base(m.base, &mut reads);
            // It decides whether the source reads at all.
            reads(RegisterClass::P, m.used_if, Use::Control);
            for slot in &m.regs[..usize::from(m.count)] {
                if m.store {
                    reads(m.class, *slot, Use::Escape)
                } else {
                    writes(m.class, *slot)
                }
            }
        }
        Op::Atomic(index) => {
            let a = &program.atomic_ops[*index as usize];
            base(a.base, &mut reads);
            let class = atomic_class(a);
            a.b[..usize::from(a.count)]
                .iter()
                .for_each(|s| reads(class, *s, Use::Escape));
            reads(class, a.c, Use::Escape);
            a.d[..usize::from(a.count)]
                .iter()
                .for_each(|s| writes(class, *s));
        }
        Op::Barrier(b) => {
            reads(W, b.id, Use::Control);
            reads(W, b.threads, Use::Control);
            match b.kind {
                BarrierKind::Popc { d, p } => {
                    reads(RegisterClass::P, p, Use::Data);
                    writes(W, d);
                }
                BarrierKind::And { d, p } | BarrierKind::Or { d, p } => {
                    reads(RegisterClass::P, p, Use::Data);
                    writes(RegisterClass::P, d);
                }
                BarrierKind::Sync | BarrierKind::Arrive => {}
            }
        }
        Op::Warp(w) => {
            use WarpKind::*;
            reads(W, w.members, Use::Control);
            let (a, d) = match w.kind {
                VoteAll | VoteAny | VoteUni => (RegisterClass::P, RegisterClass::P),
                VoteBallot => (RegisterClass::P, W),
                MatchAll64 | MatchAny64 => (RegisterClass::D, W),
                _ => (W, W),
            };
            reads(a, w.a, Use::Data);
            reads(W, w.b, Use::Data);
            reads(W, w.c, Use::Data);
            writes(d, w.d);
            writes(RegisterClass::P, w.p);
        }
        Op::BranchIndexed { index, .. } => reads(W, *index, Use::Control),
        Op::Call(c) => {
            reads(RegisterClass::D, c.pointer, Use::Control);
            let callees: Vec<usize> = match c.function {
                Some(f) => vec![f as usize],
                None => (0..program.functions.len()).collect(),
            };
            carried(&c.args, &c.results, &mut reads, &mut writes);
            for f in callees {
                let info = &program.functions[f];
                carried(&info.results, &info.params, &mut reads, &mut writes);
            }
        }
        Op::System(c) => carried(&c.args, &c.results, &mut reads, &mut writes),
        Op::Fence(..)
        | Op::Branch { .. }
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Yield
        | Op::Nop
        | Op::BarrierBypass { .. }
        | Op::Unsupported => {}
    }
}

/// RegisterClass of an atomic operation's values.
pub fn atomic_class(a: &AtomicOp) -> RegisterClass {
    match a.element {
        16 => RegisterClass::Q,
        8 => RegisterClass::D,
        _ => W,
    }
}

fn base(base: Base, reads: &mut impl FnMut(RegisterClass, Slot, Use)) {
    match base {
        Base::W(slot) => reads(W, slot, Use::Address),
        Base::D(slot) => reads(RegisterClass::D, slot, Use::Address),
        Base::Frame | Base::Zero => {}
    }
}

fn carried(
    from: &[Carried],
    to: &[Carried],
    reads: &mut impl FnMut(RegisterClass, Slot, Use),
    writes: &mut impl FnMut(RegisterClass, Slot),
) {
    for c in from {
        if let Carried::Register(slot, class) = c {
            reads(*class, *slot, Use::Escape);
        }
    }
    for c in to {
        if let Carried::Register(slot, class) = c {
            writes(*class, *slot);
        }
    }
}
