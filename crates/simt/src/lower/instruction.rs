//! One instruction: which file decodes it, and arithmetic.

use super::Lowering;
use super::operand::{Decoded, Undecodable};
use crate::alu::{self, AluOp};
use crate::op::*;
use ptx::ast::{Instruction, Operand, ScalarType};
use ptx::semantics::{
    Combination, Control, Modifier, Opcode, Order, Participation, Synchronisation, Type,
    TypedInstruction,
};

impl<'m> Lowering<'m> {
    /// Decodes an instruction and appends it to the function at hand. What can't
    /// be decoded becomes [`Op::Unsupported`].
    pub(super) fn instruction(&mut self, i: &'m Instruction) {
        let text = self.text(i.span);
        let typed = TypedInstruction::of(i);
        self.site = self.new_site(i.span, text);
        self.guard = Slot::TRUE;
        let (code, jumps) = (self.code.len(), self.jumps.len());
        let decoded = self.guard_of(i).and_then(|guard| {
            self.guard = guard;
            self.decode(i, &typed)
        });
        self.program.sites[self.site.0 as usize].instruction = typed;
        if let Err(why) = decoded {
            self.program.sites[self.site.0 as usize].missing = Some(why.to_string());
            self.code.truncate(code);
            self.jumps.truncate(jumps);
            self.emit(Op::Unsupported);
        }
    }

    fn guard_of(&mut self, i: &Instruction) -> Decoded<Slot> {
        let Some(guard) = &i.guard else {
            return Ok(Slot::TRUE);
        };
        let name = Operand::Name(guard.register.clone(), None);
        match self.register(&name) {
            Some((slot, RegisterClass::P)) => {
                Ok(if guard.negated { slot.inverted() } else { slot })
            }
            _ => Err("a guard that is not a predicate".into()),
        }
    }

    fn decode(&mut self, i: &'m Instruction, t: &TypedInstruction) -> Decoded<()> {
        match t.control {
            Control::Branch | Control::IndexedBranch => return self.branch(i, t),
            Control::Call => return self.call(i),
            Control::Return => return self.single(Op::Return),
            Control::Exit => return self.single(Op::Exit),
            Control::Trap => return self.single(Op::Trap),
            Control::Pause => return self.single(Op::Yield),
            Control::Next => {}
        }
        match (&t.opcode, &t.synchronisation) {
            (Opcode::Ld | Opcode::Ldu | Opcode::St, _) => self.load_store(i, t),
            (Opcode::Atom | Opcode::Red, _) => self.atomic(i, t),
            (Opcode::Tex | Opcode::Tld4 | Opcode::Suld | Opcode::Sust, _) => self.image(i, t),
            (Opcode::Txq, _) => self.query(i, t),
            (Opcode::Fence | Opcode::Membar, Some(whom)) => self.fence(t, *whom),
            (Opcode::TensormapCpFenceproxy, _) => self.copy_map(i, t),
            (
                _,
                Some(Synchronisation::BlockBarrier {
                    participation,
                    aligned,
                }),
            ) => self.barrier(i, *participation, *aligned),
            (_, Some(Synchronisation::WarpBarrier)) => self.warp_barrier(i),
            (_, Some(Synchronisation::Mbarrier(operation))) => self.mbarrier(i, t, *operation),
            (
                _,
                Some(Synchronisation::ClusterBarrier {
                    participation,
                    order,
                    aligned,
                }),
            ) => self.single(match participation {
                Participation::Arrive => Op::ClusterArrive {
                    releases: *order != Order::Relaxed,
                    aligned: *aligned,
                },
                _ => Op::ClusterWait {
                    acquires: *order != Order::Relaxed,
                },
            }),
            (Opcode::Activemask | Opcode::Shfl | Opcode::Vote, _)
            | (_, Some(Synchronisation::WarpExchange)) => self.warp_operation(i, t),
            (_, Some(Synchronisation::WaitDependency)) => self.single(Op::DependencyWait),
            (_, Some(Synchronisation::LaunchDependents)) => self.single(Op::DependencyTrigger),
            (Opcode::Prefetch | Opcode::Prefetchu | Opcode::Applypriority | Opcode::Discard, _)
            | (Opcode::Setmaxnreg, _) => self.single(Op::Nop),
            (Opcode::Createpolicy, _) => {
                let d = self.operand(i, 0)?.clone();
                let (d, _) = self.destination(&d, RegisterClass::D)?;
                let zero = self.constants.d(0);
                self.emit(Op::Cvta { d, a: zero, add: 0 });
                Ok(())
            }
            (Opcode::Mov, _) => self.mov(i, t),
            (Opcode::Cvta, _) => self.cvta(i, t),
            (Opcode::Isspacep, _) => self.is_space(i, t),
            (Opcode::Mapa | Opcode::Getctarank, _) => self.map_shared(i, t),
            (Opcode::Alloca, _) => self.alloca(i, t),
            (Opcode::Setp, _) => self.setp(i, t),
            (Opcode::Set, _) => self.set(i, t),
            (
                Opcode::WmmaLoad
                | Opcode::WmmaStore
                | Opcode::WmmaMma
                | Opcode::Mma
                | Opcode::Ldmatrix
                | Opcode::Stmatrix
                | Opcode::Movmatrix,
                _,
            ) => self.matrix(i, t),
            (
                Opcode::WgmmaMmaAsync
                | Opcode::WgmmaFence
                | Opcode::WgmmaCommitGroup
                | Opcode::WgmmaWaitGroup,
                _,
            ) => self.wgmma(i, t),
            (Opcode::CpAsync, _) => self.async_copy(i, t),
            (Opcode::CpAsyncBulk | Opcode::CpReduceAsyncBulk, _) => self.bulk_copy(i, t),
            (Opcode::CpAsyncBulkTensor | Opcode::CpReduceAsyncBulkTensor, _) => {
                self.tensor_copy(i, t)
            }
            (Opcode::TensormapReplace, _) => self.replace_field(i, t),
            (Opcode::StAsync | Opcode::RedAsync, _) => self.async_store(i, t),
            (Opcode::CpAsyncBulkPrefetch | Opcode::CpAsyncBulkPrefetchTensor, _) => {
                self.single(Op::Nop)
            }
            (Opcode::CpAsyncBulkCommitGroup, _) => self.single(Op::CommitBulk),
            (Opcode::CpAsyncBulkWaitGroup, _) => self.wait_for_bulk(i, t),
            (Opcode::CpAsyncCommitGroup, _) => self.single(Op::CommitGroup),
            (Opcode::CpAsyncWaitGroup | Opcode::CpAsyncWaitAll, _) => self.wait_for_copies(i, t),
            (opcode, _) if opcode.is_video() => self.video(i, t),
            (opcode, _) if opcode.is_simd_video() => self.video_simd(i, t),
            _ => self.arithmetic(i, t),
        }
    }

    fn single(&mut self, op: Op) -> Decoded<()> {
        self.emit(op);
        Ok(())
    }

    pub(super) fn operand<'i>(&self, i: &'i Instruction, index: usize) -> Decoded<&'i Operand> {
        i.operands
            .get(index)
            .ok_or(Undecodable::Form("too few operands"))
    }

    fn lookup(&self, t: &TypedInstruction) -> Decoded<AluOp> {
        alu::lookup(&t.opcode, &t.modifiers, t.operands.len())
            .ok_or(Undecodable::Form("not implemented"))
    }

    fn arithmetic(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let f = self.lookup(t)?;
        let (out, ins) = signature(&f);
        let ty = t.modifiers.literal_type();
        let mut s = [Slot::NONE; 5];
        if let (AluOp::WWWWP_WP(f), Operand::Pair(d, p)) = (f, self.operand(i, 0)?) {
            return self.lop3_test(i, f, d, p);
        }
        let mut sources: Vec<&Operand> = i.operands.iter().skip(1).collect();
        if sources.len() != ins.len() {
            // `cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, rbits`.
            sources = sources.into_iter().flat_map(elements).collect();
        }
        if sources.len() != ins.len() {
            return Err("an operand count that is not implemented".into());
        }
        for (k, class) in ins.iter().enumerate() {
            s[k] = self.source(sources[k], *class, ty)?;
        }
        if let Some(extend) = self.sign_extension(i, t)? {
            let narrow = self.temporary(out);
            self.emit(Op::Alu { f, d: narrow, s });
            let mut s = [Slot::NONE; 5];
            s[0] = narrow;
            return self.finish(&i.operands[0], extend, s);
        }
        self.finish(&i.operands[0], f, s)
    }

    /// Appends an operation with its destination.
    fn finish(&mut self, destination: &Operand, f: AluOp, s: [Slot; 5]) -> Decoded<()> {
        let (d, after) = self.destination(destination, signature(&f).0)?;
        self.emit(Op::Alu { f, d, s });
        if let Some(after) = after {
            self.emit(after);
        }
        Ok(())
    }

    /// What brings the result of `cvt` to a destination register wider than its
    /// signed type (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
    fn sign_extension(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<Option<AluOp>> {
        let result = t.modifiers.types().find(|ty| ty.scalar().is_some());
        let from = match (&t.opcode, result) {
            (Opcode::Cvt, Some(from @ (Type::S8 | Type::S16 | Type::S32))) => from,
            _ => return Ok(None),
        };
        let to = match self.register(self.operand(i, 0)?) {
            Some((_, RegisterClass::W(16))) if from.bits() < 16 => Type::S16,
            Some((_, RegisterClass::W(32))) if from.bits() < 32 => Type::S32,
            Some((_, RegisterClass::D)) => Type::S64,
            _ => return Ok(None),
        };
        Ok(alu::lookup(
            &Opcode::Cvt,
            &[Modifier::Type(to), Modifier::Type(from)],
            2,
        ))
    }

    /// `lop3.BoolOp.b32 d|p, a, b, c, immLut, q`.
    fn lop3_test(
        &mut self,
        i: &Instruction,
        f: alu::Lop3Test,
        d: &Operand,
        p: &Operand,
    ) -> Decoded<()> {
        let mut s = [Slot::NONE; 5];
        for (k, class) in [
            RegisterClass::W(32),
            RegisterClass::W(32),
            RegisterClass::W(32),
            RegisterClass::W(32),
            RegisterClass::P,
        ]
        .into_iter()
        .enumerate()
        {
            s[k] = self.source(self.operand(i, k + 1)?, class, ScalarType::B32)?;
        }
        let p = self.predicate(p)?;
        let (d, _) = self.destination(d, RegisterClass::W(32))?;
        self.emit(Op::Lop3Test { f, d, p, s });
        Ok(())
    }

    /// `setp.CmpOp{.BoolOp}{.ftz}.type p[|q], a, b{, {!}c}`.
    fn setp(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let f = self.lookup(t)?;
        let (_, ins) = signature(&f);
        let ty = t.modifiers.literal_type();
        let a = self.source(self.operand(i, 1)?, ins[0], ty)?;
        let b = self.source(self.operand(i, 2)?, ins[1], ty)?;
        let (p, q) = match self.operand(i, 0)? {
            Operand::Pair(p, q) => (self.predicate(p)?, self.predicate(q)?),
            p => (self.predicate(p)?, Slot::NONE),
        };
        let combine = match (bool_op(t), i.operands.get(3)) {
            (Some(op), Some(c)) => Some((op, self.source(c, RegisterClass::P, ScalarType::Pred)?)),
            (None, None) => None,
            _ => return Err("a combination that is not implemented".into()),
        };
        if combine.is_none() && q == Slot::NONE && matches!(f, AluOp::WW_P(_) | AluOp::DD_P(_)) {
            self.emit(Op::Alu {
                f,
                d: p,
                s: [a, b, Slot::NONE, Slot::NONE, Slot::NONE],
            });
        } else {
            self.emit(Op::Setp {
                f,
                p,
                q,
                s: [a, b],
                combine,
            });
        }
        Ok(())
    }

    /// `set.CmpOp{.BoolOp}{.ftz}.dtype.stype d, a, b{, {!}c}`.
    fn set(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let f = self.lookup(t)?;
        let truth = alu::compare::set_truth(&t.modifiers).ok_or("not implemented")?;
        let from = t.modifiers.literal_type();
        let (_, ins) = signature(&f);
        let a = self.source(self.operand(i, 1)?, ins[0], from)?;
        let b = self.source(self.operand(i, 2)?, ins[1], from)?;
        let combine = match bool_op(t) {
            Some(op) => {
                let c = self.source(self.operand(i, 3)?, RegisterClass::P, ScalarType::Pred)?;
                Some((op, c))
            }
            None => None,
        };
        let (d, after) = self.destination(self.operand(i, 0)?, RegisterClass::W(32))?;
        self.emit(Op::Set {
            f,
            d,
            s: [a, b],
            combine,
            truth,
        });
        after.into_iter().for_each(|op| self.emit(op));
        Ok(())
    }

    /// A predicate destination, or none for `_`.
    pub(super) fn predicate(&mut self, operand: &Operand) -> Decoded<Slot> {
        match self.register(operand) {
            Some((slot, RegisterClass::P)) => Ok(slot),
            None if matches!(operand, Operand::Name(n, None) if n == "_") => Ok(Slot::NONE),
            _ => Err("a destination that is not a predicate".into()),
        }
    }

    /// `mov.pred p, %is_explicit_cluster`: a special register that is a predicate.
    fn special_predicate(&mut self, to: &Operand, which: Special) -> Decoded<()> {
        let p = self.predicate(to)?;
        let d = self.temporary(RegisterClass::W(32));
        self.emit(Op::Special {
            which,
            d,
            wide: false,
        });
        let zero = self.constants.w(0);
        let unequal = [Modifier::Ne, Modifier::Type(Type::U32)];
        let f = alu::lookup(&Opcode::Setp, &unequal, 3).ok_or("not implemented")?;
        self.emit(Op::Setp {
            f,
            p,
            q: Slot::NONE,
            s: [d, zero],
            combine: None,
        });
        Ok(())
    }

    /// `mov` of registers, immediates, addresses, special registers and vectors.
    fn mov(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let ty = t.modifiers.literal_type();
        let class = self.type_class(ty)?;
        let (to, from) = (self.operand(i, 0)?, self.operand(i, 1)?);
        let reserved = match from {
            Operand::Name(name, None) => self.reserved_shared(name),
            _ => None,
        };
        let from = reserved.as_ref().unwrap_or(from);
        if let Operand::Name(name, component) = from
            && self.scopes.lookup(name).is_none()
            && let Some((which, wide)) = Special::named(name, component.as_deref())
        {
            let has = if wide {
                RegisterClass::D
            } else {
                RegisterClass::W(32)
            };
            if class == RegisterClass::P {
                return self.special_predicate(to, which);
            }
            let (d, after) = self.destination(to, has)?;
            self.emit(Op::Special { which, d, wide });
            after.into_iter().for_each(|op| self.emit(op));
            return Ok(());
        }
        if let Some(s) = self.special_vector(from)? {
            let d = self.vector_or_register(to)?;
            let s = s[..d.len().min(s.len())].into();
            self.emit(Op::Pack { d: d.into(), s });
            return Ok(());
        }
        let vectors = self.elements(to).is_some() || self.elements(from).is_some();
        if vectors || class == RegisterClass::Q {
            let d = self.vector_or_register(to)?;
            let s = self.vector_or_register(from)?;
            self.emit(Op::Pack {
                d: d.into(),
                s: s.into(),
            });
            return Ok(());
        }
        let s = self.source(from, class, ty)?;
        let (d, after) = self.destination(to, class)?;
        let f = match class {
            RegisterClass::W(8) => return Err("mov of 8 bits".into()),
            _ => self.lookup(t)?,
        };
        self.emit(Op::Alu {
            f,
            d,
            s: [s, Slot::NONE, Slot::NONE, Slot::NONE, Slot::NONE],
        });
        after.into_iter().for_each(|op| self.emit(op));
        Ok(())
    }

    /// The elements of a special register that is a vector, as a whole (PTX ISA, "Special Registers: %tid"): the fourth is 0.
    fn special_vector(&mut self, operand: &Operand) -> Decoded<Option<Vec<Part>>> {
        let Operand::Name(name, None) = operand else {
            return Ok(None);
        };
        if self.scopes.lookup(name).is_some() || Special::named(name, Some("x")).is_none() {
            return Ok(None);
        }
        let class = RegisterClass::W(32);
        let elements = ["x", "y", "z"].map(|axis| Operand::Name(name.clone(), Some(axis.into())));
        let mut parts = Vec::new();
        for element in elements.iter().chain([&Operand::Int(0, false)]) {
            parts.push(Part {
                slot: self.source(element, class, ScalarType::U32)?,
                class,
                bits: 32,
            });
        }
        Ok(Some(parts))
    }

    fn vector_or_register(&mut self, operand: &Operand) -> Decoded<Vec<Part>> {
        match self.elements(operand) {
            Some(parts) => self.parts(&parts),
            None => match self.register(operand) {
                Some((slot, RegisterClass::Q)) => Ok(vec![
                    Part {
                        slot,
                        class: RegisterClass::D,
                        bits: 64,
                    },
                    Part {
                        slot: Slot(slot.0 + 1),
                        class: RegisterClass::D,
                        bits: 64,
                    },
                ]),
                Some(_) => self.parts(std::slice::from_ref(operand)),
                None => {
                    let slot = self.source(operand, RegisterClass::D, ScalarType::B64)?;
                    Ok(vec![Part {
                        slot,
                        class: RegisterClass::D,
                        bits: 64,
                    }])
                }
            },
        }
    }
}

fn bool_op(t: &TypedInstruction) -> Option<BoolOp> {
    Some(match t.modifiers.combination()? {
        Combination::And => BoolOp::And,
        Combination::Or => BoolOp::Or,
        Combination::Xor => BoolOp::Xor,
    })
}

/// An operand, or the elements of a vector.
fn elements(operand: &Operand) -> Vec<&Operand> {
    match operand {
        Operand::Vector(parts) => parts.iter().collect(),
        _ => vec![operand],
    }
}

/// Classes of the result and of the sources of a table entry.
pub(crate) fn signature(f: &AluOp) -> (RegisterClass, &'static [RegisterClass]) {
    use AluOp::*;
    const W: RegisterClass = RegisterClass::W(32);
    const D: RegisterClass = RegisterClass::D;
    const P: RegisterClass = RegisterClass::P;
    match f {
        W_W(_) => (W, &[W]),
        WW_W(_) | WW_W_Carry(_) => (W, &[W, W]),
        WWW_W(_) | WWW_W_Carry(_) => (W, &[W, W, W]),
        WWWW_W(_) => (W, &[W, W, W, W]),
        WWWWW_W(_) => (W, &[W, W, W, W, W]),
        D_D(_) => (D, &[D]),
        DD_D(_) | DD_D_Carry(_) => (D, &[D, D]),
        DDD_D(_) | DDD_D_Carry(_) => (D, &[D, D, D]),
        W_D(_) => (D, &[W]),
        D_W(_) => (W, &[D]),
        WW_D(_) => (D, &[W, W]),
        DD_W(_) => (W, &[D, D]),
        WWD_D(_) => (D, &[W, W, D]),
        DW_D(_) => (D, &[D, W]),
        DWW_D(_) => (D, &[D, W, W]),
        DDWW_D(_) => (D, &[D, D, W, W]),
        DDW_D(_) => (D, &[D, D, W]),
        WWD_W(_) => (W, &[W, W, D]),
        WW_P(_) | WW_PP(_) => (P, &[W, W]),
        WWWWP_WP(_) => (W, &[W, W, W, W, P]),
        DD_P(_) => (P, &[D, D]),
        W_P(_) => (P, &[W]),
        D_P(_) => (P, &[D]),
        WWP_W(_) => (W, &[W, W, P]),
        DDP_D(_) => (D, &[D, D, P]),
        P_P(_) => (P, &[P]),
        PP_P(_) => (P, &[P, P]),
    }
}
