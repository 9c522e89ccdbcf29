//! `cp.async` and what waits for it (PTX ISA, "cp.async", "cp.async.commit_group", "cp.async.wait_group / cp.async.wait_all").

use super::Lowering;
use super::operand::Decoded;
use crate::observer::{Order, Scope};
use crate::op::*;
use ptx::ast::{Instruction, Operand, ScalarType};
use ptx::semantics::{Modifier, Opcode, Space, TypedInstruction};

const W: RegisterClass = RegisterClass::W(32);

impl Lowering<'_> {
    /// `cp.async.{ca,cg}.shared{::cta}.global [dst], [src], cp-size{, src-size}{, cache-policy}`; in place of the source's size there may
    /// be a predicate under which the source is ignored.
    pub(super) fn async_copy(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let spaces: Vec<Space> = t.modifiers.spaces().collect();
        if spaces != [Space::Shared, Space::Global] {
            return Err("a copy between these spaces".into());
        }
        let bytes = match self.operand(i, 2)? {
            Operand::Int(bytes @ (4 | 8 | 16), _) => *bytes as u32,
            _ => return Err("a copy of this size".into()),
        };
        let to = self.address(self.operand(i, 0)?, AddressSpace::Shared)?;
        let from = self.address(self.operand(i, 1)?, AddressSpace::Global)?;
        let policies = usize::from(t.has(Modifier::L2CacheHint));
        let (mut size, mut ignore) = (Slot::NONE, Slot::NONE);
        if i.operands.len() > 3 + policies {
            let operand = self.operand(i, 3)?;
            match self.register(operand) {
                Some((slot, RegisterClass::P)) => ignore = slot,
                _ => size = self.source(operand, W, ScalarType::U32)?,
            }
        }
        let words = (bytes / 4) as usize;
        let mut regs = [Slot::NONE; 8];
        regs[..words].fill_with(|| self.temporary(W));
        let part = |store: bool, space, base, offset| MemoryOp {
            word: false,
            run: RunPlace::default(),
            store,
            space,
            base,
            offset,
            element: 4,
            count: words as u8,
            signed: false,
            regs,
            class: W,
            // A weak memory operation (PTX ISA, "cp.async").
            order: Order::Weak,
            scope: Scope::Sys,
            non_coherent: false,
            private: false,
            copies: true,
            fragment: false,
            asynchronous: true,
            used_if: Slot::TRUE,
        };
        let read = part(false, AddressSpace::Global, from.base, from.offset);
        let write = part(true, AddressSpace::Shared, to.base, to.offset);
        let first = self.program.memory_ops.len() as u32;
        self.program.memory_ops.extend([read, write]);
        self.program.copy_ops.push(CopyOp {
            read: first,
            write: first + 1,
            bytes,
            size,
            ignore,
        });
        self.emit(Op::AsyncCopy(self.program.copy_ops.len() as u32 - 1));
        Ok(())
    }

    /// `cp.async.wait_group n`, `cp.async.wait_all`.
    pub(super) fn wait_for_copies(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let newest = match (&t.opcode, i.operands.first()) {
            (Opcode::CpAsyncWaitGroup, Some(Operand::Int(groups, _))) => {
                let groups = u32::try_from(*groups).map_err(|_| "that many groups")?;
                Some(groups)
            }
            (Opcode::CpAsyncWaitAll, None) => None,
            _ => return Err("a wait of this form".into()),
        };
        self.emit(Op::WaitGroup(newest));
        Ok(())
    }
}
