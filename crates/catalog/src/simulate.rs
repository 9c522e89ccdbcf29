//! Runs a plan on the simulator. Only this file of the catalogue knows this backend.

pub mod error;
mod located;

pub use error::{PrepareError, SimulateError};
pub use located::{LocatedEnd, LocatedFinding};

use super::arguments::{self, Encoded};
use super::entry::{Catalog, Entry};
use super::oracle::Elements;
use super::pinned::Pin;
use super::plan::{Does, Plan, PlannedLaunch, Value};
use super::run_results::RunResults;
use detect::communication::Log;
use detect::finding::Finding;
use ptx::ast::Module;
use ptx::{matches_entry, parse};
use report::{SourceFile, Sources};
use session::buffer::Placement;
use session::{InTurn, Independence, Options, Session};
use simt::memory::GLOBAL_BASE;
use simt::observer::Events;
use simt::{Device, Dim3, Launch, Limits, LowerError, Program, ScheduleSpec, Stop, entries};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Global memory of the simulated device, bytes.
const DEVICE_BYTES: u64 = 1 << 30;

/// A case with its kernels lowered, once for all runs.
#[derive(Debug)]
pub struct Prepared<'c> {
    /// The case.
    pub entry: &'c Entry,
    /// The kernels' syntax tree.
    pub module: Module,
    /// The kernels that are launched.
    programs: BTreeMap<&'c str, Program>,
    /// The sequential kernels that serve as oracles.
    oracles: Arc<BTreeMap<&'c str, Program>>,
    ptx: Arc<SourceFile>,
    source: &'c str,
}

/// What a run gave.
#[derive(Debug)]
pub struct RunOutcome {
    /// What the detectors found.
    pub findings: Vec<Finding>,
    /// Why it did not come to its end.
    pub stopped: Option<Stop>,
    /// What it says about other schedules.
    pub independence: Independence,
    /// What was printed.
    pub output: String,
    /// Warp-instructions.
    pub steps: u64,
    /// What threads did to memory that they share, where that was written down.
    pub communication: Option<Log>,
    addresses: Vec<u64>,
    device: Device,
}

impl<'c> Prepared<'c> {
    /// Parses the case's PTX and lowers the kernels that it launches.
    pub fn new(catalog: &'c Catalog, entry: &'c Entry) -> Result<Prepared<'c>, PrepareError> {
        if entry.case.refusal().is_some() {
            return Err(PrepareError::Refused);
        }
        let file = Pin::new(&entry.case, entry.case.simulated()).ptx;
        let Some(text) = catalog.tree.text(&file) else {
            return Err(PrepareError::NoPtx { file });
        };
        let module = parse(text).map_err(|e| PrepareError::Syntax {
            file: file.clone(),
            message: e.to_string(),
        })?;
        let known = entries(&module);
        let lowered = |name: &str| {
            let found: Vec<_> = known
                .iter()
                .filter(|mangled| matches_entry(mangled, name))
                .collect();
            let [mangled] = found[..] else {
                let plain: Vec<_> = known.iter().map(|m| ptx::demangle(m)).collect();
                return Err(PrepareError::Entry {
                    file: file.clone(),
                    entry: name.to_owned(),
                    found: if found.is_empty() {
                        "none".to_owned()
                    } else {
                        found.len().to_string()
                    },
                    entries: plain.join(", "),
                });
            };
            Program::lower(&module, text, mangled).map_err(|error| PrepareError::Lower {
                file: file.clone(),
                error,
            })
        };
        let launched = entry.case.launched().map(|l| l.entry.as_str());
        let sequential = entry
            .case
            .oracle
            .values()
            .filter_map(|o| o.kernel.as_deref());
        let all = |names: BTreeSet<&'c str>| -> Result<BTreeMap<_, _>, PrepareError> {
            let programs = names.iter().map(|name| Ok((*name, lowered(name)?)));
            programs.collect()
        };
        let programs = all(launched.collect())?;
        let oracles = Arc::new(all(sequential.collect())?);
        let source = catalog.tree.text(&entry.kernel_file()).unwrap_or_default();
        let ptx = Arc::new(SourceFile::new(file, text.to_owned()));
        Ok(Prepared {
            entry,
            module,
            programs,
            oracles,
            ptx,
            source,
        })
    }

    /// The same case with other code: `module` is this one's with some instructions changed, each in its place in the
    /// text. The oracles stay as they are.
    ///
    /// # Errors
    ///
    /// A module that can't be lowered, which none is whose declarations are the same.
    pub fn with_module(&self, module: Module) -> Result<Prepared<'c>, LowerError> {
        let lowered = |program: &Program| Program::lower(&module, &self.ptx.text, &program.entry);
        let programs = self
            .programs
            .iter()
            .map(|(name, p)| Ok((*name, lowered(p)?)));
        Ok(Prepared {
            entry: self.entry,
            programs: programs.collect::<Result<_, LowerError>>()?,
            oracles: Arc::clone(&self.oracles),
            ptx: Arc::clone(&self.ptx),
            source: self.source,
            module,
        })
    }

    /// The functions of the PTX that the launched kernels are made of, by their names there.
    pub fn functions(&self) -> BTreeSet<&str> {
        let functions = self.programs.values().flat_map(|p| &p.functions);
        functions.map(|f| f.name.as_str()).collect()
    }

    /// The kernel's source, and its PTX.
    pub fn texts(&self) -> (Sources, Arc<SourceFile>) {
        let mut sources = Sources::new();
        sources.add(&self.entry.kernel_file(), self.source);
        (sources, Arc::clone(&self.ptx))
    }

    /// Runs a plan from fresh memory.
    pub fn run(
        &self,
        plan: &Plan,
        schedule: &ScheduleSpec,
        wall: Option<Duration>,
    ) -> Result<RunOutcome, SimulateError> {
        self.run_recorded(plan, schedule, self.limits(wall), false)
    }

    /// The same; `recorded` writes down what the threads of the last launch do to memory that they share.
    ///
    /// # Errors
    ///
    /// Mistakes of the case.
    pub fn run_recorded(
        &self,
        plan: &Plan,
        schedule: &ScheduleSpec,
        limits: Limits,
        recorded: bool,
    ) -> Result<RunOutcome, SimulateError> {
        let options = Options {
            schedule: schedule.clone(),
            limits,
            jobs: 1,
            // The figures are those of warps that stay together, as on hardware.
            perf: !self.entry.case.perf.is_empty() && *schedule == ScheduleSpec::Lockstep,
            device_bytes: DEVICE_BYTES,
            communication: recorded,
        };
        let order = plan.order();
        let sequence = order.sequence(schedule);
        let mut session = Session::ordered(options, order, plan.steps.len());
        let addresses = self.load(session.device(), plan)?;
        let mut done = BTreeSet::new();
        for number in sequence {
            // A dependent launch was executed with the one in front of it.
            if done.contains(&number) || !session.may_run(number) {
                continue;
            }
            match &plan.steps[number].does {
                Does::Launch(planned) => {
                    let turn = self.in_turn(plan, number, &addresses)?;
                    match &turn[..] {
                        [_, _, ..] => {
                            done.extend(number..number + turn.len());
                            session.launch_in_turn(&turn);
                        }
                        [InTurn { how, .. }] => {
                            // Why it did not end is in the outcome.
                            let _ = session.launch_as_numbered(self.program(planned)?, how);
                        }
                        [] => {}
                    }
                }
                Does::Copy { copy, .. } | Does::Host(copy) => {
                    let from = addresses[copy.from] + copy.from_offset;
                    let to = addresses[copy.to] + copy.to_offset;
                    let element = plan.buffers[copy.to].element.bytes() as u32;
                    session.copy(number, from, to, copy.bytes, element)?;
                }
                Does::Record { .. } | Does::Wait { .. } | Does::Synchronize { .. } => {}
            }
        }
        let (outcome, device) = session.finish();
        let unfinished = match &outcome.stopped {
            Some(Stop::NoProgress { steps, .. } | Stop::Budget { steps, .. }) => *steps,
            _ => 0,
        };
        Ok(RunOutcome {
            findings: outcome.findings,
            stopped: outcome.stopped,
            independence: outcome.independence,
            output: outcome.output,
            steps: outcome.steps + unfinished,
            communication: outcome.communication,
            addresses,
            device,
        })
    }

    /// The launch that is a step, and those that depend on each other directly behind it: the next steps of the plan, on the same stream. What comes
    /// before the first of them comes before all.
    fn in_turn<'p>(
        &'p self,
        plan: &Plan,
        first: usize,
        addresses: &[u64],
    ) -> Result<Vec<InTurn<'p>>, SimulateError> {
        let mut all: Vec<InTurn<'p>> = Vec::new();
        let mut stream = None;
        for (number, step) in plan.steps.iter().enumerate().skip(first) {
            let Some(planned) = step.launch() else {
                break;
            };
            if stream.is_some_and(|s| s != planned.stream || !planned.dependent) {
                break;
            }
            stream = Some(planned.stream);
            let program = self.program(planned)?;
            all.push(InTurn {
                program,
                how: Launch {
                    number: number as u32,
                    ..made(planned, program, plan, addresses)?
                },
                dependent: planned.dependent,
            });
        }
        Ok(all)
    }

    /// Runs a plan from fresh memory on one core, lanes together, for an observer of one's own.
    ///
    /// # Errors
    ///
    /// Mistakes of the case, and a launch that does not come to its end.
    pub fn watch(&self, plan: &Plan, observer: &mut dyn Events) -> Result<(), SimulateError> {
        let mut device = Device::new(DEVICE_BYTES);
        let addresses = self.load(&mut device, plan)?;
        let limits = self.limits(None);
        for step in &plan.steps {
            let planned = match &step.does {
                Does::Launch(planned) => planned,
                Does::Copy { copy, .. } | Does::Host(copy) => {
                    let from = addresses[copy.from] + copy.from_offset;
                    let to = addresses[copy.to] + copy.to_offset;
                    device.copy(from, to, copy.bytes)?;
                    continue;
                }
                Does::Record { .. } | Does::Wait { .. } | Does::Synchronize { .. } => continue,
            };
            let program = self.program(planned)?;
            let how = made(planned, program, plan, &addresses)?;
            device.load(program)?;
            let schedule = &ScheduleSpec::Lockstep;
            simt::watch(&mut device, program, &how, schedule, &limits, observer).map_err(
                |stop| SimulateError::Stopped {
                    entry: planned.entry.clone(),
                    stop,
                },
            )?;
        }
        Ok(())
    }

    /// Runs a sequential kernel by one thread on fresh memory, and gives what it left in a buffer.
    pub fn reference(
        &self,
        plan: &Plan,
        entry: &str,
        args: Vec<Value>,
        result: usize,
    ) -> Result<Elements, SimulateError> {
        let planned = PlannedLaunch {
            entry: entry.to_owned(),
            grid: Dim3::ONE,
            block: Dim3::ONE,
            shared: 0,
            args,
            cooperative: false,
            cluster: None,
            dependent: false,
            stream: 0,
        };
        let mut device = Device::new(DEVICE_BYTES);
        let addresses = self.load(&mut device, plan)?;
        let program = find(&self.oracles, &planned)?;
        let how = made(&planned, program, plan, &addresses)?;
        device.load(program)?;
        let limits = Limits::default();
        let schedule = &ScheduleSpec::Lockstep;
        simt::launch_unwatched(&mut device, program, &how, schedule, &limits, 1).map_err(
            |stop| SimulateError::Oracle {
                entry: entry.to_owned(),
                stop,
            },
        )?;
        let buffer = &plan.buffers[result];
        let bytes = buffer.length * buffer.element.bytes() as u64;
        Ok(Elements::from_bytes(
            buffer.element,
            &device.read(addresses[result], bytes)?,
        ))
    }

    /// The limits of each launch.
    pub(crate) fn limits(&self, wall: Option<Duration>) -> Limits {
        let steps = self.entry.case.limits.steps.unwrap_or(STEPS);
        Limits {
            steps,
            wall,
            ..Limits::default()
        }
    }

    /// The program of a launch.
    pub fn program(&self, planned: &PlannedLaunch) -> Result<&Program, SimulateError> {
        find(&self.programs, planned)
    }

    /// Whether strong loads of its kernels may return older values than the last.
    pub fn reads_stale_values(&self) -> bool {
        self.programs.values().any(|p| p.facts.stale_values)
    }

    /// The program of a plan's only launch; `None` if there are several.
    pub fn only_launch(&self, plan: &Plan) -> Option<&Program> {
        let mut launches = plan.steps.iter().filter_map(|step| match &step.does {
            Does::Launch(planned) => Some(planned),
            _ => None,
        });
        let only = launches.next().filter(|_| launches.next().is_none())?;
        self.program(only).ok()
    }

    /// Puts a plan's buffers into memory.
    fn load(&self, device: &mut Device, plan: &Plan) -> Result<Vec<u64>, SimulateError> {
        let mut addresses = Vec::new();
        for buffer in &plan.buffers {
            let bytes = buffer.length * buffer.element.bytes() as u64;
            let data = buffer.data.as_ref().filter(|data| !data.is_empty());
            let data = data.map(|data| data.to_bytes(buffer.element));
            let address = match &buffer.symbol {
                Some(symbol) => {
                    for program in self.programs.values() {
                        device.load(program)?;
                    }
                    let address = variable(device, symbol, bytes)?;
                    if let Some(data) = &data {
                        device.write(address, data)?;
                    }
                    address
                }
                None => Placement {
                    name: &buffer.name,
                    bytes,
                    initial: data.as_deref(),
                    gap: 0,
                    of_host: buffer.memory.is_of_host(),
                }
                .place(device)?,
            };
            addresses.push(address);
        }
        Ok(addresses)
    }
}

/// The address of a module's variable of at least so many bytes.
fn variable(device: &Device, symbol: &str, bytes: u64) -> Result<u64, SimulateError> {
    let address = device.variable(symbol).ok_or_else(|| {
        let symbol = symbol.to_owned();
        SimulateError::NoSymbol { symbol }
    })?;
    let held = device.allocation_at(address - GLOBAL_BASE);
    let held = held.map_or(0, |allocation| allocation.bytes);
    if held < bytes {
        return Err(SimulateError::ShortSymbol {
            symbol: symbol.to_owned(),
            held,
            bytes,
        });
    }
    Ok(address)
}

/// Warp-instructions of a launch, where the case sets no budget.
const STEPS: u64 = 2_000_000;

impl RunResults for RunOutcome {
    fn result(&self, plan: &Plan, buffer: usize) -> Result<(Elements, Vec<bool>), SimulateError> {
        let planned = &plan.buffers[buffer];
        let width = planned.element.bytes();
        let bytes = planned.length * width as u64;
        let data = self.device.read(self.addresses[buffer], bytes)?;
        let written = self.device.written(self.addresses[buffer], bytes)?;
        let written = written
            .chunks(width)
            .map(|element| !element.contains(&false))
            .collect();
        Ok((Elements::from_bytes(planned.element, &data), written))
    }

    fn printed(&self) -> &str {
        &self.output
    }
}

fn find<'p>(
    programs: &'p BTreeMap<&str, Program>,
    planned: &PlannedLaunch,
) -> Result<&'p Program, SimulateError> {
    // All kernels that a case names were lowered.
    programs
        .get(planned.entry.as_str())
        .ok_or_else(|| SimulateError::ArgumentCount {
            entry: planned.entry.clone(),
            wanted: 0,
            given: planned.args.len(),
        })
}

fn made(
    planned: &PlannedLaunch,
    program: &Program,
    plan: &Plan,
    addresses: &[u64],
) -> Result<Launch, SimulateError> {
    let mut params = vec![0; program.param_bytes as usize];
    let encoded = arguments::encode(planned, &program.params)?;
    for (argument, param) in encoded.into_iter().zip(&program.params) {
        let bytes = match argument {
            Encoded::Address(buffer) => addresses[buffer].to_le_bytes().to_vec(),
            Encoded::Tensor(index) => {
                let tensor = &plan.tensors[index];
                let map = tensor.map(addresses[tensor.buffer]);
                let map = map.map_err(|error| SimulateError::Tensor {
                    tensor: tensor.name.clone(),
                    error,
                })?;
                map.to_bytes().to_vec()
            }
            Encoded::Bytes(bytes) => bytes,
        };
        let at = param.offset as usize;
        params[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(Launch {
        cluster: planned.cluster,
        grid: planned.grid,
        block: planned.block,
        dynamic_shared: planned.shared,
        params,
        cooperative: planned.cooperative,
        number: 0,
    })
}
