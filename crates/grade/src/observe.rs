//! Runs a submission on all inputs, and keeps what a score needs.

use crate::assignment::{Metric, Optimisation};
use crate::build::{Compiled, file_name};
use crate::causes::Causes;
use crate::compare::{Left, compare};
use crate::course::{Course, steps};
use crate::input::Drawn;
use crate::input_files::with_files;
use crate::result::{Cause, DrawResult, InputResult, Outcome, Refused, Smallest};
use crate::run::{Ran, Run, RunError};
use crate::shrink::{Budget, smallest};
use report::Diagnostic;
use simt::Stop;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Root causes of which a smallest counterexample is looked for.
pub(crate) const SHRUNK: usize = 3;
/// Runs that look for the smallest counterexample of one root cause.
const SMALLER_RUNS: u32 = 30;
/// Warp-instructions of them all together, and of each.
const SMALLER_STEPS: u64 = 2_000_000;
/// Schedules of each.
const SMALLER_SCHEDULES: u32 = 4;

/// What runs have shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The inputs.
    pub inputs: Vec<InputResult>,
    /// The root causes.
    pub causes: Vec<Cause>,
    /// Inputs on which findings could not all be told, and why.
    pub undecided: Vec<(String, String)>,
}

/// Runs a submission; `progress` is told after each input what is known until then.
///
/// # Errors
///
/// The kernel is not what the assignment asks for.
pub fn observe(
    course: &Course,
    compiled: &Compiled,
    texts: &BTreeMap<String, String>,
    until: Instant,
    progress: &mut dyn FnMut(&Observed),
) -> Result<Observed, Refused> {
    let mut watching = Watching {
        course,
        compiled,
        until,
        causes: Causes::of(texts),
        undecided: Vec::new(),
    };
    let mut observed = nothing_yet(course);
    for index in 0..course.drawn.len() {
        let drawn = &course.drawn[index];
        let before = course.drawn[..index]
            .iter()
            .filter(|d| d.input == drawn.input);
        let at = before.count();
        observed.inputs[drawn.input].draws[at] = watching.draw(index)?;
        observed.causes = watching.causes.known();
        observed.undecided = watching.undecided.clone();
        let open = course.drawn[index + 1..].iter();
        let open = open.map(|drawn| (course.input_id(drawn).to_owned(), NOT_RUN.to_owned()));
        observed.undecided.extend(open);
        progress(&observed);
    }
    watching.shrink();
    observed.causes = watching.causes.known();
    Ok(observed)
}

/// Why an input is undecided that was not run.
pub(crate) const NOT_RUN: &str = "it was not run before the time was up";

/// What is known before anything ran: nothing is decided.
pub fn nothing_yet(course: &Course) -> Observed {
    let mut observed = Observed::default();
    for input in &course.assignment.inputs {
        observed.inputs.push(InputResult {
            id: input.id.clone(),
            visible: input.visible,
            draws: Vec::new(),
        });
    }
    for (drawn, expected) in course.drawn.iter().zip(&course.expected) {
        observed.inputs[drawn.input].draws.push(DrawResult {
            sizes: drawn.sizes.clone(),
            seed: drawn.seed,
            outcome: Outcome::Undecided {
                why: NOT_RUN.into(),
            },
            promise: String::new(),
            counts: BTreeMap::new(),
            reference: expected.counts.clone(),
        });
        observed
            .undecided
            .push((course.input_id(drawn).to_owned(), NOT_RUN.to_owned()));
    }
    observed
}

struct Watching<'a> {
    course: &'a Course,
    compiled: &'a Compiled,
    until: Instant,
    causes: Causes<'a>,
    undecided: Vec<(String, String)>,
}

impl Watching<'_> {
    fn draw(&mut self, index: usize) -> Result<DrawResult, Refused> {
        let drawn = &self.course.drawn[index];
        let id = self.course.input_id(drawn).to_owned();
        let (steps, own_fault) = steps(self.course, index);
        let mut result = DrawResult {
            sizes: drawn.sizes.clone(),
            seed: drawn.seed,
            outcome: Outcome::Undecided {
                why: NOT_RUN.into(),
            },
            promise: String::new(),
            counts: BTreeMap::new(),
            reference: self.course.expected[index].counts.clone(),
        };
        for (number, build) in self.compiled.builds.iter().enumerate() {
            let run = Run {
                course: self.course,
                drawn,
                ptx: self.compiled.ptx(*build),
                steps,
                schedules: self.course.assignment.schedules.clamp(1, 1000),
                until: self.until,
                trace: true,
            };
            let ran = match run.check() {
                Ok(ran) => ran,
                Err(RunError::Refused(refused)) => return Err(refused),
                Err(RunError::Undecided(why)) => {
                    if number == 0 {
                        result.outcome = Outcome::Undecided { why: why.clone() };
                    }
                    self.undecided.push((id.clone(), why));
                    continue;
                }
            };
            if let Some(why) = undecided(&ran, own_fault) {
                self.undecided.push((id.clone(), why));
            }
            // The first build is the one whose results and counts are judged.
            if number == 0 {
                result.outcome = self.outcome(index, &ran, own_fault);
                result.promise = ran.checked.check.summary.clone();
                if self.course.assignment.counts() && ran.ended_badly().is_none() {
                    result.counts = run.counts(&ran).unwrap_or_default();
                }
            }
            for diagnostic in &ran.checked.check.diagnostics {
                let replay = self.replay(drawn, diagnostic);
                self.causes.add(&id, *build, diagnostic, replay);
            }
        }
        Ok(result)
    }

    /// Whether the results are right.
    fn outcome(&self, index: usize, ran: &Ran, own_fault: bool) -> Outcome {
        let wrong = |what: String| Outcome::Wrong {
            what,
            differences: Vec::new(),
            elements: 0,
        };
        if let Some(rule) = ran.ended_by() {
            return wrong(format!(
                "the kernel does not come to its end: {}",
                rule.summary()
            ));
        }
        match ran.stopped() {
            Some(Stop::Budget { .. }) if own_fault => {
                let times = self.course.assignment.limits.times_reference;
                return wrong(format!(
                    "the kernel takes more than {times} times the instructions of the reference"
                ));
            }
            Some(stop) => {
                return Outcome::Undecided {
                    why: stop.to_string(),
                };
            }
            None => {}
        }
        let expected = &self.course.expected[index];
        let (mut differences, mut elements) = (Vec::new(), 0);
        let mut buffers: Vec<String> = Vec::new();
        for (name, parameter, element) in self.course.compared() {
            let (bytes, written) = ran.buffer(parameter).unwrap_or_default();
            let left = Left {
                bytes: &bytes,
                written: &written,
            };
            let how = &self.course.assignment.compare[name];
            let wanted = expected
                .buffers
                .get(name)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let mut compared = compare(name, element, left, wanted, how);
            elements += compared.wrong;
            differences.append(&mut compared.differences);
            if compared.wrong > 0 {
                buffers.push(format!("`{name}`"));
            }
        }
        if elements > 0 {
            return Outcome::Wrong {
                what: match elements {
                    1 => format!("1 element of {} is wrong", buffers.join(", ")),
                    _ => format!("{elements} elements of {} are wrong", buffers.join(", ")),
                },
                differences,
                elements,
            };
        }
        match self.depends(ran) {
            Some(what) => wrong(what),
            None => Outcome::Right,
        }
    }

    /// Whether another schedule leaves other results in what is compared.
    fn depends(&self, ran: &Ran) -> Option<String> {
        let explored = ran.checked.explored.first()?;
        let difference = explored.difference.as_ref().filter(|d| !d.rounding)?;
        let (address, _) = difference.element?;
        let parameters: Vec<usize> = self.course.compared().map(|(_, p, _)| p).collect();
        let buffers = ran.checked.memory.buffers().iter();
        let mut compared = buffers.filter(|b| parameters.contains(&b.parameter));
        compared.find(|b| (b.address..b.address + b.bytes).contains(&address))?;
        let [first, other] = &difference.schedules;
        Some(format!(
            "the result depends on the order of threads: {} is not the same under the schedules {first} and {other}",
            difference.place
        ))
    }

    /// Looks for smaller sizes that show what was found.
    fn shrink(&mut self) {
        let none = Causes::of(self.causes.texts());
        let mut causes = std::mem::replace(&mut self.causes, none);
        for (key, cause) in causes.open().take(SHRUNK) {
            let Some(id) = cause.seen.first().map(|seen| seen.input.clone()) else {
                continue;
            };
            let mut all = self.course.drawn.iter();
            let index = all.position(|d| self.course.input_id(d) == id);
            let budget = Budget {
                runs: SMALLER_RUNS,
                steps: SMALLER_STEPS,
                until: self.until,
            };
            let found = index.and_then(|index| {
                let drawn = &self.course.drawn[index];
                // A smaller input takes no more: what does not end has then shown it.
                let steps = steps(self.course, index).0.min(SMALLER_STEPS);
                let mut run = |smaller: &Drawn| self.shown_by(smaller, steps);
                smallest(self.course, drawn, key, budget, &mut run)
            });
            cause.smallest = found.and_then(|(smaller, diagnostic)| {
                Some(Smallest {
                    input: id,
                    replay: self.replay(&smaller, &diagnostic)?,
                    sizes: smaller.sizes,
                })
            });
        }
        self.causes = causes;
    }

    /// What a smaller input shows within a budget of warp-instructions, and how many it took to know.
    fn shown_by(&self, drawn: &Drawn, steps: u64) -> (Vec<Diagnostic>, u64) {
        let assignment = &self.course.assignment;
        let run = Run {
            course: self.course,
            drawn,
            ptx: self.compiled.ptx(Optimisation::Optimised),
            steps,
            schedules: SMALLER_SCHEDULES.min(assignment.schedules),
            until: self.until,
            trace: false,
        };
        match run.check() {
            Ok(ran) => {
                let took = ran.steps() * u64::from(SMALLER_SCHEDULES);
                (ran.checked.check.diagnostics, took)
            }
            Err(_) => (Vec::new(), 0),
        }
    }

    /// The command that repeats a finding, on the student's own file.
    fn replay(&self, drawn: &Drawn, diagnostic: &Diagnostic) -> Option<String> {
        let room = self.compiled.ptx(Optimisation::Optimised);
        let room = room
            .parent()
            .unwrap_or(Path::new("/"))
            .display()
            .to_string();
        let main = self.course.assignment.submission.require.first();
        let mut command = diagnostic.replay.clone()?;
        for build in [Optimisation::Optimised, Optimisation::Unoptimised] {
            let ptx = format!("{room}/{}", file_name(build));
            command = command.replace(&ptx, main.map_or("kernel.cu", String::as_str));
        }
        Some(with_files(&self.course.assignment, drawn, &command))
    }
}

/// Why not all findings of a run are known.
fn undecided(ran: &Ran, own_fault: bool) -> Option<String> {
    match ran.stopped()? {
        Stop::Budget { .. } if own_fault => None,
        stop => Some(stop.to_string()),
    }
}

/// The worst count of some inputs, with the input and the reference's count there.
pub fn worst(
    inputs: &[InputResult],
    wanted: &[String],
    metric: Metric,
    relative: bool,
) -> Option<(String, f64, f64)> {
    let mut worst: Option<(String, f64, f64, f64)> = None;
    for input in inputs
        .iter()
        .filter(|i| wanted.is_empty() || wanted.contains(&i.id))
    {
        for draw in &input.draws {
            let count = *draw.counts.get(&metric)?;
            let reference = draw.reference.get(&metric).copied().unwrap_or(0.0);
            let measure = match relative {
                true => ratio(count, reference),
                false => count,
            };
            if worst.as_ref().is_none_or(|(.., most)| measure > *most) {
                worst = Some((input.id.clone(), count, reference, measure));
            }
        }
    }
    worst.map(|(input, count, reference, _)| (input, count, reference))
}

/// How many times the reference's count it is.
pub fn ratio(count: f64, reference: f64) -> f64 {
    match reference > 0.0 {
        true => count / reference,
        false if count > 0.0 => f64::INFINITY,
        false => 1.0,
    }
}
