//! What an instruction does to memory, as the runtime is told.

use crate::site::SiteAccess;
use ptx::ast::{Instruction, Operand};
use ptx::semantics::{Effect, MemoryEffect, Opcode, Order, Proxy, Scope, Space, TypedInstruction};

/// One access to check.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The operand that has its address.
    pub operand: usize,
    /// Which memory.
    pub space: Space,
    /// Bytes of each thread.
    pub bytes: Bytes,
    /// What it does.
    pub access: SiteAccess,
    /// 0 weak, 1 strong within the block, 2 strong within the device.
    pub strength: u32,
}

/// How many bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Bytes {
    /// So many.
    Fixed(u32),
    /// 16 bytes each of the first lanes of the warp (`ldmatrix`).
    Rows(u32),
    /// What this operand says.
    Operand(usize),
}

/// What to do about an instruction's memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Memory {
    /// Nothing that another thread could see.
    None,
    /// Accesses to check.
    Checked(Vec<Access>),
    /// Something that is not judged.
    Unwatched,
}

/// How strong an access is towards others: a scope between block and device counts as the device's, which is never a false alarm.
pub fn strength(memory: &MemoryEffect) -> u32 {
    match (memory.order, memory.scope) {
        (Order::Weak, _) => 0,
        (_, Some(Scope::Cta)) => 1,
        _ => 2,
    }
}

/// What an instruction does.
pub fn of(instruction: &Instruction, typed: &TypedInstruction) -> Memory {
    let Some(memory) = &typed.memory else {
        return Memory::None;
    };
    if matches!(memory.effect, Effect::Prefetch | Effect::CacheControl) {
        return Memory::None;
    }
    if typed.synchronisation.is_some() && is_mbarrier(typed) {
        return Memory::None;
    }
    let watched = |space: Space| matches!(space, Space::Global | Space::Shared | Space::Generic);
    let silent = |space: Space| matches!(space, Space::Local | Space::Const | Space::Param);
    if silent(memory.space) {
        return Memory::None;
    }
    if memory.proxy != Proxy::Generic && !memory.non_coherent || !watched(memory.space) {
        return Memory::Unwatched;
    }
    let at = |number: usize| {
        let mut addresses = instruction.operands.iter().enumerate();
        addresses
            .by_ref()
            .filter(|(_, operand)| matches!(operand, Operand::Address(a) if a.rest.is_empty()))
            .map(|(index, _)| index)
            .nth(number)
    };
    let one = |space, bytes, access, number| {
        Some(Access {
            operand: at(number)?,
            space,
            bytes,
            access,
            strength: strength(memory),
        })
    };
    let list = match (&typed.opcode, memory.effect) {
        (Opcode::Ldmatrix | Opcode::Stmatrix, _) => {
            let rows = instruction.modifiers.iter().find_map(|m| match m.as_str() {
                "x1" => Some(8),
                "x2" => Some(16),
                "x4" => Some(32),
                _ => None,
            });
            let access = match typed.opcode {
                Opcode::Ldmatrix => SiteAccess::Read,
                _ => SiteAccess::Write,
            };
            // Other shapes have other rows.
            let usual = instruction.has("m8n8");
            rows.filter(|_| usual)
                .and_then(|rows| one(memory.space, Bytes::Rows(rows), access, 0))
                .map(|access| vec![access])
        }
        (Opcode::CpAsync, _) => {
            let (to, from) = (memory.space, memory.source.unwrap_or(Space::Global));
            let read = match instruction.operands.len() {
                // The source's size, where it is less than what is written.
                4.. => Bytes::Operand(3),
                _ => Bytes::Operand(2),
            };
            let both = one(from, read, SiteAccess::Read, 1).zip(one(
                to,
                Bytes::Operand(2),
                SiteAccess::Write,
                0,
            ));
            both.map(|(a, b)| vec![a, b])
        }
        (Opcode::WmmaLoad | Opcode::WmmaStore, _) => None,
        (_, effect) => {
            let access = match effect {
                Effect::Load => Some(SiteAccess::Read),
                Effect::Store => Some(SiteAccess::Write),
                Effect::ReadModifyWrite | Effect::Reduction => Some(SiteAccess::Atomic),
                _ => None,
            };
            let bytes = memory.bytes().filter(|bytes| *bytes > 0);
            access
                .zip(bytes)
                .and_then(|(access, bytes)| one(memory.space, Bytes::Fixed(bytes), access, 0))
                .map(|access| vec![access])
        }
    };
    list.map_or(Memory::Unwatched, Memory::Checked)
}

fn is_mbarrier(typed: &TypedInstruction) -> bool {
    use ptx::semantics::Synchronisation;
    matches!(typed.synchronisation, Some(Synchronisation::Mbarrier(_)))
}

/// The fewest bytes that an access of the list touches.
pub fn narrowest(accesses: &[Access]) -> u32 {
    let bytes = accesses.iter().map(|access| match access.bytes {
        Bytes::Fixed(bytes) => 1 << bytes.trailing_zeros(),
        Bytes::Rows(_) | Bytes::Operand(_) => 4,
    });
    bytes.min().unwrap_or(4).min(4)
}
