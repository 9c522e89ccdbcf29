//! The mutants of somebody's own kernel, each run as `racetrap check` runs the kernel, on several launches and inputs ([`super::trial`]).
//!
//! There is no oracle. The kernel's own results are one: a mutant that leaves what the kernel itself left under none of the schedules does
//! something else ([`Results`]). A guessed buffer that has to grow for a mutant says the same.
//!
//! Mutants that show nothing by themselves are removed together at last ([`super::combinations`]): of two adjacent barriers each is
//! dispensable, and not both.

use super::case::{place, ptx_lines};
use super::exercise::{Exercise, Exercised, Watcher};
use super::judged::{Judged, Outcome, Subject};
use super::trial::{self, Trial};
use super::{Kind, Mutant, Unit, combinations, mutants as all_mutants, mutated};
use catalog::probe::Sign;
use check::explore::{Exploration, Explored};
use check::input::Build;
use check::{Error, ErrorKind, Prepared, Request, Watch};
use detect::rules::Level;
use ptx::ast::Module;
use ptx::demangle;
use report::exit;
use report::{Diagnostic, Sources, Verdict};
use session::Independence;
use session::explorer::Schedules;
use simt::{Live, LowerError, Program, ScheduleSpec, Stop};
use std::collections::BTreeSet;
use std::time::Instant;

/// A mutant that takes so many times the steps of the kernel, and so many more, does not end.
const ENDLESS: (u64, u64) = (8, 200_000);
/// Schedules on each launch but the first.
const SCHEDULES: usize = 4;
/// Other orders of the kernel's own first run that mutants are run in.
const REVERSALS: usize = 8;
/// Warp-instructions of the kernel on a launch beside the first, at most: a longer one is not run for each mutant.
const LONGEST: u64 = 2_000_000;
/// A kernel with so many different results is taken to have more than were seen.
const FEW_RESULTS: usize = 4;

/// A kernel with its mutants, and how it was run.
pub struct KernelMutants {
    /// What came of them.
    pub subject: Subject,
    /// The first launch and its arguments, in the notation of the command line.
    pub launch: Vec<String>,
    /// What there is to say of the launches: others that were tried, a guess that had to be given up.
    pub notes: Vec<String>,
}

/// Judges the mutants of the kernel in a file.
///
/// # Errors
///
/// What stops it before anything runs.
pub fn mutants(
    request: &Request,
    unit: Unit,
    only: &[Kind],
    watch: &dyn Watch,
    mut progress: impl FnMut(&str),
) -> Result<KernelMutants, Error> {
    let mut sources = Sources::new();
    // The optimised build is the one that people run.
    let prepared = Prepared::new(request, 1, &mut sources, watch)?;
    let shown = demangle(&prepared.entry);
    let shown = shown.split('(').next().unwrap_or_default();
    let mut subject = Subject {
        name: format!("{}: {shown}", prepared.input.path),
        refused: None,
        mutants: Vec::new(),
        together: Vec::new(),
        unused: Vec::new(),
        strict: false,
    };
    let mut kernel = Kernel {
        build: &prepared.input.builds[0],
        prepared: &prepared,
        request,
        watch,
        grounds: Vec::new(),
    };
    let mut first = Trial {
        geometry: prepared.geometry.clone(),
        plan: prepared.plan.clone(),
        how: String::new(),
    };
    let mut notes = Vec::new();
    let known = prepared.schedules.known();
    let mut own = kernel.own(&mut first, prepared.schedules.clone(), &mut sources)?;
    subject.refused = refusal(&own);
    if subject.refused.is_some() {
        let rule = worst(&own.diagnostics).map(|d| d.rule);
        for mut other in trial::instead(&prepared, request, &first, rule) {
            let instead = kernel.own(&mut other, prepared.schedules.clone(), &mut sources)?;
            if refusal(&instead).is_none() {
                subject.refused = None;
                notes.push(format!(
                    "with the guessed launch (--grid {} --block {}) the kernel itself is not clean, so it is launched with {}; give `--grid` and `--block` as your program does",
                    first.geometry.grid, first.geometry.block, other.how
                ));
                other.how = String::new();
                (first, own) = (other, instead);
                break;
            }
        }
    }
    let launch = check::verdict::launch(&first.geometry, &first.plan);
    if subject.refused.is_some() {
        return Ok(KernelMutants {
            subject,
            launch,
            notes,
        });
    }
    let others = trial::others(&prepared, request, &first);
    let first_schedules = with_reversals(&known, &own);
    kernel.ground(first, own, &first_schedules)?;
    let of = others.len();
    // Older values show by chance alone: where they matter, no schedule is left out.
    let stale = prepared.programs[0].facts.stale_values;
    let most = if stale { usize::MAX } else { SCHEDULES };
    let schedules = &known[..known.len().min(most)];
    for (number, mut trial) in others.into_iter().enumerate() {
        if kernel.out_of_time() {
            break;
        }
        progress(&format!("launch {} of {of}: {}", number + 1, trial.how));
        match kernel.own(
            &mut trial,
            Schedules::Only(schedules.to_vec()),
            &mut sources,
        ) {
            Ok(own) if refusal(&own).is_none() && own.steps <= LONGEST => {
                kernel.ground(trial, own, schedules)?;
            }
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    let used = kernel.grounds.len() - 1;
    if used > 0 {
        notes.push(match of - used {
            0 => format!("{used} other launches and inputs are tried, too"),
            left => format!(
                "{used} other launches and inputs are tried, too; {left} are not, since the kernel itself is not clean there or takes long"
            ),
        });
    }
    let functions = prepared.programs[0].functions.iter();
    let functions: BTreeSet<&str> = functions.map(|f| f.name.as_str()).collect();
    let all = all_mutants(&kernel.build.module, &functions, unit, only);
    for (number, mutant) in all.iter().enumerate() {
        let place = place(mutant, &mut sources, &kernel.build.ptx);
        let at = (number + 1, all.len());
        progress(&format!(
            "{} of {}: line {}: {}",
            at.0, at.1, place.line, mutant.change
        ));
        subject.mutants.push(Judged {
            change: mutant.change.clone(),
            place,
            ptx_lines: ptx_lines(mutant, &kernel.build.ptx),
            outcome: kernel.outcome(mutant, &mut sources)?,
            explained: None,
        });
    }
    progress("removing together what nothing fails without");
    subject.together = combinations::groups(
        &all,
        &subject.mutants,
        |module| {
            if kernel.out_of_time() {
                return Ok(None);
            }
            kernel.sign(&module(), |_| true, &mut sources)
        },
        &kernel.build.module,
    )?;
    Ok(KernelMutants {
        subject,
        launch,
        notes,
    })
}

/// Why nothing follows from this kernel's mutants.
fn refusal(own: &Explored) -> Option<(u8, String)> {
    if let Some(worst) = worst(&own.diagnostics) {
        let why = format!(
            "the kernel itself is not clean, and mutants tell what a clean one needs ({}: {})",
            worst.rule, worst.title
        );
        return Some((exit::FINDINGS, why));
    }
    let stop = own.stopped.as_ref()?;
    let at = own.stopped_at.as_ref().map(|line| format!(" at {line}"));
    let why = format!("{stop}{}", at.unwrap_or_default());
    Some(match stop {
        Stop::WallClock(_) => (
            exit::INCONCLUSIVE,
            "the kernel itself did not end in time: give it more (`--timeout`), or a smaller launch".into(),
        ),
        _ => (exit::INCONCLUSIVE, why),
    })
}

fn worst(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    let more_than_notes = diagnostics.iter().filter(|d| d.level > Level::Note);
    more_than_notes.min_by_key(|d| (std::cmp::Reverse(d.level), d.rule))
}

/// What a kernel leaves in memory and prints, over the schedules that were tried.
#[derive(Clone, Debug, Default)]
struct Results {
    left: BTreeSet<u64>,
    output: String,
    /// Whether a result that is not among these is a wrong one: every schedule gives the same, or all that were tried gave one of few,
    /// the last half of them nothing new.
    known: bool,
    tried: usize,
}

impl Results {
    fn of(own: &Explored) -> Results {
        let left: BTreeSet<u64> = own.left.iter().copied().collect();
        let half = own.left.len().div_ceil(2);
        let early: BTreeSet<u64> = own.left[..half].iter().copied().collect();
        let settled = own.left.len() > 1 && early == left && left.len() <= FEW_RESULTS;
        Results {
            known: own.independence == Some(Independence::Independent) || settled,
            tried: own.left.len(),
            output: own.output.clone(),
            left,
        }
    }

    /// What is wrong with what a mutant left.
    fn wrong(&self, ran: &Explored, same_output: bool) -> Option<String> {
        if !self.known || ran.stopped.is_some() {
            return None;
        }
        let under = match self.tried {
            0 | 1 => String::new(),
            n => format!(", other than the kernel's own under {n} schedules"),
        };
        if ran.left.iter().any(|left| !self.left.contains(left)) {
            return Some(format!("it leaves other results in memory{under}"));
        }
        (same_output && ran.output != self.output).then(|| "it prints something else".into())
    }
}

/// A launch on which the kernel itself is clean.
struct Ground {
    trial: Trial,
    schedules: Vec<ScheduleSpec>,
    results: Results,
    independence: Option<Independence>,
    steps: u64,
    exercise: Exercise,
}

/// What trying mutants needs.
struct Kernel<'a> {
    build: &'a Build,
    prepared: &'a Prepared,
    request: &'a Request,
    watch: &'a dyn Watch,
    grounds: Vec<Ground>,
}

impl<'a> Kernel<'a> {
    fn out_of_time(&self) -> bool {
        self.watch.live().is_some_and(Live::is_ended)
            || self.prepared.until.is_some_and(|end| Instant::now() >= end)
    }

    fn lowered(&self, module: &Module) -> Result<Program, LowerError> {
        let until = self.prepared.until;
        Program::lower_until(module, &self.build.ptx.text, &self.prepared.entry, until)
    }

    fn exploration<'b>(
        &'b self,
        trial: &'b Trial,
        schedules: &'b [ScheduleSpec],
    ) -> Exploration<'b> {
        Exploration {
            geometry: &trial.geometry,
            schedules: Schedules::Only(schedules.to_vec()),
            trace: false,
            remember: true,
            perf: false,
            ..self.prepared.exploration(self.request, self.watch)
        }
    }

    /// Runs the kernel itself; guessed buffers may grow.
    fn own(
        &self,
        trial: &mut Trial,
        schedules: Schedules,
        sources: &mut Sources,
    ) -> Result<Explored, Error> {
        let mut plan = trial.plan.clone();
        let program = &self.prepared.programs[0];
        let exploration = Exploration {
            schedules,
            ..self.exploration(trial, &[])
        };
        let own = exploration.explore(self.build, program, &mut plan, sources)?;
        trial.plan = plan;
        Ok(own)
    }

    fn ground(
        &mut self,
        trial: Trial,
        own: Explored,
        schedules: &[ScheduleSpec],
    ) -> Result<(), Error> {
        let program = &self.prepared.programs[0];
        let mut seen = Watcher::default();
        let exploration = self.exploration(&trial, schedules);
        exploration.watched(program, &trial.plan, &mut seen)?;
        self.grounds.push(Ground {
            results: Results::of(&own),
            independence: own.independence,
            steps: own.steps,
            schedules: schedules.to_vec(),
            exercise: Exercise::of(seen),
            trial,
        });
        Ok(())
    }

    /// What is said of a mutant that was not run, or not to the end.
    fn no_time(&self) -> Outcome {
        let why = match self.watch.live().is_some_and(Live::is_ended) {
            true => "the run was interrupted".into(),
            false => "the time was up (`--timeout`)".into(),
        };
        Outcome::Unknown(Verdict::Inconclusive, why)
    }

    /// Runs a mutant on one launch after the other, under one schedule after the other, until something is wrong.
    fn outcome(&self, mutant: &Mutant, sources: &mut Sources) -> Result<Outcome, Error> {
        if self.out_of_time() {
            return Ok(self.no_time());
        }
        let module = mutated(&self.build.module, mutant);
        let lines = ptx_lines(mutant, &self.build.ptx);
        let program = &self.prepared.programs[0];
        let around: Vec<Exercised> = self
            .grounds
            .iter()
            .map(|ground| ground.exercise.around(program, &lines, &mutant.change))
            .collect();
        let most = around
            .iter()
            .copied()
            .max()
            .unwrap_or(Exercised::NotReached);
        let reached = |index: usize| around[index] > Exercised::NotReached;
        let mut tried = Tried::default();
        // Where it has something to order, it shows soonest.
        let mut order: Vec<usize> = (0..self.grounds.len()).filter(|i| reached(*i)).collect();
        order.sort_by_key(|index| std::cmp::Reverse(around[*index]));
        let program = match self.lowered(&module) {
            Ok(program) => program,
            Err(LowerError::OutOfTime) => return Ok(self.no_time()),
            Err(error) => return Ok(Outcome::Unknown(Verdict::Unsupported, error.to_string())),
        };
        for index in order {
            if self.out_of_time() {
                break;
            }
            match self.on(&self.grounds[index], &program, &mut tried, sources)? {
                On::Sign(sign) => return Ok(Outcome::Needed(sign)),
                On::Stopped(verdict, why) => return Ok(Outcome::Unknown(verdict, why)),
                On::Nothing => {}
            }
        }
        if tried.runs == 0 && most > Exercised::NotReached {
            return Ok(self.no_time());
        }
        Ok(match most {
            Exercised::NotReached => Outcome::NotExercised {
                why: "no thread reached it".into(),
                launches: self.grounds.len(),
            },
            Exercised::NothingToOrder => Outcome::NotExercised {
                why: mutant.change.nothing_to_order().into(),
                launches: self.grounds.len(),
            },
            Exercised::Untold if tried.independent < tried.launches => Outcome::NotExercised {
                why: "it orders atomic or volatile accesses to two locations; older values of loads were tried, and not every order that hardware may perform them in".into(),
                launches: self.grounds.len(),
            },
            Exercised::Yes | Exercised::Untold => Outcome::NoFailure {
                runs: tried.runs,
                launches: tried.launches,
                every_schedule: tried.independent == tried.launches,
            },
        })
    }

    /// What is wrong with a changed module, on any of the launches that are wanted.
    fn sign(
        &self,
        module: &Module,
        wanted: impl Fn(&Ground) -> bool,
        sources: &mut Sources,
    ) -> Result<Option<Box<Sign>>, Error> {
        let Ok(program) = self.lowered(module) else {
            return Ok(None);
        };
        for ground in self.grounds.iter().filter(|g| wanted(g)) {
            if let On::Sign(sign) = self.on(ground, &program, &mut Tried::default(), sources)? {
                return Ok(Some(sign));
            }
        }
        Ok(None)
    }

    fn on(
        &self,
        ground: &Ground,
        program: &Program,
        tried: &mut Tried,
        sources: &mut Sources,
    ) -> Result<On, Error> {
        let (times, more) = ENDLESS;
        let steps = ground.steps.saturating_mul(times).saturating_add(more);
        tried.launches += 1;
        for schedule in &ground.schedules {
            let mut plan = ground.trial.plan.clone();
            let mut under = self.exploration(&ground.trial, std::slice::from_ref(schedule));
            under.limits.steps = steps.min(self.request.budgets.steps);
            let ran = under.explore(self.build, program, &mut plan, sources)?;
            tried.runs += 1;
            if let Some(mut sign) = sign(ground, &ran, &plan, schedule) {
                if !ground.trial.how.is_empty() {
                    sign.what = format!("{} (with {})", sign.what, ground.trial.how);
                }
                return Ok(On::Sign(Box::new(sign)));
            }
            if let Some(stop) = &ran.stopped {
                let verdict = match stop {
                    Stop::Unsupported { .. } => Verdict::Unsupported,
                    _ => Verdict::Inconclusive,
                };
                return Ok(On::Stopped(verdict, stop.to_string()));
            }
            match ran.independence {
                Some(Independence::Independent) => {
                    let own = ground.independence == Some(Independence::Independent);
                    tried.independent += usize::from(own);
                    break;
                }
                Some(Independence::VerdictOnly) if !ground.results.known => break,
                _ => {}
            }
        }
        Ok(On::Nothing)
    }
}

/// The schedules that mutants run under: those that need no run to be known, and some other orders of what the kernel itself does.
fn with_reversals(known: &[ScheduleSpec], own: &Explored) -> Vec<ScheduleSpec> {
    let ran = own.schedules.iter().filter_map(|name| name.parse().ok());
    let reversals = ran.filter(|schedule| matches!(schedule, ScheduleSpec::Reverse(_)));
    known
        .iter()
        .cloned()
        .chain(reversals.take(REVERSALS))
        .collect()
}

/// What was tried of a mutant.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    runs: u32,
    launches: usize,
    /// Launches on which every schedule gives the kernel's own result.
    independent: usize,
}

/// What came of a mutant on a launch.
enum On {
    Sign(Box<Sign>),
    Stopped(Verdict, String),
    Nothing,
}

/// What is wrong with a run of a mutant.
fn sign(
    ground: &Ground,
    ran: &Explored,
    plan: &check::plan::Plan,
    schedule: &ScheduleSpec,
) -> Option<Sign> {
    let plain = |what: String| Sign {
        rule: None,
        what,
        diagnostic: None,
        example: None,
    };
    if let Some(worst) = worst(&ran.diagnostics) {
        return Some(Sign {
            rule: Some(worst.rule),
            what: format!("{}: {}", worst.rule, worst.title),
            diagnostic: Some(Diagnostic {
                replay: None,
                builds: Vec::new(),
                ..worst.clone()
            }),
            example: None,
        });
    }
    if let Some(index) = ran.grown.first() {
        let name = plan.parameters.label(*index);
        return Some(plain(format!("it reaches beyond the end of `{name}`")));
    }
    // What the kernel prints was kept of its first schedule alone.
    let same_output = ground.schedules.first() == Some(schedule)
        || ground.independence == Some(Independence::Independent);
    ground.results.wrong(ran, same_output).map(plain)
}
