//! Operands: what an instruction does to each, and what it must be.
//!
//! A row of the table states them as the manual's syntax does, destination first, with a mark for what is done to them:
//!
//! ```text
//! =d, a, b              d is written, a and b are read
//! +d, a                 d is read and written
//! =d|p, a, b:32         a pair of destinations; b is a 32-bit word whatever the type
//! =d, [a], b            a is an address
//! ```
//!
//! Without more, a written operand is of the first type that the modifiers name and a read one of the last. Behind a colon stands
//! another rule: a number of bits, `p` for a predicate, `1`st or `2`nd type (`t1`, `t2`), `w` for twice the width under `.wide`, `c` for a
//! number of threads that is the predicate if nothing follows, `f` for a function, `l` for a label or list, `i` for an immediate value, `o` for something opaque (a descriptor, a texture, a fragment of a matrix).

use super::modifier::{Modifier, Modifiers};
use crate::ast::Operand;

/// What an instruction does to an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Takes its value.
    Read,
    /// Replaces its value.
    Written,
    /// Takes its value and replaces it.
    Both,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandClass {
    /// A register or constant of so many bits.
    Bits(u16),
    /// A predicate.
    Predicate,
    /// An address in brackets; its register is read, whatever happens to the memory.
    Address,
    /// A label, or a list of labels.
    Target,
    /// A function, or a list of parameters, prototypes or targets of a call.
    Call,
    /// A constant.
    Immediate,
    /// A descriptor, a texture, a fragment of a matrix, a name: no rule of the table says how many bits.
    Opaque,
}

/// One operand's part in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Role {
    /// What is done to it.
    pub access: Access,
    /// What it is.
    pub class: OperandClass,
}

/// The rule for an operand's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The type with this index; the last one beyond the end.
    Type(usize),
    LastType,
    /// The last type, twice as wide under `.wide`.
    Wide,
    /// A predicate as the last operand, a number before it.
    CountOrPredicate,
    Fixed(OperandClass),
}

/// The operands of a row, made ready.
#[derive(Clone, Debug, Default)]
pub(super) struct Signature(Vec<Slot>);

#[derive(Clone, Debug)]
struct Slot {
    access: Access,
    rule: Rule,
    /// The second of a pair, where there may be one.
    pair: Option<Rule>,
}

impl Signature {
    /// Reads the notation of the module's page.
    ///
    /// # Panics
    /// Where the notation is wrong: the table is a constant.
    pub(super) fn parse(text: &str) -> Signature {
        let slots = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        Signature(slots.map(slot).collect())
    }

    /// The roles of the operands that an instruction has.
    pub(super) fn roles(&self, modifiers: &Modifiers, operands: &[Operand]) -> Vec<Role> {
        operands
            .iter()
            .enumerate()
            .map(|(at, operand)| self.role(at, at + 1 == operands.len(), modifiers, operand))
            .collect()
    }

    fn role(&self, at: usize, last: bool, modifiers: &Modifiers, operand: &Operand) -> Role {
        // What stands behind the operands that the row names is read: optional ones, a cache policy.
        let beyond = Slot {
            access: Access::Read,
            rule: Rule::LastType,
            pair: None,
        };
        let slot = self.0.get(at).unwrap_or(&beyond);
        let class = match operand {
            Operand::Address(_) => OperandClass::Address,
            _ if slot.rule == Rule::CountOrPredicate && last => OperandClass::Predicate,
            _ => slot.rule.class(modifiers),
        };
        Role {
            access: slot.access,
            class,
        }
    }

    /// The class of the second of a pair of operands.
    pub(super) fn pair(&self, at: usize, modifiers: &Modifiers) -> Option<OperandClass> {
        Some(self.0.get(at)?.pair?.class(modifiers))
    }
}

impl Rule {
    fn class(self, modifiers: &Modifiers) -> OperandClass {
        let nth = |n: usize| modifiers.types().nth(n).or(modifiers.types().last());
        let of = |ty: Option<super::types::Type>, times: u32| match ty {
            Some(super::types::Type::Pred) => OperandClass::Predicate,
            Some(ty) => OperandClass::Bits((ty.bits() * times) as u16),
            None => OperandClass::Opaque,
        };
        match self {
            Rule::Type(n) => of(nth(n), 1),
            Rule::LastType => of(modifiers.types().last(), 1),
            Rule::Wide if modifiers.has(Modifier::Wide) => of(modifiers.types().last(), 2),
            Rule::Wide => of(modifiers.types().last(), 1),
            Rule::CountOrPredicate => OperandClass::Bits(32),
            Rule::Fixed(class) => class,
        }
    }
}

fn slot(text: &str) -> Slot {
    let (access, name) = match text.split_at(1) {
        ("=", name) => (Access::Written, name),
        ("+", name) => (Access::Both, name),
        _ => (Access::Read, text),
    };
    let (first, second) = match name.split_once('|') {
        Some((first, second)) => (first, Some(second)),
        None => (name, None),
    };
    Slot {
        access,
        rule: rule(first, access),
        pair: second.map(|name| match name.contains(':') {
            true => rule(name, access),
            false => Rule::Fixed(OperandClass::Predicate),
        }),
    }
}

fn rule(name: &str, access: Access) -> Rule {
    if name.starts_with('[') {
        return Rule::Fixed(OperandClass::Address);
    }
    match name.split_once(':').map(|(_, rule)| rule) {
        None if access == Access::Read => Rule::LastType,
        None => Rule::Type(0),
        Some("p") => Rule::Fixed(OperandClass::Predicate),
        Some("f") => Rule::Fixed(OperandClass::Call),
        Some("l") => Rule::Fixed(OperandClass::Target),
        Some("i") => Rule::Fixed(OperandClass::Immediate),
        Some("o") => Rule::Fixed(OperandClass::Opaque),
        Some("w") => Rule::Wide,
        Some("c") => Rule::CountOrPredicate,
        Some("t1") => Rule::Type(0),
        Some("t2") => Rule::Type(1),
        Some(bits) => Rule::Fixed(OperandClass::Bits(bits.parse().expect("a number of bits"))),
    }
}
