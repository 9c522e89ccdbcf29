//! Makes a kernel ready to run: compiled, lowered, with a launch and arguments.

use super::error::{Error, ErrorKind};
use super::explore::Exploration;
use super::geometry::{self, Geometry};
use super::hypothesis::Hypothesis;
use super::input::{self, Build, Input, Wanted};
use super::plan::{self, Plan};
use super::request::{Given, Request, Schedules, Watch};
use super::then::Second;
use super::{entry, functions, host, host_facts, limits, parameters, shape, then};
use report::Sources;
use simt::{Limits, LowerError, Program};
use std::sync::Arc;
use std::time::Instant;

/// A kernel that is ready to run: compiled, lowered, with a launch and arguments.
#[derive(Debug)]
pub struct Prepared {
    /// The builds.
    pub input: Arc<Input>,
    /// The kernel's mangled name.
    pub entry: String,
    /// Its code in each build.
    pub programs: Vec<Program>,
    /// The kernel that is launched behind it.
    pub second: Option<Second>,
    /// What it is launched with first.
    pub first: Hypothesis,
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
        let both: Option<Vec<String>> = (request.then.as_ref().zip(request.entry.as_ref()))
            .map(|(then, entry)| vec![entry.clone(), then.entry.clone()]);
        let wanted = match &both {
            Some(both) => Wanted::Each(both),
            None => Wanted::One(request.entry.as_deref()),
        };
        let mut input = input::read(request, wanted, sources, watch)?;
        input.builds.truncate(builds);
        Prepared::of(request, Arc::new(input), until)
    }

    /// The same of a file that has been read.
    pub(super) fn of(
        request: &Request,
        input: Arc<Input>,
        until: Option<Instant>,
    ) -> Result<Prepared, Error> {
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
        let second = second(request, &input, until)?;
        let kernels = (&entry[..], &programs[..], second.as_ref());
        let all = || {
            programs
                .iter()
                .chain(second.iter().flat_map(|s| &s.programs))
        };
        Ok(Prepared {
            schedules: schedules(request, all()),
            first: hypothesis(request, request.launch, &input, kernels)?,
            second,
            input,
            entry,
            programs,
            until,
        })
    }

    /// What it is launched with first where the launch is that one.
    ///
    /// # Errors
    ///
    /// A launch that no GPU can make, or arguments that do not fit.
    pub(super) fn hypothesis(&self, request: &Request, launch: Given) -> Result<Hypothesis, Error> {
        let kernels = (&self.entry[..], &self.programs[..], self.second.as_ref());
        hypothesis(request, launch, &self.input, kernels)
    }

    /// How its builds are explored.
    pub fn exploration<'a>(
        &'a self,
        geometry: &'a Geometry,
        request: &'a Request,
        watch: &'a dyn Watch,
    ) -> Exploration<'a> {
        Exploration {
            geometry,
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
            second: self
                .second
                .as_ref()
                .map(|second| (&self.programs[..], second)),
        }
    }
}

/// The second kernel of a request, ready to run, if it has one.
fn second(
    request: &Request,
    input: &Input,
    until: Option<Instant>,
) -> Result<Option<Second>, Error> {
    let Some(then) = request.then.clone() else {
        return Ok(None);
    };
    let module = &input.builds[0].module;
    let entry = entry::choose(module, Some(&then.entry), &input.path)?.to_owned();
    let builds = input.builds.iter();
    let programs: Result<_, Error> = builds.map(|b| program(b, &entry, until)).collect();
    if let (Some(grid), Some(block)) = (then.grid, then.block) {
        shape::check(grid, block)?;
    }
    Ok(Some(Second {
        then,
        entry,
        programs: programs?,
    }))
}

/// What a kernel is launched with first: what was given, what the host program says, and guesses for the rest.
fn hypothesis(
    request: &Request,
    launch: Given,
    input: &Input,
    (entry, programs, second): (&str, &[Program], Option<&Second>),
) -> Result<Hypothesis, Error> {
    let module = &input.builds[0].module;
    let parameters = parameters::Parameters::of(module, entry, input.source.as_ref());
    let parameters = parameters.named(&request.names);
    let host = input.source.as_ref().and_then(|source| {
        let name = entry::plain(entry);
        let name = entry::unqualified(&name);
        let (block, many_blocks) = geometry::guesses(input, entry);
        let asked = host_facts::Asked {
            name: name.to_owned(),
            takes: parameters.takes(),
            indices: parameters.indices(),
            given: parameters.integers_in(&request.arguments),
            block,
            many_blocks,
        };
        host::Host::read(source, &asked)
    });
    let mut geometry = geometry::complete(launch, input, entry, host.as_ref())?;
    let as_launched = launch.grid.is_none() && launch.block.is_none();
    // What needs a cooperative launch is launched so, unless the program launches it otherwise.
    geometry.cooperative |=
        request.cooperative || host.is_none() && report::kernel_view::meets_grid(&programs[0]);
    affordable(&geometry, request.budgets.steps)?;
    let sizes = geometry::sizes(&geometry, module, entry);
    let mut plan = match second {
        None => Plan::new(parameters, &request.arguments, sizes, request.seed)?,
        Some(second) => {
            let own = parameters::Parameters::of(module, &second.entry, input.source.as_ref());
            let (both, start, same) = then::joined(parameters, own, &second.then.entry);
            let mut plan = Plan::new(both, &request.arguments, sizes, request.seed)?;
            plan.second = Some(start);
            then::mirror(&mut plan, same);
            plan
        }
    };
    functions::guess(&mut plan, &programs[0]);
    let said = host.as_ref().and_then(|h| h.launch.shared);
    let said = said.filter(|bytes| *bytes > 0 && launch.block.is_none());
    if launch.shared.or(said).is_none() && geometry.shared > 0 {
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
            shared_given: launch.shared.is_some(),
        });
    }
    Ok(Hypothesis { geometry, plan })
}

/// When the time of a request is up.
pub(super) fn until(request: &Request) -> Option<Instant> {
    request.budgets.time.map(|time| Instant::now() + time)
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

fn schedules<'p>(
    request: &Request,
    mut programs: impl Iterator<Item = &'p Program>,
) -> session::explorer::Schedules {
    use session::explorer::Schedules as Tried;
    match &request.schedules {
        Schedules::Only(one) => Tried::Only(vec![one.clone()]),
        Schedules::UpTo(count) => Tried::UpTo {
            most: *count as usize,
            seed: request.seed,
            weak: programs.any(|p| p.facts.stale_values),
        },
    }
}
