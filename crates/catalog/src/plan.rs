//! The plan of a run: the contents of buffers, the launches with their arguments, the copies, and which stream waits for what.
//! A backend needs nothing else.

mod buffers;
mod error;
mod steps;
mod tensors;

pub use error::PlanError;
pub use tensors::PlannedTensor;

use super::case::{Argument, Case};
use super::draw::{Inputs, Sizes};
use super::host::Memory;
use super::oracle::Elements;
use super::values::ElementType;
use session::expression::Expression;
use session::{Command, Order, StreamKind};
use simt::Dim3;
use std::collections::BTreeMap;

/// Most launches of one run.
const LAUNCHES: usize = 10_000;

/// A run of a case, ready for a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The sizes.
    pub sizes: Sizes,
    /// Memory.
    pub buffers: Vec<PlannedBuffer>,
    /// Tensor maps.
    pub tensors: Vec<PlannedTensor>,
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
    /// Blocks of a cluster, if the launch says.
    pub cluster: Option<Dim3>,
    /// Whether it may begin before the launch directly in front of it has ended.
    pub dependent: bool,
    /// The stream.
    pub stream: usize,
}

/// The value of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// The address of a buffer, by its index.
    Buffer(usize),
    /// A tensor map, by its index.
    Tensor(usize),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
}

/// Makes a run concrete.
pub fn plan(case: &Case, sizes: Sizes, inputs: Inputs) -> Result<Plan, PlanError> {
    let mut planner = Planner {
        case,
        inputs,
        plan: Plan {
            sizes,
            buffers: Vec::new(),
            tensors: Vec::new(),
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
    for (name, tensor) in &case.tensors {
        let buffer = planner.buffer(&tensor.of)?;
        let of = (buffer, planner.plan.buffers[buffer].element);
        let planned = tensors::planned(tensor, name, of, &planner.plan.sizes)?;
        planner.plan.tensors.push(planned);
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

/// The values of arguments, given what the names stand for.
pub fn values(
    arguments: &[Argument],
    sizes: &Sizes,
    names: &BTreeMap<String, usize>,
    tensors: &[PlannedTensor],
) -> Result<Vec<Value>, PlanError> {
    let tensor = |name: &str| tensors.iter().position(|t| t.name == name);
    let value = |argument: &Argument| match argument {
        Argument::Float(value) => Ok(Value::Float(*value)),
        Argument::Value(e) => match e.as_name().map(|name| (names.get(name), tensor(name))) {
            Some((Some(buffer), _)) => Ok(Value::Buffer(*buffer)),
            Some((None, Some(tensor))) => Ok(Value::Tensor(tensor)),
            _ => evaluate("an argument", e, sizes).map(Value::Integer),
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
            "`grid` of `k` is 0, which is not a valid number of blocks or threads"
        );
        assert_eq!(
            error("launches: [{entry: k, repeat: {d: {from: 1, while: d > 0, next: d}}}]"),
            "`k` is launched more than 10000 times: its `repeat` does not end"
        );
        assert_eq!(
            error(
                "buffers:\n  a: {type: u8, length: 2, values: zeros}\n  b: {type: u8, length: 3, values: \"copy:a\"}\nlaunches: []"
            ),
            "buffer `b` has 3 elements, but it is a copy of `a`, which has 2"
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
