//! The table: one row an instruction, one file a chapter of the manual's "Instructions", over each row its section.
//!
//! A row is found by the opcode and the modifiers that tell its section from others of the same opcode, wherever these stand (`cp.async.bulk` of
//! `cp.async.bulk.tensor.2d…`); the row that asks for most of them wins.

mod arithmetic;
mod asynchronous;
mod communication;
mod control;
mod floating;
mod logic;
mod matrix;
mod movement;
mod texture;
mod video;

use super::memory::{self, Effect, MemoryEffect, Order, Proxy, Space};
use super::modifier::{Modifier, Modifiers};
use super::operand::{OperandClass, Role, Signature};
use super::synchronisation::{self, Synchronisation};
use super::{Access, Carry, Control, Dependence, Dependences, Opcode, TypedInstruction};
use crate::ast::Operand;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What the table says of an instruction.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub opcode: Opcode,
    /// Opcode and modifiers as PTX spells them: `cp.async.bulk`.
    pub spelling: &'static str,
    needs: Vec<Modifier>,
    signature: Signature,
    memory: Option<memory::Rule>,
    synchronisation: Option<synchronisation::Rule>,
    control: Control,
    dependence: Option<Dependence>,
    carry: Carry,
}

/// A row without effects: an instruction that computes. `operands` is in the notation of [`super::operand`].
fn row(opcode: Opcode, spelling: &'static str, operands: &str) -> Row {
    Row {
        opcode,
        spelling,
        needs: spelling.split('.').skip(1).map(Modifier::of).collect(),
        signature: Signature::parse(operands),
        memory: None,
        synchronisation: None,
        control: Control::Next,
        dependence: None,
        carry: Carry::default(),
    }
}

impl Row {
    fn memory(mut self, effect: Effect) -> Row {
        self.memory = Some(memory::Rule::of(effect));
        self
    }

    fn rule(&mut self) -> &mut memory::Rule {
        self.memory.get_or_insert(memory::Rule::of(Effect::Load))
    }

    fn space(mut self, space: Space) -> Row {
        self.rule().space = Some(space);
        self
    }

    fn source(mut self, space: Space) -> Row {
        self.rule().source = Some(space);
        self
    }

    fn proxy(mut self, proxy: Proxy) -> Row {
        self.rule().proxy = proxy;
        self
    }

    fn order(mut self, order: Order) -> Row {
        self.rule().order = Some(order);
        self
    }

    fn non_coherent(mut self) -> Row {
        self.rule().non_coherent = true;
        self
    }

    fn synchronises(mut self, whom: Synchronisation) -> Row {
        self.synchronisation = Some(synchronisation::Rule::Fixed(whom));
        self
    }

    fn synchronises_by(mut self, rule: synchronisation::Rule) -> Row {
        self.synchronisation = Some(rule);
        self
    }

    fn control(mut self, control: Control) -> Row {
        self.control = control;
        self
    }

    fn depends_on(mut self, dependence: Dependence) -> Row {
        self.dependence = Some(dependence);
        self
    }

    fn carry(mut self, reads: bool, writes: bool) -> Row {
        self.carry = Carry { reads, writes };
        self
    }

    fn fits(&self, modifiers: &Modifiers) -> bool {
        self.needs.iter().all(|need| modifiers.has(*need))
    }

    /// The instruction that this row and its modifiers make.
    pub(super) fn instruction(
        &self,
        modifiers: Modifiers,
        operands: &[Operand],
    ) -> TypedInstruction {
        let mut dependences = Dependences::default();
        self.dependence
            .into_iter()
            .for_each(|one| dependences.add(one));
        let memory = self.memory.map(|rule| MemoryEffect::of(rule, &modifiers));
        if memory
            .as_ref()
            .is_some_and(|m| m.effect == Effect::ReadModifyWrite)
        {
            dependences.add(Dependence::AtomicOrder);
        }
        TypedInstruction {
            opcode: self.opcode.clone(),
            operands: match self.control {
                Control::Call => call(operands),
                _ => self.signature.roles(&modifiers, operands),
            },
            memory,
            synchronisation: self.synchronisation.map(|rule| rule.of(&modifiers)),
            control: self.control,
            dependences,
            carry: Carry {
                writes: self.carry.writes || self.carry.reads && modifiers.has(Modifier::Cc),
                ..self.carry
            },
            modifiers,
        }
    }

    pub(super) fn pair(&self, operand: usize, modifiers: &Modifiers) -> Option<OperandClass> {
        self.signature.pair(operand, modifiers)
    }
}

/// `call (ret), f, (params), targets`: a list in front is what the call gives.
fn call(operands: &[Operand]) -> Vec<Role> {
    let role = |(at, operand): (usize, &Operand)| Role {
        access: match (at, operand) {
            (0, Operand::List(_)) => Access::Written,
            _ => Access::Read,
        },
        class: OperandClass::Call,
    };
    operands.iter().enumerate().map(role).collect()
}

/// All rows, in the manual's order.
pub(super) static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    [
        arithmetic::rows(),
        floating::rows(),
        logic::rows(),
        movement::rows(),
        asynchronous::rows(),
        texture::rows(),
        control::rows(),
        communication::rows(),
        matrix::rows(),
        video::rows(),
    ]
    .concat()
});

/// Rows by the opcode as written, those that ask for most first.
static BY_TEXT: LazyLock<HashMap<&'static str, Vec<&'static Row>>> = LazyLock::new(|| {
    let mut by_text: HashMap<&'static str, Vec<&'static Row>> = HashMap::new();
    for row in ROWS.iter() {
        let opcode = row.spelling.split('.').next().unwrap_or_default();
        by_text.entry(opcode).or_default().push(row);
    }
    for rows in by_text.values_mut() {
        rows.sort_by_key(|row| std::cmp::Reverse(row.needs.len()));
    }
    by_text
});

/// The row of an instruction.
pub(super) fn row_for(opcode: &str, modifiers: &Modifiers) -> Option<&'static Row> {
    BY_TEXT
        .get(opcode)?
        .iter()
        .copied()
        .find(|row| row.fits(modifiers))
}

/// The first row of an opcode that fits.
pub(super) fn row_of(opcode: &Opcode, modifiers: &Modifiers) -> Option<&'static Row> {
    ROWS.iter()
        .find(|row| row.opcode == *opcode && row.fits(modifiers))
}

/// An opcode's spelling up to its first dot.
pub(super) fn name(opcode: &Opcode) -> &'static str {
    let spelling = ROWS
        .iter()
        .find(|row| row.opcode == *opcode)
        .map(|row| row.spelling);
    spelling
        .unwrap_or_default()
        .split('.')
        .next()
        .unwrap_or_default()
}

/// What is taken for granted of an instruction that the table does not have.
pub(super) fn unknown() -> &'static Signature {
    static UNKNOWN: LazyLock<Signature> = LazyLock::new(|| Signature::parse("=d"));
    &UNKNOWN
}
