//! The initial contents of memory in a run.

use super::{PlanError, PlannedBuffer, Planner, evaluate, natural};
use crate::oracle::Elements;
use crate::values::{ElementType, Fill};

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
        let what = format!("the values of buffer `{name}`");
        let sizes = &self.plan.sizes;
        let each = |f: &dyn Fn(u64) -> Result<i64, PlanError>| -> Result<_, PlanError> {
            Ok(Some(Elements::Integers(
                (0..length).map(f).collect::<Result<_, _>>()?,
            )))
        };
        match fill {
            Fill::Uninitialized | Fill::Copy(_) => Ok(None),
            Fill::Zeros => Ok(Some(Elements::zeros(length))),
            Fill::Iota => Ok(Some(Elements::iota(length))),
            Fill::Constant(value) => Ok(Some(Elements::constant(length, *value))),
            Fill::Literal(values) => {
                let values = values.iter().cycle().take(length as usize);
                Ok(Some(Elements::of(values.copied().collect())))
            }
            Fill::Each(expression) => each(&|i| {
                let value_of = |n: &str| {
                    if n == "i" {
                        Some(i as i64)
                    } else {
                        sizes.get(n).copied()
                    }
                };
                expression
                    .evaluate(&value_of)
                    .map_err(|error| PlanError::Evaluation {
                        what: what.clone(),
                        error,
                    })
            }),
            Fill::Random(range) => {
                let (low, high) = match range {
                    None if element.is_unsigned() => (0, 9),
                    None => (-9, 9),
                    Some((low, high)) => {
                        (evaluate(&what, low, sizes)?, evaluate(&what, high, sizes)?)
                    }
                };
                if low > high {
                    let problem = "above the upper end of its range";
                    return Err(PlanError::Unusable {
                        what,
                        value: low,
                        problem,
                    });
                }
                each(&|i| Ok(self.inputs.value(name, i, low, high)))
            }
        }
    }
}
