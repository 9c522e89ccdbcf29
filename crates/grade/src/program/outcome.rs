//! Whether a run's results are right: how the program ended, what it launched, and what it left in files or printed.

use super::run::{End, Ran, form, numbers};
use crate::assignment::{Layout, Metric, Program};
use crate::compare::{Left, compare, compare_words};
use crate::course::Course;
use crate::observe::NOT_RUN;
use crate::result::Outcome;
use crate::view::number;
use std::collections::BTreeMap;

/// Whether the results are right.
pub(super) fn outcome(course: &Course, index: usize, ran: &Ran, own_fault: bool) -> Outcome {
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
    match too_little(course, index, ran, program.least_work) {
        Some(why) => Outcome::Undecided { why },
        None => Outcome::Right,
    }
}

/// Whether the kernels do so little beside the reference's that the host may have computed the result.
fn too_little(course: &Course, index: usize, ran: &Ran, least: f64) -> Option<String> {
    let expected = &course.expected[index];
    let counts = ran.counts();
    let of = |counts: &BTreeMap<Metric, f64>, metrics: &[Metric]| -> f64 {
        metrics.iter().filter_map(|m| counts.get(m)).sum()
    };
    let steps = expected.steps? as f64;
    // An atomic operation writes, too; the reference's may be on shared memory.
    let written = of(&counts, &[Metric::GlobalWrites, Metric::Atomics]);
    let wanted = of(&expected.counts, &[Metric::GlobalWrites]);
    let both = [
        ("execute", ran.steps() as f64, "warp-instructions", steps),
        ("write", written, "elements of global memory", wanted),
    ];
    let (does, found, what, wanted) = both
        .into_iter()
        .find(|(_, found, _, wanted)| *found < wanted * least)?;
    Some(format!(
        "the kernels {does} {} {what}, and those of the reference {}: does the host compute the result?",
        number(found),
        number(wanted)
    ))
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
