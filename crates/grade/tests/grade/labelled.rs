//! Every submission of the corpus is graded as its label says.
//!
//! `RACETRAP_CORPUS=FOLDER` also writes the submissions there, as a class of files.
//!
//! Their PTX is pinned, so that no compiler is needed. `RACETRAP_RENEW=1 cargo nextest run -p racetrap-grade labelled` compiles it again.

use crate::corpus::{Label, Labelled, products, reductions};
use crate::course::{one, open, pinned};
use racetrap_grade::Graded;
use racetrap_grade::assignment::{Kind, Optimisation};
use racetrap_grade::build::{Compiler, keep};
use racetrap_grade::code::forbidden;
use racetrap_grade::course::Course;
use racetrap_grade::grade::{grade_files, refused_result};
use racetrap_grade::submission::SubmissionError;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn labelled_reductions() {
    all_as_labelled("reduction", &reductions());
}

#[test]
fn labelled_products() {
    all_as_labelled("tiled-product", &products());
}

fn all_as_labelled(name: &str, all: &[Labelled]) {
    assert!(all.len() >= 40, "{} submissions", all.len());
    let sources: BTreeSet<&String> = all.iter().map(|(_, _, source)| source).collect();
    assert_eq!(sources.len(), all.len(), "two are the same");
    if std::env::var_os("RACETRAP_RENEW").is_some() {
        renew(name, all);
    }
    if let Some(folder) = std::env::var_os("RACETRAP_CORPUS") {
        for (id, _, source) in all {
            let at = std::path::Path::new(&folder).join(name).join(id);
            std::fs::create_dir_all(&at).unwrap();
            let file = if name == "reduction" {
                "reduction.cu"
            } else {
                "product.cu"
            };
            std::fs::write(at.join(file), source).unwrap();
        }
    }
    let mut course = open(name);
    // What is decided does not depend on how busy this machine is.
    course.assignment.limits.seconds = 3600.0;
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((id, label, source)) = all.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let graded = graded(&course, id, source);
                    if let Err(why) = as_labelled(&graded, *label) {
                        wrong
                            .lock()
                            .unwrap()
                            .push(format!("{id} ({label:?}): {why}\n{}", shown(&graded)));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        all.len(),
        wrong.join("\n")
    );
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

/// Whether a part lost points, or could not earn any, and some cause of its kind was found.
fn costs(graded: &Graded, kind: Kind) -> Result<(), String> {
    let found = graded.causes.iter().any(|c| kind.rules().contains(&c.rule));
    let part = graded.parts.iter().find(|p| p.check == kind).unwrap();
    match (found, part.earned) {
        (true, Some(earned)) if earned < part.of => Ok(()),
        (found, earned) => Err(format!(
            "{}: found: {found}, earned: {earned:?}",
            kind.name()
        )),
    }
}

fn as_labelled(graded: &Graded, label: Label) -> Result<(), String> {
    let part = |kind: Kind| graded.parts.iter().find(|p| p.check == kind).unwrap();
    let want = |what: &str, holds: bool| if holds { Ok(()) } else { Err(what.to_owned()) };
    want("nothing is left open", graded.is_final())?;
    if label == Label::Refused {
        want("it is refused", graded.refused.is_some())?;
        return want("no points", graded.points == 0.0);
    }
    want(
        "it compiles",
        graded.refused.is_none() && part(Kind::Compile).earned == Some(part(Kind::Compile).of),
    )?;
    let results = part(Kind::Output);
    match label {
        Label::Right => {
            want("no cause", graded.causes.is_empty())?;
            let of = part(Kind::Counts).of;
            want("all points but for counts", graded.points >= graded.of - of)
        }
        Label::Racy => costs(graded, Kind::Races),
        Label::Barrier => costs(graded, Kind::Barriers),
        Label::Memory => costs(graded, Kind::Memory),
        Label::Wrong => {
            want(
                "results lose points",
                results.earned.is_some_and(|e| e < results.of),
            )?;
            want("no cause", graded.causes.is_empty())
        }
        Label::Nothing => want(
            "points for compiling alone",
            graded.points == part(Kind::Compile).of,
        ),
        Label::Refused => Ok(()),
    }
}

fn shown(graded: &Graded) -> String {
    let mut out = String::new();
    for part in &graded.parts {
        out += &format!("    {}: {:?} of {}\n", part.id, part.earned, part.of);
    }
    for cause in &graded.causes {
        let lines: Vec<u32> = cause.lines.iter().map(|l| l.line).collect();
        out += &format!("    {} {lines:?}\n", cause.rule);
    }
    for review in &graded.review {
        out += &format!("    {}: {}\n", review.part, review.why);
    }
    if let Some(refused) = &graded.refused {
        out += &format!("    {}\n{}\n", refused.what, refused.messages);
    }
    for input in &graded.inputs {
        for draw in &input.draws {
            if let racetrap_grade::result::Outcome::Wrong { what, .. } = &draw.outcome {
                out += &format!("    {}: {what}\n", input.id);
            }
        }
    }
    out
}
