//! What every parameter is set to, given or inferred.
//!
//! A [`Plan`] is made of what was given (`fits` says whether it can be passed) and of guesses for the rest (`infer`). Guessed
//! buffers [grow] to what the kernel reaches, and [`encode`] makes a parameter block and buffers of a plan.

mod encode;
mod fill;
mod fits;
mod grow;
mod infer;
mod layout;

pub use encode::GAP;

use super::argument::{Fill, Value};
use super::error::{Error, ErrorKind};
use super::follow::Followed;
use super::geometry::Geometry;
use super::parameters::{Kind, Parameter, Parameters};
use super::request::Argument;
use super::roles::Index;
pub(crate) use fill::fill as contents;
use fits::fits;
pub(crate) use fits::{accepts, with_length};
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

impl Planned {
    /// The integers among what racetrap chose.
    fn guessed_integers(&mut self, parameter: &Parameter) -> Vec<&mut String> {
        if self.origin != Origin::Guessed || parameter.ty == "bool" {
            return Vec::new();
        }
        match (&mut self.value, parameter.kind) {
            (Value::Scalar(text, None), Kind::Scalar(element)) if !element.is_float() => vec![text],
            (Value::Fields(fields), _) => fields
                .iter_mut()
                .filter_map(|field| match field {
                    // Zeros are what nothing is known of.
                    Value::Scalar(text, Some(ty)) if !ty.is_float() && text != "0" => Some(text),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The floating-point numbers among what racetrap chose.
    fn guessed_floats(&mut self, parameter: &Parameter) -> Vec<&mut String> {
        if self.origin != Origin::Guessed {
            return Vec::new();
        }
        match (&mut self.value, parameter.kind) {
            (Value::Scalar(text, None), Kind::Scalar(element)) if element.is_float() => vec![text],
            (Value::Fields(fields), _) => fields
                .iter_mut()
                .filter_map(|field| match field {
                    Value::Scalar(text, Some(ty)) if ty.is_float() => Some(text),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        }
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

/// What guesses start from: how large the launch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Threads of the whole launch.
    pub threads: u64,
    /// What a number of elements is likely to be: the threads in x where the kernel works on a plane, all threads otherwise.
    pub count: u64,
    /// Where the kernel works on a plane, the threads in y.
    pub rows: Option<u64>,
}

impl Sizes {
    /// A launch of one dimension.
    pub fn linear(threads: u64) -> Sizes {
        Sizes {
            threads,
            count: threads,
            rows: None,
        }
    }
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
    /// The buffers that have grown, and whose guessed contents have not.
    kept: Vec<usize>,
    /// Whether sizes that the kernel never asks about stay as they are in other settings.
    pub exact: bool,
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

    /// The same with other values for what a host program's text does not tell, some of which are indices; the same where they make
    /// no launch.
    fn with_followed(self, change: impl Fn(&[i64], &[Option<Index>]) -> Vec<i64>) -> Plan {
        let Some(launched) = &self.launched else {
            return self;
        };
        let before = launched.followed.values();
        let after = change(&before, launched.followed.indices());
        match before == after {
            true => self,
            false => {
                let followed = launched.followed.with(&after);
                self.followed_by(followed).unwrap_or(self)
            }
        }
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
            kept: Vec::new(),
            exact: false,
        })
    }

    /// The same with other guessed integers.
    pub fn with_integers(&self, change: impl Fn(u64) -> u64) -> Plan {
        let mut plan = self.clone();
        for (planned, parameter) in plan.values.iter_mut().zip(&self.parameters.0) {
            for text in planned.guessed_integers(parameter) {
                if let Ok(value) = text.parse::<u64>() {
                    *text = change(value).to_string();
                }
            }
        }
        plan.with_followed(|values, _| {
            let all = values.iter().map(|value| match u64::try_from(*value) {
                Ok(value) => i64::try_from(change(value)).unwrap_or(i64::MAX),
                Err(_) => *value,
            });
            all.collect()
        })
    }

    /// The same with other guessed sizes, and with indices that are so many halves of the smallest size (2: the last one).
    pub fn with_sizes(&self, change: impl Fn(u64) -> u64, halves: u64) -> Plan {
        let mut plan = self.clone();
        let is_size = |p: &&Parameter| p.index.is_none() && !(self.exact && p.fits);
        for (planned, parameter) in plan.values.iter_mut().zip(&self.parameters.0) {
            if !is_size(&parameter) {
                continue;
            }
            for text in planned.guessed_integers(parameter) {
                if let Ok(value) = text.parse::<u64>() {
                    *text = change(value).to_string();
                }
            }
        }
        let changed = |value: &i64| match u64::try_from(*value) {
            Ok(value) => i64::try_from(change(value)).unwrap_or(i64::MAX),
            Err(_) => *value,
        };
        let mut plan = plan.with_followed(|values, indices| {
            let all = values.iter().zip(indices);
            all.map(|(value, index)| index.map_or_else(|| changed(value), |_| *value))
                .collect()
        });
        let size = plan.smallest_size();
        for (planned, parameter) in plan.values.iter_mut().zip(&self.parameters.0) {
            let Some(index) = parameter.index else {
                continue;
            };
            for text in planned.guessed_integers(parameter) {
                *text = index.within(size, halves).to_string();
            }
        }
        plan.with_followed(|values, indices| {
            let all = values.iter().zip(indices);
            let of = |index: &Index| i64::try_from(index.within(size, halves)).unwrap_or(i64::MAX);
            all.map(|(value, index)| index.as_ref().map_or(*value, of))
                .collect()
        })
    }

    /// What an index stays below: the smallest size that is passed, or the number of a buffer's elements.
    fn smallest_size(&self) -> u64 {
        let sizes = self.sizes().filter_map(|size| u64::try_from(size).ok());
        let lengths = (0..self.values.len()).filter_map(|index| self.length_of(index));
        sizes.min().or(lengths.min()).unwrap_or(0)
    }

    /// The integers that are passed as sizes.
    fn sizes(&self) -> impl Iterator<Item = i64> + '_ {
        let all = self.values.iter().zip(&self.parameters.0);
        all.filter_map(
            |(planned, parameter)| match (&planned.value, parameter.kind) {
                (Value::Scalar(text, _), Kind::Scalar(element))
                    if !element.is_float()
                        && parameter.index.is_none()
                        && parameter.ty != "bool" =>
                {
                    text.parse::<i64>().ok()
                }
                _ => None,
            },
        )
    }

    /// The same with another value for all guessed floating-point numbers; `None` where there are none.
    pub fn with_floats(&self, value: &str) -> Option<Plan> {
        let mut plan = self.clone();
        let mut any = false;
        for (planned, parameter) in plan.values.iter_mut().zip(&self.parameters.0) {
            for text in planned.guessed_floats(parameter) {
                value.clone_into(text);
                any = true;
            }
        }
        any.then_some(plan)
    }

    /// The guessed floating-point numbers, for messages: `` `alpha` = 1.0 ``.
    pub fn floats(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (index, (planned, parameter)) in self.values.iter().zip(&self.parameters.0).enumerate()
        {
            for text in planned.clone().guessed_floats(parameter) {
                all.push(format!("`{}` = {text}", self.parameters.label(index)));
            }
        }
        all
    }

    /// The same with the guessed integer at a place of [`Plan::integer_values`] changed.
    pub fn with_integer(&self, place: usize, value: u64) -> Plan {
        let mut plan = self.clone();
        let all = plan.values.iter_mut().zip(&self.parameters.0);
        let mut integers = all.flat_map(|(planned, parameter)| planned.guessed_integers(parameter));
        let count = self.guessed_count();
        if let Some(text) = integers.nth(place) {
            *text = value.to_string();
            return plan;
        }
        plan.with_followed(|values, _| {
            let mut values = values.to_vec();
            if let (Some(at), Ok(value)) = (place.checked_sub(count), i64::try_from(value))
                && let Some(to) = values.get_mut(at)
            {
                *to = value;
            }
            values
        })
    }

    /// How many integers are guessed by themselves.
    fn guessed_count(&self) -> usize {
        let mut plan = self.clone();
        let all = plan.values.iter_mut().zip(&self.parameters.0);
        all.map(|(planned, parameter)| planned.guessed_integers(parameter).len())
            .sum()
    }

    /// The values of the guessed integers; 0 for what is no plain number.
    pub fn integer_values(&self) -> Vec<u64> {
        let mut plan = self.clone();
        let all = plan.values.iter_mut().zip(&self.parameters.0);
        let integers = all.flat_map(|(planned, parameter)| planned.guessed_integers(parameter));
        let own = integers.map(|text| text.parse().unwrap_or(0));
        let followed = self.launched.iter().flat_map(|l| l.followed.values());
        let followed = followed.map(|value| u64::try_from(value).unwrap_or(0));
        own.chain(followed).collect()
    }

    /// The indices that are guessed to be 0 though the kernel does not ask for that, by their places among
    /// [`Plan::integer_values`].
    pub fn doubtful_zeros(&self) -> Vec<usize> {
        let mut plan = self.clone();
        let mut indices: Vec<Option<Index>> = Vec::new();
        for (planned, parameter) in plan.values.iter_mut().zip(&self.parameters.0) {
            let count = planned.guessed_integers(parameter).len();
            indices.extend(std::iter::repeat_n(parameter.index, count));
        }
        if let Some(launched) = &self.launched {
            indices.extend(launched.followed.indices());
        }
        let all = self.integer_values().into_iter().zip(indices).enumerate();
        let doubtful =
            all.filter(|(_, (value, index))| *value == 0 && index.is_some_and(|i| !i.zero));
        doubtful.map(|(place, _)| place).collect()
    }

    /// The guessed sizes that the kernel never compares with its threads, by their places among [`Plan::integer_values`].
    pub fn unasked(&self) -> Vec<usize> {
        let mut plan = self.clone();
        let mut all: Vec<bool> = Vec::new();
        for (planned, parameter) in plan.values.iter_mut().zip(&self.parameters.0) {
            let count = planned.guessed_integers(parameter).len();
            all.extend(std::iter::repeat_n(parameter.fits, count));
        }
        let all = all.into_iter().enumerate();
        all.filter_map(|(place, fits)| fits.then_some(place))
            .collect()
    }

    /// Lets the indices at these places of [`Plan::integer_values`] be no smaller than 1 in other settings.
    pub fn start_at_one(&mut self, places: &[usize]) {
        let raise = |index: &mut Option<Index>| {
            if let Some(index) = index {
                index.start = index.start.max(1);
            }
        };
        let mut at = 0;
        for (planned, parameter) in self.values.iter_mut().zip(&mut self.parameters.0) {
            for _ in 0..planned.guessed_integers(parameter).len() {
                if places.contains(&at) {
                    raise(&mut parameter.index);
                }
                at += 1;
            }
        }
        if let Some(launched) = &mut self.launched {
            let rest = launched.followed.indices_mut().iter_mut().zip(at..);
            rest.filter(|(_, at)| places.contains(at))
                .for_each(|(index, _)| raise(index));
        }
    }

    /// The guessed integers, for messages: ``n` = 128`.
    pub fn integers(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (index, (planned, parameter)) in self.values.iter().zip(&self.parameters.0).enumerate()
        {
            for text in planned.clone().guessed_integers(parameter) {
                all.push(format!("`{}` = {text}", self.parameters.label(index)));
            }
            if let (Origin::Followed, Value::Scalar(text, _)) = (planned.origin, &planned.value) {
                all.push(format!("`{}` = {text}", self.parameters.label(index)));
            }
        }
        all
    }

    /// The value that all guessed sizes have, if it is one.
    pub fn common_size(&self) -> Option<u64> {
        let mut plan = self.clone();
        let own = plan.values.iter_mut().zip(&self.parameters.0);
        let own = own.filter(|(_, parameter)| parameter.index.is_none());
        let own = own.flat_map(|(planned, parameter)| planned.guessed_integers(parameter));
        let own = own.map(|text| text.parse().unwrap_or(0));
        let followed = self.launched.iter().flat_map(|l| {
            let values = l.followed.values();
            let sizes = values.into_iter().zip(l.followed.indices().to_vec());
            sizes.filter_map(|(value, index)| index.is_none().then_some(value))
        });
        let followed = followed.map(|value| u64::try_from(value).unwrap_or(0));
        let all: Vec<u64> = own.chain(followed).collect();
        let first = *all.first()?;
        all.iter().all(|n| *n == first).then_some(first)
    }

    /// The parameters that are guessed buffers.
    pub fn guessed_buffers(&self) -> Vec<usize> {
        let of = |planned: &Planned| {
            planned.origin == Origin::Guessed && matches!(planned.value, Value::Buffer(_))
        };
        (0..self.values.len())
            .filter(|i| of(&self.values[*i]))
            .collect()
    }

    /// Sets the number of elements of a parameter's buffer.
    pub fn set_length(&mut self, index: usize, count: u64) {
        if let Value::Buffer(spec) = &mut self.values[index].value {
            spec.length = Some(count.max(1));
        }
    }

    /// The same with another fill of the buffers of integers whose random contents nobody gave, where it fits; `None` where there are
    /// none.
    pub fn with_contents(&self, fill: &Fill) -> Option<Plan> {
        let mut plan = self.clone();
        let mut any = false;
        for index in self.random_integers() {
            if let Value::Buffer(spec) = &mut plan.values[index].value {
                let (before, length) = (spec.fill.clone(), spec.length);
                spec.fill = fill.clone();
                spec.length = Some(1);
                // Bytes do not hold every number.
                match contents(spec, 0) {
                    Ok(_) => any = true,
                    Err(_) => spec.fill = before,
                }
                spec.length = length;
            }
        }
        any.then_some(plan)
    }

    /// The parameters that are buffers of integers whose contents are random because nobody said what they hold.
    pub fn random_integers(&self) -> Vec<usize> {
        let random = |index: usize, planned: &Planned| match &planned.value {
            Value::Buffer(spec) => {
                let guessed = match &spec.fill {
                    Fill::Random(None) => true,
                    Fill::Random(Some(_)) => self.kept.contains(&index),
                    _ => false,
                };
                guessed && planned.origin.may_grow() && !spec.element.is_float()
            }
            _ => false,
        };
        (0..self.values.len())
            .filter(|index| random(*index, &self.values[*index]))
            .collect()
    }

    /// Whether bytes are among them.
    pub fn has_random_bytes(&self) -> bool {
        let bytes = |index: &usize| match &self.values[*index].value {
            Value::Buffer(spec) => spec.element.bytes() == 1,
            _ => false,
        };
        self.random_integers().iter().any(bytes)
    }

    /// The smallest integer beyond 1 that is passed: what an index into something stays below.
    pub fn least_size(&self) -> Option<i64> {
        self.sizes().filter(|size| *size > 1).min()
    }

    /// The same with zeros in all buffers of integers whose contents nobody gave.
    pub fn with_zeros(&self) -> Plan {
        let mut plan = self.clone();
        for planned in plan.values.iter_mut().filter(|p| p.origin.may_grow()) {
            if let Value::Buffer(spec) = &mut planned.value
                && !spec.element.is_float()
            {
                spec.fill = Fill::Zeros;
            }
        }
        plan
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
