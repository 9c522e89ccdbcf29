//! What is taken for variables of host code whose values the text does not tell.
//!
//! `k<<<(n + 255) / 256, 256, m * sizeof(float)>>>(x, n, m)` in a function that nobody calls says nothing of `n` and `m`, but much of
//! how grid, shared memory and arguments belong together. So a caller chooses values for what is [`Unknown`], and the launch is read
//! with them.

use super::CudaText;
use super::expression::Number;
use super::function::Place;
use super::host::{HostArgument, HostLaunch, strip_casts};
use super::scan::identifier;
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

impl CudaText {
    /// A launch of the kernel `name`, by its number among [`CudaText::launches`], with values for what the text does not tell, and
    /// what is missing still. `takes` says what the kernel's parameters are.
    pub fn launch_with(
        &self,
        name: &str,
        number: usize,
        shrink: u32,
        takes: &[Takes],
        assumed: &Assumed,
    ) -> Option<(HostLaunch, Vec<Missing>)> {
        let written = self.written(name);
        let written = written.get(number)?;
        let noted = RefCell::new(Vec::new());
        let how = How {
            shrink,
            assumed: Some(assumed),
            missing: Some(&noted),
        };
        let (launch, of_block) = self.read(written, how, Some(takes));
        let place = written.place(self);
        let missing = noted.take().into_iter().enumerate();
        let missing = missing.map(|(index, (unknown, there))| {
            let first = there.and_then(|there| {
                let (value, at, looped) = self.first_value(there, &unknown.name)?;
                let value = self.number(&value, Some(at), how.quiet())?.integer();
                let around = place.is_some_and(|p| p.function == there.function);
                Some((value, looped && around))
            });
            Missing {
                unknown,
                first: first.map(|(value, _)| value),
                looped: first.is_some_and(|(_, looped)| looped),
                of_block: index < of_block,
            }
        });
        Some((launch, missing.collect()))
    }

    /// The variable that is passed as an argument of such a launch, where it is one.
    pub fn passed_variable(&self, name: &str, number: usize, index: usize) -> Option<Unknown> {
        let written = self.written(name);
        let written = written.get(number)?;
        let passed = strip_casts(written.passed.get(index)?);
        let function = self.place(written.at)?.function;
        (!passed.is_empty()
            && identifier(passed) == passed
            && !passed.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| Unknown::local(function, passed))
    }
}

/// Whether everything that a launch says of its shape is known.
pub fn has_shape(launch: &HostLaunch) -> bool {
    launch.grid.is_some() && launch.block.is_some()
}

/// The arguments whose values are known with what was assumed, and are not without.
pub fn depends(with: &HostLaunch, without: &HostLaunch) -> Vec<bool> {
    let pairs = with.arguments.iter().zip(&without.arguments);
    pairs
        .map(|(with, without)| *without == HostArgument::Unknown && with != without)
        .collect()
}
