//! Runs a program on all inputs, and keeps what a score needs.

use super::build::Built;
use super::outcome::outcome;
use super::run::{End, Ran, Run};
use crate::assignment::Optimisation;
use crate::build::BuildError;
use crate::causes::Causes;
use crate::course::{Course, steps};
use crate::input::Drawn;
use crate::input_files::run_command;
use crate::observe::{NOT_RUN, Observed, SHRUNK, nothing_yet};
use crate::result::{DrawResult, Outcome, Smallest};
use crate::shrink::{Budget, smallest};
use report::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Runs that look for the smallest counterexample of one root cause.
const SMALLER_RUNS: u32 = 16;
/// Time for the smallest counterexamples of all root causes: a program that has many does not keep the others waiting.
const SMALLER_TIME: Duration = Duration::from_secs(6);
/// Time of each run.
const SMALLER_RUN: Duration = Duration::from_secs(2);

/// Runs a program; `progress` is told after each input what is known until then.
///
/// # Errors
///
/// What is not the student's fault.
pub fn observe(
    course: &Course,
    built: &Built,
    texts: &BTreeMap<String, String>,
    until: Instant,
    progress: &mut dyn FnMut(&Observed),
) -> Result<Observed, BuildError> {
    let mut watching = Watching {
        course,
        built,
        until,
        causes: Causes::of(texts),
        undecided: Vec::new(),
    };
    let mut observed = nothing_yet(course);
    for (index, drawn) in course.drawn.iter().enumerate() {
        let earlier = course.drawn[..index].iter();
        let at = earlier.filter(|d| d.input == drawn.input).count();
        if until > Instant::now() {
            observed.inputs[drawn.input].draws[at] = watching.draw(index)?;
        } else {
            let id = course.input_id(drawn).to_owned();
            watching.undecided.push((id, NOT_RUN.to_owned()));
        }
        observed.causes = watching.causes.known();
        observed.undecided = watching.undecided.clone();
        let rest = course.drawn[index + 1..].iter();
        let rest = rest.map(|drawn| (course.input_id(drawn).to_owned(), NOT_RUN.to_owned()));
        observed.undecided.extend(rest);
        progress(&observed);
    }
    watching.shrink();
    observed.causes = watching.causes.known();
    Ok(observed)
}

struct Watching<'a> {
    course: &'a Course,
    built: &'a Built,
    until: Instant,
    causes: Causes<'a>,
    undecided: Vec<(String, String)>,
}

impl Watching<'_> {
    /// Runs it on one drawn input.
    fn draw(&mut self, index: usize) -> Result<DrawResult, BuildError> {
        let course = self.course;
        let drawn = &course.drawn[index];
        let id = course.input_id(drawn).to_owned();
        let (steps, own_fault) = steps(course, index);
        let run = Run {
            assignment: &course.assignment,
            drawn,
            built: self.built,
            steps,
            schedules: course.assignment.schedules.clamp(1, 1000),
            pictures: true,
            until: self.until,
        };
        let ran = run.run()?;
        let why = open(&ran, own_fault);
        let outcome = match &why {
            Some(why) if ran.broken.is_some() || ran.partial.is_some() || !ends_badly(&ran.end) => {
                Outcome::Undecided { why: why.clone() }
            }
            _ => outcome(course, index, &ran, own_fault),
        };
        self.undecided.extend(why.map(|why| (id.clone(), why)));
        for diagnostic in ran.collected.of_stranger() {
            let replay = run_command(&course.assignment, drawn);
            let build = Optimisation::Optimised;
            self.causes.add(&id, build, &diagnostic, Some(replay));
        }
        Ok(DrawResult {
            sizes: drawn.sizes.clone(),
            seed: drawn.seed,
            outcome,
            promise: promise(&ran),
            counts: match course.assignment.counts() && matches!(ran.end, End::Status(_)) {
                true => ran.counts(),
                false => BTreeMap::new(),
            },
            reference: course.expected[index].counts.clone(),
        })
    }

    /// Looks for smaller inputs that show what was found.
    fn shrink(&mut self) {
        let until = self.until.min(Instant::now() + SMALLER_TIME);
        let none = Causes::of(self.causes.texts());
        let mut causes = std::mem::replace(&mut self.causes, none);
        for (key, cause) in causes.open().take(SHRUNK) {
            let Some(id) = cause.seen.first().map(|seen| seen.input.clone()) else {
                continue;
            };
            let mut all = self.course.drawn.iter();
            let Some(index) = all.position(|d| self.course.input_id(d) == id) else {
                continue;
            };
            let drawn = &self.course.drawn[index];
            // A smaller input takes no more: what does not end has then shown it.
            let (steps, _) = steps(self.course, index);
            let budget = Budget {
                runs: SMALLER_RUNS,
                steps: u64::MAX,
                until,
            };
            let mut run = |smaller: &Drawn| self.shown_by(smaller, steps, until);
            let found = smallest(self.course, drawn, key, budget, &mut run);
            cause.smallest = found.map(|(smaller, _)| Smallest {
                input: id,
                replay: run_command(&self.course.assignment, &smaller),
                sizes: smaller.sizes,
            });
        }
        self.causes = causes;
    }

    /// What a smaller input shows. Records that can't be trusted show nothing.
    fn shown_by(&self, drawn: &Drawn, steps: u64, until: Instant) -> (Vec<Diagnostic>, u64) {
        let run = Run {
            assignment: &self.course.assignment,
            drawn,
            built: self.built,
            steps,
            schedules: 1,
            pictures: false,
            until: until.min(Instant::now() + SMALLER_RUN),
        };
        match run.run() {
            Ok(ran) if ran.broken.is_none() => (ran.collected.of_stranger(), ran.steps()),
            _ => (Vec::new(), 0),
        }
    }
}

/// Whether the way in which a program ended makes its results wrong by itself.
fn ends_badly(end: &End) -> bool {
    matches!(end, End::Signal(_) | End::TooSlow | End::TooLarge)
}

/// What was run and watched, in a sentence.
fn promise(ran: &Ran) -> String {
    let launches: u64 = ran.collected.kernels().map(|k| k.launches).sum();
    let names: BTreeSet<&str> = ran
        .collected
        .kernels()
        .map(|k| ptx::without_signature(&k.name))
        .collect();
    let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    let tried: u64 = ran.collected.kernels().map(|k| k.explored.0).sum();
    let orders = match tried {
        0 => "under one schedule".to_owned(),
        tried => format!("{tried} of them under several schedules"),
    };
    format!(
        "{launches} launches of {}, all watched, {orders}",
        names.join(", ")
    )
}

/// Why what was found may not be all.
fn open(ran: &Ran, own_fault: bool) -> Option<String> {
    if let Some(broken) = &ran.broken {
        return Some(format!("the records of the run can't be trusted: {broken}"));
    }
    if ran.end == End::OutOfTime {
        return Some("the time for this submission was up".into());
    }
    if let Some(why) = &ran.partial {
        return Some(why.clone());
    }
    if let Some(function) = ran.collected.missing.first() {
        return Some(format!(
            "the program calls `{function}`, which is not simulated"
        ));
    }
    let budget = ran.collected.over_budget && own_fault;
    ran.collected.doubts.first().filter(|_| !budget).cloned()
}
