//! The numbers that racetrap chose, sizes, indices and floating-point ones: which there are, and the same plan with others.

use super::{Origin, Plan, Planned};
use crate::argument::Value;
use crate::parameters::{Kind, Parameter};
use crate::roles::Index;

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

impl Plan {
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

    /// The same with other guessed sizes, those that the kernel compares with its threads, and with indices that are so many halves of
    /// the smallest size (2: the last one).
    pub fn with_sizes(&self, change: impl Fn(u64) -> u64, halves: u64) -> Plan {
        let mut plan = self.clone();
        let is_size = |p: &&Parameter| p.index.is_none() && !p.fits;
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

    /// Whether numbers or contents of buffers are guessed.
    pub fn has_guesses(&self) -> bool {
        !self.integers().is_empty()
            || !self.floats().is_empty()
            || !self.random_integers().is_empty()
    }

    /// Whether integers in fields of structures are guessed.
    pub fn has_fields(&self) -> bool {
        let mut all = self.values.iter().zip(&self.parameters.0);
        all.any(|(planned, parameter)| {
            let fields = matches!(planned.value, Value::Fields(_));
            fields && !planned.clone().guessed_integers(parameter).is_empty()
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

    /// Whether a guessed size that is no index is larger in another plan of the same parameters.
    pub fn grows_in(&self, other: &Plan) -> bool {
        let sizes = |plan: &Plan| -> Vec<u64> {
            let mut plan = plan.clone();
            let all = plan.values.iter_mut().zip(&self.parameters.0);
            let all = all.filter(|(_, parameter)| parameter.index.is_none());
            all.flat_map(|(planned, parameter)| planned.guessed_integers(parameter))
                .map(|text| text.parse().unwrap_or(0))
                .collect()
        };
        let mut all = sizes(other).into_iter().zip(sizes(self));
        all.any(|(now, before)| now > before)
    }

    /// Whether guessed integers are sizes that the kernel compares with its threads, or such that it does not, and no others: no
    /// indices, no fields of structures, nothing that the host program makes of them.
    pub fn are_sizes(&self) -> bool {
        let guessed = self.values.iter().zip(&self.parameters.0);
        let mut guessed =
            guessed.filter(|(p, parameter)| !(*p).clone().guessed_integers(parameter).is_empty());
        self.launched.is_none()
            && guessed.all(|(planned, parameter)| {
                matches!(planned.value, Value::Scalar(..)) && parameter.index.is_none()
            })
    }

    /// The same with each guessed size that the kernel never compares with its threads so many times as large.
    pub fn with_unasked(&self, change: impl Fn(u64) -> u64) -> Plan {
        let values = self.integer_values();
        let each = self.unasked().into_iter();
        each.fold(self.clone(), |plan, at| {
            plan.with_integer(at, change(values[at]))
        })
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

    /// The smallest integer beyond 1 that is passed: what an index into something stays below.
    pub fn least_size(&self) -> Option<i64> {
        self.sizes().filter(|size| *size > 1).min()
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
}
