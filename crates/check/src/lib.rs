//! One kernel, from its file to a verdict.
//!
//! ```text
//! Request ─ input ──► PTX modules (compiled where they have to be)
//!         ─ entry, geometry, parameters ─ plan ──► a launch: what was given, and guesses for the rest
//!         ─ explore ──► what each build did under each schedule
//!         ─ two_builds, verdict ──► Checked: a worded report, findings, memory
//! ```
//!
//! Data goes in as a [`Request`] and comes out as [`Checked`]; a [`Watch`] hears what is being done and may end it. Nothing here
//! reads a command line or prints: `racetrap check`, the public API and the mutants of a kernel are built on it.

pub mod argument;
pub mod entry;
pub mod error;
pub mod explore;
pub mod follow;
mod functions;
pub mod geometry;
pub mod host;
pub mod input;
pub mod inputs;
pub mod limits;
pub mod parameters;
pub mod plan;
mod request;
mod reshape;
mod roles;
mod settle;
mod two_builds;
mod unseen;
pub mod usage;
mod variables;
pub mod verdict;
mod work;

pub use error::{Error, ErrorKind};
pub use explore::Found;
pub use request::{
    Argument, Budgets, Cancel, Progress, Request, Schedules, Source, Unwatched, Watch,
    device_memory,
};

use detect::rules::{Level, Rule};
use explore::{Exploration, Explored, Memory};
use geometry::Geometry;
use input::{Build, Input, Wanted};
use plan::Plan;
use report::{Diagnostic, Sources, merge, settle_causes};
use reshape::Sooner;
use session::Independence;
use settle::Settled;
use simt::{Limits, LowerError, Program};
use std::sync::Arc;
use std::time::Instant;

/// What came of a check.
#[derive(Debug)]
pub struct Checked {
    /// The verdict and the findings, worded.
    pub check: report::Check,
    /// What every schedule and build found, before it was merged and worded.
    pub findings: Vec<Found>,
    /// How the kernel was launched.
    pub geometry: Geometry,
    /// With which arguments.
    pub plan: Plan,
    /// What came out of each build.
    pub explored: Vec<Explored>,
    /// What the first build's first schedule left in memory.
    pub memory: Memory,
    /// What a clean verdict promises; `None` where there are findings.
    pub independence: Option<Independence>,
}

/// A kernel that is ready to run: compiled, lowered, with a launch and arguments.
#[derive(Debug)]
pub struct Prepared {
    /// The builds.
    pub input: Arc<Input>,
    /// The kernel's mangled name.
    pub entry: String,
    /// Its code in each build.
    pub programs: Vec<Program>,
    /// The launch.
    pub geometry: Geometry,
    /// The arguments.
    pub plan: Plan,
    /// The schedules to try.
    pub schedules: session::explorer::Schedules,
    /// When the time is up.
    pub until: Option<Instant>,
}

impl Prepared {
    /// Compiles and lowers the kernel, and completes launch and arguments. Only the first `builds` builds are made ready.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the request.
    pub fn new(
        request: &Request,
        builds: usize,
        sources: &mut Sources,
        watch: &dyn Watch,
    ) -> Result<Prepared, Error> {
        let until = until(request);
        let wanted = Wanted::One(request.entry.as_deref());
        let mut input = input::read(request, wanted, sources, watch)?;
        input.builds.truncate(builds);
        Prepared::of(request, Arc::new(input), until)
    }

    /// The same of a file that has been read.
    fn of(request: &Request, input: Arc<Input>, until: Option<Instant>) -> Result<Prepared, Error> {
        input.builds.iter().try_for_each(limits::check)?;
        let entry = entry::choose(
            &input.builds[0].module,
            request.entry.as_deref(),
            &input.path,
        )?
        .to_string();
        let programs: Vec<Program> = input
            .builds
            .iter()
            .map(|b| program(b, &entry, until))
            .collect::<Result<_, _>>()?;
        let parameters =
            parameters::Parameters::of(&input.builds[0].module, &entry, input.source.as_ref());
        let host = input.source.as_ref().and_then(|source| {
            let name = entry::plain(&entry);
            let name = entry::unqualified(&name);
            let (block, many_blocks) = geometry::guesses(&input, &entry);
            let asked = follow::Asked {
                name: name.to_owned(),
                takes: parameters.takes(),
                indices: parameters.indices(),
                given: parameters.integers_in(&request.arguments),
                block,
                many_blocks,
            };
            host::Host::read(source, &asked)
        });
        let mut geometry = geometry::complete(request.launch, &input, &entry, host.as_ref())?;
        let as_launched = request.launch.grid.is_none() && request.launch.block.is_none();
        // What needs a cooperative launch is launched so, unless the program launches it otherwise.
        geometry.cooperative |=
            request.cooperative || host.is_none() && explore::cooperates(&programs[0]);
        affordable(&geometry, request.budgets.steps)?;
        let sizes = geometry::sizes(&geometry, &input.builds[0].module, &entry);
        let mut plan = Plan::new(parameters, &request.arguments, sizes, request.seed)?;
        functions::guess(&mut plan, &programs[0]);
        let said = host.as_ref().and_then(|h| h.launch.shared);
        let said = said.filter(|bytes| *bytes > 0 && request.launch.block.is_none());
        if request.launch.shared.or(said).is_none() && geometry.shared > 0 {
            let before = programs.iter().map(|p| p.shared_bytes).max().unwrap_or(0);
            let limits = programs.iter().map(|p| simt::shared_limit(p.target));
            let most = limits.min().unwrap_or(0).saturating_sub(before);
            plan.shared = Some(plan::GuessedShared {
                bytes: geometry.shared,
                most,
                before,
            });
        }
        if let Some(host) = host.as_ref().filter(|_| as_launched) {
            plan.follow(host);
            plan.launched = host.followed.clone().map(|followed| plan::Launched {
                followed,
                geometry: geometry.clone(),
                shared_given: request.launch.shared.is_some(),
            });
        }
        Ok(Prepared {
            schedules: schedules(request, &programs),
            input,
            entry,
            programs,
            geometry,
            plan,
            until,
        })
    }

    /// How its builds are explored.
    pub fn exploration<'a>(
        &'a self,
        request: &'a Request,
        watch: &'a dyn Watch,
    ) -> Exploration<'a> {
        Exploration {
            geometry: &self.geometry,
            variables: &request.variables,
            schedules: self.schedules.clone(),
            limits: Limits {
                steps: request.budgets.steps,
                engine: request.engine,
                ..Limits::default()
            },
            until: self.until,
            memory: request.budgets.memory,
            jobs: request.budgets.jobs,
            perf: request.perf,
            defines: &request.compiler.defines,
            trace: request.trace,
            remember: false,
            work: Arc::default(),
            watch,
        }
    }
}

/// Checks a kernel.
///
/// # Errors
///
/// What stops it before there is a verdict.
pub fn check(request: &Request, watch: &dyn Watch) -> Result<Checked, Error> {
    let mut sources = Sources::new();
    let started = Instant::now();
    let prepared = Prepared::new(request, usize::MAX, &mut sources, watch)?;
    run(request, &prepared, started, &mut sources, watch)
}

/// Which kernels of a file are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// These, by their names, plain or mangled.
    Named(Vec<String>),
    /// Those that a pattern selects.
    Matching(ptx::KernelFilter),
    /// All.
    All,
}

/// Checks several kernels of one file, which is compiled once; each with what came of it. The time limit is one for all. An
/// argument counts for the kernels that have such a parameter.
///
/// # Errors
///
/// What stops it before there is a kernel.
pub fn check_each(
    request: &Request,
    kernels: &Kernels,
    watch: &dyn Watch,
) -> Result<Vec<(String, Result<Checked, Error>)>, Error> {
    let until = until(request);
    let mut sources = Sources::new();
    let wanted = match kernels {
        Kernels::Named(names) => Wanted::Each(names),
        Kernels::Matching(filter) => Wanted::Matching(filter),
        Kernels::All => Wanted::All,
    };
    let input = Arc::new(input::read(request, wanted, &mut sources, watch)?);
    let module = &input.builds[0].module;
    let names: Vec<String> = match kernels {
        Kernels::Named(names) => names.clone(),
        Kernels::Matching(filter) => entry::matching(&simt::entries(module), filter, &input.path)?
            .into_iter()
            .map(str::to_owned)
            .collect(),
        Kernels::All => simt::entries(module)
            .into_iter()
            .map(str::to_owned)
            .collect(),
    };
    if names.is_empty() {
        // Says that there is none.
        entry::choose(module, None, &input.path)?;
    }
    let mut all = Vec::new();
    for name in names {
        let entry = entry::choose(module, Some(&name), &input.path)?.to_owned();
        let parameters = parameters::Parameters::of(module, &entry, input.source.as_ref());
        let mut one = Request {
            entry: Some(name),
            ..request.clone()
        };
        one.arguments
            .retain(|a| parameters.find(&a.parameter).is_ok());
        let started = Instant::now();
        let checked = Prepared::of(&one, Arc::clone(&input), until)
            .and_then(|prepared| run(&one, &prepared, started, &mut sources, watch));
        match checked {
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
            checked => all.push((ptx::demangle(&entry), checked)),
        }
    }
    Ok(all)
}

fn until(request: &Request) -> Option<Instant> {
    request.budgets.time.map(|time| Instant::now() + time)
}

/// Explores each build.
fn builds(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    plan: &mut Plan,
    sources: &mut Sources,
) -> Result<Vec<Explored>, Error> {
    let mut explored: Vec<Explored> = Vec::new();
    for (build, program) in prepared.input.builds.iter().zip(&prepared.programs) {
        let mut one = exploration.explore(build, program, plan, sources)?;
        if build.name == Some(toolchain::Optimisation::Unoptimised.name()) {
            // Nobody ships this build: its speed is of no interest.
            one.diagnostics.retain(|d| d.level != Level::Note);
        }
        explored.push(one);
    }
    Ok(explored)
}

/// Runs a kernel that is ready, and words what comes of it.
fn run(
    request: &Request,
    prepared: &Prepared,
    started: Instant,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Checked, Error> {
    let tried = match reshape::sooner(prepared, request, sources, watch)? {
        Sooner::Found(found) => {
            let (other, settled) = *found;
            return judge(request, &other, settled, started, sources, watch);
        }
        Sooner::Hopeless => true,
        Sooner::Untried => false,
    };
    let exploration = prepared.exploration(request, watch);
    let settled = settle::explore(prepared, request, &exploration, sources)?;
    match reshape::explore(prepared, request, &settled, tried, sources, watch)? {
        Some((other, settled)) => judge(request, &other, settled, started, sources, watch),
        None => judge(request, prepared, settled, started, sources, watch),
    }
}

/// Tries the other settings of what is guessed, and words what comes of all.
fn judge(
    request: &Request,
    prepared: &Prepared,
    mut settled: Settled,
    started: Instant,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Checked, Error> {
    let exploration = prepared.exploration(request, watch);
    let input = &prepared.input;
    two_builds::downgrade(&mut settled.explored, &input.builds);

    let enlarged = settle::enlarged(prepared, request, &exploration, &settled, sources)?;
    settled.warnings.extend(enlarged);
    let further = inputs::explore(prepared, request, watch, &settled, sources)?;
    let Settled {
        plan,
        mut explored,
        warnings,
        mut left_out,
        ..
    } = settled;
    left_out.extend(further.left_out);

    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut findings = Vec::new();
    for one in &mut explored {
        findings.append(&mut one.findings);
        merge(&mut diagnostics, std::mem::take(&mut one.diagnostics));
    }
    if request.trace {
        for (one, program) in explored.iter().zip(&prepared.programs) {
            exploration.trace(program, &plan, &one.examples, &mut diagnostics)?;
        }
    }
    let geometry = Geometry {
        shared: plan.dynamic_shared(&prepared.geometry),
        ..plan.geometry(&prepared.geometry).clone()
    };
    let setting = verdict::setting(request, input, &prepared.entry, &geometry, &plan, &explored);
    for diagnostic in &mut diagnostics {
        let schedule = diagnostic.replay.take().unwrap_or_default();
        diagnostic.replay = verdict::replay(request, &setting, &schedule);
    }
    diagnostics.extend(warnings);
    diagnostics.extend(further.diagnostics);
    settle_causes(&mut diagnostics);
    findings.extend(further.findings);
    // What explains different results is told already.
    let explains = |d: &Diagnostic| {
        d.level == Level::Error
            || matches!(
                d.rule,
                Rule::LockstepAssumption | Rule::UnorderedCommunication | Rule::SameValueWrite
            )
    };
    let faulty = diagnostics.iter().any(explains);
    let builds = input.builds.iter().zip(&prepared.programs);
    let different = explored
        .iter()
        .zip(builds)
        .find_map(|(e, (build, program))| {
            let difference = e.difference.as_ref().filter(|_| !faulty)?;
            Some((difference, e.memory.as_ref(), build, program))
        });
    if let Some((difference, memory, build, program)) = different {
        let found = (difference, memory);
        let mut diagnostic = exploration.differing(build, program, &plan, found, sources)?;
        let schedule = &difference.schedules[1];
        diagnostic.replay = verdict::replay(request, &setting, schedule);
        diagnostic.builds = build.name.map(str::to_string).into_iter().collect();
        diagnostics.push(diagnostic);
    }
    diagnostics.sort_by_key(|d| std::cmp::Reverse(d.level));
    let first = explored.iter().map(|e| e.independence);
    let told = verdict::Told {
        independence: verdict::weakest(first.chain(further.independence)),
        every_order: explored.iter().all(|e| e.every_order) && further.every_order,
        older_values: prepared.programs.iter().any(|p| p.facts.stale_values),
        inputs: further.inputs,
        time: started.elapsed(),
    };
    let mut check = verdict::judge(request, input, setting, diagnostics, &explored, &told);
    if check.verdict == report::Verdict::Clean {
        let coverage: Vec<_> = (explored.iter().zip(&further.coverage))
            .map(|(one, more)| {
                let mut all = one.coverage.clone();
                all.merge(more);
                all
            })
            .collect();
        check.unseen = unseen::unseen(prepared, &plan, &coverage, left_out, sources);
    } else {
        check.unseen.guesses = left_out;
    }
    let memory = explored
        .iter_mut()
        .find_map(|one| one.memory.take())
        .unwrap_or_default();
    Ok(Checked {
        check,
        findings,
        geometry,
        plan,
        explored,
        memory,
        independence: told.independence,
    })
}

/// Makes a build's kernel ready to run.
///
/// # Errors
///
/// It is not there, or its declarations are beyond what can be run.
pub fn program(build: &Build, entry: &str, until: Option<Instant>) -> Result<Program, Error> {
    let entry = entry::counterpart(&build.module, entry);
    Program::lower_until(&build.module, &build.ptx.text, entry, until).map_err(|error| {
        let wrong = Error::new(
            ErrorKind::Input,
            format!("`{}` can't be run: {error}", build.ptx.path),
        );
        match error {
            LowerError::NoSuchEntry { .. } => {
                wrong.help("the two builds have different kernels: select one with `--entry`")
            }
            LowerError::AddressSize => wrong,
            LowerError::OutOfTime => {
                Error::new(ErrorKind::Time, wrong.failure.message).help("raise `--timeout`")
            }
            LowerError::TooLarge => Error::new(ErrorKind::Memory, wrong.failure.message),
            LowerError::Declaration { line, .. } => {
                let span = build.ptx.range(line, &(0..u32::MAX));
                wrong.at(build.ptx.clone(), span, "here")
            }
        }
    })
}

/// Refuses launches that can't end within the step budget: every warp takes some steps.
fn affordable(geometry: &Geometry, steps: u64) -> Result<(), Error> {
    const LEAST: u64 = 4;
    let warps = geometry
        .grid
        .count()
        .saturating_mul(geometry.block.count().div_ceil(32));
    if warps.saturating_mul(LEAST) <= steps {
        return Ok(());
    }
    let shown = report::terminal::thousands;
    Err(Error::new(
        ErrorKind::Launch,
        format!(
            "this launch has {} threads in {} warps: it cannot end within {} warp-instructions",
            shown(geometry.grid.count().saturating_mul(geometry.block.count())),
            shown(warps),
            shown(steps)
        ),
    )
    .help("use a smaller `--grid`, because a race shows with two blocks as with two million; or raise `--max-steps`"))
}

fn schedules(request: &Request, programs: &[Program]) -> session::explorer::Schedules {
    use session::explorer::Schedules as Tried;
    match &request.schedules {
        Schedules::Only(one) => Tried::Only(vec![one.clone()]),
        Schedules::UpTo(count) => Tried::UpTo {
            most: *count as usize,
            seed: request.seed,
            weak: programs.iter().any(|p| p.facts.stale_values),
        },
    }
}
