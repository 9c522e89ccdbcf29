//! Runs one build under several schedules and words what comes out.

mod difference;
mod escalate;
mod grow;
mod memory;
mod outside;
mod take;
mod writers;

pub use difference::Difference;
pub use memory::{Buffer, Memory};
pub use outside::{Deed, Outside, Reach};

use super::error::{Error, ErrorKind};
use super::functions;
use super::geometry::Geometry;
use super::input::Build;
use super::plan::Plan;
use super::request::{Progress, Watch};
use super::variables;
use super::work::Work;
use detect::coverage::Coverage;
use detect::finding::{Action, Detail, End, Finding, Place};
use detect::rules::Rule;
use grow::{Need, enlarge, too_far, too_small, walks_on};
use memory::place;
use ptx::source::SourceLine;
use report::tracer::Tracer;
use report::{Diagnostic, KernelView, Scene, Sources, View, diagnose};
use session::explorer::{Explorer, Schedules, explore};
use session::{Independence, Options, Outcome, Session};
use simt::memory::GLOBAL_BASE;
use simt::observer::{Events, Space};
use simt::op::{Op, Special};
use simt::{Device, Launch, Limits, Program, ScheduleSpec, Stop};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use take::{Progressed, name_elements};
use writers::Writers;

/// Findings of one rule that are worded for each schedule: hostile programs have millions of unordered pairs.
const WORDED: usize = 500;

/// How a build is explored.
#[derive(Clone)]
pub struct Exploration<'a> {
    /// The launch's shape.
    pub geometry: &'a Geometry,
    /// Variables of the module that are set before the launch.
    pub variables: &'a [super::request::Argument],
    /// The schedules.
    pub schedules: Schedules,
    /// Budgets of a launch.
    pub limits: Limits,
    /// When to stop, on the clock.
    pub until: Option<Instant>,
    /// Memory of the simulated device, bytes.
    pub memory: u64,
    /// Cores.
    pub jobs: usize,
    /// Whether performance is judged.
    pub perf: bool,
    /// `-D`, for reading declarations.
    pub defines: &'a [String],
    /// Whether to keep what is needed for [`Exploration::trace`].
    pub trace: bool,
    /// Whether to remember what each schedule leaves in memory.
    pub remember: bool,
    /// What may be spent on other guesses.
    pub work: Arc<Work>,
    /// Who watches.
    pub watch: &'a dyn Watch,
}

/// A finding before it is worded: its rule and its guilty places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The rule it breaks.
    pub rule: Rule,
    /// What was done at each place, and the source lines that it was inlined through, innermost
    /// first.
    pub ends: Vec<(Action, Vec<SourceLine>)>,
}

impl Found {
    fn of(finding: &Finding, program: &Program) -> Found {
        let end = |end: &End| (end.action, program.site(end.site).lines.clone());
        Found {
            rule: finding.rule,
            ends: finding.ends.iter().map(end).collect(),
        }
    }
}

/// What groups diagnostics.
pub type Key = (Rule, Vec<(String, u32)>);

/// What came out of a build.
#[derive(Debug, Default)]
pub struct Explored {
    /// The findings; `replay` holds the schedule.
    pub diagnostics: Vec<Diagnostic>,
    /// Of each group of findings the first one, before it was worded, with its schedule.
    pub examples: Vec<(Key, Finding, ScheduleSpec)>,
    /// The same, one by one and schedule by schedule.
    pub findings: Vec<Found>,
    /// Schedules that ran to their end.
    pub schedules: Vec<String>,
    /// Whether every order of communication was tried, as far as memory is sequentially consistent.
    pub every_order: bool,
    /// What a clean result says about other schedules; `None` if a run had findings or did not end.
    pub independence: Option<Independence>,
    /// Why it could not be told.
    pub stopped: Option<Stop>,
    /// The source line at which it stopped, where there is one: `scan.cu:12`.
    pub stopped_at: Option<String>,
    /// Whether the kernel asks for what a cooperative launch alone provides.
    pub cooperates: bool,
    /// What the first run printed.
    pub output: String,
    /// The [keys](Diagnostic::key) of `divergent-barrier` where all who went past a barrier left the kernel behind it.
    pub past_and_exited: HashSet<Key>,
    /// Buffers that had to grow.
    pub grown: Vec<usize>,
    /// What each schedule left in global memory, as a hash; where it was to be remembered.
    pub left: Vec<u64>,
    /// Whether a guessed buffer would have to be larger than any guess.
    pub too_far: bool,
    /// Whether there were more findings of one rule than are worded, or no time to word them all.
    pub cut: bool,
    /// Warp-instructions of the longest schedule.
    pub steps: u64,
    /// Where the branches went.
    pub coverage: Coverage,
    /// What the first schedule left in memory.
    pub memory: Option<Memory>,
    /// How the results of another schedule differ from those of the first.
    pub difference: Option<Difference>,
}

/// One run of a build.
struct Run {
    outcome: Outcome,
    device: Device,
    buffers: Vec<Buffer>,
    /// How many bytes each guessed buffer has to have for this run.
    needs: Vec<Need>,
    /// Whether one would have to be larger than any guess.
    too_far: bool,
    /// By finding, what a guessed buffer would have to have for it to be none, where that is more than any guess.
    larger: Vec<Option<Need>>,
}

impl Exploration<'_> {
    /// Runs the program under each schedule, until one result holds for all of them.
    ///
    /// # Errors
    ///
    /// A launch that is impossible, inputs that don't fit in memory, or that the check was cancelled.
    pub fn explore(
        &self,
        build: &Build,
        program: &Program,
        plan: &mut Plan,
        sources: &mut Sources,
    ) -> Result<Explored, Error> {
        let mut out = Explored {
            cooperates: cooperates(program),
            ..Explored::default()
        };
        let mut state = Progressed::default();
        let mut failed = None;
        let first = plan.clone();
        let shape = self.shape(&first);
        let mut explorer = Explorer::new(&self.schedules);
        let most = explorer.most();
        let records = explorer.recording(program);
        explore(
            &mut explorer,
            self.jobs,
            |index, schedule, jobs| match self.left() {
                Some(Duration::ZERO) if index > 0 => Ok(None),
                left => {
                    self.watch.progress(Progress::Running {
                        build: build.name,
                        schedule,
                        number: index + 1,
                        of: most.max(index + 1),
                    });
                    let how = (left, jobs, records.of(schedule));
                    self.once(program, &first, schedule, how).map(Some)
                }
            },
            |explorer, index, schedule, run| {
                let taken = run.and_then(|run| {
                    let Some(run) = run else {
                        return Ok(ControlFlow::Break(()));
                    };
                    // Guessed buffers may have grown since: then this run counts for nothing.
                    let run = match run.needs.is_empty() && *plan == first {
                        true => run,
                        false => {
                            enlarge(plan, &run.needs, &mut out.grown);
                            let recorded = records.of(schedule);
                            self.run(program, plan, schedule, recorded, &mut out.grown)?
                        }
                    };
                    out.too_far |= run.too_far;
                    explorer.add(schedule, &run.outcome);
                    let larger = run.larger;
                    let (run, device) = (run.outcome, (run.device, run.buffers));
                    if !run.findings.is_empty() {
                        explorer.found();
                    }
                    Ok(self.take(
                        index,
                        schedule,
                        (run, larger),
                        device,
                        shape,
                        build,
                        program,
                        sources,
                        &mut state,
                        &mut out,
                    ))
                });
                taken.unwrap_or_else(|error| {
                    failed = Some(error);
                    ControlFlow::Break(())
                })
            },
        );
        if let Some(error) = failed {
            return Err(error);
        }
        out.every_order = explorer.has_every_order();
        if state.dirty || out.stopped.is_some() {
            out.independence = None;
        }
        escalate::escalate(&mut out.diagnostics, &state.results);
        Ok(out)
    }

    /// Time that is left.
    fn left(&self) -> Option<Duration> {
        self.until
            .map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Whether no time is left.
    pub fn out_of_time(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }

    /// Whether no other guess is to be tried: there is no time left, or no work.
    pub fn gives_up(&self) -> bool {
        self.out_of_time() || self.work.left() == 0
    }

    /// The buffers among `candidates` of which the kernel touches one element more than `count`, and no further one; with the
    /// finding that they make if they have `count`.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn one_past(
        &self,
        build: &Build,
        program: &Program,
        plan: &Plan,
        count: u64,
        candidates: &[usize],
        sources: &mut Sources,
    ) -> Result<Vec<(usize, Diagnostic)>, Error> {
        let run = |length: u64, of: &[usize]| {
            let mut tight = plan.clone();
            of.iter().for_each(|index| tight.set_length(*index, length));
            let run = self.once(
                program,
                &tight,
                &ScheduleSpec::Lockstep,
                (self.left(), self.jobs, false),
            )?;
            Ok((run, tight))
        };
        let (first, tight) = run(count, candidates)?;
        let mut short: Vec<usize> = candidates.to_vec();
        short.retain(|index| first.needs.iter().any(|n| n.parameter == *index));
        if short.is_empty() {
            return Ok(Vec::new());
        }
        let (second, _) = run(count + 1, &short)?;
        short.retain(|index| !second.needs.iter().any(|n| n.parameter == *index));
        let mut found = self.past(build, program, (&first, &tight), sources);
        found.retain(|(index, _)| short.contains(index));
        Ok(found)
    }

    /// The findings that buffers make which may grow, with the sizes that a plan gives them: by parameter.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn tight(
        &self,
        build: &Build,
        program: &Program,
        plan: &Plan,
        sources: &mut Sources,
    ) -> Result<Vec<(usize, Diagnostic)>, Error> {
        let how = (self.left(), self.jobs, false);
        let run = self.once(program, plan, &ScheduleSpec::Lockstep, how)?;
        Ok(self.past(build, program, (&run, plan), sources))
    }

    fn past(
        &self,
        build: &Build,
        program: &Program,
        (run, plan): (&Run, &Plan),
        sources: &mut Sources,
    ) -> Vec<(usize, Diagnostic)> {
        let shape = self.shape(plan);
        let device = &run.device;
        let mut view = KernelView::new(program, device, shape, &build.ptx, sources, self.defines);
        name_elements(&mut view, &run.buffers);
        let mut scene = Scene {
            steps: vec![View::Kernel(view)],
            sources,
        };
        let findings = run.outcome.findings.iter();
        let worded = findings.filter_map(|finding| {
            let need = too_small(finding, device, plan)?;
            Some((need.parameter, diagnose(finding, &mut scene)))
        });
        worded.take(WORDED).collect()
    }

    /// Runs the program once on one core, lanes together, for an observer of one's own; with the device as it is then.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`]. A run that does not come to its end is none: the observer has seen what happened until then.
    pub fn watched(
        &self,
        program: &Program,
        plan: &Plan,
        observer: &mut dyn Events,
    ) -> Result<Device, Error> {
        self.watched_under(program, plan, &ScheduleSpec::Lockstep, observer)
    }

    /// Adds to each diagnostic what happened around it in the run that showed it: one more run for each schedule.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn trace(
        &self,
        program: &Program,
        plan: &Plan,
        examples: &[(Key, Finding, ScheduleSpec)],
        diagnostics: &mut [Diagnostic],
    ) -> Result<(), Error> {
        let mut schedules: Vec<&ScheduleSpec> = Vec::new();
        for (_, _, schedule) in examples {
            if !schedules.contains(&schedule) {
                schedules.push(schedule);
            }
        }
        for schedule in schedules {
            if self.out_of_time() {
                break;
            }
            let of: Vec<_> = examples.iter().filter(|e| e.2 == *schedule).collect();
            let shape = self.shape(plan);
            let mut tracer = Tracer::new(program, shape, of.iter().map(|e| &e.1));
            self.watched_under(program, plan, schedule, &mut tracer)?;
            for ((key, ..), trace) in of.into_iter().zip(tracer.traces()) {
                let mut same = diagnostics.iter_mut().filter(|d| d.key() == *key);
                if let Some(diagnostic) = same.find(|d| d.trace.is_none()) {
                    diagnostic.trace = trace;
                }
            }
        }
        Ok(())
    }

    /// Runs the program once on one core, for an observer of one's own.
    fn watched_under(
        &self,
        program: &Program,
        plan: &Plan,
        schedule: &ScheduleSpec,
        observer: &mut dyn Events,
    ) -> Result<Device, Error> {
        let mut device = Device::new(self.memory);
        let mut buffers = Vec::new();
        variables::set(&mut device, program, self.variables, plan.seed)?;
        let params = plan.encode(
            &mut |planned| place(&mut device, planned, &mut buffers),
            &|name| functions::address(program, name),
        )?;
        let launch = self.launch(plan, params);
        if let Err(error) = device.load(program) {
            return Err(invalid(&error.to_string()));
        }
        let limits = Limits {
            wall: self.left(),
            ..self.limits
        };
        match simt::watch(&mut device, program, &launch, schedule, &limits, observer) {
            Err(Stop::InvalidLaunch(what)) => Err(invalid(&what)),
            Ok(stats) => {
                self.work.spend(stats.steps);
                Ok(device)
            }
            Err(stop) => {
                if let Stop::NoProgress { steps, .. } = stop {
                    self.work.spend(steps);
                }
                Ok(device)
            }
        }
    }

    /// The difference as a finding, with the instructions that write the element in a run of one warp after the other.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn differing(
        &self,
        build: &Build,
        program: &Program,
        plan: &Plan,
        (difference, memory): (&Difference, Option<&Memory>),
        sources: &mut Sources,
    ) -> Result<Diagnostic, Error> {
        let worded = difference.diagnostic();
        let device = memory.and_then(|memory| memory.device.as_ref());
        let (Some((address, bytes)), Some(device)) = (difference.element, device) else {
            return Ok(worded);
        };
        let offset = address - GLOBAL_BASE;
        let mut watcher = Writers::new(offset..offset + u64::from(bytes));
        self.watched(program, plan, &mut watcher)?;
        let ends = watcher.latest();
        let finding = Finding {
            rule: worded.rule,
            ends,
            place: Some(Place {
                space: Space::Global,
                address: offset,
                bytes,
                mapped: true,
            }),
            detail: Detail::None,
            count: 1,
            stale_loads: Vec::new(),
        };
        let shape = self.shape(plan);
        let mut view = KernelView::new(program, device, shape, &build.ptx, sources, self.defines);
        name_elements(&mut view, memory.map_or(&[], Memory::buffers));
        let mut scene = Scene {
            steps: vec![View::Kernel(view)],
            sources,
        };
        let found = diagnose(&finding, &mut scene);
        Ok(Diagnostic {
            labels: found.labels,
            about: found.about,
            ..worded
        })
    }

    /// Grid and block of a plan's launch.
    fn shape(&self, plan: &Plan) -> (simt::Dim3, simt::Dim3) {
        let geometry = plan.geometry(self.geometry);
        (geometry.grid, geometry.block)
    }

    fn launch(&self, plan: &Plan, params: Vec<u8>) -> Launch {
        let geometry = plan.geometry(self.geometry);
        Launch {
            grid: geometry.grid,
            block: geometry.block,
            dynamic_shared: plan.dynamic_shared(self.geometry),
            params,
            cooperative: geometry.cooperative,
            number: 0,
        }
    }

    /// One schedule; again with larger buffers, for as long as a guessed one is too small.
    fn run(
        &self,
        program: &Program,
        plan: &mut Plan,
        schedule: &ScheduleSpec,
        recorded: bool,
        grown: &mut Vec<usize>,
    ) -> Result<Run, Error> {
        loop {
            let how = (self.left(), self.jobs, recorded);
            let run = self.once(program, plan, schedule, how)?;
            if self.out_of_time() || !enlarge(plan, &run.needs, grown) {
                return Ok(run);
            }
        }
    }

    /// One schedule with the plan as it is: within a time, on some cores, with what its threads do to memory written down or not.
    fn once(
        &self,
        program: &Program,
        plan: &Plan,
        schedule: &ScheduleSpec,
        (left, jobs, communication): (Option<Duration>, usize, bool),
    ) -> Result<Run, Error> {
        if self.watch.cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "the check was cancelled"));
        }
        let mut session = Session::new(Options {
            schedule: schedule.clone(),
            limits: Limits {
                wall: left,
                ..self.limits
            },
            jobs,
            communication,
            perf: self.perf,
            device_bytes: self.memory,
        });
        let mut buffers = Vec::new();
        variables::set(session.device(), program, self.variables, plan.seed)?;
        let params = plan.encode(
            &mut |planned| place(session.device(), planned, &mut buffers),
            &|name| functions::address(program, name),
        )?;
        let launch = self.launch(plan, params);
        match session.launch(program, &launch) {
            Err(Stop::InvalidLaunch(what)) => return Err(invalid(&what)),
            Err(Stop::OutOfMemory(what)) => {
                return Err(Error::new(ErrorKind::Memory, format!("out of memory: {what}"))
                    .help("use a smaller launch (`--grid`, `--block`), which shows the same races, or smaller buffers (`--arg`)"));
            }
            Ok(_) | Err(_) => {}
        }
        let (mut outcome, device) = session.finish();
        // What lies behind a buffer that is walked through to beyond its guessed end is no other buffer's.
        let walks = outcome.findings.iter();
        let walks: Vec<_> = walks.filter_map(|f| walks_on(f, &device, plan)).collect();
        let is_astray = |f: &Finding| {
            let place = f.place.filter(|p| p.mapped && p.space == Space::Global);
            let inside = |p: Place| walks.iter().any(|(range, _)| range.contains(&p.address));
            f.rule != Rule::OutOfBounds && place.is_some_and(inside)
        };
        outcome.findings.retain(|f| !is_astray(f));
        let larger = outcome.findings.iter();
        let larger = larger.map(|f| walks_on(f, &device, plan).map(|(_, need)| need));
        let larger = larger.collect();
        let mut needs: Vec<Need> = Vec::new();
        let mut far = false;
        for finding in &outcome.findings {
            far |= too_far(finding, &device, plan);
            if let Some(need) = too_small(finding, &device, plan) {
                match needs.iter_mut().find(|n| n.buffer == need.buffer) {
                    Some(known) => known.bytes = known.bytes.max(need.bytes),
                    None => needs.push(need),
                }
            }
        }
        Ok(Run {
            outcome,
            device,
            buffers,
            needs,
            too_far: far,
            larger,
        })
    }
}

/// Whether a kernel reads the address of the grid's barrier, which only a cooperative launch has (`%envreg1`, `%envreg2`, as
/// `grid.sync()` does).
pub(crate) fn cooperates(program: &Program) -> bool {
    let reads = |op: &Op| {
        matches!(
            op,
            Op::Special {
                which: Special::EnvReg(1 | 2),
                ..
            }
        )
    };
    program.code.iter().any(|i| reads(&i.op))
}

fn invalid(what: &str) -> Error {
    let help = if what.contains("shared") {
        "reduce it: `--shared BYTES`, fewer threads, or smaller arrays"
    } else if what.contains("cooperative") || what.contains("resident") {
        "a cooperative launch needs all blocks resident: use fewer blocks (`--grid`)"
    } else {
        "change `--grid`, `--block` or `--shared`"
    };
    Error::new(ErrorKind::Launch, format!("this launch is invalid: {what}")).help(help)
}
