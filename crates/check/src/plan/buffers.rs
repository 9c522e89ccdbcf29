//! The buffers that racetrap chose, and those whose contents it chose: which there are, and the same plan with others.

use super::fill::fill;
use super::{Origin, Plan, Planned};
use crate::argument::{BufferSpec, Fill, Value};

impl Plan {
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
    pub fn with_contents(&self, other: &Fill) -> Option<Plan> {
        let mut plan = self.clone();
        let mut any = false;
        for index in self.random_integers() {
            if let Value::Buffer(spec) = &mut plan.values[index].value {
                let (before, length) = (spec.fill.clone(), spec.length);
                spec.fill = other.clone();
                spec.length = Some(1);
                // Bytes do not hold every number.
                match fill(spec, 0) {
                    Ok(_) => any = true,
                    Err(_) => spec.fill = before,
                }
                spec.length = length;
            }
        }
        any.then_some(plan)
    }

    /// The parameters that are buffers whose contents nobody said.
    pub fn guessed_contents(&self) -> Vec<usize> {
        let guessed = |planned: &Planned| {
            let host = matches!(
                planned.origin,
                Origin::Host {
                    filled_by_guess: true,
                    ..
                }
            );
            let guessed = planned.origin == Origin::Guessed || host;
            guessed && matches!(planned.value, Value::Buffer(_))
        };
        let all = self.values.iter().enumerate();
        all.filter(|(_, planned)| guessed(planned))
            .map(|(index, _)| index)
            .collect()
    }

    /// The same with another fill of one buffer; `None` where it does not fit.
    pub fn with_fill(&self, index: usize, other: &Fill) -> Option<Plan> {
        let mut plan = self.clone();
        let Value::Buffer(spec) = &mut plan.values[index].value else {
            return None;
        };
        if spec.fill == *other {
            return None;
        }
        spec.fill = other.clone();
        // Bytes do not hold every number.
        let one = BufferSpec {
            length: Some(1),
            ..spec.clone()
        };
        fill(&one, 0).is_ok().then_some(plan)
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
}
