//! Every submission of the corpus is graded as its label says.
//!
//! Their PTX is pinned, so that no compiler is needed. `RACETRAP_RENEW=1 cargo nextest run -p racetrap-grade labelled` compiles it again.

use crate::corpus::{products, reductions};
use crate::course::{one, open, pinned};
use crate::judge::{self, Labelled};
use racetrap_grade::Graded;
use racetrap_grade::assignment::Optimisation;
use racetrap_grade::build::{Compiler, keep};
use racetrap_grade::course::Course;
use racetrap_grade::forbidden_text::forbidden;
use racetrap_grade::grade::{grade_files, refused_result};
use racetrap_grade::submission::SubmissionError;

#[test]
fn labelled_reductions() {
    all_as_labelled("reduction", &reductions());
}

#[test]
fn labelled_products() {
    all_as_labelled("tiled-product", &products());
}

fn all_as_labelled(name: &str, all: &[Labelled]) {
    let file = format!("{}.cu", name.rsplit('-').next().unwrap());
    assert!(all.len() >= 40, "{} submissions", all.len());
    judge::corpus(name, &file, all);
    if std::env::var_os("RACETRAP_RENEW").is_some() {
        renew(name, all);
    }
    let mut course = open(name);
    // What is decided does not depend on how busy this machine is.
    course.assignment.limits.seconds = 3600.0;
    judge::all_as_labelled(all, &|id, source| graded(&course, id, source));
}

/// Grades a source, as it is collected.
fn graded(course: &Course, id: &str, source: &str) -> Graded {
    let wanted = &course.assignment.submission;
    if let Some((line, text)) = forbidden(source, &wanted.forbid) {
        let name = wanted.require[0].clone();
        return refused_result(course, id, &SubmissionError::Forbidden { name, line, text });
    }
    let files = one(&wanted.require[0], source);
    grade_files(course, &files, id, &mut |_| {}).unwrap_or_else(|error| panic!("{id}: {error}"))
}

fn renew(name: &str, all: &[Labelled]) {
    let folder = pinned(name);
    let _ = std::fs::remove_dir_all(&folder);
    let course = Course::open(
        &crate::course::example(name).join("assignment.yaml"),
        Compiler::find(),
    )
    .unwrap();
    let required = &course.assignment.submission.require[0];
    let example = |which: &str| {
        let path = crate::course::example(name).join(which).join(required);
        std::fs::read_to_string(path).unwrap()
    };
    let mut sources: Vec<String> = all.iter().map(|(_, _, source)| source.clone()).collect();
    sources.extend([example("solution"), example("starter")]);
    for text in sources {
        if forbidden(&text, &course.assignment.submission.forbid).is_some() {
            continue;
        }
        let source = course.source(&one(required, &text)).unwrap();
        let build = &course.assignment.build;
        let compiled = course.compiler.compile(&source, build).unwrap();
        let compiled =
            compiled.map(|c| std::fs::read_to_string(c.ptx(Optimisation::Optimised)).unwrap());
        keep(
            &folder,
            &source.key(build, Optimisation::Optimised),
            &compiled,
        )
        .unwrap();
    }
}
