//! What every parameter is set to, given or inferred.
//!
//! A [`Plan`] is made of what was given (`fits` says whether it can be passed) and of guesses for the rest (`infer`). Guessed
//! buffers [grow] to what the kernel reaches, and [`encode`] makes a parameter block and buffers of a plan.

mod buffers;
mod encode;
mod fill;
mod fits;
mod grow;
mod host;
mod infer;
mod layout;
mod numbers;

pub use encode::GAP;

use super::argument::{Argument, Value};
use super::error::{Error, ErrorKind};
use super::geometry::Geometry;
pub use super::geometry::Sizes;
use super::host_facts::Followed;
use super::parameters::Parameters;

pub(crate) use fill::fill as contents;
use fits::fits;
pub(crate) use fits::with_length;
use infer::infer;
use session::buffer::ElementType;

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The value.
    pub value: Value,
    /// Who chose it.
    pub origin: Origin,
}

/// Who chose a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user.
    Given,
    /// The host program in the same source, in the launch on this line.
    Host {
        /// The line, from 1.
        line: u32,
        /// Whether the sizes of buffers are what the program makes them: reaching outside is an error then.
        binding: bool,
        /// Whether what a buffer holds was guessed, since the program's text does not tell it.
        filled_by_guess: bool,
    },
    /// The host program, with values that racetrap chose for what its text does not tell ([`Followed`]).
    Followed,
    /// Racetrap.
    Guessed,
}

impl Origin {
    /// Whether a buffer may be made larger because the kernel reaches further.
    pub fn may_grow(self) -> bool {
        !matches!(self, Origin::Given | Origin::Host { binding: true, .. })
    }
}

/// A launch that changes with what was guessed.
#[derive(Clone, Debug, PartialEq)]
pub struct Launched {
    /// How the host program makes it.
    pub followed: Followed,
    /// Its shape.
    pub geometry: Geometry,
    /// Whether the user gave the bytes of dynamic shared memory.
    pub shared_given: bool,
}

/// A buffer that a plan puts into memory.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedBuffer {
    /// Its name: the parameter's.
    pub name: String,
    /// The parameter.
    pub parameter: usize,
    /// Type of the elements.
    pub element: ElementType,
    /// Whether the user or the source says that type.
    pub typed: bool,
    /// Its size.
    pub bytes: u64,
    /// What lies at its start; the rest has not been written.
    pub initial: Option<Vec<u8>>,
    /// Bytes behind it that belong to nobody.
    pub gap: u64,
}

/// Where the buffers of a plan go: makes one, and returns its address.
pub type Place<'a> = dyn FnMut(PlannedBuffer) -> Result<u64, Error> + 'a;

/// A guess of the dynamic shared memory of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuessedShared {
    /// Bytes.
    pub bytes: u32,
    /// The most that the architecture leaves for it, bytes.
    pub most: u32,
    /// Bytes of the static shared memory that lies before it.
    pub before: u32,
}

/// The arguments of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is known of the parameters.
    pub parameters: Parameters,
    /// Their values, in order.
    pub values: Vec<Planned>,
    /// Seed of the random fills.
    pub seed: u64,
    /// The file whose host code launches the kernel, where that is not the first one.
    pub host_file: Option<String>,
    /// The launch, where it changes with what is guessed.
    pub launched: Option<Launched>,
    /// Bytes of dynamic shared memory, where they are guessed: they grow to what the kernel reaches.
    pub shared: Option<GuessedShared>,
    /// Where the parameter block of a second kernel begins ([`super::then`]).
    pub second: Option<u32>,
    /// The buffers that have grown, and whose guessed contents have not.
    kept: Vec<usize>,
}

impl Plan {
    /// The shape of the launch: its own where it changes with what is guessed, or that one.
    pub fn geometry<'a>(&'a self, otherwise: &'a Geometry) -> &'a Geometry {
        let own = self.launched.as_ref().map(|launched| &launched.geometry);
        own.unwrap_or(otherwise)
    }

    /// Bytes of dynamic shared memory.
    pub fn dynamic_shared(&self, geometry: &Geometry) -> u32 {
        self.shared
            .map_or(self.geometry(geometry).shared, |shared| shared.bytes)
    }

    /// Reads `--arg`s and infers the rest for a launch of that size.
    ///
    /// # Errors
    ///
    /// An argument that names no parameter, names one twice, or does not fit it.
    pub fn new(
        parameters: Parameters,
        given: &[Argument],
        sizes: Sizes,
        seed: u64,
    ) -> Result<Plan, Error> {
        let mut values: Vec<Option<Planned>> = vec![None; parameters.0.len()];
        for argument in given {
            let name = &argument.parameter;
            let value = argument.value.clone();
            let index = parameters.find(name)?;
            fits(&value, &parameters, index)?;
            if values[index].is_some() {
                return Err(Error::new(
                    ErrorKind::Argument,
                    format!("`--arg {name}=…` is given twice"),
                ));
            }
            let value = with_length(value)?;
            values[index] = Some(Planned {
                value,
                origin: Origin::Given,
            });
        }
        let values = values
            .into_iter()
            .zip(&parameters.0)
            .map(|(value, parameter)| {
                value.unwrap_or_else(|| Planned {
                    value: infer(parameter, sizes),
                    origin: Origin::Guessed,
                })
            })
            .collect();
        Ok(Plan {
            parameters,
            values,
            seed,
            host_file: None,
            launched: None,
            shared: None,
            second: None,
            kept: Vec::new(),
        })
    }

    /// Cuts a parameter block in two: for the first kernel and for the second one, if there is one.
    pub fn cut(&self, mut block: Vec<u8>) -> (Vec<u8>, Option<Vec<u8>>) {
        let Some(start) = self.second else {
            return (block, None);
        };
        let second = block.split_off((start as usize).min(block.len()));
        let of_first = self.parameters.0.iter().filter(|p| p.offset < start);
        let bytes = of_first.map(|p| p.offset + p.bytes).max().unwrap_or(0);
        block.truncate(bytes as usize);
        (block, Some(second))
    }

    /// The number of elements of a parameter's buffer, where it has one and it is known.
    pub fn length_of(&self, index: usize) -> Option<u64> {
        match &self.values[index].value {
            Value::Buffer(spec) => spec.length,
            _ => None,
        }
    }

    /// Name of the type of a parameter's elements.
    pub fn element_of(&self, index: usize) -> &'static str {
        match &self.values[index].value {
            Value::Buffer(spec) | Value::Rows(_, spec) => spec.element.name(),
            _ => ElementType::I32.name(),
        }
    }

    /// The parameter that a buffer of this name belongs to: `data`, `args.1` (the second one of a struct), `rows[3]`.
    pub fn named(&self, name: &str) -> Option<usize> {
        (0..self.values.len()).find(|i| {
            let label = self.parameters.label(*i);
            let rest = name.strip_prefix(label.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }
}

#[cfg(test)]
mod tests;
