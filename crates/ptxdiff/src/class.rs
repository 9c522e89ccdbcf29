//! What an instruction is for: the classes that alignment and effects speak of.
//!
//! The classes follow the chapters of "Instructions" in the PTX ISA manual: data movement, parallel
//! synchronization and communication, control flow. What is in none of them is arithmetic.

use ptx::ast::{Instruction, Operand};
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

impl Space {
    /// The first space that the modifiers name.
    pub fn of(instruction: &Instruction) -> Space {
        Space::named(instruction).next().unwrap_or(Space::Generic)
    }

    /// All spaces that the modifiers name, in order.
    fn named(instruction: &Instruction) -> impl Iterator<Item = Space> {
        instruction.modifiers.iter().filter_map(|modifier| {
            Some(match head(modifier) {
                "global" => Space::Global,
                "shared" => Space::Shared,
                "local" => Space::Local,
                "const" => Space::Const,
                "param" => Space::Param,
                _ => return None,
            })
        })
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
    pub fn of(instruction: &Instruction) -> InstructionClass {
        let space = || Space::of(instruction);
        match instruction.opcode.as_str() {
            "ld" | "ldu" | "st" if space() == Space::Param => InstructionClass::Parameter,
            "ld" | "ldu" => InstructionClass::Load(space()),
            "st" => InstructionClass::Store(space()),
            "atom" => InstructionClass::Atomic(space()),
            "red" => InstructionClass::Reduction(space()),
            "cp" if is_async_copy(instruction) => InstructionClass::AsyncCopy(space()),
            "fence" | "membar" => InstructionClass::Fence,
            "bar" if instruction.has("warp") => InstructionClass::WarpBarrier,
            "bar" | "barrier" => InstructionClass::BlockBarrier,
            "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => {
                InstructionClass::WarpExchange
            }
            "bra" | "brx" => InstructionClass::Branch,
            "call" => InstructionClass::Call,
            "ret" | "exit" | "trap" => InstructionClass::Leave,
            "selp" | "slct" => InstructionClass::Select,
            "mov" | "cvta" => InstructionClass::Move,
            _ => InstructionClass::Arithmetic,
        }
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
pub fn is_volatile(instruction: &Instruction) -> bool {
    instruction.has("volatile")
}

/// What an atomic does, its space, scope and ordering apart: `add`, `cas`.
pub(super) fn atomic_operation(instruction: &Instruction) -> Option<&str> {
    const OPERATIONS: &[&str] = &[
        "and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max",
    ];
    let mut modifiers = instruction.modifiers.iter().map(String::as_str);
    modifiers.find(|modifier| OPERATIONS.contains(modifier))
}

/// The spaces of the addresses that an instruction accesses, in the order of its operands: one, but of an asynchronous copy two (PTX ISA, "cp.async":
/// destination and source; of a copy of a tensor, whose source is no address, the destination alone).
pub(super) fn spaces(instruction: &Instruction) -> Vec<Space> {
    match InstructionClass::of(instruction) {
        InstructionClass::AsyncCopy(space) if instruction.has("tensor") => vec![space],
        InstructionClass::AsyncCopy(_) => Space::named(instruction).take(2).collect(),
        _ => vec![Space::of(instruction)],
    }
}

/// Whether a `cp` copies; others commit, wait for or announce copies.
fn is_async_copy(instruction: &Instruction) -> bool {
    const OTHERS: &[&str] = &[
        "commit_group",
        "wait_group",
        "wait_all",
        "mbarrier",
        "prefetch",
    ];
    instruction.has("async") && !OTHERS.iter().any(|other| instruction.has(other))
}

/// The lanes of a vector access, 1 where it is none.
pub(super) fn lanes(instruction: &Instruction) -> u32 {
    let lanes = instruction.modifiers.iter().find_map(|m| match m.as_str() {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    lanes.unwrap_or(1)
}

/// The width of one access in bytes: element times lanes; `None` where the type is not among the modifiers.
pub(super) fn width(instruction: &Instruction) -> Option<u32> {
    if let InstructionClass::AsyncCopy(_) = InstructionClass::of(instruction) {
        return match instruction.operands.get(2) {
            Some(Operand::Int(bytes, _)) => u32::try_from(*bytes).ok(),
            _ => None,
        };
    }
    let element = instruction
        .modifiers
        .iter()
        .rev()
        .find_map(|m| element_bytes(m))?;
    Some(element * lanes(instruction))
}

fn element_bytes(modifier: &str) -> Option<u32> {
    Some(match modifier {
        "b8" | "u8" | "s8" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// The registers that an instruction writes: the operands that are destinations, as positions.
///
/// PTX puts the destination first ("Instruction Statements"). Stores, reductions, branches, barriers and the like have none;
/// of `call` the first list is the destination where there are two.
pub(super) fn destinations(instruction: &Instruction) -> usize {
    match instruction.opcode.as_str() {
        "st" | "red" | "bra" | "brx" | "ret" | "exit" | "trap" | "fence" | "membar"
        | "prefetch" | "prefetchu" | "discard" | "applypriority" | "nanosleep" | "brkpt"
        | "pmevent" | "cp" | "sust" | "sured" | "griddepcontrol" | "stmatrix" | "setmaxnreg"
        | "wgmma" | "multimem" => 0,
        "bar" | "barrier" => usize::from(instruction.has("red") || instruction.has("arrive_red")),
        "mbarrier" => usize::from(
            !instruction.has("init")
                && !instruction.has("inval")
                && !instruction.has("expect_tx")
                && !instruction.has("complete_tx"),
        ),
        "call" => usize::from(matches!(
            instruction.operands.first(),
            Some(Operand::List(_))
        )),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(text: &str) -> Instruction {
        let source = format!(".version 8.0\n.target sm_90\n.entry k() {{ {text} }}");
        let module = ptx::parse(&source).unwrap();
        let ptx::ast::Item::Function(f) = &module.items[0] else {
            panic!("{module:?}");
        };
        match &f.body.as_deref().unwrap_or_default()[0] {
            ptx::ast::Stmt::Instruction(i) => i.clone(),
            other => panic!("{other:?}"),
        }
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
    fn widths_and_operations() {
        assert_eq!(
            width(&instruction(
                "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];"
            )),
            Some(16)
        );
        assert_eq!(width(&instruction("st.u8 [%rd1], %r1;")), Some(1));
        let copy = instruction("cp.async.cg.shared.global [%r1], [%rd1], 16;");
        assert_eq!(
            (width(&copy), spaces(&copy)),
            (Some(16), vec![Space::Shared, Space::Global])
        );
        let atom = instruction("atom.acquire.cta.shared.cas.b32 %r1, [%r2], 0, 1;");
        assert_eq!(atomic_operation(&atom), Some("cas"));
    }
}
