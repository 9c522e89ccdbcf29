//! What an instruction is for: the classes that alignment and effects speak of.
//!
//! The classes follow the chapters of "Instructions" in the PTX ISA manual: data movement, parallel
//! synchronization and communication, control flow. What is in none of them is arithmetic. They follow from what
//! [`ptx::semantics`] says of an instruction.

use ptx::ast::Operand;
use ptx::semantics::{
    self, Control, Effect, MemoryEffect, Opcode, Synchronisation, TypedInstruction,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A state space that memory instructions name, or that their address tells.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// `.global`
    Global,
    /// `.shared`, of the block or of the cluster.
    Shared,
    /// `.local`
    Local,
    /// `.const`
    Const,
    /// `.param`
    Param,
    /// None named: the address decides when it runs.
    Generic,
}

impl From<semantics::Space> for Space {
    fn from(space: semantics::Space) -> Space {
        match space {
            semantics::Space::Global => Space::Global,
            semantics::Space::Shared | semantics::Space::SharedCluster => Space::Shared,
            semantics::Space::Local => Space::Local,
            semantics::Space::Const => Space::Const,
            semantics::Space::Param => Space::Param,
            semantics::Space::Generic | semantics::Space::Texture | semantics::Space::Tensor => {
                Space::Generic
            }
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "constant",
            Space::Param => "parameter",
            Space::Generic => "generic",
        })
    }
}

/// What an instruction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstructionClass {
    /// `ld`, `ldu`; not of parameters.
    Load(Space),
    /// `st`; not of parameters.
    Store(Space),
    /// `atom`: gives the old value.
    Atomic(Space),
    /// `red`: gives nothing.
    Reduction(Space),
    /// `cp.async`, `cp.async.bulk`: copies from memory to memory, past the registers; the space is the one that is written.
    AsyncCopy(Space),
    /// `fence`, `membar`.
    Fence,
    /// A barrier of the block or the cluster.
    BlockBarrier,
    /// `bar.warp.sync`.
    WarpBarrier,
    /// `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`.
    WarpExchange,
    /// `bra` with a condition, `brx`.
    Branch,
    /// `call`.
    Call,
    /// `ret`, `exit`, `trap`.
    Leave,
    /// `ld.param`, `st.param`.
    Parameter,
    /// `selp`, `slct`.
    Select,
    /// `mov`, `cvta`: no work.
    Move,
    /// Everything else.
    Arithmetic,
}

impl InstructionClass {
    /// The class of an instruction.
    pub fn of(instruction: &TypedInstruction) -> InstructionClass {
        match instruction.control {
            Control::Branch | Control::IndexedBranch => return InstructionClass::Branch,
            Control::Call => return InstructionClass::Call,
            control if control.ends_function() => return InstructionClass::Leave,
            _ => {}
        }
        match instruction.synchronisation {
            Some(Synchronisation::Fence { .. }) => return InstructionClass::Fence,
            Some(Synchronisation::BlockBarrier { .. } | Synchronisation::ClusterBarrier { .. }) => {
                return InstructionClass::BlockBarrier;
            }
            Some(Synchronisation::WarpBarrier) => return InstructionClass::WarpBarrier,
            Some(Synchronisation::WarpExchange) => return InstructionClass::WarpExchange,
            // An mbarrier is no address that values could be compared by.
            Some(Synchronisation::Mbarrier(_)) => return InstructionClass::Arithmetic,
            _ => {}
        }
        if let Some(class) = instruction
            .memory
            .as_ref()
            .and_then(InstructionClass::of_access)
        {
            return class;
        }
        match instruction.opcode {
            Opcode::Activemask | Opcode::Vote | Opcode::Shfl => InstructionClass::WarpExchange,
            Opcode::Selp | Opcode::Slct => InstructionClass::Select,
            Opcode::Mov | Opcode::Cvta => InstructionClass::Move,
            _ => InstructionClass::Arithmetic,
        }
    }

    /// Whether both are loads, or both stores, of whatever spaces.
    pub fn is_alike(self, other: InstructionClass) -> bool {
        use InstructionClass::{Load, Store};
        matches!((self, other), (Load(_), Load(_)) | (Store(_), Store(_))) || self == other
    }

    /// The class of an access; none for those of textures, tensor memory and caches, which name no bytes that can be compared.
    fn of_access(memory: &MemoryEffect) -> Option<InstructionClass> {
        if matches!(
            memory.space,
            semantics::Space::Texture | semantics::Space::Tensor
        ) {
            return None;
        }
        let space = Space::from(memory.space);
        Some(match memory.effect {
            Effect::Load | Effect::Store if space == Space::Param => InstructionClass::Parameter,
            Effect::Load => InstructionClass::Load(space),
            Effect::Store | Effect::AsyncStore => InstructionClass::Store(space),
            Effect::ReadModifyWrite => InstructionClass::Atomic(space),
            Effect::Reduction | Effect::AsyncRegisterReduction => {
                InstructionClass::Reduction(space)
            }
            Effect::Copy | Effect::AsyncCopy | Effect::AsyncReduction => {
                InstructionClass::AsyncCopy(space)
            }
            Effect::AsyncLoad | Effect::AsyncCompute | Effect::Prefetch | Effect::CacheControl => {
                return None;
            }
        })
    }

    /// Whether it reads or writes memory that threads share, or its own local memory.
    pub fn is_access(self) -> bool {
        matches!(
            self,
            InstructionClass::Load(_)
                | InstructionClass::Store(_)
                | InstructionClass::Atomic(_)
                | InstructionClass::Reduction(_)
                | InstructionClass::AsyncCopy(_)
        )
    }

    /// Whether threads wait in it.
    pub fn is_barrier(self) -> bool {
        matches!(
            self,
            InstructionClass::BlockBarrier | InstructionClass::WarpBarrier
        )
    }

    /// How much a wrong partner would mislead: what alignment weighs a match by.
    pub(super) fn weight(self) -> u32 {
        match self {
            InstructionClass::BlockBarrier
            | InstructionClass::WarpBarrier
            | InstructionClass::Fence => 40,
            InstructionClass::Load(_)
            | InstructionClass::Store(_)
            | InstructionClass::Atomic(_)
            | InstructionClass::Reduction(_)
            | InstructionClass::AsyncCopy(_) => 12,
            InstructionClass::Call
            | InstructionClass::Branch
            | InstructionClass::WarpExchange
            | InstructionClass::Leave => 8,
            InstructionClass::Select | InstructionClass::Arithmetic => 4,
            InstructionClass::Parameter | InstructionClass::Move => 2,
        }
    }
}

/// A modifier without its part after `::`.
pub(super) fn head(modifier: &str) -> &str {
    modifier.split("::").next().unwrap_or(modifier)
}

/// Whether the access is volatile (PTX ISA, "Volatile Operation").
pub fn is_volatile(instruction: &TypedInstruction) -> bool {
    let memory = instruction.memory.as_ref();
    memory.is_some_and(|m| m.order == semantics::Order::Volatile)
}

/// The spaces of the addresses that an instruction accesses, in the order of its operands: one, but of an asynchronous copy two (PTX ISA, "cp.async":
/// destination and source; of a copy of a tensor, whose source is no address, the destination alone).
pub(super) fn spaces(instruction: &TypedInstruction) -> impl Iterator<Item = Space> + use<> {
    let memory = instruction.memory.as_ref();
    let spaces = [memory.map(|m| m.space), memory.and_then(|m| m.source)];
    spaces.into_iter().flatten().map(Space::from)
}

/// The width of one access in bytes: element times lanes; `None` where the type is not among the modifiers.
pub(super) fn width(instruction: &TypedInstruction, operands: &[Operand]) -> Option<u32> {
    if let InstructionClass::AsyncCopy(_) = InstructionClass::of(instruction) {
        return match operands.get(2) {
            Some(Operand::Int(bytes, _)) => u32::try_from(*bytes).ok(),
            _ => None,
        };
    }
    instruction.memory.as_ref()?.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(text: &str) -> TypedInstruction {
        TypedInstruction::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn classes_are_the_manuals() {
        for (text, class) in [
            (
                "ld.volatile.shared.u32 %r1, [%r2];",
                InstructionClass::Load(Space::Shared),
            ),
            (
                "ld.shared::cta.u32 %r1, [%r2];",
                InstructionClass::Load(Space::Shared),
            ),
            ("ld.param.u32 %r1, [p];", InstructionClass::Parameter),
            (
                "st.u32 [%rd1], %r2;",
                InstructionClass::Store(Space::Generic),
            ),
            ("bar.warp.sync -1;", InstructionClass::WarpBarrier),
            ("bar.sync 0;", InstructionClass::BlockBarrier),
            ("barrier.cluster.arrive;", InstructionClass::BlockBarrier),
            (
                "red.global.add.u32 [%rd1], 1;",
                InstructionClass::Reduction(Space::Global),
            ),
            ("membar.gl;", InstructionClass::Fence),
            (
                "cp.async.ca.shared.global [%r1], [%rd1], 16;",
                InstructionClass::AsyncCopy(Space::Shared),
            ),
            ("cp.async.wait_group 0;", InstructionClass::Arithmetic),
            ("rem.u32 %r1, %r2, %r3;", InstructionClass::Arithmetic),
        ] {
            assert_eq!(InstructionClass::of(&instruction(text)), class, "{text}");
        }
    }

    #[test]
    fn widths_and_spaces() {
        assert_eq!(
            width(
                &instruction("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];"),
                &[]
            ),
            Some(16)
        );
        assert_eq!(width(&instruction("st.u8 [%rd1], %r1;"), &[]), Some(1));
        let copy = instruction("cp.async.cg.shared.global [%r1], [%rd1], 16;");
        let sixteen = [
            Operand::Int(0, false),
            Operand::Int(0, false),
            Operand::Int(16, false),
        ];
        assert_eq!(width(&copy, &sixteen), Some(16));
        assert_eq!(
            spaces(&copy).collect::<Vec<_>>(),
            [Space::Shared, Space::Global]
        );
    }
}
