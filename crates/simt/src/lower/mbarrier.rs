//! `mbarrier` (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"): atomic operations, loads and stores of the word
//! that [`crate::mbarrier`] describes, ordered as the instruction says. So whoever finds a phase complete comes after all who arrived in it.

use super::Lowering;
use super::memory::Access;
use super::operand::Decoded;
use crate::alu::{self, AluOp};
use crate::mbarrier::*;
use crate::memory::SHARED_BASE;
use crate::observer::{self, Order, Scope};
use crate::op::*;
use ptx::ast::{Instruction, Operand, ScalarType};
use ptx::semantics::{MbarrierOperation, Modifier, Opcode, Space, Type, TypedInstruction};

const W: RegisterClass = RegisterClass::W(32);
const D: RegisterClass = RegisterClass::D;

impl Lowering<'_> {
    /// Any of them.
    pub(super) fn mbarrier(
        &mut self,
        i: &Instruction,
        t: &TypedInstruction,
        operation: MbarrierOperation,
    ) -> Decoded<()> {
        use MbarrierOperation::*;
        match operation {
            Init => {
                let count = self.source(self.operand(i, 1)?, W, ScalarType::U32)?;
                let object = self.computed(Opcode::Mul, &[Modifier::Lo], count, ONE)?;
                self.store_object(i, object)
            }
            // The memory is good for something else then, and whoever uses it writes it first. Taken for a write, it would race with the
            // last waits of `cuda::pipeline`, which lets one lane of a warp destroy its mbarriers for all.
            Inval => {
                self.emit(Op::Nop);
                Ok(())
            }
            Arrive | ArriveDrop => self.arrive(i, t, operation == ArriveDrop),
            ExpectTransactions => self.update_object(i, t, 0, None, Some(1), Update::Expect),
            CompleteTransactions => self.update_object(i, t, 0, None, Some(1), Update::Complete),
            ArriveLater if t.opcode == Opcode::CpAsyncMbarrierArrive => {
                // "The pending count is incremented by 1 prior to the asynchronous arrive-on operation" ("cp.async.mbarrier.arrive").
                if !t.has(Modifier::Noinc) {
                    self.update_object(i, t, 0, None, None, Update::Await)?;
                    if let Some(op) = self.program.atomic_ops.last_mut() {
                        let update = Update::Await;
                        let by = MbarrierArrival::Thread;
                        (op.order, op.arrives) = (Order::Relaxed, Some(MbarrierUse { by, update }));
                    }
                }
                self.update_object(i, t, 0, None, None, Update::Arrive)?;
                if let Some(last) = self.code.last_mut()
                    && let Op::Atomic(index) = last.op
                {
                    last.op = Op::CopiesArrive(index);
                }
                Ok(())
            }
            TestWait | TryWait => self.test(i, t),
            PendingCount => {
                let state = self.source(self.operand(i, 1)?, D, ScalarType::B64)?;
                let (d, _) = self.destination(&self.operand(i, 0)?.clone(), W)?;
                let (count, mask) = (self.temporary(D), self.constants.d(PENDING));
                self.alu(
                    Opcode::And,
                    &[Modifier::Type(Type::B64)],
                    count,
                    [state, mask],
                )?;
                self.narrowed(d, count);
                Ok(())
            }
            _ => Err("arrivals after tensor operations".into()),
        }
    }

    /// The address of the object as one of shared memory: "if the address does not fall within .shared::cta, the behaviour is undefined".
    pub(super) fn object(&mut self, i: &Instruction, at: usize) -> Decoded<(Base, i64)> {
        let typed = TypedInstruction::of(i);
        let space = typed.modifiers.spaces().next();
        let operand = self.operand(i, at)?;
        match space {
            // Without clusters, the only block of a cluster is the own one; who has others' addresses (`mapa`) is not run.
            Some(Space::Shared | Space::SharedCluster) => {
                let place = self.address(operand, AddressSpace::Shared)?;
                Ok((place.base, place.offset))
            }
            _ => {
                let place = self.address(operand, AddressSpace::Generic)?;
                let Base::D(generic) = place.base else {
                    return Err("an address of this form".into());
                };
                let d = self.temporary(D);
                self.emit(Op::Cvta {
                    d,
                    a: generic,
                    add: SHARED_BASE.wrapping_neg(),
                });
                Ok((Base::D(d), place.offset))
            }
        }
    }

    fn access_object(
        &mut self,
        (base, offset): (Base, i64),
        store: bool,
        value: Slot,
        order: (Order, Scope),
    ) {
        let mut regs = [Slot::NONE; 8];
        regs[0] = value;
        self.program.memory_ops.push(MemoryOp {
            word: false,
            run: RunPlace::default(),
            store,
            space: AddressSpace::Shared,
            base,
            offset,
            element: 8,
            count: 1,
            signed: false,
            regs,
            class: D,
            order: order.0,
            scope: order.1,
            non_coherent: false,
            private: false,
            copies: false,
            fragment: false,
            asynchronous: false,
            used_if: Slot::TRUE,
        });
        self.emit(Op::Memory(self.program.memory_ops.len() as u32 - 1));
    }

    fn store_object(&mut self, i: &Instruction, value: Slot) -> Decoded<()> {
        let object = self.object(i, 0)?;
        self.access_object(object, true, value, (Order::Weak, Scope::Sys));
        Ok(())
    }

    /// `mbarrier.arrive state, [addr]{, count}`, `mbarrier.arrive_drop`, both with `.expect_tx`; without the state for other blocks' objects.
    fn arrive(&mut self, i: &Instruction, t: &TypedInstruction, drop: bool) -> Decoded<()> {
        let returns = !matches!(i.operands.first(), Some(Operand::Address(_)));
        let at = usize::from(returns);
        let count = (i.operands.len() > at + 1).then_some(at + 1);
        let f = match (t.has(Modifier::ExpectTx), drop) {
            (false, false) => Update::Arrive,
            (false, true) => Update::Drop,
            (true, false) => Update::ExpectAndArrive,
            (true, true) => Update::ExpectAndDrop,
        };
        let state = match returns {
            true => Some(self.operand(i, 0)?.clone()),
            false => None,
        };
        self.update_object(i, t, at, state.as_ref(), count, f)
    }

    /// An atomic update by an operand, or by one. The state that it returns is the phase that it finds, and nothing else: no more than a wait
    /// looks at. That of `.noComplete` has the pending arrivals, too, which `mbarrier.pending_count` tells ("mbarrier.pending_count": other
    /// states have no count).
    fn update_object(
        &mut self,
        i: &Instruction,
        t: &TypedInstruction,
        at: usize,
        state: Option<&Operand>,
        operand: Option<usize>,
        f: Update,
    ) -> Decoded<()> {
        let (base, offset) = self.object(i, at)?;
        let by = match operand {
            Some(operand) => {
                let count = self.source(self.operand(i, operand)?, W, ScalarType::U32)?;
                self.widened(count)
            }
            None => self.constants.d(1),
        };
        let before = match state {
            Some(_) => self.temporary(D),
            None => Slot::NONE,
        };
        // `cp.async.mbarrier.arrive` is an arrival like any other, and releases what the copies have written.
        let access = Access::of(t).ok();
        let order = access.map_or((Order::Release, Scope::Cta), |a| a.ordered());
        let order = of_cluster(order);
        let (mut to, mut first) = ([Slot::NONE; 8], [Slot::NONE; 8]);
        (to[0], first[0]) = (before, by);
        self.program.atomic_ops.push(AtomicOp {
            f: AtomFn::D(f.function()),
            space: AddressSpace::Shared,
            base,
            offset,
            element: 8,
            count: 1,
            d: to,
            b: first,
            c: Slot::NONE,
            order: order.0,
            scope: order.1,
            reduction: state.is_none(),
            // Whoever arrives first, the phase completes with the last one, and all have the same phase for their state.
            used: t.has(Modifier::NoComplete),
            update: observer::Update::Add,
            flush: false,
            arrives: Some(MbarrierUse {
                by: match t.opcode {
                    Opcode::CpAsyncMbarrierArrive => MbarrierArrival::Copies,
                    _ => MbarrierArrival::Thread,
                },
                update: f,
            }),
        });
        self.emit(Op::Atomic(self.program.atomic_ops.len() as u32 - 1));
        if let Some(state) = state {
            let phase = self.constants.d(match t.has(Modifier::NoComplete) {
                true => PHASE | PENDING,
                false => PHASE,
            });
            let (d, _) = self.destination(state, D)?;
            let and = [Modifier::Type(Type::B64)];
            self.alu(Opcode::And, &and, d, [before, phase])?;
        }
        Ok(())
    }

    /// `mbarrier.{test,try}_wait{.parity} p, [addr], state{, hint}`: whether the phase of the state, or of the parity, is complete. It is if
    /// the current phase is another one. Where it is not, the instruction orders nothing: it reads the object, and learns nothing.
    fn test(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let object = self.object(i, 1)?;
        let state = self.operand(i, 2)?;
        let asked = match t.has(Modifier::Parity) {
            true => {
                let parity = self.source(state, W, ScalarType::U32)?;
                self.computed(Opcode::Shl, &[], parity, 63)?
            }
            false => self.source(state, D, ScalarType::B64)?,
        };
        let p = self.predicate(self.operand(i, 0)?)?;
        let now = self.temporary(D);
        let (base, offset) = object;
        let predicate = RegisterClass::P;
        let (complete, incomplete) = (self.temporary(predicate), self.temporary(predicate));
        self.emit(Op::AwaitPhase(Box::new(AwaitPhase {
            base,
            offset,
            asked,
            complete,
            incomplete,
            waits: false,
        })));
        let order = of_cluster(Access::of(t)?.ordered());
        let guard = std::mem::replace(&mut self.guard, complete);
        self.access_object(object, false, now, order);
        self.guard = incomplete;
        self.access_object(object, false, now, (Order::Relaxed, order.1));
        self.guard = guard;
        let changed = self.temporary(D);
        self.alu(
            Opcode::Xor,
            &[Modifier::Type(Type::B64)],
            changed,
            [now, asked],
        )?;
        let zero = self.constants.d(0);
        let less = [Modifier::Lt, Modifier::Type(Type::S64)];
        let f = alu::lookup(&Opcode::Setp, &less, 3).ok_or("not implemented")?;
        self.emit(Op::Setp {
            f,
            p,
            q: Slot::NONE,
            s: [changed, zero],
            combine: Some((BoolOp::And, complete)),
        });
        self.emit(Op::PhaseAwaited { p, base, offset });
        if t.opcode == Opcode::MbarrierTryWait {
            // It may sleep.
            self.emit(Op::Yield);
        }
        Ok(())
    }

    /// The low half of a 64-bit row.
    fn narrowed(&mut self, d: Slot, wide: Slot) {
        let part = |slot, class, bits| Part { slot, class, bits };
        self.emit(Op::Pack {
            d: [part(d, W, 32), part(Slot::NONE, W, 32)].into(),
            s: [part(wide, D, 64)].into(),
        });
    }

    /// A 32-bit row as a 64-bit one.
    fn widened(&mut self, narrow: Slot) -> Slot {
        let d = self.temporary(D);
        let zero = self.constants.w(0);
        let half = |slot| Part {
            slot,
            class: W,
            bits: 32,
        };
        self.emit(Op::Pack {
            d: [Part {
                slot: d,
                class: D,
                bits: 64,
            }]
            .into(),
            s: [half(narrow), half(zero)].into(),
        });
        d
    }

    /// What an operation makes of a 32-bit row and a constant, in 64 bits.
    fn computed(
        &mut self,
        opcode: Opcode,
        modifiers: &[Modifier],
        narrow: Slot,
        by: u64,
    ) -> Decoded<Slot> {
        let wide = self.widened(narrow);
        let d = self.temporary(D);
        let (ty, by) = match opcode {
            Opcode::Shl => (Type::B64, self.constants.w(by as u32)),
            _ => (Type::U64, self.constants.d(by)),
        };
        let modifiers: Vec<Modifier> = modifiers
            .iter()
            .copied()
            .chain([Modifier::Type(ty)])
            .collect();
        self.alu(opcode, &modifiers, d, [wide, by])?;
        Ok(d)
    }

    fn alu(
        &mut self,
        opcode: Opcode,
        modifiers: &[Modifier],
        d: Slot,
        [a, b]: [Slot; 2],
    ) -> Decoded<()> {
        let f: AluOp = alu::lookup(&opcode, modifiers, 3).ok_or("not implemented")?;
        let s = [a, b, Slot::NONE, Slot::NONE, Slot::NONE];
        self.emit(Op::Alu { f, d, s });
        Ok(())
    }
}

/// An mbarrier is for the threads of a cluster, whatever scope its operations have: arrivals from other blocks and the bytes that copies by other
/// blocks bring count for waits of block scope, which is the default and what NVIDIA's own libraries use there ("mbarrier.arrive", "Asynchronous
/// Operations: mbarrier-based completion mechanism"). Where a cluster is one block, nothing is different.
fn of_cluster((order, scope): (Order, Scope)) -> (Order, Scope) {
    (order, scope.max(Scope::Cluster))
}
