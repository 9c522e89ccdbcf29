//! What instructions mean: the one table that the engine, the detectors' facts, the diff and the mutations read.
//!
//! [`TypedInstruction::of`] turns an instruction of the syntax tree into a value: opcode, modifiers, the part of each operand, what is
//! done to memory, whom it synchronises, where control goes, what its result depends on besides its operands. A guard is no part of
//! it: it says whether a thread executes the instruction, not what that does.
//!
//! ```text
//! ast::Instruction ── modifier (words) ──► table (rows, one file a chapter) ──► TypedInstruction
//!                                            └─ operand, memory, synchronisation: what a row can say
//! ```
//!
//! The source is the PTX ISA manual; over each row stands the section that it comes from. Rows state what the manual's syntax and
//! semantics state, for all instructions, whether the simulator executes them or not. An opcode that the table does not have is
//! [`Opcode::Other`]: of it is known what every instruction has in common (the first operand is written, others are read).
//!
//! What it does not say: values (that is the simulator's arithmetic), which combinations of modifiers are valid (`ptxas` says that), and
//! what memory an address means.
//!
//! ```
//! use racetrap_ptx::semantics::{Effect, Modifier, Opcode, Order, Space, TypedInstruction};
//!
//! let typed = TypedInstruction::parse("@%p1 ld.acquire.gpu.global.u32 %r1, [%rd1];").unwrap();
//! assert_eq!(typed.opcode, Opcode::Ld);
//! let memory = typed.memory.unwrap();
//! assert_eq!((memory.effect, memory.space, memory.order), (Effect::Load, Space::Global, Order::Acquire));
//! assert_eq!(memory.bytes(), Some(4));
//! ```

mod memory;
mod modifier;
mod opcode;
mod operand;
mod special;
pub mod spellings;
mod synchronisation;
mod system;
mod table;
#[cfg(test)]
mod tests;
mod types;

pub use memory::{Effect, MemoryEffect, Order, Proxy, Scope, Space};
pub use modifier::{
    AtomicOperation, CacheOperator, Combination, Comparison, Modifier, Modifiers, Rounding,
};
pub use opcode::Opcode;
pub use operand::{Access, OperandClass, Role};
pub use special::{ReservedShared, Special};
pub use synchronisation::{
    AsyncGroup, FenceKind, MbarrierOperation, Participation, Synchronisation,
};
pub use system::System;
pub use types::Type;

use crate::ast::{Instruction, Item, Operand, Stmt};

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Control {
    /// To the next instruction.
    #[default]
    Next,
    /// To a label (`bra`).
    Branch,
    /// To one of a list of labels (`brx.idx`).
    IndexedBranch,
    /// To a function, and back.
    Call,
    /// Back to the caller; ends the thread in a kernel.
    Return,
    /// Ends the thread.
    Exit,
    /// Ends the launch.
    Trap,
    /// To the next instruction, at some time (`nanosleep`, `brkpt`).
    Pause,
}

impl Control {
    /// Whether no instruction of the same function follows.
    pub fn ends_function(self) -> bool {
        matches!(self, Control::Return | Control::Exit | Control::Trap)
    }
}

/// What a result depends on besides the operands' values and the memory that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dependence {
    /// Time, or how much was executed so far.
    Clock,
    /// Where the thread runs: multiprocessor, warp slot.
    Placement,
    /// Which lanes happen to execute it together (`activemask`, votes and shuffles without `.sync`).
    ActiveLanes,
    /// The order in which threads come to the same address.
    AtomicOrder,
    /// How far others have come (`mbarrier.test_wait`, `clusterlaunchcontrol.try_cancel`).
    Progress,
    /// Which memory an allocator gave (`malloc` on the device, `tcgen05.alloc`).
    Allocation,
}

/// A set of [`Dependence`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dependences(u8);

impl Dependences {
    /// Whether one is in it.
    pub fn has(self, one: Dependence) -> bool {
        self.0 >> one as u8 & 1 == 1
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn add(&mut self, one: Dependence) {
        self.0 |= 1 << one as u8;
    }
}

/// What an instruction does to the condition code register ("Extended-Precision Integer Arithmetic Instructions").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Carry {
    /// It adds or subtracts `CC.CF`.
    pub reads: bool,
    /// It sets `CC.CF`.
    pub writes: bool,
}

/// An instruction as a value. See the module's page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypedInstruction {
    /// What it is.
    pub opcode: Opcode,
    /// Its modifiers, in the order written.
    pub modifiers: Modifiers,
    /// Its operands' parts, in the order written.
    pub operands: Vec<Role>,
    /// What it does to memory.
    pub memory: Option<MemoryEffect>,
    /// Whom it synchronises.
    pub synchronisation: Option<Synchronisation>,
    /// Where control goes.
    pub control: Control,
    /// What its result depends on besides operands and memory.
    pub dependences: Dependences,
    /// What it does to the carry.
    pub carry: Carry,
}

impl Default for TypedInstruction {
    /// No instruction: an unknown one without a name.
    fn default() -> Self {
        TypedInstruction {
            opcode: Opcode::Other("".into()),
            modifiers: Modifiers::default(),
            operands: Vec::new(),
            memory: None,
            synchronisation: None,
            control: Control::Next,
            dependences: Dependences::default(),
            carry: Carry::default(),
        }
    }
}

impl TypedInstruction {
    /// What an instruction means.
    pub fn of(instruction: &Instruction) -> TypedInstruction {
        let modifiers = Modifiers(
            instruction
                .modifiers
                .iter()
                .map(|word| Modifier::of(word))
                .collect(),
        );
        let Some(row) = table::row_for(&instruction.opcode, &modifiers) else {
            return TypedInstruction {
                opcode: Opcode::Other(instruction.opcode.as_str().into()),
                operands: table::unknown().roles(&modifiers, &instruction.operands),
                modifiers,
                ..TypedInstruction::default()
            };
        };
        let mut typed = row.instruction(modifiers, &instruction.operands);
        for operand in &instruction.operands {
            each_special(operand, &mut |special| {
                if let Some(dependence) = special.dependence() {
                    typed.dependences.add(dependence);
                }
            });
        }
        if typed.control == Control::Call {
            let callee = instruction
                .operands
                .iter()
                .find_map(|operand| match operand {
                    Operand::Name(name, None) => System::named(name),
                    _ => None,
                });
            if callee == Some(System::Malloc) {
                typed.dependences.add(Dependence::Allocation);
            }
        }
        typed
    }

    /// What stands at the end of a function whose last instruction is not a `ret` ("Control Flow Instructions: ret").
    pub fn implied_return() -> TypedInstruction {
        TypedInstruction {
            opcode: Opcode::Ret,
            control: Control::Return,
            ..TypedInstruction::default()
        }
    }

    /// What the one instruction of a text means; `None` where the text is no instruction.
    pub fn parse(text: &str) -> Option<TypedInstruction> {
        parse(text).map(|i| TypedInstruction::of(&i))
    }

    /// Whether a modifier is there.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.has(modifier)
    }

    /// How many of the operands, from the first, are registers that it writes.
    pub fn destinations(&self) -> usize {
        let written =
            |role: &&Role| role.access != Access::Read && role.class != OperandClass::Address;
        self.operands.iter().take_while(written).count()
    }

    /// Whether it names the type of its operands with integers alone.
    pub fn is_integer(&self) -> bool {
        self.modifiers.types().next().is_some() && self.modifiers.types().all(Type::is_integer)
    }

    /// Whether it reads or writes memory for the program (no prefetch).
    pub fn accesses_memory(&self) -> bool {
        self.memory
            .as_ref()
            .is_some_and(|m| m.effect.reads() || m.effect.writes())
    }

    /// The class of the second of a pair of operands, `p` of `d|p`.
    pub fn pair(&self, operand: usize) -> Option<OperandClass> {
        table::row_of(&self.opcode, &self.modifiers)?.pair(operand, &self.modifiers)
    }
}

/// Opcode and modifiers of a spelling: `add.sat.s32`.
///
/// ```
/// use racetrap_ptx::semantics::{Opcode, spelled};
/// let (opcode, modifiers) = spelled("add.cc.u32");
/// assert_eq!((opcode, modifiers.len()), (Opcode::AddCc, 2));
/// ```
pub fn spelled(text: &str) -> (Opcode, Modifiers) {
    let mut words = text.split('.');
    let opcode = words.next().unwrap_or_default();
    let modifiers = Modifiers(words.map(Modifier::of).collect());
    match table::row_for(opcode, &modifiers) {
        Some(row) => (row.opcode.clone(), modifiers),
        None => (Opcode::Other(opcode.into()), modifiers),
    }
}

/// Calls `visit` with every special register that an operand reads.
fn each_special(operand: &Operand, visit: &mut impl FnMut(Special)) {
    match operand {
        Operand::Name(name, component) if name.starts_with('%') => {
            if let Some((special, _)) = Special::named(name, component.as_deref()) {
                visit(special);
            }
        }
        Operand::Neg(inner) | Operand::Not(inner) => each_special(inner, visit),
        Operand::Vector(list) | Operand::List(list) => {
            list.iter().for_each(|one| each_special(one, visit))
        }
        Operand::Address(address) => each_special(&address.base, visit),
        _ => {}
    }
}

/// The one instruction of a text.
pub(crate) fn parse(text: &str) -> Option<Instruction> {
    let module = crate::parse(&format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.func f() {{ {text} }}"
    ))
    .ok()?;
    let body = module.items.into_iter().find_map(|item| match item {
        Item::Function(function) => function.body,
        _ => None,
    })?;
    match <[Stmt; 1]>::try_from(body).ok()? {
        [Stmt::Instruction(instruction)] => Some(instruction),
        _ => None,
    }
}
