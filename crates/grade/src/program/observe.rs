//! Runs a program on all inputs, and keeps what a score needs.

use super::build::Built;
use super::run::{End, Ran, Run, form, numbers};
use crate::assignment::{Layout, Optimisation, Program};
use crate::build::BuildError;
use crate::causes::Causes;
use crate::compare::{Left, compare, compare_words};
use crate::course::{Course, steps};
use crate::observe::{NOT_RUN, Observed, nothing_yet};
use crate::result::{DrawResult, Outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

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
    let mut causes = Causes::of(texts);
    let mut undecided: Vec<(String, String)> = Vec::new();
    let mut observed = nothing_yet(course);
    for (index, drawn) in course.drawn.iter().enumerate() {
        let id = course.input_id(drawn).to_owned();
        let earlier = course.drawn[..index].iter();
        let at = earlier.filter(|d| d.input == drawn.input).count();
        let (steps, own_fault) = steps(course, index);
        let run = Run {
            assignment: &course.assignment,
            drawn,
            built,
            steps,
            until,
        };
        if until > Instant::now() {
            let ran = run.run()?;
            let why = open(&ran, own_fault);
            let outcome = match &why {
                Some(why) if ran.broken.is_some() || !ends_badly(&ran.end) => {
                    Outcome::Undecided { why: why.clone() }
                }
                _ => outcome(course, index, &ran, own_fault),
            };
            undecided.extend(why.map(|why| (id.clone(), why)));
            for diagnostic in ran.collected.of_stranger() {
                let replay = replay(course, drawn);
                causes.add(&id, Optimisation::Optimised, &diagnostic, Some(replay));
            }
            observed.inputs[drawn.input].draws[at] = DrawResult {
                sizes: drawn.sizes.clone(),
                seed: drawn.seed,
                outcome,
                promise: promise(&ran),
                counts: match course.assignment.counts() && matches!(ran.end, End::Status(_)) {
                    true => ran.counts(),
                    false => BTreeMap::new(),
                },
                reference: course.expected[index].counts.clone(),
            };
        } else {
            undecided.push((id, NOT_RUN.to_owned()));
        }
        observed.causes = causes.known();
        observed.undecided = undecided.clone();
        let rest = course.drawn[index + 1..].iter();
        let rest = rest.map(|drawn| (course.input_id(drawn).to_owned(), NOT_RUN.to_owned()));
        observed.undecided.extend(rest);
        progress(&observed);
    }
    Ok(observed)
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
    format!(
        "{launches} launches of {}, all watched, under one schedule",
        names.join(", ")
    )
}

/// The command that runs it again, on the files of the input.
fn replay(course: &Course, drawn: &crate::input::Drawn) -> String {
    let main = course.assignment.submission.require.first();
    let main = main.map_or("main.cu", String::as_str);
    let plain = |word: &String| match word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_./,=+:".contains(c))
    {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let words: Vec<String> = drawn.words.iter().map(plain).collect();
    format!("racetrap exec {main} -- {}", words.join(" "))
        .trim_end_matches([' ', '-'])
        .to_owned()
}

/// Why what was found may not be all.
fn open(ran: &Ran, own_fault: bool) -> Option<String> {
    if let Some(broken) = &ran.broken {
        return Some(format!("the records of the run can't be trusted: {broken}"));
    }
    if ran.end == End::OutOfTime {
        return Some("the time for this submission was up".into());
    }
    if let Some(function) = ran.collected.missing.first() {
        return Some(format!(
            "the program calls `{function}`, which is not simulated"
        ));
    }
    let budget = ran.collected.over_budget && own_fault;
    ran.collected.doubts.first().filter(|_| !budget).cloned()
}

/// Whether the results are right.
fn outcome(course: &Course, index: usize, ran: &Ran, own_fault: bool) -> Outcome {
    let nobody = Program::default();
    let program = course.assignment.program.as_ref().unwrap_or(&nobody);
    let wrong = |what: String| Outcome::Wrong {
        what,
        differences: Vec::new(),
        elements: 0,
    };
    if let Some(pattern) = ran.not_launched(program) {
        return wrong(match pattern {
            "*" => "the program launches no kernel".to_owned(),
            pattern => format!("the program launches no kernel `{pattern}`"),
        });
    }
    if ran.collected.over_budget && own_fault {
        let times = course.assignment.limits.times_reference;
        return wrong(format!(
            "a kernel takes more than {times} times the instructions of the reference"
        ));
    }
    match ran.end {
        End::Status(0) => {}
        End::Status(status) => return wrong(format!("the program ends with status {status}")),
        End::Signal(signal) => {
            return wrong(format!(
                "the program is ended by signal {signal}{}",
                name(signal)
            ));
        }
        End::TooSlow => return wrong(format!("the program takes more than {} s", program.seconds)),
        End::TooLarge => {
            return wrong("the program takes too much memory, or writes too large a file".into());
        }
        End::OutOfTime => {
            return Outcome::Undecided {
                why: NOT_RUN.into(),
            };
        }
    }
    let compared = compared(course, index, ran);
    if !matches!(compared, Outcome::Right) {
        return compared;
    }
    let least = course.expected[index]
        .steps
        .map(|steps| steps as f64 * program.least_work);
    match least {
        Some(least) if (ran.steps() as f64) < least => Outcome::Undecided {
            why: format!(
                "the kernels execute {} warp-instructions, and those of the reference {}: does the host compute the result?",
                ran.steps(),
                course.expected[index].steps.unwrap_or(0)
            ),
        },
        _ => Outcome::Right,
    }
}

fn name(signal: i32) -> &'static str {
    match signal {
        4 => " (an illegal instruction)",
        6 => " (abort)",
        8 => " (an arithmetic error)",
        11 => " (a memory access that is not allowed)",
        25 => " (too large a file)",
        31 => " (a system call that is not allowed)",
        _ => "",
    }
}

/// Compares what it left with what is expected.
fn compared(course: &Course, index: usize, ran: &Ran) -> Outcome {
    let expected = &course.expected[index];
    let (mut differences, mut elements) = (Vec::new(), 0);
    let mut names: Vec<String> = Vec::new();
    for (name, how) in &course.assignment.compare {
        let bytes = ran.outputs.get(name).map(Vec::as_slice).unwrap_or_default();
        let wanted = expected
            .buffers
            .get(name)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let (layout, element, _) = form(&course.assignment, name, how);
        let mut compared = if layout == Layout::Words {
            compare_words(name, bytes, wanted, how)
        } else {
            let found = numbers(&course.assignment, name, bytes);
            let shape = expected.shapes.get(name);
            let trouble = match (&found.trouble, shape) {
                (_, Some(shape)) if found.trouble.is_none() && *shape != found.shape => {
                    Some(format!(
                        "its size is {}, expected {}",
                        sizes(&found.shape),
                        sizes(shape)
                    ))
                }
                (trouble, _) => trouble.clone(),
            };
            if let Some(trouble) = trouble {
                return Outcome::Wrong {
                    what: match bytes.is_empty() {
                        true => format!("nothing was written to `{name}`"),
                        false => format!("`{name}`: {trouble}"),
                    },
                    differences: Vec::new(),
                    elements: 0,
                };
            }
            let written = vec![true; found.bytes.len()];
            let left = Left {
                bytes: &found.bytes,
                written: &written,
            };
            if found.bytes.len() > wanted.len() && how.first.is_none() {
                return Outcome::Wrong {
                    what: format!(
                        "`{name}` has {} numbers, expected {}",
                        found.bytes.len() / element.bytes(),
                        wanted.len() / element.bytes()
                    ),
                    differences: Vec::new(),
                    elements: 0,
                };
            }
            compare(name, element, left, wanted, how)
        };
        elements += compared.wrong;
        differences.append(&mut compared.differences);
        if compared.wrong > 0 {
            names.push(format!("`{name}`"));
        }
    }
    match elements {
        0 => Outcome::Right,
        _ => Outcome::Wrong {
            what: match elements {
                1 => format!("1 element of {} is wrong", names.join(", ")),
                _ => format!("{elements} elements of {} are wrong", names.join(", ")),
            },
            differences,
            elements,
        },
    }
}

fn sizes(all: &[u64]) -> String {
    let all: Vec<String> = all.iter().map(u64::to_string).collect();
    all.join(" × ")
}
