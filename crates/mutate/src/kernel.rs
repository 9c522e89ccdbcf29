//! The mutants of somebody's own kernel, each run as `racetrap check` runs the kernel.
//!
//! There is no oracle. Where the kernel's results don't depend on the order of threads, its own results are one: a
//! mutant that leaves something else in memory does something else. A guessed buffer that has to grow for a mutant says the
//! same.

use super::case::{place, ptx_lines};
use super::judged::{Judged, Outcome, Subject};
use super::{Kind, Mutant, Unit, mutants as all_mutants, mutated};
use catalog::probe::Sign;
use check::explore::{Exploration, Explored};
use check::input::Build;
use check::plan::Plan;
use check::{Error, Prepared, Request, Watch};
use detect::rules::Level;
use ptx::demangle;
use report::exit;
use report::{Diagnostic, Sources, Verdict};
use session::Independence;
use simt::{Program, Stop};
use std::time::Instant;

/// A mutant that takes so many times the steps of the kernel, and so many more, does not end.
const ENDLESS: (u64, u64) = (8, 200_000);

/// A kernel with its mutants, and how it was run.
pub struct KernelMutants {
    /// What came of them.
    pub subject: Subject,
    /// The launch and the arguments, in the notation of the command line.
    pub launch: Vec<String>,
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
    let build = &prepared.input.builds[0];
    let (name, program) = (&prepared.entry, &prepared.programs[0]);
    let mut plan = prepared.plan.clone();
    let mut exploration = Exploration {
        remember: true,
        perf: false,
        ..prepared.exploration(request, watch)
    };
    let own = exploration.explore(build, program, &mut plan, &mut sources)?;
    let shown = demangle(name);
    let shown = shown.split('(').next().unwrap_or_default();
    let mut subject = Subject {
        name: format!("{}: {shown}", prepared.input.path),
        refused: refusal(&own),
        mutants: Vec::new(),
        unused: Vec::new(),
        strict: false,
    };
    if subject.refused.is_none() {
        let (times, more) = ENDLESS;
        let steps = own.steps.saturating_mul(times).saturating_add(more);
        exploration.limits.steps = steps.min(request.budgets.steps);
        let functions = program.functions.iter().map(|f| f.name.as_str()).collect();
        let all = all_mutants(&build.module, &functions, unit, only);
        for (number, mutant) in all.iter().enumerate() {
            let place = place(mutant, &mut sources, &build.ptx);
            progress(&format!(
                "{} of {}: line {}: {}",
                number + 1,
                all.len(),
                place.line,
                mutant.change
            ));
            let one = One {
                exploration: &exploration,
                build,
                own: &own,
                plan: &plan,
            };
            let in_time = prepared.until.is_none_or(|end| Instant::now() < end);
            let outcome = match in_time {
                true => one.outcome(mutant, name, &mut sources)?,
                false => Outcome::Unknown(
                    Verdict::Inconclusive,
                    "the time was up (`--timeout`)".into(),
                ),
            };
            subject.mutants.push(Judged {
                change: mutant.change.clone(),
                place,
                ptx_lines: ptx_lines(mutant, &build.ptx),
                outcome,
                explained: None,
            });
        }
    }
    let launch = check::verdict::launch(&prepared.geometry, &plan);
    Ok(KernelMutants { subject, launch })
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

/// What trying one mutant needs.
struct One<'a> {
    exploration: &'a Exploration<'a>,
    build: &'a Build,
    own: &'a Explored,
    plan: &'a Plan,
}

impl One<'_> {
    /// Runs a mutant under one schedule after the other, until something is wrong.
    fn outcome(
        &self,
        mutant: &Mutant,
        entry: &str,
        sources: &mut Sources,
    ) -> Result<Outcome, Error> {
        let module = mutated(&self.build.module, mutant);
        let program = match Program::lower(&module, &self.build.ptx.text, entry) {
            Ok(program) => program,
            Err(error) => return Ok(Outcome::Unknown(Verdict::Unsupported, error.to_string())),
        };
        let mut runs = 0;
        for schedule in self.exploration.schedules {
            let mut plan = self.plan.clone();
            let under = Exploration {
                schedules: std::slice::from_ref(schedule),
                ..self.exploration.clone()
            };
            let ran = under.explore(self.build, &program, &mut plan, sources)?;
            runs += 1;
            if let Some(sign) = self.sign(&ran, &plan) {
                return Ok(Outcome::Needed(Box::new(sign)));
            }
            if let Some(stop) = &ran.stopped {
                let verdict = match stop {
                    Stop::Unsupported { .. } => Verdict::Unsupported,
                    _ => Verdict::Inconclusive,
                };
                return Ok(Outcome::Unknown(verdict, stop.to_string()));
            }
            let independent = Some(Independence::Independent);
            if ran.independence == independent
                || ran.independence == Some(Independence::VerdictOnly)
            {
                return Ok(Outcome::Redundant {
                    runs,
                    every_schedule: ran.independence == independent
                        && self.own.independence == independent,
                });
            }
        }
        Ok(Outcome::Redundant {
            runs,
            every_schedule: false,
        })
    }

    fn sign(&self, ran: &Explored, plan: &Plan) -> Option<Sign> {
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
        // What the kernel leaves is only known where the order of threads has no part in it.
        if self.own.independence != Some(Independence::Independent) || ran.stopped.is_some() {
            return None;
        }
        let other = ran.left.first() != self.own.left.first();
        let printed = ran.output != self.own.output;
        (other || printed).then(|| {
            plain(match other {
                true => "it leaves other results in memory".into(),
                false => "it prints something else".into(),
            })
        })
    }
}
