//! Proves a rubric before students see it: submissions whose scores are known, and mutants of the reference.
//!
//! A mutant is the reference with one barrier, fence or atomic removed or weakened in its PTX. It shows that the rubric notices when just
//! that is missing.

use crate::assignment::{Kind, Optimisation};
use crate::course::Course;
use crate::grade::{GradeError, grade_ptx, grade_step_by_step};
use crate::result::{Graded, Loss, PartResult, State};
use crate::submission::collect;
use mutate::{Unit, mutants, mutated};
use ptx::ast::Item;
use std::collections::BTreeSet;
use std::fmt::Write;

/// What came of a selftest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selftested {
    /// One line each, with whether it is as expected.
    pub lines: Vec<(bool, String)>,
}

impl Selftested {
    /// Whether all is as expected.
    pub fn ok(&self) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(|(ok, _)| *ok)
    }

    /// In words.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for (ok, line) in &self.lines {
            let _ = writeln!(out, "{}  {line}", if *ok { "ok   " } else { "WRONG" });
        }
        let wrong = self.lines.iter().filter(|(ok, _)| !ok).count();
        let _ = match (self.lines.len(), wrong) {
            (0, _) => writeln!(out, "the assignment has no `selftest`: nothing is proved"),
            (all, 0) => writeln!(out, "\nall {all} as expected"),
            (all, wrong) => writeln!(out, "\n{wrong} of {all} not as expected"),
        };
        out
    }
}

/// Runs the selftest of an assignment.
///
/// # Errors
///
/// A submission can't be read or built, for no reason of its own.
pub fn selftest(course: &Course) -> Result<Selftested, GradeError> {
    let mut out = Selftested::default();
    for (path, scores) in &course.assignment.selftest.submissions {
        let shown = path.display().to_string();
        let graded = grade_step_by_step(course, &course.folder.join(path), &shown, &mut |_| {})?;
        for (part, points) in scores {
            let earned = earned(&graded, part);
            let ok = points.met(earned);
            let mut line = format!("{shown}: {part}: {}", shown_points(earned));
            if !ok {
                let _ = write!(line, ", expected {points}{}", reasons(&graded));
            }
            out.lines.push((ok, line));
        }
    }
    of_mutants(course, &mut out)?;
    Ok(out)
}

/// Points of a part; `total` is all together, and nothing where a person still has to decide.
pub fn earned(graded: &Graded, part: &str) -> Option<f64> {
    match part {
        "total" => graded.is_final().then_some(graded.points),
        part => graded.parts.iter().find(|p| p.id == part)?.earned,
    }
}

fn shown_points(earned: Option<f64>) -> String {
    earned.map_or("review".to_owned(), crate::view::number)
}

/// What a grade is made of, for those who wonder.
fn reasons(graded: &Graded) -> String {
    let mut out = String::new();
    if let Some(refused) = &graded.refused {
        let _ = write!(out, "\n         {}", refused.what);
    }
    for cause in &graded.causes {
        let lines: Vec<String> = cause.lines.iter().map(|l| l.line.to_string()).collect();
        let _ = write!(
            out,
            "\n         {} on lines {}",
            cause.rule,
            lines.join(", ")
        );
    }
    for review in &graded.review {
        let _ = write!(out, "\n         {}: {}", review.part, review.why);
    }
    out
}

fn of_mutants(course: &Course, out: &mut Selftested) -> Result<(), GradeError> {
    let (Some(solution), false) = (
        course.solution(),
        course.assignment.selftest.mutants.is_empty(),
    ) else {
        return Ok(());
    };
    let files = collect(&solution, &course.assignment.submission).map_err(GradeError::Collect)?;
    let source = course.source(&files)?;
    let build = crate::assignment::Build {
        builds: vec![Optimisation::Optimised],
        ..course.assignment.build.clone()
    };
    let Ok(compiled) = course.compiler.compile(&source, &build)? else {
        out.lines
            .push((false, "the reference does not compile".into()));
        return Ok(());
    };
    let text = std::fs::read_to_string(compiled.ptx(Optimisation::Optimised)).unwrap_or_default();
    let module = match ptx::parse(&text) {
        Ok(module) => module,
        Err(error) => {
            out.lines
                .push((false, format!("the reference's PTX: {}", error.kind)));
            return Ok(());
        }
    };
    let functions = module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function.name.as_str()),
        _ => None,
    });
    let functions: BTreeSet<&str> = functions.collect();
    for wanted in &course.assignment.selftest.mutants {
        let all = mutants(&module, &functions, Unit::Place, &[wanted.mutation]);
        if wanted.count.is_some_and(|count| count != all.len()) || all.is_empty() {
            let expected = wanted
                .count
                .map_or("at least one".to_owned(), |n| n.to_string());
            let line = format!(
                "{} mutants `{}`, expected {expected}",
                all.len(),
                wanted.mutation.name()
            );
            out.lines.push((false, line));
        }
        for mutant in &all {
            let changed = ptx::print(&mutated(&module, mutant));
            let place = mutant
                .line
                .as_ref()
                .map_or("?".to_owned(), |l| format!("{}:{}", l.file, l.line));
            let name = format!("{place} {}", mutant.change.condition());
            let graded = grade_ptx(course, &files, &changed, &name)?;
            let loses = |id: &&String| {
                let part = graded.parts.iter().find(|p| p.id == **id);
                part.is_some_and(loses)
            };
            let lost: Vec<&String> = wanted.lose.iter().filter(loses).collect();
            let mut line = format!("{name}: ");
            match lost.is_empty() {
                false => {
                    line += &format!(
                        "loses points of {}",
                        lost.iter()
                            .map(|s| s.as_str())
                            .collect::<Vec<_>>()
                            .join(", ")
                    )
                }
                true => {
                    let _ = write!(
                        line,
                        "loses no points of {}{}",
                        wanted.lose.join(", "),
                        reasons(&graded)
                    );
                }
            }
            out.lines.push((!lost.is_empty(), line));
        }
    }
    Ok(())
}

/// Whether a part loses points by what it judges itself: that another part earns too little is no merit of it.
fn loses(part: &PartResult) -> bool {
    let found = part.losses.iter().any(|l| matches!(l, Loss::Cause { .. }));
    let by_findings = matches!(part.check, Kind::Races | Kind::Barriers | Kind::Memory);
    let less = part.earned.is_some_and(|earned| earned < part.of);
    less && (found || !by_findings && part.state != State::Skipped)
}
