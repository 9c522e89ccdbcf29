//! The steps of the host in a run: launches and copies with concrete values, on numbered streams.

use super::{
    Does, LAUNCHES, PlanError, PlannedCopy, PlannedLaunch, PlannedStep, Planner, evaluate, natural,
    values,
};
use crate::case::Launch;
use crate::draw::Sizes;
use crate::host::{self, ALL, Copy, DEFAULT, Step};
use crate::values::Extent;
use session::StreamKind;
use session::expression::Expression;
use simt::Dim3;

impl<'a> Planner<'a> {
    pub(super) fn step(&mut self, step: &'a Step) -> Result<(), PlanError> {
        let stream = step.stream().map(|name| self.stream(name));
        let stream = stream.unwrap_or_default();
        let does = if let Some(launch) = &step.launch {
            return self.launches(launch);
        } else if let Some(copy) = &step.copy {
            let copy = self.copied(copy)?;
            Does::Copy { copy, stream }
        } else if let Some(copy) = &step.host {
            Does::Host(self.copied(copy)?)
        } else if let Some(mark) = &step.record {
            let event = number(&mut self.events, &mark.event);
            Does::Record { event, stream }
        } else if let Some(mark) = &step.wait {
            let event = number(&mut self.events, &mark.event);
            Does::Wait { event, stream }
        } else {
            let streams = match step.synchronize.as_deref() {
                None => 0..0,
                Some(ALL) => 0..self.streams.len(),
                Some(name) => {
                    let stream = self.stream(name);
                    stream..stream + 1
                }
            };
            streams.for_each(|stream| self.add(Does::Synchronize { stream }));
            return Ok(());
        };
        self.add(does);
        Ok(())
    }

    /// The number of a stream.
    fn stream(&mut self, name: &'a str) -> usize {
        let stream = number(&mut self.streams, name);
        if stream == self.plan.streams.len() {
            let kind = match (name, self.case.streams.get(name)) {
                // `launches` are on one stream, and there is no other one.
                (DEFAULT, _) if self.case.plan.is_empty() => StreamKind::NonBlocking,
                (DEFAULT, _) => StreamKind::Legacy,
                (_, Some(host::StreamKind::Blocking)) => StreamKind::Blocking,
                (_, Some(host::StreamKind::NonBlocking) | None) => StreamKind::NonBlocking,
            };
            self.plan.streams.push(kind);
        }
        stream
    }

    fn add(&mut self, does: Does) {
        let origin = self.origin;
        self.plan.steps.push(PlannedStep { origin, does });
    }

    fn copied(&self, copy: &Copy) -> Result<PlannedCopy, PlanError> {
        let buffer = |name: &String| {
            let index = self.plan.names.get(name).copied();
            index.ok_or_else(|| PlanError::NoBuffer { name: name.clone() })
        };
        let (from, to) = (buffer(&copy.from)?, buffer(&copy.to)?);
        let number = |what: &str, value: &Option<Expression>, otherwise: u64| {
            let what = format!("{what} of the copy from `{}` to `{}`", copy.from, copy.to);
            let Some(value) = value else {
                return Ok(otherwise);
            };
            natural(&what, evaluate(&what, value, &self.plan.sizes)?)
        };
        let width = |index: usize| self.plan.buffers[index].element.bytes() as u64;
        let length = |index: usize| self.plan.buffers[index].length;
        let first = number("`from-element`", &copy.from_element, 0)?;
        let count = number("`count`", &copy.count, length(from).saturating_sub(first))?;
        let to_first = number("`to-element`", &copy.to_element, 0)?;
        let planned = PlannedCopy {
            from,
            from_offset: first.saturating_mul(width(from)),
            to,
            to_offset: to_first.saturating_mul(width(to)),
            bytes: count.saturating_mul(width(from)),
        };
        let ends = [
            (&copy.from, planned.from_offset, length(from) * width(from)),
            (&copy.to, planned.to_offset, length(to) * width(to)),
        ];
        for (name, start, all) in ends {
            if start.saturating_add(planned.bytes) > all {
                return Err(PlanError::LongCopy {
                    from: copy.from.clone(),
                    to: copy.to.clone(),
                    bytes: planned.bytes,
                    name: name.clone(),
                    left: all.saturating_sub(start),
                });
            }
        }
        let (a, b) = (planned.from_offset, planned.to_offset);
        if from == to && a < b + planned.bytes && b < a + planned.bytes {
            return Err(PlanError::Overlap {
                name: copy.from.clone(),
            });
        }
        Ok(planned)
    }

    pub(super) fn launches(&mut self, launch: &'a Launch) -> Result<(), PlanError> {
        let mut sizes = self.plan.sizes.clone();
        let Some((variable, repeat)) = launch.repeat.iter().next() else {
            return self.launch(launch, &sizes);
        };
        let what = format!("`repeat` of `{}`", launch.entry);
        let mut value = evaluate(&what, &repeat.from, &sizes)?;
        for _ in 0..LAUNCHES {
            sizes.insert(variable.clone(), value);
            if evaluate(&what, &repeat.condition, &sizes)? == 0 {
                return Ok(());
            }
            self.launch(launch, &sizes)?;
            value = evaluate(&what, &repeat.next, &sizes)?;
        }
        Err(PlanError::EndlessRepeat {
            entry: launch.entry.clone(),
        })
    }

    fn launch(&mut self, launch: &'a Launch, sizes: &Sizes) -> Result<(), PlanError> {
        if self.plan.steps.len() >= LAUNCHES {
            return Err(PlanError::EndlessRepeat {
                entry: launch.entry.clone(),
            });
        }
        let extent = |what: &str, extent: &Extent| -> Result<Dim3, PlanError> {
            let what = format!("{what} of `{}`", launch.entry);
            let mut lengths = [1u32; 3];
            for (length, expression) in lengths.iter_mut().zip(&extent.0) {
                let value = evaluate(&what, expression, sizes)?;
                *length = u32::try_from(value)
                    .ok()
                    .filter(|v| *v > 0)
                    .ok_or_else(|| {
                        let problem = "not a valid number of blocks or threads";
                        PlanError::Unusable {
                            what: what.clone(),
                            value,
                            problem,
                        }
                    })?;
            }
            Ok(Dim3 {
                x: lengths[0],
                y: lengths[1],
                z: lengths[2],
            })
        };
        let what = format!("`shared` of `{}`", launch.entry);
        let shared = match &launch.shared {
            None => 0,
            Some(expression) => {
                let value = evaluate(&what, expression, sizes)?;
                let problem = "not a valid number of bytes of shared memory";
                u32::try_from(value).map_err(|_| PlanError::Unusable {
                    what,
                    value,
                    problem,
                })?
            }
        };
        let planned = PlannedLaunch {
            entry: launch.entry.clone(),
            grid: extent("`grid`", &launch.grid)?,
            block: extent("`block`", &launch.block)?,
            shared,
            args: values(&launch.args, sizes, &self.plan.names, &self.plan.tensors)?,
            cooperative: launch.cooperative,
            cluster: match &launch.cluster {
                Some(size) => Some(extent("`cluster`", size)?),
                None => None,
            },
            dependent: launch.dependent,
            stream: self.stream(launch.stream.as_deref().unwrap_or(DEFAULT)),
        };
        self.add(Does::Launch(planned));
        if let Some([a, b]) = &launch.swap {
            let index = |name: &String| self.plan.names.get(name).copied();
            if let (Some(first), Some(second)) = (index(a), index(b)) {
                self.plan.names.insert(a.clone(), second);
                self.plan.names.insert(b.clone(), first);
            }
        }
        Ok(())
    }
}

/// The number of a name; a new one for a new name.
fn number<'a>(names: &mut Vec<&'a str>, name: &'a str) -> usize {
    names.iter().position(|n| *n == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}
