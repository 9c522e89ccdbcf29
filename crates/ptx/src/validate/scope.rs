//! What names mean in the blocks of a function.

use crate::ast::{ScalarType, StateSpace, Stmt, Variable};
use crate::semantics::Special;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Digits of the number of a register at most.
const DIGITS: usize = 10;

/// What a name is declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A register of this type and so many elements.
    Register(ScalarType, u32),
    /// A variable in memory, or a parameter.
    Variable,
    /// A function with so many results and parameters.
    Function { returns: u32, parameters: u32 },
}

impl Named {
    pub(super) fn of(variable: &Variable) -> Named {
        match variable.space {
            StateSpace::Reg => Named::Register(variable.ty, variable.vector.unwrap_or(1)),
            _ => Named::Variable,
        }
    }
}

/// The blocks around a place, the innermost last.
#[derive(Debug)]
pub(super) struct Scopes<'m> {
    module: &'m Block<'m>,
    /// Whether the table of instructions has all that there may be.
    pub(super) covered: bool,
    blocks: Vec<Block<'m>>,
}

/// The names of a block, or of a module.
#[derive(Debug, Default)]
pub(super) struct Block<'m> {
    names: HashMap<&'m str, Named>,
    /// `%r<4>`: by the name in front, which declaration that is, how many, and what they are.
    numbered: HashMap<&'m str, (usize, u32, Named)>,
}

impl<'m> Scopes<'m> {
    pub(super) fn inside(module: &'m Block<'m>, covered: bool) -> Scopes<'m> {
        Scopes {
            module,
            covered,
            blocks: Vec::new(),
        }
    }

    pub(super) fn enter(&mut self) {
        self.blocks.push(Block::default());
    }

    pub(super) fn leave(&mut self) {
        self.blocks.pop();
    }

    /// Declares a variable of the innermost block; false where it has one of this name.
    pub(super) fn declare(&mut self, variable: &'m Variable) -> bool {
        let named = Named::of(variable);
        let Some(block) = self.blocks.last_mut() else {
            return false;
        };
        let fresh = block.find(&variable.name).is_none();
        match variable.count {
            Some(count) => {
                let number = block.numbered.len();
                let known = block.numbered.entry(&variable.name);
                let fresh = matches!(known, Entry::Vacant(_));
                known.or_insert((number, count, named));
                fresh
            }
            None => {
                block.names.insert(&variable.name, named);
                fresh
            }
        }
    }

    /// What a name means here.
    pub(super) fn find(&self, name: &str) -> Option<Named> {
        let inner = self.blocks.iter().rev();
        inner
            .chain([self.module])
            .find_map(|block| block.find(name))
    }
}

impl<'m> Block<'m> {
    /// Adds a name that may be there already.
    pub(super) fn add(&mut self, name: &'m str, named: Named) {
        self.names.insert(name, named);
    }

    fn find(&self, name: &str) -> Option<Named> {
        self.names.get(name).copied().or_else(|| {
            // The name in front may end in digits itself.
            let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
            let splits = (1..=digits.min(DIGITS)).filter_map(|k| {
                let (front, digits) = name.split_at(name.len() - k);
                let plain = digits == "0" || !digits.starts_with('0');
                let number: u32 = digits.parse().ok().filter(|_| plain)?;
                let (first, count, named) = self.numbered.get(front)?;
                (number < *count).then_some((*first, *named))
            });
            splits
                .min_by_key(|(first, _)| *first)
                .map(|(_, named)| named)
        })
    }
}

/// The labels, lists of targets and prototypes of a function, in all its blocks.
pub(super) fn labels(body: &[Stmt]) -> HashSet<&str> {
    fn add<'m>(body: &'m [Stmt], out: &mut HashSet<&'m str>) {
        for stmt in body {
            match stmt {
                Stmt::Label(label) => {
                    out.insert(&label.name);
                }
                Stmt::BranchTargets(list) | Stmt::CallTargets(list) => {
                    out.insert(&list.name);
                }
                Stmt::CallPrototype(prototype) => {
                    out.insert(&prototype.name);
                }
                Stmt::Block(inner) => add(inner, out),
                _ => {}
            }
        }
    }
    let mut out = HashSet::new();
    add(body, &mut out);
    out
}

/// Whether a name needs no declaration: special registers, constants, the sink. Where later versions of PTX may have more special
/// registers than the table (`covered` is false), names that look like some count as such.
pub(super) fn special(name: &str, component: Option<&str>, covered: bool) -> bool {
    // Performance counters, whose values nobody computes with here.
    let counter = name.strip_prefix("%pm").is_some_and(|rest| {
        let digits = rest.strip_suffix("_64").unwrap_or(rest);
        digits.parse::<u8>().is_ok()
    });
    // All of a vector, and its fourth element, which is 0.
    let axis = match component {
        None | Some("w") => Some("x"),
        axis => axis,
    };
    let known = Special::named(name, component).or_else(|| Special::named(name, axis));
    let wordy = |rest: &str| {
        let letter = |c: char| c.is_ascii_lowercase() || c == '_';
        rest.len() > 3
            && rest
                .trim_end_matches(|c: char| c.is_ascii_digit())
                .chars()
                .all(letter)
    };
    let later = || !covered && name.strip_prefix('%').is_some_and(wordy);
    ["_", "WARP_SZ"].contains(&name) || known.is_some() || counter || later()
}

/// Bits of a register's type, and its name.
pub(super) fn described(ty: ScalarType) -> (u32, &'static str) {
    use ScalarType::*;
    match ty {
        S8 => (8, "s8"),
        U8 => (8, "u8"),
        B8 => (8, "b8"),
        S16 => (16, "s16"),
        U16 => (16, "u16"),
        B16 => (16, "b16"),
        F16 => (16, "f16"),
        Bf16 => (16, "bf16"),
        S32 => (32, "s32"),
        U32 => (32, "u32"),
        B32 => (32, "b32"),
        F32 => (32, "f32"),
        F16x2 => (32, "f16x2"),
        Bf16x2 => (32, "bf16x2"),
        S64 => (64, "s64"),
        U64 => (64, "u64"),
        B64 => (64, "b64"),
        F64 => (64, "f64"),
        B128 => (128, "b128"),
        Pred => (1, "pred"),
        Texref => (64, "texref"),
        Samplerref => (64, "samplerref"),
        Surfref => (64, "surfref"),
    }
}

/// Whether a register holds integers alone.
pub(super) fn integer(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, S8 | U8 | S16 | U16 | S32 | U32 | S64 | U64)
}

/// Whether a register holds floating-point numbers alone.
pub(super) fn float(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F32 | ScalarType::F64)
}
