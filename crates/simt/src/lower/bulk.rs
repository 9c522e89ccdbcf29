//! Bulk copies and what is like them (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.wait_group", "st.async", "red.async").

use super::Lowering;
use super::memory::{atom_function, update};
use super::operand::Decoded;
use super::scope::bytes_of;
use crate::mbarrier;
use crate::observer::{Order, Scope, Update};
use crate::op::*;
use ptx::ast::{Instruction, Operand, ScalarType};
use ptx::semantics::{Modifier, Opcode, Space, TypedInstruction};

const W: RegisterClass = RegisterClass::W(32);
const D: RegisterClass = RegisterClass::D;

impl Lowering<'_> {
    /// `cp.async.bulk.dst.src.completion [dst], [src], size{, [mbar]}…` and `cp.reduce.async.bulk` with an operation and a type.
    pub(super) fn bulk_copy(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        for later in [Modifier::CpMask, Modifier::IgnoreOob] {
            if t.has(later) {
                return Err("a bulk copy of this form (sm_100)".into());
            }
        }
        let spaces: Vec<Space> = t.modifiers.spaces().collect();
        let (to, from) = match spaces[..] {
            [Space::Shared | Space::SharedCluster, Space::Global]
                if t.opcode == Opcode::CpAsyncBulk =>
            {
                (AddressSpace::Shared, AddressSpace::Global)
            }
            [Space::SharedCluster, Space::Shared] => (AddressSpace::Shared, AddressSpace::Shared),
            [Space::Global, Space::Shared] => (AddressSpace::Global, AddressSpace::Shared),
            _ => return Err("a bulk copy between these spaces".into()),
        };
        let reduce = match t.opcode {
            Opcode::CpReduceAsyncBulk => Some(self.reduction(t)?),
            _ => None,
        };
        let write = self.address(self.operand(i, 0)?, to)?;
        let read = self.address(self.operand(i, 1)?, from)?;
        let size = self.source(self.operand(i, 2)?, W, ScalarType::U32)?;
        let multicast = self.multicast(i, t, 4)?;
        let completes = match t.has(Modifier::CompleteTxBytes) {
            true => {
                let object = self.address(self.operand(i, 3)?, AddressSpace::Shared)?;
                Some(self.completion((object.base, object.offset)))
            }
            false if to == AddressSpace::Global => None,
            false => return Err("a bulk copy that completes in this way".into()),
        };
        // In pieces of 16 bytes; what they pass through is nobody's register.
        let regs = std::array::from_fn(|k| match k {
            0..4 => self.temporary(W),
            _ => Slot::NONE,
        });
        let part =
            |store, space, base, offset| part(store, space, (base, offset), (4, 4), (regs, W));
        let read = part(false, from, read.base, read.offset);
        let write = part(true, to, write.base, write.offset);
        let first = self.program.memory_ops.len() as u32;
        self.program.memory_ops.extend([read, write]);
        let (reduce, update) = match reduce {
            Some((f, element, update)) => (Some((f, element)), update),
            None => (None, Update::Add),
        };
        self.push_bulk(BulkOp {
            read: Some(first),
            write: first + 1,
            size,
            completes,
            reduce,
            update,
            tensor: None,
            multicast,
        })
    }

    /// The ranks of the blocks that a copy goes to: the operand `ctaMask`, with `.multicast::cluster`.
    pub(super) fn multicast(
        &mut self,
        i: &Instruction,
        t: &TypedInstruction,
        at: usize,
    ) -> Decoded<Slot> {
        match t.has(Modifier::MulticastCluster) {
            true => self.source(self.operand(i, at)?, W, ScalarType::U16),
            false => Ok(Slot::NONE),
        }
    }

    /// `st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar]` and `red.async` with an operation.
    pub(super) fn async_store(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        if !t.has(Modifier::CompleteTxBytes) {
            return Err("an asynchronous store of this form (sm_100)".into());
        }
        let reduce = match t.opcode {
            Opcode::RedAsync => Some(self.reduction(t)?),
            _ => None,
        };
        let ty = t.modifiers.literal_type();
        let class = self.type_class(ty)?;
        let object = self.object(i, 2)?;
        let completes = Some(self.completion(object));
        let one = self.operand(i, 1)?;
        let values = self.elements(one).unwrap_or_else(|| vec![one.clone()]);
        let mut regs = [Slot::NONE; 8];
        for (slot, value) in regs.iter_mut().zip(&values) {
            *slot = self.source(value, class, ty)?;
        }
        let to = self.object(i, 0)?;
        let shape = (bytes_of(ty) as u8, values.len() as u8);
        let write = part(true, AddressSpace::Shared, to, shape, (regs, class));
        self.program.memory_ops.push(write);
        let (reduce, update) = match reduce {
            Some((f, element, update)) => (Some((f, element)), update),
            None => (None, Update::Add),
        };
        self.push_bulk(BulkOp {
            read: None,
            write: self.program.memory_ops.len() as u32 - 1,
            size: Slot::NONE,
            completes,
            reduce,
            update,
            tensor: None,
            multicast: Slot::NONE,
        })
    }

    /// `cp.async.bulk.wait_group{.read} n`.
    pub(super) fn wait_for_bulk(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let newest = match i.operands.first() {
            Some(Operand::Int(groups, _)) => {
                u32::try_from(*groups).map_err(|_| "that many groups")?
            }
            _ => return Err("a wait of this form".into()),
        };
        let read = t.has(Modifier::Read);
        self.emit(Op::WaitBulk { newest, read });
        Ok(())
    }

    pub(super) fn push_bulk(&mut self, op: BulkOp) -> Decoded<()> {
        self.program.bulk_ops.push(op);
        self.emit(Op::Bulk(self.program.bulk_ops.len() as u32 - 1));
        Ok(())
    }

    /// What a reduction does, to elements of how many bytes.
    fn reduction(&mut self, t: &TypedInstruction) -> Decoded<(AtomFn, u8, Update)> {
        let operation = t.memory.as_ref().and_then(|m| m.operation);
        let operation = operation.ok_or("a reduction of this name")?;
        let ty = t.modifiers.literal_type();
        // "cp.reduce.async.bulk.add.f32 … flushes subnormal inputs and results" says the manual; an H100 does not.
        let f = atom_function(operation, ty).ok_or("a reduction of this type")?;
        // A bound of `inc` and `dec` is told of one word, and here are many.
        let update = match update(operation, ty) {
            Update::Inc(_) | Update::Dec(_) => Update::Ordered,
            other => other,
        };
        Ok((f, bytes_of(ty) as u8, update))
    }

    /// The atomic operation by which bytes are told to an mbarrier ("mbarrier.complete_tx"): whoever finds the phase complete comes after what was
    /// written before it.
    pub(super) fn completion(&mut self, (base, offset): (Base, i64)) -> u32 {
        let mut by = [Slot::NONE; 8];
        by[0] = self.temporary(D);
        self.program.atomic_ops.push(AtomicOp {
            f: AtomFn::D(mbarrier::Update::Complete.function()),
            space: AddressSpace::Shared,
            base,
            offset,
            element: 8,
            count: 1,
            d: [Slot::NONE; 8],
            b: by,
            c: Slot::NONE,
            order: Order::Release,
            scope: Scope::Cluster,
            reduction: true,
            used: false,
            update: Update::Add,
            flush: false,
            arrives: Some(MbarrierUse {
                by: MbarrierArrival::Copies,
                update: mbarrier::Update::Complete,
            }),
        });
        self.program.atomic_ops.len() as u32 - 1
    }
}

/// One side of it: weak memory operations (PTX ISA, "cp.async.bulk").
pub(super) fn part(
    store: bool,
    space: AddressSpace,
    (base, offset): (Base, i64),
    (element, count): (u8, u8),
    (regs, class): ([Slot; 8], RegisterClass),
) -> MemoryOp {
    MemoryOp {
        word: false,
        run: RunPlace::default(),
        store,
        space,
        base,
        offset,
        element,
        count,
        signed: false,
        regs,
        class,
        order: Order::Weak,
        scope: Scope::Sys,
        non_coherent: false,
        private: false,
        copies: true,
        fragment: false,
        asynchronous: true,
        used_if: Slot::TRUE,
    }
}
