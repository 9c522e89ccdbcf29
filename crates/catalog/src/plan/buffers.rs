//! The initial contents of memory in a run.

use super::{PlanError, PlannedBuffer, Planner, evaluate, natural};
use crate::draw::{Inputs, Sizes};
use crate::oracle::Elements;
use crate::values::{ElementType, Fill};
use session::fill::{ContentsError, Source};

/// Most bytes of one buffer.
const BUFFER_BYTES: u64 = 256 << 20;

impl Planner<'_> {
    pub(super) fn buffer(&mut self, name: &str) -> Result<usize, PlanError> {
        if let Some(index) = self.plan.names.get(name) {
            return Ok(*index);
        }
        let spec = self
            .case
            .buffers
            .get(name)
            .ok_or_else(|| PlanError::NoBuffer {
                name: name.to_owned(),
            })?;
        let origin = match &spec.values {
            Fill::Copy(from) => Some(self.buffer(from)?),
            _ => None,
        };
        let what = format!("the length of buffer `{name}`");
        let length = match (&spec.length, &spec.values, origin) {
            (Some(length), ..) => natural(&what, evaluate(&what, length, &self.plan.sizes)?)?,
            (None, _, Some(origin)) => self.plan.buffers[origin].length,
            (None, Fill::Literal(values), _) => values.len() as u64,
            (None, ..) => 0,
        };
        if length.saturating_mul(spec.element.bytes() as u64) > BUFFER_BYTES {
            let value = i64::try_from(length).unwrap_or(i64::MAX);
            return Err(PlanError::Unusable {
                what,
                value,
                problem: "more than 256 MiB",
            });
        }
        let data = match origin {
            Some(origin) => Some(self.copy(name, length, origin)?),
            None => self.fill(name, length, &spec.values, spec.element)?,
        };
        self.plan.buffers.push(PlannedBuffer {
            name: name.to_owned(),
            element: spec.element,
            length,
            data,
            memory: spec.memory,
            symbol: spec.symbol.clone(),
        });
        let index = self.plan.buffers.len() - 1;
        self.plan.names.insert(name.to_owned(), index);
        Ok(index)
    }

    fn copy(&self, name: &str, length: u64, origin: usize) -> Result<Elements, PlanError> {
        let from = &self.plan.buffers[origin];
        let short = PlanError::ShortCopy {
            name: name.to_owned(),
            length,
            from: from.name.clone(),
            available: from.length,
        };
        let data = from.data.as_ref().ok_or_else(|| short.clone())?;
        if length > from.length {
            return Err(short);
        }
        Ok(data.first(usize::try_from(length).unwrap_or(usize::MAX)))
    }

    fn fill(
        &self,
        name: &str,
        length: u64,
        fill: &Fill,
        element: ElementType,
    ) -> Result<Option<Elements>, PlanError> {
        let mut source = Drawn {
            sizes: &self.plan.sizes,
            inputs: self.inputs,
            buffer: name,
        };
        let what = || format!("the values of buffer `{name}`");
        fill.elements(element, length, &mut source)
            .map_err(|error| match error {
                ContentsError::Evaluation(error) => PlanError::Evaluation {
                    what: what(),
                    error,
                },
                ContentsError::EmptyRange { low, .. } => PlanError::Unusable {
                    what: what(),
                    value: low,
                    problem: "above the upper end of its range",
                },
            })
    }
}

/// What a run has drawn.
struct Drawn<'a> {
    sizes: &'a Sizes,
    inputs: Inputs,
    buffer: &'a str,
}

impl Source for Drawn<'_> {
    fn value(&self, name: &str) -> Option<i64> {
        self.sizes.get(name).copied()
    }

    fn range(&self, element: ElementType, _: u64) -> Option<(i64, i64)> {
        Some((if element.is_unsigned() { 0 } else { -9 }, 9))
    }

    fn integer(&mut self, index: u64, low: i64, high: i64) -> i64 {
        self.inputs.value(self.buffer, index, low, high)
    }

    fn fraction(&mut self, _: ElementType) -> f64 {
        0.0
    }
}
