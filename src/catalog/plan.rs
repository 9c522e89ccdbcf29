//! A run made concrete: which bytes lie in which buffer, what is launched with which
//! arguments, what is copied, and which stream waits for what. A backend needs nothing else.

use super::case::{Argument, Case, Launch};
use super::draw::{Inputs, SizeError, Sizes};
use super::expression::{EvaluationError, Expression};
use super::host::{self, ALL, Copy, DEFAULT, Memory, Step};
use super::oracle::Elements;
use super::values::{ElementType, Extent, Fill};
use crate::backend::{Command, Order, StreamKind};
use crate::simt::Dim3;
use std::collections::BTreeMap;

/// Most bytes of one buffer.
const BUFFER_BYTES: u64 = 256 << 20;
/// Most launches of one run.
const LAUNCHES: usize = 10_000;

/// A run of a case, ready for a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The sizes.
    pub sizes: Sizes,
    /// Memory.
    pub buffers: Vec<PlannedBuffer>,
    /// What the host does, in order.
    pub steps: Vec<PlannedStep>,
    /// Of which kind each stream is.
    pub streams: Vec<StreamKind>,
    /// Which buffer each name stands for after the last launch.
    pub names: BTreeMap<String, usize>,
}

/// A step of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedStep {
    /// The index of the step in the case's `launches` or `plan`.
    pub origin: usize,
    /// What it does.
    pub does: Does,
}

/// What a step does. Streams and events are numbered as they are first named.
#[derive(Clone, Debug, PartialEq)]
pub enum Does {
    /// Launches a kernel.
    Launch(PlannedLaunch),
    /// Copies on a stream.
    Copy {
        /// What to where.
        copy: PlannedCopy,
        /// The stream.
        stream: usize,
    },
    /// The host copies.
    Host(PlannedCopy),
    /// Records an event.
    Record {
        /// The event.
        event: usize,
        /// The stream.
        stream: usize,
    },
    /// A stream waits for an event.
    Wait {
        /// The event.
        event: usize,
        /// The stream.
        stream: usize,
    },
    /// The host waits for a stream.
    Synchronize {
        /// The stream.
        stream: usize,
    },
}

impl PlannedStep {
    /// What is launched, if it is a launch.
    pub fn launch(&self) -> Option<&PlannedLaunch> {
        match &self.does {
            Does::Launch(launch) => Some(launch),
            _ => None,
        }
    }

    /// As the order of the host program sees it.
    pub fn command(&self) -> Command {
        match self.does {
            Does::Launch(PlannedLaunch { stream, .. }) | Does::Copy { stream, .. } => {
                Command::Operation { stream }
            }
            Does::Host(_) => Command::Host,
            Does::Record { event, stream } => Command::Record { event, stream },
            Does::Wait { event, stream } => Command::Wait { event, stream },
            Does::Synchronize { stream } => Command::Synchronize { stream },
        }
    }
}

impl Plan {
    /// Everything that is launched, in order.
    pub fn launches(&self) -> impl Iterator<Item = &PlannedLaunch> {
        self.steps.iter().filter_map(PlannedStep::launch)
    }

    /// What orders the steps.
    pub fn order(&self) -> Order {
        let commands: Vec<_> = self.steps.iter().map(PlannedStep::command).collect();
        Order::new(&commands, &self.streams)
    }
}

/// Bytes from one buffer to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedCopy {
    /// The buffer that is read, by its index.
    pub from: usize,
    /// Its first byte that is read.
    pub from_offset: u64,
    /// The buffer that is written.
    pub to: usize,
    /// Its first byte that is written.
    pub to_offset: u64,
    /// How many.
    pub bytes: u64,
}

/// A buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedBuffer {
    /// Its name at the start.
    pub name: String,
    /// Its elements' type.
    pub element: ElementType,
    /// Its elements.
    pub length: u64,
    /// What it holds at the start; `None`: nothing was written.
    pub data: Option<Elements>,
    /// Where it lies.
    pub memory: Memory,
    /// The module's variable that it is.
    pub symbol: Option<String>,
}

/// A launch.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLaunch {
    /// The kernel's plain name.
    pub entry: String,
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The arguments.
    pub args: Vec<Value>,
    /// Whether all blocks are resident together.
    pub cooperative: bool,
    /// The stream.
    pub stream: usize,
}

/// The value of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// The address of a buffer, by its index.
    Buffer(usize),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
}

/// A run that can't be planned. These are mistakes of the case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A size.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// An expression elsewhere.
    #[error("{what}: {error}")]
    Evaluation {
        /// What it is for.
        what: String,
        /// Why it has no value.
        error: EvaluationError,
    },
    /// A length, a grid or a number of bytes that makes no sense.
    #[error("{what} is {value}, which is {problem}")]
    Unusable {
        /// What.
        what: String,
        /// Its value.
        value: i64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A copy of a buffer that is shorter.
    #[error(
        "buffer `{name}` has {length} elements, and `{from}`, of which it is a copy, has {available}"
    )]
    ShortCopy {
        /// The copy.
        name: String,
        /// Its length.
        length: u64,
        /// What it copies.
        from: String,
        /// That one's length.
        available: u64,
    },
    /// A copy beyond the end of a buffer.
    #[error(
        "the copy from `{from}` to `{to}` is of {bytes} bytes, and `{name}` has {left} from there on"
    )]
    LongCopy {
        /// What it reads.
        from: String,
        /// What it writes.
        to: String,
        /// How many bytes.
        bytes: u64,
        /// The buffer that is too short.
        name: String,
        /// What it has.
        left: u64,
    },
    /// A copy onto itself.
    #[error("the copy inside of `{name}` overlaps itself")]
    Overlap {
        /// The buffer.
        name: String,
    },
    /// A loop of launches that does not end.
    #[error("`{entry}` is launched more than {LAUNCHES} times: its `repeat` does not end")]
    EndlessRepeat {
        /// The kernel.
        entry: String,
    },
    /// A name that stands for nothing; [`super::check`] refuses such cases first.
    #[error("no buffer `{name}`")]
    NoBuffer {
        /// The name.
        name: String,
    },
}

/// Makes a run concrete.
pub fn plan(case: &Case, sizes: Sizes, inputs: Inputs) -> Result<Plan, PlanError> {
    let mut planner = Planner {
        case,
        inputs,
        plan: Plan {
            sizes,
            buffers: Vec::new(),
            steps: Vec::new(),
            streams: Vec::new(),
            names: BTreeMap::new(),
        },
        origin: 0,
        streams: Vec::new(),
        events: Vec::new(),
    };
    for name in case.buffers.keys() {
        planner.buffer(name)?;
    }
    for (origin, launch) in case.launches.iter().enumerate() {
        planner.origin = origin;
        planner.launches(launch)?;
    }
    for (origin, step) in case.plan.iter().enumerate() {
        planner.origin = origin;
        planner.step(step)?;
    }
    Ok(planner.plan)
}

struct Planner<'a> {
    case: &'a Case,
    inputs: Inputs,
    plan: Plan,
    /// The step that is being planned.
    origin: usize,
    /// Streams and events by their numbers.
    streams: Vec<&'a str>,
    events: Vec<&'a str>,
}

/// The number of a name; a new one for a new name.
fn number<'a>(names: &mut Vec<&'a str>, name: &'a str) -> usize {
    names.iter().position(|n| *n == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

impl<'a> Planner<'a> {
    fn buffer(&mut self, name: &str) -> Result<usize, PlanError> {
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
            Fill::Zeros => each(&|_| Ok(0)),
            Fill::Iota => each(&|i| Ok(i as i64)),
            Fill::Constant(value) => Ok(Some(Elements::of(vec![*value; length as usize]))),
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

    fn step(&mut self, step: &'a Step) -> Result<(), PlanError> {
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

    fn launches(&mut self, launch: &'a Launch) -> Result<(), PlanError> {
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
                        let problem = "no number of blocks or threads";
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
                let problem = "no number of bytes of shared memory";
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
            args: values(&launch.args, sizes, &self.plan.names)?,
            cooperative: launch.cooperative,
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

/// The values of arguments, given what the names stand for.
pub fn values(
    arguments: &[Argument],
    sizes: &Sizes,
    names: &BTreeMap<String, usize>,
) -> Result<Vec<Value>, PlanError> {
    let value = |argument: &Argument| match argument {
        Argument::Float(value) => Ok(Value::Float(*value)),
        Argument::Value(e) => match e.as_name().and_then(|name| names.get(name)) {
            Some(buffer) => Ok(Value::Buffer(*buffer)),
            None => evaluate("an argument", e, sizes).map(Value::Integer),
        },
    };
    arguments.iter().map(value).collect()
}

/// The value of an expression over the sizes.
pub fn evaluate(what: &str, expression: &Expression, sizes: &Sizes) -> Result<i64, PlanError> {
    expression
        .evaluate(&|name| sizes.get(name).copied())
        .map_err(|error| PlanError::Evaluation {
            what: what.to_owned(),
            error,
        })
}

fn natural(what: &str, value: i64) -> Result<u64, PlanError> {
    let problem = "negative";
    u64::try_from(value).map_err(|_| PlanError::Unusable {
        what: what.to_owned(),
        value,
        problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(body: &str) -> Result<Plan, PlanError> {
        let yaml = format!("title: t\nkernel: k.cu\n{body}\nexpect: {{simulator: clean}}");
        let case = super::super::load::from_yaml("c.yaml", &yaml).unwrap();
        let sizes = super::super::draw::sizes(&case, &mut |_, domain| domain.last())?;
        plan(&case, sizes, Inputs::Ones)
    }

    #[test]
    fn loops_and_swaps() {
        let plan = planned(
            "sizes: {n: 1..=9}
buffers:
  a: {type: i32, length: n, values: random}
  b: {type: i32, values: copy:a}
launches:
  - {entry: step, grid: \"ceil_div(n, 4)\", block: [4, 2], shared: 4 * d, args: [a, b, n, d + 1, 0.5], repeat: {d: {from: 1, while: d < n, next: 2 * d}}, swap: [a, b]}
  - {entry: end, args: [a]}",
        )
        .unwrap();
        let launches: Vec<_> = plan.launches().collect();
        assert_eq!(launches.len(), 5);
        let shared: Vec<_> = launches.iter().map(|l| l.shared).collect();
        assert_eq!(shared, [4, 8, 16, 32, 0]);
        let second = launches[1];
        assert_eq!(second.grid, Dim3::linear(3));
        assert_eq!(second.block, Dim3 { x: 4, y: 2, z: 1 });
        use Value::*;
        assert_eq!(
            second.args,
            [Buffer(1), Buffer(0), Integer(9), Integer(3), Float(0.5)]
        );
        assert_eq!(plan.names["a"], 0);
        assert_eq!(launches[4].args, [Buffer(0)]);
        assert_eq!(plan.buffers[1].data, Some(Elements::Integers(vec![1; 9])));
    }

    #[test]
    fn mistakes_are_told() {
        let error = |body| planned(body).unwrap_err().to_string();
        assert_eq!(
            error("sizes: {n: 0}\nlaunches: [{entry: k, grid: n}]"),
            "`grid` of `k` is 0, which is no number of blocks or threads"
        );
        assert_eq!(
            error("launches: [{entry: k, repeat: {d: {from: 1, while: d > 0, next: d}}}]"),
            "`k` is launched more than 10000 times: its `repeat` does not end"
        );
        assert_eq!(
            error(
                "buffers:\n  a: {type: u8, length: 2, values: zeros}\n  b: {type: u8, length: 3, values: \"copy:a\"}\nlaunches: []"
            ),
            "buffer `b` has 3 elements, and `a`, of which it is a copy, has 2"
        );
        assert_eq!(
            error("buffers: {a: {type: f64, length: 1000000000000, values: zeros}}\nlaunches: []"),
            "the length of buffer `a` is 1000000000000, which is more than 256 MiB"
        );
        assert_eq!(
            error(
                "sizes: {n: 3}\nbuffers: {a: {type: f64, length: n / (n - 3), values: zeros}}\nlaunches: []"
            ),
            "the length of buffer `a`: `/` in `n / (n - 3)` overflows or is undefined (3, 0)"
        );
    }
}
