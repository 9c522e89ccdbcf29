//! Mutants of the reference: its PTX with one thing removed or weakened, or its host program without one of its calls, graded as a
//! submission is.
//!
//! A kernel's PTX comes from the compiler. A whole program brings its PTX along, and the library runs the mutant instead; its host code
//! stays as it is. A call of the host that is left out does nothing and says that all is well, which is what the program would do without it.
//! Wrong sizes and directions are not made: which wrong one a student takes is anybody's guess.

use super::{Selftested, reasons};
use crate::assignment::{Build, BuildKind, Kind, MutantsLose, Optimisation, WithoutLoses};
use crate::course::Course;
use crate::grade::{GradeError, grade_built, grade_ptx};
use crate::program::build::Built;
use crate::result::{Graded, Loss, PartResult, Refused, State};
use crate::submission::{Files, collect};
use context::options::LeaveOut;
use mutate::{Mutant, Unit, mutants, mutated};
use ptx::ast::{Item, Module};
use std::collections::BTreeSet;

/// Calls of a function that are left out at most, one after the other.
const MOST_CALLS: u64 = 32;

/// Grades the mutants that the assignment asks for.
///
/// # Errors
///
/// The reference can't be read or built, for no reason of its own.
pub(super) fn judge(course: &Course, out: &mut Selftested) -> Result<(), GradeError> {
    let all = &course.assignment.selftest.mutants;
    let without = &course.assignment.selftest.without;
    let nothing = all.is_empty() && without.is_empty();
    let (Some(solution), false) = (course.solution(), nothing) else {
        return Ok(());
    };
    let files = collect(&solution, &course.assignment.submission).map_err(GradeError::Collect)?;
    let (mut built, texts) = match Reference::build(course, &files)? {
        Ok(built) => built,
        Err(refused) => {
            let line = format!("the reference: {}", refused.what);
            out.lines.push((false, line));
            return Ok(());
        }
    };
    let mut modules = Vec::new();
    for text in texts {
        match ptx::parse(&text) {
            Ok(module) => modules.push((text, module)),
            Err(error) => {
                let line = format!("the reference's PTX: {}", error.kind);
                out.lines.push((false, line));
                return Ok(());
            }
        }
    }
    for wanted in all {
        let found = found(&modules, wanted);
        if wanted.count.is_some_and(|count| count != found.len()) || found.is_empty() {
            let expected = wanted.count.map(|n| n.to_string());
            let expected = expected.unwrap_or_else(|| "at least one".to_owned());
            let (count, name) = (found.len(), wanted.mutation.name());
            let line = format!("{count} mutants `{name}`, expected {expected}");
            out.lines.push((false, line));
        }
        for (text, module, mutant) in found {
            let changed = ptx::print(&mutated(module, &mutant));
            let name = name(&mutant);
            let graded = built.grade(course, &files, (text, &changed), &name)?;
            if !wanted.lose.is_empty() {
                out.lines.push(lost(&name, &graded, &wanted.lose));
            }
            out.scores(&name, &graded, &wanted.scores);
        }
    }
    if let Reference::Program(built) = &mut built {
        for wanted in without {
            without_calls(course, &files, built, wanted, out)?;
        }
    }
    Ok(())
}

/// Grades a program without each of its calls of a function.
fn without_calls(
    course: &Course,
    files: &Files,
    built: &mut Built,
    wanted: &WithoutLoses,
    out: &mut Selftested,
) -> Result<(), GradeError> {
    let calls = course.expected.first().map(|first| &first.calls);
    let calls = calls.and_then(|calls| calls.get(&wanted.call));
    let calls = calls.copied().unwrap_or(0);
    if wanted.count.is_some_and(|count| count != calls) || calls == 0 {
        let expected = wanted.count.map(|n| n.to_string());
        let expected = expected.unwrap_or_else(|| "at least one".to_owned());
        let line = format!("{calls} calls of `{}`, expected {expected}", wanted.call);
        out.lines.push((false, line));
    }
    for number in 1..=calls.min(MOST_CALLS) {
        let name = format!("without call {number} of {}", wanted.call);
        built.run_without(LeaveOut {
            function: wanted.call.clone(),
            number,
        });
        let graded = grade_built(course, files, built, &name)?;
        if !wanted.lose.is_empty() {
            out.lines.push(lost(&name, &graded, &wanted.lose));
        }
        out.scores(&name, &graded, &wanted.scores);
    }
    Ok(())
}

/// The reference, built once.
enum Reference {
    /// A kernel.
    Kernel,
    /// A program.
    Program(Box<Built>),
}

impl Reference {
    /// Builds it; with the PTX that it is made of.
    fn build(
        course: &Course,
        files: &Files,
    ) -> Result<Result<(Reference, Vec<String>), Refused>, GradeError> {
        let source = course.source(files)?;
        let build = &course.assignment.build;
        if build.kind != BuildKind::Kernel {
            let built = match course.compiler.program(&source, build)? {
                Ok(built) => built,
                Err(refused) => return Ok(Err(refused)),
            };
            let texts = built.device_code(build)?;
            return Ok(Ok((Reference::Program(Box::new(built)), texts)));
        }
        let build = Build {
            builds: vec![Optimisation::Optimised],
            ..build.clone()
        };
        let compiled = match course.compiler.compile(&source, &build)? {
            Ok(compiled) => compiled,
            Err(refused) => return Ok(Err(refused)),
        };
        let text = std::fs::read_to_string(compiled.ptx(Optimisation::Optimised));
        Ok(Ok((Reference::Kernel, vec![text.unwrap_or_default()])))
    }

    /// Grades it with another text in the place of one of its own.
    fn grade(
        &mut self,
        course: &Course,
        files: &Files,
        (text, changed): (&str, &str),
        name: &str,
    ) -> Result<Graded, GradeError> {
        match self {
            Reference::Kernel => grade_ptx(course, files, changed, name),
            Reference::Program(built) => {
                built.run_instead(text, changed)?;
                grade_built(course, files, built, name)
            }
        }
    }
}

/// The mutants of one kind, each with its module and that one's text.
fn found<'m>(
    modules: &'m [(String, Module)],
    wanted: &MutantsLose,
) -> Vec<(&'m str, &'m Module, Mutant)> {
    let mut all = Vec::new();
    for (text, module) in modules {
        let functions = module.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function.name.as_str()),
            _ => None,
        });
        let functions: BTreeSet<&str> = functions.collect();
        let mutants = mutants(module, &functions, Unit::Place, &[wanted.mutation]);
        all.extend(mutants.into_iter().map(|m| (text.as_str(), module, m)));
    }
    all
}

/// `reduction.cu:12 without its barrier`
fn name(mutant: &Mutant) -> String {
    let place = mutant.line.as_ref().map_or("?".to_owned(), |l| {
        let file = std::path::Path::new(&l.file).file_name();
        format!("{}:{}", file.unwrap_or_default().display(), l.line)
    });
    format!("{place} {}", mutant.change.condition())
}

/// Whether one of these parts loses points, in a line.
fn lost(name: &str, graded: &Graded, parts: &[String]) -> (bool, String) {
    let loses = |id: &&String| {
        let part = graded.parts.iter().find(|p| p.id == **id);
        part.is_some_and(loses)
    };
    let lost: Vec<&str> = parts.iter().filter(loses).map(String::as_str).collect();
    match lost.is_empty() {
        false => (true, format!("{name}: loses points of {}", lost.join(", "))),
        true => {
            let (parts, why) = (parts.join(", "), reasons(graded));
            (false, format!("{name}: loses no points of {parts}{why}"))
        }
    }
}

/// Whether a part loses points by what it judges itself: that another part earns too little is no merit of it.
fn loses(part: &PartResult) -> bool {
    let found = part.losses.iter().any(|l| matches!(l, Loss::Cause { .. }));
    let by_findings = matches!(part.check, Kind::Races | Kind::Barriers | Kind::Memory);
    let less = part.earned.is_some_and(|earned| earned < part.of);
    less && (found || !by_findings && part.state != State::Skipped)
}
