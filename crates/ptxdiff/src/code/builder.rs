//! What is known while the canonical form is made: names, registers and their definitions. [`build`](super::build) makes it,
//! [`read`](super::read) reads operands with it.

use crate::code::value::{Value, Values};
use crate::reaching::Definition;
use ptx::flatten::{Flat, ScopeId};
use std::collections::HashMap;

/// What a name in an operand is.
#[derive(Clone, Copy)]
pub(super) enum Named {
    Register(u32),
    Symbol(u32, Value),
    Special(Value),
}

/// While the form of one function is made.
pub(super) struct Builder<'a, 'v> {
    pub(super) values: &'v mut Values,
    pub(super) flat: &'v Flat<'a>,
    /// Parameters of a kernel, by name.
    pub(super) parameters: HashMap<&'a str, u32>,
    pub(super) names: HashMap<(ScopeId, &'a str), Named>,
    pub(super) scopes: Vec<ScopeId>,
    /// Definitions of each register.
    pub(super) definitions: Vec<Vec<u32>>,
    pub(super) all: Vec<Definition>,
    pub(super) registers: HashMap<(ScopeId, &'a str), u32>,
}
