//! Which rows an operation reads and writes, and what for.

use super::instruction::signature;
use crate::alu::AluOp;
use crate::matrix::warpgroup::{First, GroupProduct};
use crate::matrix::{Element, MatrixOp};
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

const W: RegisterClass = RegisterClass::W(32);

fn width(wide: bool) -> RegisterClass {
    if wide { RegisterClass::D } else { W }
}

/// Calls `read` with every row that an instruction reads and `write` with every
/// row that it writes.
pub fn visit_operands(
    program: &Program,
    i: &Instr,
    read: &mut dyn FnMut(Row, Use),
    write: &mut dyn FnMut(Row),
) {
    let mut v = Visitor { read, write };
    v.reads(RegisterClass::P, i.guard, Use::Control);
    match &i.op {
        Op::Alu { .. }
        | Op::Setp { .. }
        | Op::Set { .. }
        | Op::Lop3Test { .. }
        | Op::Pack { .. } => v.arithmetic(&i.op),
        Op::Special { .. }
        | Op::FrameAddress { .. }
        | Op::IsSpace { .. }
        | Op::Cvta { .. }
        | Op::MapShared(_)
        | Op::Alloca { .. } => v.address_arithmetic(&i.op),
        Op::Memory(index) => v.access(&program.memory_ops[*index as usize]),
        Op::Atomic(index) => v.atomic(&program.atomic_ops[*index as usize]),
        Op::Image(index) => v.image(&program.image_ops[*index as usize]),
        Op::AsyncCopy(index) => v.copy(program, &program.copy_ops[*index as usize]),
        Op::Bulk(index) => v.bulk(program, &program.bulk_ops[*index as usize]),
        Op::CopiesArrive(index) => v.base(program.atomic_ops[*index as usize].base),
        Op::Matrix(index) => v.matrix(&program.matrix_ops[*index as usize]),
        Op::Wgmma(WgmmaOp::Begin(index)) => {
            v.group_product(&program.group_products[*index as usize]);
        }
        Op::Video(video) => {
            video.s.iter().for_each(|s| v.reads(W, *s, Use::Data));
            v.writes(W, video.d);
        }
        Op::AwaitPhase(a) => {
            v.base(a.base);
            v.reads(RegisterClass::D, a.asked, Use::Control);
            v.writes(RegisterClass::P, a.complete);
            v.writes(RegisterClass::P, a.incomplete);
        }
        Op::PhaseAwaited { p, base, .. } => {
            v.reads(RegisterClass::P, *p, Use::Control);
            v.base(*base);
        }
        Op::Barrier(b) => v.barrier(b),
        Op::Warp(w) => v.warp(w),
        Op::BranchIndexed { index, .. } => v.reads(W, *index, Use::Control),
        Op::Call(c) => v.call(program, c),
        Op::System(c) => v.carried(&c.args, &c.results),
        Op::Fence(..)
        | Op::DependencyWait
        | Op::DependencyTrigger
        | Op::CommitGroup
        | Op::WaitGroup(_)
        | Op::CommitBulk
        | Op::WaitBulk { .. }
        | Op::ProxyFence
        | Op::Wgmma(_)
        | Op::ClusterArrive { .. }
        | Op::ClusterWait { .. }
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

/// Tells of rows what is done to them.
struct Visitor<'v> {
    read: &'v mut dyn FnMut(Row, Use),
    write: &'v mut dyn FnMut(Row),
}

impl Visitor<'_> {
    fn reads(&mut self, class: RegisterClass, slot: Slot, what: Use) {
        if let Some(r) = row_of(class, slot) {
            (self.read)(r, what);
            if class == RegisterClass::Q {
                (self.read)((r.0, r.1 + 1), what);
            }
        }
    }

    fn writes(&mut self, class: RegisterClass, slot: Slot) {
        if let Some(r) = row_of(class, slot) {
            (self.write)(r);
            if class == RegisterClass::Q {
                (self.write)((r.0, r.1 + 1));
            }
        }
    }

    /// The sources of a table entry; gives the class of its result.
    fn sources(&mut self, f: &AluOp, s: &[Slot]) -> RegisterClass {
        let (out, ins) = signature(f);
        for (class, slot) in ins.iter().zip(s) {
            self.reads(*class, *slot, Use::Data);
        }
        out
    }

    fn combined(&mut self, combine: Option<(BoolOp, Slot)>) {
        if let Some((_, c)) = combine {
            self.reads(RegisterClass::P, c, Use::Data);
        }
    }

    fn arithmetic(&mut self, op: &Op) {
        match op {
            Op::Alu { f, d, s } => {
                let out = self.sources(f, s);
                self.writes(out, *d);
            }
            Op::Setp {
                f,
                p,
                q,
                s,
                combine,
            } => {
                self.sources(f, s);
                self.combined(*combine);
                self.writes(RegisterClass::P, *p);
                self.writes(RegisterClass::P, *q);
            }
            Op::Set {
                f, d, s, combine, ..
            } => {
                self.sources(f, s);
                self.combined(*combine);
                self.writes(W, *d);
            }
            Op::Lop3Test { d, p, s, .. } => {
                s[..4].iter().for_each(|s| self.reads(W, *s, Use::Data));
                self.reads(RegisterClass::P, s[4], Use::Data);
                self.writes(W, *d);
                self.writes(RegisterClass::P, *p);
            }
            Op::Pack { d, s } => {
                s.iter()
                    .for_each(|p| self.reads(p.class, p.slot, Use::Data));
                d.iter().for_each(|p| self.writes(p.class, p.slot));
            }
            _ => {}
        }
    }

    fn address_arithmetic(&mut self, op: &Op) {
        match op {
            Op::Special { d, wide, .. } | Op::FrameAddress { d, wide, .. } => {
                self.writes(width(*wide), *d)
            }
            Op::IsSpace { p, a, wide, .. } => {
                self.reads(width(*wide), *a, Use::Data);
                self.writes(RegisterClass::P, *p);
            }
            Op::MapShared(op) => {
                self.reads(width(op.wide), op.a, Use::Data);
                self.reads(W, op.rank, Use::Data);
                self.writes(width(op.wide && op.rank != Slot::NONE), op.d);
            }
            Op::Cvta { d, a, .. } => {
                self.reads(RegisterClass::D, *a, Use::Data);
                self.writes(RegisterClass::D, *d);
            }
            Op::Alloca {
                d,
                wide,
                size,
                wide_size,
                ..
            } => {
                self.reads(width(*wide_size), *size, Use::Address);
                self.writes(width(*wide), *d);
            }
            _ => {}
        }
    }

    fn base(&mut self, base: Base) {
        match base {
            Base::W(slot) => self.reads(W, slot, Use::Address),
            Base::D(slot) => self.reads(RegisterClass::D, slot, Use::Address),
            Base::Frame | Base::Zero => {}
        }
    }

    fn access(&mut self, m: &MemoryOp) {
        self.base(m.base);
        // It decides whether the source reads at all.
        self.reads(RegisterClass::P, m.used_if, Use::Control);
        for slot in &m.regs[..usize::from(m.count)] {
            match m.store {
                true => self.reads(m.class, *slot, Use::Escape),
                false => self.writes(m.class, *slot),
            }
        }
    }

    fn copy(&mut self, program: &Program, c: &CopyOp) {
        let (read, write) = c.accesses(program);
        self.base(read.base);
        self.base(write.base);
        self.reads(W, c.size, Use::Escape);
        self.reads(RegisterClass::P, c.ignore, Use::Escape);
    }

    fn bulk(&mut self, program: &Program, b: &BulkOp) {
        match b.read {
            Some(read) => self.base(program.memory_ops[read as usize].base),
            None => self.access(&program.memory_ops[b.write as usize]),
        }
        self.base(program.memory_ops[b.write as usize].base);
        self.reads(W, b.size, Use::Escape);
        self.reads(W, b.multicast, Use::Address);
        if let Some(tensor) = &b.tensor {
            self.base(tensor.map);
            for slot in tensor.coordinates.iter().chain(&tensor.offsets) {
                self.reads(W, *slot, Use::Address);
            }
        }
        if let Some(update) = b.completes {
            self.base(program.atomic_ops[update as usize].base);
        }
    }

    fn atomic(&mut self, a: &AtomicOp) {
        self.base(a.base);
        let class = atomic_class(a);
        let count = usize::from(a.count);
        a.b[..count]
            .iter()
            .for_each(|s| self.reads(class, *s, Use::Escape));
        self.reads(class, a.c, Use::Escape);
        a.d[..count].iter().for_each(|s| self.writes(class, *s));
    }

    fn image(&mut self, image: &ImageOp) {
        self.reads(RegisterClass::D, image.handle, Use::Address);
        let coordinates = &image.at[..image.geometry.coordinates()];
        for slot in coordinates.iter().chain([&image.layer]) {
            self.reads(W, *slot, Use::Address);
        }
        let levels = image.level.rows();
        levels.for_each(|slot| self.reads(W, slot, Use::Address));
        for slot in &image.values[..usize::from(image.count)] {
            match image.kind {
                ImageKind::Store => self.reads(image.class, *slot, Use::Escape),
                _ => self.writes(image.class, *slot),
            }
        }
    }

    fn matrix(&mut self, op: &MatrixOp) {
        let class = |wide| if wide { RegisterClass::D } else { W };
        match op {
            MatrixOp::Product(p) => {
                for held in [&p.a, &p.b, &p.c] {
                    let class = class(held.element == Element::F64);
                    held.slots
                        .iter()
                        .for_each(|s| self.reads(class, *s, Use::Data));
                }
                let class = class(p.d.element == Element::F64);
                p.d.slots.iter().for_each(|s| self.writes(class, *s));
            }
            MatrixOp::Place(p) => {
                self.reads(class(p.wide), p.base, Use::Data);
                self.reads(W, p.stride, Use::Data);
                self.writes(class(p.wide), p.d);
            }
            MatrixOp::Gather(g) => {
                self.reads(class(g.wide), g.s, Use::Data);
                self.writes(class(g.wide), g.d);
            }
            MatrixOp::Transpose { d, s } => {
                self.reads(W, *s, Use::Data);
                self.writes(W, *d);
            }
        }
    }

    fn group_product(&mut self, p: &GroupProduct) {
        match &p.a {
            First::Registers(slots) => slots.iter().for_each(|s| self.reads(W, *s, Use::Data)),
            First::Shared(slot) => self.reads(RegisterClass::D, *slot, Use::Address),
        }
        self.reads(RegisterClass::D, p.b, Use::Address);
        self.reads(RegisterClass::P, p.adds, Use::Data);
        p.d.iter().for_each(|s| self.reads(W, *s, Use::Data));
        p.d.iter().for_each(|s| self.writes(W, *s));
    }

    fn barrier(&mut self, b: &BarrierOp) {
        self.reads(W, b.id, Use::Control);
        self.reads(W, b.threads, Use::Control);
        match b.kind {
            BarrierKind::Popc { d, p } => {
                self.reads(RegisterClass::P, p, Use::Data);
                self.writes(W, d);
            }
            BarrierKind::And { d, p } | BarrierKind::Or { d, p } => {
                self.reads(RegisterClass::P, p, Use::Data);
                self.writes(RegisterClass::P, d);
            }
            BarrierKind::Sync | BarrierKind::Arrive => {}
        }
    }

    fn warp(&mut self, w: &WarpOp) {
        use WarpKind::*;
        self.reads(W, w.members, Use::Control);
        let (a, d) = match w.kind {
            VoteAll | VoteAny | VoteUni => (RegisterClass::P, RegisterClass::P),
            VoteBallot => (RegisterClass::P, W),
            MatchAll64 | MatchAny64 => (RegisterClass::D, W),
            _ => (W, W),
        };
        self.reads(a, w.a, Use::Data);
        self.reads(W, w.b, Use::Data);
        self.reads(W, w.c, Use::Data);
        self.writes(d, w.d);
        self.writes(RegisterClass::P, w.p);
    }

    fn call(&mut self, program: &Program, c: &CallOp) {
        self.reads(RegisterClass::D, c.pointer, Use::Control);
        self.carried(&c.args, &c.results);
        let callees = match c.function {
            Some(f) => f as usize..f as usize + 1,
            None => 0..program.functions.len(),
        };
        for info in &program.functions[callees] {
            self.carried(&info.results, &info.params);
        }
    }

    fn carried(&mut self, from: &[Carried], to: &[Carried]) {
        for c in from {
            if let Carried::Register(slot, class) = c {
                self.reads(*class, *slot, Use::Escape);
            }
        }
        for c in to {
            if let Carried::Register(slot, class) = c {
                self.writes(*class, *slot);
            }
        }
    }
}

/// Class of an atomic operation's values.
pub fn atomic_class(a: &AtomicOp) -> RegisterClass {
    match a.element {
        16 => RegisterClass::Q,
        8 => RegisterClass::D,
        _ => W,
    }
}
