//! What instructions do to undefined values, and what undefined values do to them.

use super::super::Core;
use super::super::memory::belongs;
use crate::alu::{AluOp, Mask};
use crate::ids::*;
use crate::lent::Hooks;
use crate::lower::def_use::{Use, atomic_class, visit_operands};
use crate::lower::instruction::signature;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::state::*;
use crate::undefined::{Lanes, Open, Region, Shadow, Undefined};
use ptx::semantics::{Modifier, Opcode, TypedInstruction};
use std::sync::Arc;

/// What a warp operation did, for [`Core::exchanged`].
pub(in super::super) struct Exchange<'e> {
    pub parties: &'e [(usize, WarpOp, Site)],
    pub lanes: Mask,
    pub members: Mask,
    /// The lanes whose source took no part, and whom it would be.
    pub absent: Mask,
    pub from: [u8; LANES],
    /// Lanes whose predicate holds.
    pub holds: Mask,
}

const W: RegisterClass = RegisterClass::W(32);

impl<O: Hooks> Core<'_, O> {
    /// A warp operation was performed; from the first on that read from nobody, values are followed.
    #[cold]
    #[inline(never)]
    pub(in super::super) fn exchanged(&mut self, block: &mut Block, w: usize, e: &Exchange<'_>) {
        let mut u = block.poison.take().unwrap_or_default();
        u.warps.resize_with(block.warps.len(), Shadow::default);
        let warp = &block.warps[w];
        let mut new = Vec::new();
        let all = e.parties.iter().fold(Lanes::default(), |all, (s, op, _)| {
            let class = operand_class(op.kind);
            all.or(u.of(w, class, op.a).within(warp.splits[*s].mask))
        });
        for (s, op, site) in e.parties {
            let own = warp.splits[*s].mask;
            let absent = e.absent & own;
            let mut result = Lanes::default();
            if is_shuffle(op.kind) {
                if absent != 0 {
                    let lane = absent.trailing_zeros();
                    let from = u32::from(e.from[lane as usize]);
                    let source = u.source(ShuffleSource {
                        site: *site,
                        who: block.who(w),
                        lanes: absent,
                        lane: LaneId(lane as u8),
                        from: LaneId(from as u8),
                        members: e.members,
                        why: match () {
                            () if warp.exists >> from & 1 == 0 => NoValue::NoThread,
                            () => NoValue::LeftOut,
                        },
                    });
                    result = Lanes {
                        mask: absent,
                        source,
                    };
                }
                for l in lanes_of(own & !absent) {
                    let from = usize::from(e.from[l]);
                    let giver = e
                        .parties
                        .iter()
                        .find(|(s, ..)| warp.splits[*s].mask >> from & 1 == 1);
                    let given = giver.map(|(_, op, _)| u.of(w, W, op.a));
                    if let Some(given) = given.filter(|g| g.mask >> from & 1 == 1) {
                        result = result.or(Lanes {
                            mask: 1 << l,
                            ..given
                        });
                    }
                }
                let steered = u.of(w, W, op.b).or(u.of(w, W, op.c)).within(own);
                new.push((op.p, RegisterClass::P, own, steered));
                result = result.or(steered);
            } else {
                // One lane that is defined may decide for all.
                let certain = e.lanes & !all.mask;
                let decided = match op.kind {
                    WarpKind::VoteAll => certain & !e.holds != 0,
                    WarpKind::VoteAny => certain & e.holds != 0,
                    WarpKind::VoteUni => certain & e.holds != 0 && certain & !e.holds != 0,
                    _ => false,
                };
                if !decided && all.mask != 0 {
                    result = Lanes {
                        mask: own,
                        source: all.source,
                    };
                }
                new.push((op.p, RegisterClass::P, own, result));
            }
            let class = match op.kind {
                WarpKind::VoteAll | WarpKind::VoteAny | WarpKind::VoteUni => RegisterClass::P,
                _ => W,
            };
            new.push((op.d, class, own, result));
        }
        for (slot, class, own, undefined) in new {
            u.write(w, class, slot, own, undefined);
        }
        block.poison = Some(u);
    }

    /// What the next instruction does to undefined values, and what they do to it. It is executed by `active`, out of `mask`.
    #[cold]
    #[inline(never)]
    pub(in super::super) fn follow(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        pc: u32,
        mask: Mask,
        active: Mask,
    ) {
        let Some(mut u) = block.poison.take() else {
            return;
        };
        if !u.is_idle(w) {
            u.warps[w].settle(pc, mask);
            self.step(&mut u, block, w, s, pc, mask, active);
        }
        block.poison = Some(u);
    }

    #[allow(clippy::too_many_arguments)]
    fn step(
        &mut self,
        u: &mut Undefined,
        block: &Block,
        w: usize,
        s: usize,
        pc: u32,
        mask: Mask,
        active: Mask,
    ) {
        let program = self.program;
        let i = &program.code[pc as usize];
        let guard = u.of(w, RegisterClass::P, i.guard).within(mask);
        match &i.op {
            Op::Branch { .. } => self.branch(u, block, w, pc, guard),
            Op::BranchIndexed { index, .. } => {
                let index = u.of(w, W, *index).within(active);
                self.branch(u, block, w, pc, guard.or(index));
            }
            Op::Memory(index) => {
                let m = &program.memory_ops[*index as usize];
                self.addresses(&block.warps[w], s, m.base, m.offset);
                self.access(u, block, w, m, i.site, active, guard);
            }
            // What a copy takes along is followed as if it were complete at once: nobody may look in between.
            Op::AsyncCopy(index) => {
                let copy = &program.copy_ops[*index as usize];
                let (read, write) = copy.accesses(program);
                let size = u.of(w, W, copy.size).within(active);
                let decides = guard.or(size).or(u.of(w, RegisterClass::P, copy.ignore));
                self.used(
                    u,
                    block,
                    w,
                    i.site,
                    decides.within(mask),
                    Usage::Decision,
                    None,
                );
                for part in [read, write] {
                    self.addresses(&block.warps[w], s, part.base, part.offset);
                    self.access(u, block, w, part, i.site, active, Lanes::default());
                }
            }
            Op::Atomic(index) => {
                let a = &program.atomic_ops[*index as usize];
                self.addresses(&block.warps[w], s, a.base, a.offset);
                self.update_of(u, block, w, a, i.site, active, guard);
            }
            Op::Call(call) => {
                let to = u.of(w, RegisterClass::D, call.pointer).within(active);
                self.used(u, block, w, i.site, guard.or(to), Usage::Decision, None);
            }
            Op::System(call) => {
                self.used(u, block, w, i.site, guard, Usage::Decision, None);
                self.handed(u, block, w, s, call, i.site, active);
            }
            Op::Barrier(_) | Op::Return | Op::Exit | Op::Trap | Op::Warp(_) => {
                let mut decides = guard;
                let mut clears = Vec::new();
                let read = &mut |row: Row, what: Use| {
                    // What a warp operation exchanges is followed where it is performed.
                    let exchanged = matches!(i.op, Op::Warp(_)) && what == Use::Data;
                    if row != (2, i.guard.0 & !Slot::NEGATED) && !exchanged {
                        decides = decides.or(u.warps[w].of(Some(row)).within(active));
                    }
                };
                visit_operands(program, i, read, &mut |row| clears.push(row));
                self.used(u, block, w, i.site, decides, Usage::Decision, None);
                if matches!(i.op, Op::Barrier(_)) {
                    for row in clears {
                        u.warps[w].set(row, active, Lanes::default());
                    }
                }
            }
            _ => {
                let warp = &block.warps[w];
                let value = self
                    .computed(u, warp, w, i, active)
                    .within(active)
                    .or(guard);
                let mut written = Vec::new();
                visit_operands(program, i, &mut |_, _| {}, &mut |row| written.push(row));
                for row in written {
                    u.warps[w].set(row, active, value);
                }
            }
        }
    }

    /// The lanes in which the result of a computation is undefined.
    fn computed(&self, u: &mut Undefined, warp: &Warp, w: usize, i: &Instr, active: Mask) -> Lanes {
        let instruction = &self.program.site(i.site).instruction;
        match &i.op {
            Op::Alu {
                f: f @ (AluOp::WWP_W(_) | AluOp::DDP_D(_)),
                s,
                ..
            } => {
                let class = signature(f).0;
                let chosen = predicate(&warp.p, s[2]);
                let a = u.of(w, class, s[0]).within(chosen);
                let b = u.of(w, class, s[1]).within(!chosen);
                u.of(w, RegisterClass::P, s[2]).or(a).or(b)
            }
            // Each lane's result comes from several lanes.
            Op::Matrix(_) => {
                let mut all = self.data(u, w, i);
                if all.mask != 0 {
                    all.mask = Mask::MAX;
                }
                all
            }
            Op::Alu { f, s, .. } => {
                let (out, ins) = signature(f);
                let all = ins
                    .iter()
                    .zip(s)
                    .fold(Lanes::default(), |all, (c, s)| all.or(u.of(w, *c, *s)));
                let carries = matches!(
                    f,
                    AluOp::WW_W_Carry(_)
                        | AluOp::DD_D_Carry(_)
                        | AluOp::WWW_W_Carry(_)
                        | AluOp::DDD_D_Carry(_)
                );
                if carries {
                    let carry = u.warps[w].carry;
                    let all = if instruction.carry.reads {
                        all.or(carry)
                    } else {
                        all
                    };
                    if instruction.carry.writes {
                        u.warps[w].carry = carry.within(!active).or(all.within(active));
                    }
                    return all;
                }
                if all.mask == 0 {
                    return all;
                }
                // One operand that is defined may decide alone.
                let decides = |slot: Slot| -> Mask {
                    let certain = !u.of(w, out, slot).mask;
                    certain
                        & match (f, &instruction.opcode) {
                            (AluOp::PP_P(_), Opcode::And) => !predicate(&warp.p, slot),
                            (AluOp::PP_P(_), Opcode::Or) => predicate(&warp.p, slot),
                            (AluOp::WW_W(_) | AluOp::DD_D(_), opcode)
                                if *opcode == Opcode::And || low_product(instruction) =>
                            {
                                (0..LANES)
                                    .filter(|l| self.register(warp, slot, out, *l) == 0)
                                    .fold(0, |m, l| m | 1 << l)
                            }
                            _ => 0,
                        }
                };
                all.within(!(decides(s[0]) | decides(s[1])))
            }
            Op::Setp {
                combine: Some((op, c)),
                ..
            }
            | Op::Set {
                combine: Some((op, c)),
                ..
            } => {
                let other = u.of(w, RegisterClass::P, *c);
                let holds = predicate(&warp.p, *c);
                let decided = match op {
                    BoolOp::And => !holds,
                    BoolOp::Or => holds,
                    BoolOp::Xor => 0,
                } & !other.mask;
                self.data(u, w, i).within(!decided)
            }
            _ => self.data(u, w, i),
        }
    }

    /// The lanes in which anything is undefined that a result is computed from.
    fn data(&self, u: &Undefined, w: usize, i: &Instr) -> Lanes {
        let mut all = Lanes::default();
        let read = &mut |row: Row, what: Use| {
            if what != Use::Control {
                all = all.or(u.warps[w].of(Some(row)));
            }
        };
        visit_operands(self.program, i, read, &mut |_| {});
        all
    }

    #[allow(clippy::too_many_arguments)]
    fn access(
        &mut self,
        u: &mut Undefined,
        block: &Block,
        w: usize,
        m: &MemoryOp,
        site: Site,
        active: Mask,
        guard: Lanes,
    ) {
        let wild = base_of(u, w, m.base).within(active);
        self.used(u, block, w, site, wild, Usage::Other, None);
        let full = self.address;
        let element = u64::from(m.element);
        // A store is made or not, as the guard and the branches before it say.
        let own_guard = guard;
        let guard = if m.store {
            guard.or(u.warps[w].astray().within(active))
        } else {
            guard
        };
        let reached = active | guard.mask;
        for k in 0..usize::from(m.count) {
            let value = u.of(w, m.class, m.regs[k]);
            let (mut loaded, mut shown) = (Lanes::default(), Lanes::default());
            for l in lanes_of(reached & !wild.mask) {
                let (space, at) = resolve(m.space, full[l]);
                let at = at.wrapping_add(k as u64 * element);
                if !m.store {
                    if let Some(source) = u.bytes(w, space, l, at, element) {
                        let mask = 1 << l;
                        loaded = loaded.or(Lanes { mask, source });
                    }
                    continue;
                }
                if space == Space::Local && u.warps[w].astray().mask >> l & 1 == 1 {
                    // Until the ways of the branch meet, the lane reads what it has stored.
                    let stored = value.or(own_guard).within(1 << l);
                    let source = (stored.mask != 0).then_some(stored.source);
                    for byte in at..at.saturating_add(element) {
                        u.set_byte(w, space, l, byte, source);
                        u.warps[w].undefined_after(l, byte);
                    }
                    continue;
                }
                let stored = value.or(guard).within(1 << l);
                if matches!(space, Space::Local | Space::Shared) {
                    let source = (stored.mask != 0).then_some(stored.source);
                    (at..at.saturating_add(element))
                        .for_each(|at| u.set_byte(w, space, l, at, source));
                } else {
                    shown = shown.or(stored);
                }
            }
            if m.store {
                let decided = guard.within(!value.mask & shown.mask);
                self.used(u, block, w, site, decided, Usage::Decision, None);
                let shown = shown.within(!decided.mask);
                let offset = k as u64 * element;
                let place = (shown.mask != 0).then(|| {
                    let lane = shown.mask.trailing_zeros() as usize;
                    let (space, at) = resolve(m.space, full[lane]);
                    (space, at.wrapping_add(offset), m.element.into())
                });
                self.used(u, block, w, site, shown, Usage::Store, place);
            } else {
                u.write(
                    w,
                    m.class,
                    m.regs[k],
                    active,
                    loaded.within(active).or(guard),
                );
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn update_of(
        &mut self,
        u: &mut Undefined,
        block: &Block,
        w: usize,
        a: &AtomicOp,
        site: Site,
        active: Mask,
        guard: Lanes,
    ) {
        let wild = base_of(u, w, a.base).within(active);
        self.used(u, block, w, site, wild, Usage::Other, None);
        self.used(u, block, w, site, guard, Usage::Decision, None);
        let class = atomic_class(a);
        let full = self.address;
        let element = u64::from(a.element);
        for k in 0..usize::from(a.count) {
            let operands = u.of(w, class, a.b[k]).or(u.of(w, class, a.c));
            let shown = operands.within(active & !wild.mask);
            let place = (shown.mask != 0).then(|| {
                let lane = shown.mask.trailing_zeros() as usize;
                let (space, at) = resolve(a.space, full[lane]);
                (space, at + k as u64 * element, a.element.into())
            });
            self.used(u, block, w, site, shown, Usage::Update, place);
            let mut old = Lanes::default();
            for l in lanes_of(active & !wild.mask) {
                let (space, at) = resolve(a.space, full[l]);
                let at = at.wrapping_add(k as u64 * element);
                if let Some(source) = u.bytes(w, space, l, at, element) {
                    let mask = 1 << l;
                    old = old.or(Lanes { mask, source });
                }
            }
            u.write(w, class, a.d[k], active, old);
        }
    }

    /// What is handed to a function of the driver: its arguments, and what `printf` prints.
    #[allow(clippy::too_many_arguments)]
    fn handed(
        &mut self,
        u: &mut Undefined,
        block: &Block,
        w: usize,
        s: usize,
        call: &SystemCall,
        site: Site,
        active: Mask,
    ) {
        let base = block.warps[w].splits[s].base;
        let mut all = Lanes::default();
        for arg in &call.args {
            match *arg {
                Carried::Register(slot, class) => all = all.or(u.of(w, class, slot).within(active)),
                Carried::Frame { offset, bytes } => {
                    let at = u64::from(base + offset);
                    all = all.or(undefined_bytes(u, w, active, |_| (at, bytes.into())));
                }
            }
        }
        if call.which == System::Vprintf {
            let lane = active.trailing_zeros() as usize;
            let conversions = self.conversions(block, w, s, call, lane);
            all = all.or(undefined_bytes(u, w, active & !all.mask, |l| {
                let buffer = self.argument(block, w, s, call, 1, l);
                let local = resolve(AddressSpace::Generic, buffer);
                match local {
                    (Space::Local, at) => (at, 8 * conversions),
                    _ => (buffer, 8 * conversions),
                }
            }));
        }
        self.used(u, block, w, site, all, Usage::Other, None);
        for result in &call.results {
            match *result {
                Carried::Register(slot, class) => {
                    u.write(w, class, slot, active, Lanes::default());
                }
                Carried::Frame { offset, bytes } => {
                    for l in lanes_of(active) {
                        let at = u64::from(base + offset);
                        (at..at + u64::from(bytes))
                            .for_each(|at| u.set_byte(w, Space::Local, l, at, None));
                    }
                }
            }
        }
    }

    /// A branch in lanes for which an undefined value decides it.
    fn branch(&mut self, u: &mut Undefined, block: &Block, w: usize, pc: u32, lanes: Lanes) {
        if lanes.mask == 0 {
            return;
        }
        let program = self.program;
        let region = u
            .regions
            .entry(pc)
            .or_insert_with(|| Region::find(program, pc).map(Arc::new))
            .clone();
        let stored = region.and_then(|region| {
            let bytes = self.private_stores(block, w, &region, lanes.mask)?;
            Some((region, bytes))
        });
        match stored {
            Some((region, bytes)) => u.warps[w].open.push(Open {
                region,
                lanes,
                bytes,
            }),
            None => {
                let site = program.code[pc as usize].site;
                self.used(u, block, w, site, lanes, Usage::Decision, None);
            }
        }
    }

    /// The bytes of local memory that a region may write; `None` if it may write other memory.
    fn private_stores(
        &mut self,
        block: &Block,
        w: usize,
        region: &Region,
        lanes: Mask,
    ) -> Option<Vec<(usize, u64)>> {
        let warp = &block.warps[w];
        let s = warp.splits.iter().position(|s| s.mask & lanes != 0)?;
        let mut bytes = Vec::new();
        for index in &region.stores {
            let m = &self.program.memory_ops[*index as usize];
            self.addresses(warp, s, m.base, m.offset);
            for l in lanes_of(lanes) {
                let (space, at) = resolve(m.space, self.address[l]);
                if space != Space::Local {
                    return None;
                }
                let end = at.saturating_add(u64::from(m.element) * u64::from(m.count));
                bytes.extend((at..end).map(|at| (l, at)));
            }
        }
        Some(bytes)
    }

    /// Tells that an undefined value matters.
    #[allow(clippy::too_many_arguments)]
    fn used(
        &mut self,
        u: &Undefined,
        block: &Block,
        w: usize,
        site: Site,
        lanes: Lanes,
        how: Usage,
        place: Option<(Space, u64, u32)>,
    ) {
        if lanes.mask != 0 {
            self.observer.undefined(&UndefinedUse {
                site,
                who: block.who(w),
                mask: lanes.mask,
                how,
                place,
                source: &u.sources[lanes.source as usize],
            });
        }
    }
}

fn base_of(u: &Undefined, w: usize, base: Base) -> Lanes {
    match base {
        Base::W(slot) => u.of(w, W, slot),
        Base::D(slot) => u.of(w, RegisterClass::D, slot),
        Base::Frame | Base::Zero => Lanes::default(),
    }
}

/// The space of an address, and the offset there.
fn resolve(space: AddressSpace, address: u64) -> (Space, u64) {
    match space {
        AddressSpace::Local => (Space::Local, address),
        AddressSpace::Shared => (Space::Shared, address),
        AddressSpace::Param => (Space::Param, address),
        AddressSpace::Generic if belongs(address, AddressSpace::Shared) => {
            (Space::Shared, address - SHARED_BASE)
        }
        AddressSpace::Generic if belongs(address, AddressSpace::Local) => {
            (Space::Local, address - LOCAL_BASE)
        }
        _ => (Space::Global, address.wrapping_sub(GLOBAL_BASE)),
    }
}

/// Lanes with an undefined byte in a range of their local memory.
fn undefined_bytes(
    u: &Undefined,
    w: usize,
    lanes: Mask,
    range: impl Fn(usize) -> (u64, u64),
) -> Lanes {
    lanes_of(lanes).fold(Lanes::default(), |all, l| {
        let (at, bytes) = range(l);
        match u.bytes(w, Space::Local, l, at, bytes) {
            Some(source) => all.or(Lanes {
                mask: 1 << l,
                source,
            }),
            None => all,
        }
    })
}

/// Whether one factor of zero decides the result.
fn low_product(instruction: &TypedInstruction) -> bool {
    instruction.opcode == Opcode::Mul && instruction.has(Modifier::Lo)
}

fn is_shuffle(kind: WarpKind) -> bool {
    use WarpKind::*;
    matches!(kind, ShflUp | ShflDown | ShflBfly | ShflIdx)
}

fn operand_class(kind: WarpKind) -> RegisterClass {
    use WarpKind::*;
    match kind {
        VoteAll | VoteAny | VoteUni | VoteBallot => RegisterClass::P,
        MatchAll64 | MatchAny64 => RegisterClass::D,
        _ => W,
    }
}
