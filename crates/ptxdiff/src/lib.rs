//! What differs between two PTX functions, and what the compiler did between them.
//!
//! ```text
//! ast::Function ─ flow ─ code (value) ─┐
//!                                      ├─ compare (align) ─ cover ─ effect
//! ast::Function ─ flow ─ code (value) ─┘
//! ```
//!
//! [`flow`] takes layout out of the control flow, [`code`] gives every instruction its values and every access its [`code::Place`],
//! [`compare`] finds partners, [`cover`] which accesses touch the same bytes, [`strength`] says how much each synchronises, [`effect`] names what follows from them. [`pattern`] counts instructions by what they are called.

pub mod align;
pub mod class;
pub mod code;
pub mod compare;
pub mod cover;
pub mod effect;
pub mod exclusive;
pub mod flow;
pub mod pattern;
mod reaching;
pub mod report;
pub mod sass;
pub mod strength;
pub mod text;
pub mod value;

use code::Code;
use compare::Matching;
use effect::Observed;
use ptx::ast::{Function, FunctionKind, Item, Module};
use ptx::{CfgError, SourceMap};
use serde::{Deserialize, Serialize};
use std::fmt;
use value::Values;

/// One of the two that are compared.
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
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::A => "A",
            Side::B => "B",
        })
    }
}

/// A module and its text.
#[derive(Debug)]
pub struct Unit {
    /// The text that [`Unit::module`] was parsed from.
    pub text: String,
    /// Its tree.
    pub module: Module,
    /// Its source locations.
    pub map: SourceMap,
}

impl Unit {
    /// Parses `text`.
    ///
    /// # Errors
    ///
    /// Text that is no PTX.
    pub fn parse(text: String) -> Result<Unit, ptx::ParseError> {
        let module = ptx::parse(&text)?;
        let map = SourceMap::of(&module);
        Ok(Unit { text, module, map })
    }

    /// The kernels that the module defines.
    pub fn entries(&self) -> impl Iterator<Item = &Function> {
        self.module.items.iter().filter_map(|item| match item {
            Item::Function(f) if f.kind == FunctionKind::Entry && f.body.is_some() => Some(f),
            _ => None,
        })
    }

    /// The kernel that somebody means by a mangled or plain name, if it is one.
    pub fn entry(&self, name: &str) -> Option<&Function> {
        self.entries()
            .find(|f| f.name == name)
            .or_else(|| self.entries().find(|f| ptx::matches_entry(&f.name, name)))
    }
}

/// Two functions and what differs between them.
#[derive(Debug)]
pub struct FunctionDiff<'u> {
    /// A in canonical form.
    pub a: Code<'u>,
    /// B in canonical form.
    pub b: Code<'u>,
    /// Which instruction is which.
    pub matching: Matching,
    /// What the compiler did.
    pub effects: Vec<Observed>,
    /// The values of both.
    pub values: Values,
}

impl<'u> FunctionDiff<'u> {
    /// Compares two functions.
    ///
    /// # Errors
    ///
    /// A side whose control flow makes no sense: a branch to nowhere, a name declared twice.
    pub fn of(
        a: (&'u Unit, &'u Function),
        b: (&'u Unit, &'u Function),
    ) -> Result<FunctionDiff<'u>, DiffError> {
        let mut values = Values::default();
        let mut code = |side, (unit, function): (&'u Unit, &'u Function)| {
            Code::of(&unit.text, &unit.map, function, &mut values).map_err(|error| DiffError {
                side,
                function: function.name.clone(),
                error,
            })
        };
        let first = code(Side::A, a)?;
        let second = code(Side::B, b)?;
        let matching = Matching::of(&first, &second);
        let effects = effect::observe(
            (&first, &a.0.module),
            (&second, &b.0.module),
            &matching,
            &values,
        );
        Ok(FunctionDiff {
            a: first,
            b: second,
            matching,
            effects,
            values,
        })
    }

    /// Whether the two are the same up to the names of registers and labels and the order of blocks.
    pub fn is_same(&self) -> bool {
        self.matching.is_same()
    }

    /// One side.
    pub fn code(&self, side: Side) -> &Code<'u> {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    /// How often an effect shows in a side; of an effect that both sides share, on any.
    pub fn count(&self, effect: effect::Effect, side: Side) -> usize {
        let shown = self
            .effects
            .iter()
            .filter(|o| o.effect == effect && o.side.is_none_or(|s| s == side));
        shown.map(|o| o.occurrences.len()).sum()
    }
}

/// A function that can't be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{side}: `{function}`: {error}")]
pub struct DiffError {
    /// Which side.
    pub side: Side,
    /// The function.
    pub function: String,
    /// What is wrong.
    pub error: CfgError,
}
