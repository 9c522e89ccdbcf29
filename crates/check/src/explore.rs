//! Runs one build under several schedules and words what comes out.

mod difference;
mod escalate;
mod grow;
mod memory;
mod once;
mod outside;
mod reached;
mod short;
mod take;
mod turns;
mod watched;
mod writers;

pub use difference::Difference;
pub use memory::{Buffer, Memory};
pub use outside::{Deed, Outside, Reach};
pub use turns::Turns;

use super::error::{Error, ErrorKind};
use super::geometry::Geometry;
use super::input::Build;
use super::plan::Plan;
use super::request::{Progress, Watch};
use super::then::Second;
use super::work::Work;
use detect::coverage::Coverage;
use detect::finding::{Action, End, Finding};
use detect::rules::{Level, Rule};
use grow::enlarge;
use once::RunOptions;
use ptx::source::SourceLine;
use report::{Diagnostic, Sources};
use session::Independence;
use session::explorer::{Explorer, Schedules, explore};
use simt::{Launch, Limits, Live, Program, ScheduleSpec, Stop};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use take::Progressed;

/// Findings of one rule that are worded for each schedule: hostile programs have millions of unordered pairs.
const WORDED: usize = 500;

/// How a build is explored.
#[derive(Clone)]
pub struct Exploration<'a> {
    /// The launch's shape.
    pub geometry: &'a Geometry,
    /// Variables of the module that are set before the launch.
    pub variables: &'a [super::argument::Argument],
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
    /// The first kernel's builds, and the kernel that is launched behind it.
    pub second: Option<(&'a [Program], &'a Second)>,
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
    /// `programs` are those of the launches, in order.
    fn of(finding: &Finding, programs: &[&Program]) -> Found {
        let end = |end: &End| {
            let program = programs.get(end.launch as usize);
            let lines = program.map(|p| p.site(end.site).lines.clone());
            (end.action, lines.unwrap_or_default())
        };
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
    /// The findings as they were seen: nobody changes them ([`Explored::diagnostics`]).
    diagnostics: Vec<Diagnostic>,
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
    /// The keys of the findings that are in global memory.
    pub in_global: HashSet<Key>,
    /// The keys of the races that are in shared memory.
    pub races_in_shared: HashSet<Key>,
    /// The keys of the findings in which somebody does something else than to store.
    pub read: HashSet<Key>,
    /// Buffers that had to grow.
    pub grown: Vec<usize>,
    /// What each schedule left in global memory, as a hash; where it was to be remembered.
    pub left: Vec<u64>,
    /// Whether a guessed buffer would have to be larger than any guess.
    pub too_far: bool,
    /// Whether there were more findings of one rule than are worded, or no time to word them all.
    pub cut: bool,
    /// Warp-instructions of the longest schedule that came to its end.
    pub steps: u64,
    /// Warp-instructions of all schedules.
    pub executed: u64,
    /// Accesses to memory that were judged, of all schedules: one for each thread and instruction.
    pub accesses: u64,
    /// Where the branches went.
    pub coverage: Coverage,
    /// What the first schedule left in memory.
    pub memory: Option<Memory>,
    /// How the results of another schedule differ from those of the first.
    pub difference: Option<Difference>,
}

impl Explored {
    /// The findings as they were seen; `replay` holds the schedule.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether a schedule did not end within the budget of warp-instructions.
    pub fn took_the_budget(&self) -> bool {
        let mut all = self.diagnostics.iter();
        matches!(self.stopped, Some(Stop::Budget { .. })) || all.any(|d| d.rule == Rule::NoProgress)
    }
}

impl<'a> Exploration<'a> {
    /// The same with at most so many warp-instructions for a schedule.
    pub fn within(&self, steps: u64) -> Exploration<'a> {
        Exploration {
            limits: Limits {
                steps: steps.min(self.limits.steps),
                ..self.limits.clone()
            },
            ..self.clone()
        }
    }
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
            cooperates: report::kernel_view::meets_grid(program),
            ..Explored::default()
        };
        let mut state = Progressed::default();
        let mut failed = None;
        let shape = self.shape(plan);
        // What runs begin with: as large as those before them needed it.
        let current = Mutex::new(plan.clone());
        let current = || current.lock().unwrap_or_else(|e| e.into_inner());
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
                    let options = RunOptions {
                        time: left,
                        jobs,
                        communication: records.of(schedule),
                    };
                    let plan = current().clone();
                    let run = self.once(program, &plan, schedule, options)?;
                    Ok(Some((plan, run)))
                }
            },
            |explorer, index, schedule, run| {
                let taken = run.and_then(|run| {
                    let Some((with, run)) = run else {
                        return Ok(ControlFlow::Break(()));
                    };
                    // Guessed buffers may have grown since: then this run counts for nothing.
                    let run = match run.needs.is_empty() && *plan == with {
                        true => run,
                        false => {
                            enlarge(plan, &run.needs, &mut out.grown);
                            let recorded = records.of(schedule);
                            let run =
                                self.run(program, plan, schedule, recorded, &mut out.grown)?;
                            current().clone_from(plan);
                            run
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
        let difference = out.difference.clone();
        escalate::escalate(&mut out.diagnostics, &state.results, difference.as_ref());
        if build.name == Some(toolchain::Optimisation::Unoptimised.name()) {
            // Nobody ships this build: its speed is of no interest.
            out.diagnostics.retain(|d| d.level != Level::Note);
        }
        Ok(out)
    }

    /// Time that is left.
    fn left(&self) -> Option<Duration> {
        if self.watch.live().is_some_and(Live::is_ended) {
            return Some(Duration::ZERO);
        }
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

    /// Grid and block of a plan's launch.
    fn shape(&self, plan: &Plan) -> (simt::Dim3, simt::Dim3) {
        let geometry = plan.geometry(self.geometry);
        (geometry.grid, geometry.block)
    }

    /// The kernel that is launched behind this build of the first one, as the same build made it.
    fn second(&self, program: &Program) -> Option<(&Second, &Program)> {
        let (firsts, second) = self.second?;
        let build = firsts
            .iter()
            .position(|first| std::ptr::eq(first, program))?;
        Some((second, second.programs.get(build)?))
    }

    fn launch(&self, plan: &Plan, params: Vec<u8>) -> Launch {
        let geometry = plan.geometry(self.geometry);
        Launch {
            grid: geometry.grid,
            block: geometry.block,
            dynamic_shared: plan.dynamic_shared(self.geometry),
            params,
            cooperative: geometry.cooperative,
            cluster: geometry.cluster,
            number: 0,
        }
    }
}

fn invalid(what: &str) -> Error {
    let help = if what.contains("shared") {
        "reduce it: `--shared BYTES`, fewer threads, or smaller arrays"
    } else if what.contains("cooperative") || what.contains("resident") {
        "a cooperative launch needs all blocks resident: use fewer blocks (`--grid`)"
    } else {
        "change `--grid`, `--block`, `--shared` or `--cluster`"
    };
    Error::new(ErrorKind::Launch, format!("this launch is invalid: {what}")).help(help)
}
