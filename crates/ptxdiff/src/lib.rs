//! Compares two PTX functions and reports what the compiler did.
//!
//! ```text
//! ast::Function ─ flow ─ code (value) ─┐
//!                                      ├─ compare (align) ─ cover ─ effect
//! ast::Function ─ flow ─ code (value) ─┘
//! ```
//!
//! [`flow`] makes the control flow independent of the layout. [`code`] assigns values to instructions and a [`code::Place`]
//! to each access. [`compare`] matches instructions, [`cover`] finds accesses to the same bytes, [`strength`] ranks how
//! strongly each instruction synchronises, and [`effect`] derives the effects. [`pattern`] counts instructions by name.

pub mod align;
pub mod class;
pub mod code;
pub mod compare;
pub mod cover;
pub mod effect;
pub mod evaluate;
pub mod exclusive;
pub mod flow;
mod invariant;
pub mod loops;
pub mod pattern;
mod proof;
mod reaching;
pub mod report;
pub mod sass;
pub mod similar;
pub mod strength;
pub mod text;

use code::Code;
use code::value::Values;
use compare::Matching;
use effect::Observed;
use ptx::ast::{Function, FunctionKind, Item, Module};
use ptx::{CfgError, SourceMap};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One of the two compared sides.
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
    /// The other side.
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
    /// The text is not valid PTX.
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

    /// The kernel with this mangled or plain name, if there is exactly one.
    pub fn entry(&self, name: &str) -> Option<&Function> {
        self.entries()
            .find(|f| f.name == name)
            .or_else(|| self.entries().find(|f| ptx::matches_entry(&f.name, name)))
    }
}

/// The comparison of two functions.
#[derive(Debug)]
pub struct FunctionDiff<'u> {
    /// A in canonical form.
    pub a: Code<'u>,
    /// B in canonical form.
    pub b: Code<'u>,
    /// The matching of instructions.
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
    /// The control flow of a side is invalid: a branch to an unknown label, a name declared twice.
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

    /// Whether the two are equal except for the names of registers and labels and the order of blocks.
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

    /// The number of occurrences of an effect on a side, or on either side for an effect that both share.
    pub fn count(&self, effect: effect::Effect, side: Side) -> usize {
        let shown = self
            .effects
            .iter()
            .filter(|o| o.effect == effect && o.side.is_none_or(|s| s == side));
        shown.map(|o| o.occurrences.len()).sum()
    }
}

/// A function that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{side}: `{function}`: {error}")]
pub struct DiffError {
    /// The side.
    pub side: Side,
    /// The function.
    pub function: String,
    /// The problem.
    pub error: CfgError,
}
