//! Variables whose values the text does not tell, and what is [taken](super::assume) for them.

use super::function::Place;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Variables that a launch may depend on, at most.
const UNKNOWNS: usize = 16;

/// Variables at file scope belong to no function.
const FILE: usize = usize::MAX;

/// A variable, a member, or a call of a host function whose value the text does not tell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    function: usize,
    /// As it is written, without white space: `n`, `shape.width`, `x.size(0)`.
    pub name: String,
}

impl Unknown {
    /// A variable of a function.
    pub(super) fn local(function: usize, name: &str) -> Unknown {
        Unknown {
            function,
            name: name.to_owned(),
        }
    }

    /// A variable at file scope, or one that nothing declares.
    pub(super) fn global(name: &str) -> Unknown {
        Unknown::local(FILE, name)
    }
}

/// The values that are taken.
pub type Assumed = BTreeMap<Unknown, i64>;

/// What a launch needs to know and the text does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The variable.
    pub unknown: Unknown,
    /// Its first value, where it has one and is changed later.
    pub first: Option<i64>,
    /// Whether a loop around the launch changes it: the first launch has the first value.
    pub looped: bool,
    /// Whether the number of a block's threads depends on it.
    pub of_block: bool,
}

/// What a parameter of a kernel takes, as far as reading its argument depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// An address.
    Pointer,
    /// An integer.
    Integer,
    /// Something else.
    Other,
}

/// How expressions are read.
#[derive(Clone, Copy, Default)]
pub(super) struct How<'a> {
    /// What each definition beyond 4,095 is divided by, as a power of two: makes a large problem a small one.
    pub(super) shrink: u32,
    /// What is taken for what is not known.
    pub(super) assumed: Option<&'a Assumed>,
    /// Where to write down what is not known either.
    pub(super) missing: Option<&'a RefCell<Vec<(Unknown, Option<Place>)>>>,
}

impl How<'_> {
    /// Reading with smaller sizes.
    pub(super) fn shrunk(shrink: u32) -> How<'static> {
        How {
            shrink,
            ..How::default()
        }
    }

    /// The same without writing down what is not known.
    pub(super) fn quiet(self) -> Self {
        How {
            missing: None,
            ..self
        }
    }

    /// The value taken for a variable.
    pub(super) fn taken(&self, unknown: &Unknown) -> Option<Number> {
        self.assumed?.get(unknown).map(|v| Number::Integer(*v))
    }

    /// The value taken for a variable, which is missing otherwise.
    pub(super) fn take(&self, unknown: Unknown, place: Option<Place>) -> Option<Number> {
        let taken = self.taken(&unknown);
        if let (None, Some(missing)) = (taken, self.missing) {
            let mut missing = missing.borrow_mut();
            if missing.len() < UNKNOWNS && !missing.iter().any(|(u, _)| *u == unknown) {
                missing.push((unknown, place));
            }
        }
        taken
    }
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// Of an integer type.
    Integer(i64),
    /// Of a floating-point type.
    Float(f64),
}

impl Number {
    pub(super) fn float(self) -> f64 {
        match self {
            Number::Integer(i) => i as f64,
            Number::Float(f) => f,
        }
    }

    pub(super) fn truth(self) -> bool {
        self.float() != 0.0
    }

    /// As an integer, as a conversion gives it.
    pub(super) fn integer(self) -> i64 {
        match self {
            Number::Integer(i) => i,
            Number::Float(f) => f as i64,
        }
    }
}
