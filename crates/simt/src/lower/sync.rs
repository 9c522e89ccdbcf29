//! Barriers, fences and warp-level operations (PTX ISA, "Parallel Synchronization
//! and Communication Instructions").

use super::Lowering;
use super::operand::Decoded;
use crate::observer::{FenceOrder, Scope};
use crate::op::*;
use ptx::ast::{Instruction, Operand, ScalarType};
use ptx::semantics::{
    self, AtomicOperation, Combination, FenceKind, Modifier, Opcode, Participation,
    Synchronisation, Type, TypedInstruction,
};

const W: RegisterClass = RegisterClass::W(32);

impl Lowering<'_> {
    pub(super) fn fence(&mut self, t: &TypedInstruction, whom: Synchronisation) -> Decoded<()> {
        let Synchronisation::Fence { kind, order, scope } = whom else {
            return Err("a fence of this form".into());
        };
        if matches!(kind, FenceKind::MbarrierInit) {
            // It releases the initialisation of mbarriers; here all that came before, which orders too much.
            self.emit(Op::Fence(FenceOrder::Release, Scope::Cluster));
            return Ok(());
        }
        if matches!(kind, FenceKind::Proxy) {
            // Of the proxies that fences are for, only the asynchronous one is told apart from the generic one here.
            self.emit(match t.has(Modifier::Async) {
                true => Op::ProxyFence,
                false => Op::Nop,
            });
            return Ok(());
        }
        let scope = super::memory::scope(scope.ok_or("a fence without a scope")?);
        let order = match order {
            Some(semantics::Order::Sc) => FenceOrder::Sc,
            Some(semantics::Order::Acquire) => FenceOrder::Acquire,
            Some(semantics::Order::Release) => FenceOrder::Release,
            _ => FenceOrder::AcqRel,
        };
        self.emit(Op::Fence(order, scope));
        Ok(())
    }

    /// `bar.warp.sync mask`.
    pub(super) fn warp_barrier(&mut self, i: &Instruction) -> Decoded<()> {
        let members = self.source(self.operand(i, 0)?, W, ScalarType::B32)?;
        self.push_warp(WarpKind::Sync, [Slot::NONE; 5], members)
    }

    /// `bar{.cta}.sync a{, b}`, `bar.arrive a, b`, `bar.red.op d, a{, b}, {!}c`, and the same under the name `barrier`.
    pub(super) fn barrier(
        &mut self,
        i: &Instruction,
        participation: Participation,
        aligned: bool,
    ) -> Decoded<()> {
        let (destination, predicate) = match participation {
            Participation::Count | Participation::Reduce(_) => (1, i.operands.last()),
            _ => (0, None),
        };
        // Between the two stand the barrier's number and, where written, the number of threads.
        let last = i
            .operands
            .len()
            .saturating_sub(usize::from(predicate.is_some()));
        let (id, threads) = match i.operands.get(destination..last) {
            Some([id]) => (id, None),
            Some([id, threads, ..]) => (id, Some(threads)),
            _ => return Err("too few operands".into()),
        };
        let p = match predicate {
            Some(p) => self.source(p, RegisterClass::P, ScalarType::Pred)?,
            None => Slot::NONE,
        };
        let kind = match participation {
            Participation::Sync => BarrierKind::Sync,
            Participation::Arrive => BarrierKind::Arrive,
            Participation::Count => {
                let (d, _) = self.destination(self.operand(i, 0)?, W)?;
                BarrierKind::Popc { d, p }
            }
            Participation::Reduce(Combination::And) => BarrierKind::And {
                d: self.predicate(self.operand(i, 0)?)?,
                p,
            },
            Participation::Reduce(Combination::Or) => BarrierKind::Or {
                d: self.predicate(self.operand(i, 0)?)?,
                p,
            },
            Participation::Reduce(Combination::Xor) | Participation::Wait => {
                return Err("a barrier of this form".into());
            }
        };
        let id = self.source(id, W, ScalarType::U32)?;
        let threads = match threads {
            Some(t) => self.source(t, W, ScalarType::U32)?,
            None => Slot::NONE,
        };
        self.emit(Op::Barrier(Box::new(BarrierOp {
            id,
            threads,
            kind,
            aligned,
            point: u32::MAX,
        })));
        Ok(())
    }

    pub(super) fn warp_operation(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        if t.opcode == Opcode::Activemask {
            let (d, _) = self.destination(self.operand(i, 0)?, W)?;
            return self.push_warp(
                WarpKind::ActiveMask,
                [d, Slot::NONE, Slot::NONE, Slot::NONE, Slot::NONE],
                Slot::NONE,
            );
        }
        let members = match t.has(Modifier::Sync) {
            true => {
                let members = i.operands.last().ok_or("too few operands")?;
                self.source(members, W, ScalarType::B32)?
            }
            false => self.active_lanes()?,
        };
        let (first, second) = match self.operand(i, 0)? {
            Operand::Pair(a, b) => ((**a).clone(), Some((**b).clone())),
            one => (one.clone(), None),
        };
        let p = match &second {
            Some(p) => self.predicate(p)?,
            None => Slot::NONE,
        };
        let kind = warp_kind(t).ok_or("a warp operation of this form")?;
        let mut slots = [Slot::NONE; 5];
        slots[1] = p;
        match t.opcode {
            Opcode::ShflSync | Opcode::Shfl => {
                slots[0] = self.destination(&first, W)?.0;
                for (k, slot) in slots[2..].iter_mut().enumerate() {
                    *slot = self.source(self.operand(i, k + 1)?, W, ScalarType::B32)?;
                }
            }
            Opcode::VoteSync | Opcode::Vote => {
                slots[0] = if kind == WarpKind::VoteBallot {
                    self.destination(&first, W)?.0
                } else {
                    self.predicate(&first)?
                };
                slots[2] = self.source(self.operand(i, 1)?, RegisterClass::P, ScalarType::Pred)?;
            }
            Opcode::Match => {
                let wide = matches!(kind, WarpKind::MatchAll64 | WarpKind::MatchAny64);
                slots[0] = self.destination(&first, W)?.0;
                slots[2] = self.source(
                    self.operand(i, 1)?,
                    if wide { RegisterClass::D } else { W },
                    ScalarType::B64,
                )?;
            }
            Opcode::Redux => {
                slots[0] = self.destination(&first, W)?.0;
                slots[2] = self.source(self.operand(i, 1)?, W, ScalarType::B32)?;
            }
            _ => slots[0] = self.destination(&first, W)?.0,
        }
        self.push_warp(kind, slots, members)
    }

    /// The lanes that execute the instruction together, as a mask: who takes part in a vote or shuffle without `.sync` (PTX ISA, "vote",
    /// "shfl"), which are gone from PTX 6.4 on for targets from `sm_70` on.
    fn active_lanes(&mut self) -> Decoded<Slot> {
        if self.module.version >= (6, 4) && self.program.target >= 70 {
            return Err("warp operations without .sync (removed in sm_70)".into());
        }
        let d = self.temporary(W);
        let mut slots = [Slot::NONE; 5];
        slots[0] = d;
        self.push_warp(WarpKind::ActiveMask, slots, Slot::NONE)?;
        Ok(d)
    }

    pub(super) fn push_warp(
        &mut self,
        kind: WarpKind,
        [d, p, a, b, c]: [Slot; 5],
        members: Slot,
    ) -> Decoded<()> {
        self.emit(Op::Warp(Box::new(WarpOp {
            kind,
            d,
            p,
            a,
            b,
            c,
            members,
            point: u32::MAX,
        })));
        Ok(())
    }
}

fn warp_kind(t: &TypedInstruction) -> Option<WarpKind> {
    use WarpKind::*;
    let has = |m| t.has(m);
    Some(match t.opcode {
        Opcode::ShflSync | Opcode::Shfl if has(Modifier::Up) => ShflUp,
        Opcode::ShflSync | Opcode::Shfl if has(Modifier::Down) => ShflDown,
        Opcode::ShflSync | Opcode::Shfl if has(Modifier::Bfly) => ShflBfly,
        Opcode::ShflSync | Opcode::Shfl if has(Modifier::Idx) => ShflIdx,
        Opcode::VoteSync | Opcode::Vote if has(Modifier::All) => VoteAll,
        Opcode::VoteSync | Opcode::Vote if has(Modifier::Any) => VoteAny,
        Opcode::VoteSync | Opcode::Vote if has(Modifier::Uni) => VoteUni,
        Opcode::VoteSync | Opcode::Vote if has(Modifier::Ballot) => VoteBallot,
        Opcode::Match => match (
            has(Modifier::All),
            has(Modifier::Any),
            has(Modifier::Type(Type::B64)),
        ) {
            (_, true, true) => MatchAny64,
            (_, true, false) => MatchAny32,
            (true, false, true) => MatchAll64,
            (true, false, false) => MatchAll32,
            _ => return None,
        },
        Opcode::Redux => redux_kind(t)?,
        Opcode::Elect => Elect,
        _ => return None,
    })
}

fn redux_kind(t: &TypedInstruction) -> Option<WarpKind> {
    use WarpKind::*;
    let (abs, nan) = (t.has(Modifier::Abs), t.has(Modifier::NaN));
    let ty = t.modifiers.types().last()?;
    Some(match (t.modifiers.atomic_operation()?, ty) {
        (AtomicOperation::Min, Type::F32) => ReduxMinF { abs, nan },
        (AtomicOperation::Max, Type::F32) => ReduxMaxF { abs, nan },
        (_, Type::F32) => return None,
        (AtomicOperation::Add, _) => ReduxAdd,
        (AtomicOperation::Min, Type::S32) => ReduxMinS,
        (AtomicOperation::Min, _) => ReduxMinU,
        (AtomicOperation::Max, Type::S32) => ReduxMaxS,
        (AtomicOperation::Max, _) => ReduxMaxU,
        (AtomicOperation::And, _) => ReduxAnd,
        (AtomicOperation::Or, _) => ReduxOr,
        (AtomicOperation::Xor, _) => ReduxXor,
        _ => return None,
    })
}
