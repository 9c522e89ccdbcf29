//! Barriers, fences and warp-level operations (PTX ISA, "Parallel Synchronization
//! and Communication Instructions").

use super::Lowering;
use super::operand::Decoded;
use crate::observer::{FenceOrder, Scope};
use crate::op::*;
use ptx::ast::{Instruction, Operand, ScalarType};

const W: RegisterClass = RegisterClass::W(32);

impl Lowering<'_> {
    pub(super) fn fence(&mut self, i: &Instruction) -> Decoded<()> {
        let has = |m: &str| i.has(m);
        if i.modifiers
            .iter()
            .any(|m| m.starts_with("proxy") || m == "mbarrier_init")
        {
            // Proxies order asynchronous and texture accesses, of which there are none here.
            self.emit(Op::Nop);
            return Ok(());
        }
        let scope = match () {
            () if has("cta") => Scope::Cta,
            () if has("cluster") => Scope::Cluster,
            () if has("gpu") || has("gl") => Scope::Gpu,
            () if has("sys") => Scope::Sys,
            () => return Err(String::from("a fence without a scope")),
        };
        // "membar is a synonym for fence.sc" from sm_70 on.
        let order = match () {
            () if i.opcode == "membar" || has("sc") => FenceOrder::Sc,
            () if has("acquire") => FenceOrder::Acquire,
            () if has("release") => FenceOrder::Release,
            () => FenceOrder::AcqRel,
        };
        self.emit(Op::Fence(order, scope));
        Ok(())
    }

    /// `bar{.cta}.sync a{, b}`, `bar.arrive a, b`, `bar.red.op d, a{, b}, {!}c`,
    /// `bar.warp.sync mask`, and the same under the name `barrier`.
    pub(super) fn barrier(&mut self, i: &Instruction) -> Decoded<()> {
        if i.has("warp") {
            let members = self.source(self.operand(i, 0)?, W, ScalarType::B32)?;
            return self.push_warp(WarpKind::Sync, [Slot::NONE; 5], members);
        }
        if i.has("cluster") {
            return Err(String::from("cluster barriers"));
        }
        // `bar` is `barrier.aligned` by definition.
        let aligned = i.opcode == "bar" || i.has("aligned");
        let mut rest = i.operands.iter();
        let mut next = || rest.next();
        let (kind, id, threads) = if i.has("red") {
            let d = next().ok_or("too few operands")?.clone();
            let id = next().ok_or("too few operands")?.clone();
            let third = next().ok_or("too few operands")?.clone();
            let (threads, p) = match next() {
                Some(p) => (Some(third), p.clone()),
                None => (None, third),
            };
            let p = self.source(&p, RegisterClass::P, ScalarType::Pred)?;
            let kind = if i.has("popc") {
                let (d, _) = self.destination(&d, W)?;
                BarrierKind::Popc { d, p }
            } else {
                let d = self.predicate(&d)?;
                if i.has("and") {
                    BarrierKind::And { d, p }
                } else {
                    BarrierKind::Or { d, p }
                }
            };
            (kind, id, threads)
        } else {
            let id = next().ok_or("too few operands")?.clone();
            let kind = match () {
                () if i.has("sync") => BarrierKind::Sync,
                () if i.has("arrive") => BarrierKind::Arrive,
                () => return Err(String::from("a barrier of this form")),
            };
            (kind, id, next().cloned())
        };
        let id = self.source(&id, W, ScalarType::U32)?;
        let threads = match threads {
            Some(t) => self.source(&t, W, ScalarType::U32)?,
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

    pub(super) fn warp_operation(&mut self, i: &Instruction) -> Decoded<()> {
        if i.opcode == "activemask" {
            let (d, _) = self.destination(self.operand(i, 0)?, W)?;
            return self.push_warp(
                WarpKind::ActiveMask,
                [d, Slot::NONE, Slot::NONE, Slot::NONE, Slot::NONE],
                Slot::NONE,
            );
        }
        if !i.has("sync") && i.opcode != "elect" {
            return Err(String::from(
                "warp operations without .sync (removed in sm_70)",
            ));
        }
        let members = i.operands.last().ok_or("too few operands")?;
        let (first, second) = match self.operand(i, 0)? {
            Operand::Pair(a, b) => ((**a).clone(), Some((**b).clone())),
            one => (one.clone(), None),
        };
        let p = match &second {
            Some(p) => self.predicate(p)?,
            None => Slot::NONE,
        };
        let members = self.source(members, W, ScalarType::B32)?;
        let kind = warp_kind(i).ok_or("a warp operation of this form")?;
        let mut slots = [Slot::NONE; 5];
        slots[1] = p;
        match i.opcode.as_str() {
            "shfl" => {
                slots[0] = self.destination(&first, W)?.0;
                for (k, slot) in slots[2..].iter_mut().enumerate() {
                    *slot = self.source(self.operand(i, k + 1)?, W, ScalarType::B32)?;
                }
            }
            "vote" => {
                slots[0] = if kind == WarpKind::VoteBallot {
                    self.destination(&first, W)?.0
                } else {
                    self.predicate(&first)?
                };
                slots[2] = self.source(self.operand(i, 1)?, RegisterClass::P, ScalarType::Pred)?;
            }
            "match" => {
                let wide = matches!(kind, WarpKind::MatchAll64 | WarpKind::MatchAny64);
                slots[0] = self.destination(&first, W)?.0;
                slots[2] = self.source(
                    self.operand(i, 1)?,
                    if wide { RegisterClass::D } else { W },
                    ScalarType::B64,
                )?;
            }
            "redux" => {
                slots[0] = self.destination(&first, W)?.0;
                slots[2] = self.source(self.operand(i, 1)?, W, ScalarType::B32)?;
            }
            _ => slots[0] = self.destination(&first, W)?.0,
        }
        self.push_warp(kind, slots, members)
    }

    fn push_warp(
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

fn warp_kind(i: &Instruction) -> Option<WarpKind> {
    use WarpKind::*;
    let has = |m: &str| i.has(m);
    Some(match i.opcode.as_str() {
        "shfl" if has("up") => ShflUp,
        "shfl" if has("down") => ShflDown,
        "shfl" if has("bfly") => ShflBfly,
        "shfl" if has("idx") => ShflIdx,
        "vote" if has("all") => VoteAll,
        "vote" if has("any") => VoteAny,
        "vote" if has("uni") => VoteUni,
        "vote" if has("ballot") => VoteBallot,
        "match" if has("any") => {
            if has("b64") {
                MatchAny64
            } else {
                MatchAny32
            }
        }
        "match" if has("all") => {
            if has("b64") {
                MatchAll64
            } else {
                MatchAll32
            }
        }
        "redux" if has("f32") => {
            let (abs, nan) = (has("abs"), has("NaN"));
            if has("min") {
                ReduxMinF { abs, nan }
            } else {
                ReduxMaxF { abs, nan }
            }
        }
        "redux" if has("add") => ReduxAdd,
        "redux" if has("min") => {
            if has("s32") {
                ReduxMinS
            } else {
                ReduxMinU
            }
        }
        "redux" if has("max") => {
            if has("s32") {
                ReduxMaxS
            } else {
                ReduxMaxU
            }
        }
        "redux" if has("and") => ReduxAnd,
        "redux" if has("or") => ReduxOr,
        "redux" if has("xor") => ReduxXor,
        "elect" => Elect,
        _ => return None,
    })
}
