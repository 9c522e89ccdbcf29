//! Runs a plan on the simulator: the one file of the catalogue that knows this backend.

use super::annotation::Home;
use super::arguments::{self, Encoded};
use super::compare::Left;
use super::host::{STREAM, Step};
use super::load::{Catalog, Entry};
use super::oracle::Elements;
use super::pinned::{Pin, SIMULATED};
use super::plan::{Does, Plan, PlannedLaunch, PlannedStep, Value};
use crate::backend::{Independence, Options, Session};
use crate::finding::{Action, Finding};
use crate::ptx::ast::Module;
use crate::ptx::{matches_entry, parse};
use crate::report::{
    Diagnostic, HostView, KernelView, Scene, SourceFile, Sources, View, diagnose, view::HOST,
};
use crate::rules::Rule;
use crate::simt::memory::{GLOBAL_BASE, MemoryError};
use crate::simt::observer::{Blind, Observer};
use crate::simt::{
    Device, Dim3, Launch, Limits, LowerError, Program, ScheduleSpec, Stop, entries, launch,
};
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

/// A case whose kernels can't be made ready.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The catalogue was read without its PTX.
    #[error("no PTX `{file}`")]
    NoPtx {
        /// The file.
        file: String,
    },
    /// The compiler is to refuse it.
    #[error("nothing to run: the compiler refuses this kernel")]
    Refused,
    /// Not PTX, or PTX that the parser does not know.
    #[error("{file}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// What the parser says.
        message: String,
    },
    /// The kernel has no function of that name, or several.
    #[error("{file}: {found} of the kernels is called `{entry}`; there are: {entries}")]
    Entry {
        /// The PTX file.
        file: String,
        /// The name in the case.
        entry: String,
        /// `none`, or how many.
        found: String,
        /// Those that are there.
        entries: String,
    },
    /// The simulator can't run such a program.
    #[error("{file}: {error}")]
    Lower {
        /// The PTX file.
        file: String,
        /// Why.
        error: LowerError,
    },
}

/// A run that could not be started, for a reason that lies in the case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MachineError {
    /// Too few or too many arguments.
    #[error("`{entry}` takes {wanted} argument(s), and gets {given}")]
    ArgumentCount {
        /// The kernel.
        entry: String,
        /// Its parameters.
        wanted: usize,
        /// The arguments.
        given: usize,
    },
    /// An argument that does not fit its parameter.
    #[error("argument {index} of `{entry}` is {given}, and its parameter a `.{wanted}`")]
    ArgumentType {
        /// The kernel.
        entry: String,
        /// Which, from 1.
        index: usize,
        /// What it is.
        given: String,
        /// The parameter's type.
        wanted: String,
    },
    /// The buffers don't fit.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A symbol that the module does not have.
    #[error("the kernel's file has no variable `{symbol}` (or no kernel of the case uses it)")]
    NoSymbol {
        /// The symbol.
        symbol: String,
    },
    /// A buffer that is longer than the variable that it is.
    #[error("`{symbol}` has {held} bytes in the kernel's file, and the case says {bytes}")]
    ShortSymbol {
        /// The symbol.
        symbol: String,
        /// Its size.
        held: u64,
        /// The case's.
        bytes: u64,
    },
    /// A launch that is only watched did not come to its end.
    #[error("`{entry}` did not end: {stop}")]
    Stopped {
        /// The kernel.
        entry: String,
        /// Why.
        stop: Stop,
    },
    /// The sequential kernel that serves as an oracle did not come to its end.
    #[error("the oracle `{entry}` did not end: {stop}")]
    Oracle {
        /// The kernel.
        entry: String,
        /// Why.
        stop: Stop,
    },
}

/// What a run gave.
#[derive(Debug)]
pub struct Ran {
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
    addresses: Vec<u64>,
    device: Device,
}

/// A finding in terms of the kernel's source: what annotations are matched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The rule.
    pub rule: Rule,
    /// Its ends.
    pub ends: Vec<SeenEnd>,
}

/// One end of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenEnd {
    /// What the thread did.
    pub action: Action,
    /// The file that the lines are in.
    pub home: Home,
    /// The lines on which its instruction lies, from the innermost inlined call
    /// outwards; the line of a step of the host.
    pub lines: Vec<u32>,
}

impl<'c> Prepared<'c> {
    /// Parses the case's PTX and lowers the kernels that it launches.
    pub fn new(catalog: &'c Catalog, entry: &'c Entry) -> Result<Prepared<'c>, PrepareError> {
        if entry.case.refusal().is_some() {
            return Err(PrepareError::Refused);
        }
        let file = Pin::new(&entry.case, SIMULATED).ptx;
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
                let plain: Vec<_> = known.iter().map(|m| crate::ptx::demangle(m)).collect();
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
        let ptx = Arc::new(SourceFile {
            path: file,
            text: text.to_owned(),
        });
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
    ) -> Result<Ran, MachineError> {
        let options = Options {
            schedule: schedule.clone(),
            limits: self.limits(wall),
            jobs: 1,
            // The figures are those of warps that stay together, as on hardware.
            perf: !self.entry.case.perf.is_empty() && *schedule == ScheduleSpec::Lockstep,
            device_bytes: DEVICE_BYTES,
        };
        let order = plan.order();
        let sequence = order.sequence(schedule);
        let mut session = Session::ordered(options, order, plan.steps.len());
        let addresses = self.load(session.device(), plan)?;
        for number in sequence {
            match &plan.steps[number].does {
                Does::Launch(planned) => {
                    let program = self.program(planned)?;
                    let how = Launch {
                        number: number as u32,
                        ..made(planned, program, &addresses)?
                    };
                    if session.launch_as_numbered(program, &how).is_err() {
                        break;
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
            Some(Stop::NoProgress { steps, .. }) => *steps,
            _ => 0,
        };
        Ok(Ran {
            findings: outcome.findings,
            stopped: outcome.stopped,
            independence: outcome.independence,
            output: outcome.output,
            steps: outcome.steps + unfinished,
            addresses,
            device,
        })
    }

    /// Runs a plan from fresh memory on one core, lanes together, for an observer of one's own.
    ///
    /// # Errors
    ///
    /// Mistakes of the case, and a launch that does not come to its end.
    pub fn watch<O: Observer>(&self, plan: &Plan, mut observer: O) -> Result<O, MachineError> {
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
            let how = made(planned, program, &addresses)?;
            device.load(program)?;
            let schedule = &ScheduleSpec::Lockstep;
            launch(
                &mut device,
                program,
                &how,
                schedule,
                &limits,
                1,
                &mut observer,
            )
            .map_err(|stop| MachineError::Stopped {
                entry: planned.entry.clone(),
                stop,
            })?;
        }
        Ok(observer)
    }

    /// Runs a sequential kernel by one thread on fresh memory, and gives what it left in a buffer.
    pub fn reference(
        &self,
        plan: &Plan,
        entry: &str,
        args: Vec<Value>,
        result: usize,
    ) -> Result<Elements, MachineError> {
        let planned = PlannedLaunch {
            entry: entry.to_owned(),
            grid: Dim3::ONE,
            block: Dim3::ONE,
            shared: 0,
            args,
            cooperative: false,
            stream: 0,
        };
        let mut device = Device::new(DEVICE_BYTES);
        let addresses = self.load(&mut device, plan)?;
        let program = find(&self.oracles, &planned)?;
        let how = made(&planned, program, &addresses)?;
        device.load(program)?;
        let limits = Limits::default();
        launch(
            &mut device,
            program,
            &how,
            &ScheduleSpec::Lockstep,
            &limits,
            1,
            &mut Blind,
        )
        .map_err(|stop| MachineError::Oracle {
            entry: entry.to_owned(),
            stop,
        })?;
        let buffer = &plan.buffers[result];
        let bytes = buffer.length * buffer.element.bytes() as u64;
        Ok(Elements::from_bytes(
            buffer.element,
            &device.read(addresses[result], bytes)?,
        ))
    }

    fn limits(&self, wall: Option<Duration>) -> Limits {
        let steps = self.entry.case.limits.steps.unwrap_or(STEPS);
        Limits {
            steps,
            wall,
            ..Limits::default()
        }
    }

    /// The program of a launch.
    pub fn program(&self, planned: &PlannedLaunch) -> Result<&Program, MachineError> {
        find(&self.programs, planned)
    }

    /// Whether strong loads of its kernels may return older values than the last.
    pub fn reads_older_values(&self) -> bool {
        self.programs.values().any(|p| p.facts.older_values)
    }

    /// A finding in terms of the lines of the kernel and of the case.
    pub fn seen(&self, plan: &Plan, finding: &Finding) -> Seen {
        let file = self.entry.kernel_file();
        let ends = finding.ends.iter().map(|end| {
            let (action, step) = (end.action, &plan.steps[end.launch as usize]);
            let program = step.launch().map(|l| self.programs.get(l.entry.as_str()));
            let (home, lines) = match program {
                None => (Home::Case, vec![self.entry.step_line(step.origin)]),
                Some(program) => {
                    let lines = program.map_or(&[][..], |p| &p.site(end.site).lines);
                    let here = lines.iter().filter(|l| l.file == file);
                    (Home::Kernel, here.map(|l| l.line).collect())
                }
            };
            SeenEnd {
                action,
                home,
                lines,
            }
        });
        Seen {
            rule: finding.rule,
            ends: ends.collect(),
        }
    }

    /// Words findings of a run for people.
    pub fn diagnose<'f>(
        &self,
        plan: &Plan,
        ran: &Ran,
        findings: impl Iterator<Item = &'f Finding>,
    ) -> Vec<Diagnostic> {
        let (mut sources, _) = self.texts();
        let defines = self.entry.case.define_flags();
        let views = plan.steps.iter().map(|step| {
            let launch = step.launch();
            let program = launch.and_then(|l| self.programs.get(l.entry.as_str()));
            match (launch, program) {
                (Some(l), Some(program)) => {
                    let shape = (l.grid, l.block);
                    let device = &ran.device;
                    let view =
                        KernelView::new(program, device, shape, &self.ptx, &sources, &defines);
                    View::Kernel(view)
                }
                _ => View::Host(HostView::new(
                    &self.who(plan, step),
                    &ran.device,
                    &self.entry.source,
                    self.entry.step_line(step.origin),
                )),
            }
        });
        let views = views.collect();
        let mut scene = Scene {
            steps: views,
            sources: &mut sources,
        };
        findings
            .map(|finding| diagnose(finding, &mut scene))
            .collect()
    }

    /// Who does a step that is no launch, for people.
    fn who(&self, plan: &Plan, step: &PlannedStep) -> String {
        let name = |index: usize| &plan.buffers[index].name;
        let given = self.entry.case.plan.get(step.origin);
        let stream = given.and_then(Step::stream).unwrap_or(STREAM);
        match &step.does {
            Does::Copy { copy, .. } => format!(
                "the copy from `{}` to `{}` on stream `{stream}`",
                name(copy.from),
                name(copy.to)
            ),
            _ => HOST.to_owned(),
        }
    }

    /// Where in the source an instruction lies that stopped a run.
    pub fn stopped_at(&self, plan: &Plan, stop: &Stop) -> Option<String> {
        let (Stop::Unsupported { site, .. } | Stop::Trap { site, .. } | Stop::Assert { site, .. }) =
            stop
        else {
            return None;
        };
        plan.launches().find_map(|l| {
            let program = self.programs.get(l.entry.as_str())?;
            let line = program.sites.get(site.0 as usize)?.lines.last()?;
            Some(format!("{}:{}", line.file, line.line))
        })
    }

    /// Puts a plan's buffers into memory.
    fn load(&self, device: &mut Device, plan: &Plan) -> Result<Vec<u64>, MachineError> {
        let mut addresses = Vec::new();
        for buffer in &plan.buffers {
            let bytes = buffer.length * buffer.element.bytes() as u64;
            let address = match &buffer.symbol {
                Some(symbol) => {
                    for program in self.programs.values() {
                        device.load(program)?;
                    }
                    variable(device, symbol, bytes)?
                }
                None if buffer.memory.is_of_host() => device.alloc_host(bytes, &buffer.name)?,
                None => device.alloc(bytes, &buffer.name)?,
            };
            if let Some(data) = buffer.data.as_ref().filter(|data| !data.is_empty()) {
                device.write(address, &data.to_bytes(buffer.element))?;
            }
            addresses.push(address);
        }
        Ok(addresses)
    }
}

/// The address of a module's variable of at least so many bytes.
fn variable(device: &Device, symbol: &str, bytes: u64) -> Result<u64, MachineError> {
    let address = device.variable(symbol).ok_or_else(|| {
        let symbol = symbol.to_owned();
        MachineError::NoSymbol { symbol }
    })?;
    let held = device.allocation_at(address - GLOBAL_BASE);
    let held = held.map_or(0, |allocation| allocation.bytes);
    if held < bytes {
        return Err(MachineError::ShortSymbol {
            symbol: symbol.to_owned(),
            held,
            bytes,
        });
    }
    Ok(address)
}

/// Warp-instructions of a launch, where the case sets no budget.
const STEPS: u64 = 2_000_000;

impl Left for Ran {
    fn result(&self, plan: &Plan, buffer: usize) -> Result<(Elements, Vec<bool>), MachineError> {
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
) -> Result<&'p Program, MachineError> {
    // All kernels that a case names were lowered.
    programs
        .get(planned.entry.as_str())
        .ok_or_else(|| MachineError::ArgumentCount {
            entry: planned.entry.clone(),
            wanted: 0,
            given: planned.args.len(),
        })
}

fn made(
    planned: &PlannedLaunch,
    program: &Program,
    addresses: &[u64],
) -> Result<Launch, MachineError> {
    let mut params = vec![0; program.param_bytes as usize];
    let encoded = arguments::encode(planned, &program.params)?;
    for (argument, param) in encoded.into_iter().zip(&program.params) {
        let bytes = match argument {
            Encoded::Address(buffer) => addresses[buffer].to_le_bytes().to_vec(),
            Encoded::Bytes(bytes) => bytes,
        };
        let at = param.offset as usize;
        params[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(Launch {
        grid: planned.grid,
        block: planned.block,
        dynamic_shared: planned.shared,
        params,
        cooperative: planned.cooperative,
        number: 0,
    })
}
