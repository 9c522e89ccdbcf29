//! Whole programs as submissions: each is graded as its label says.
//!
//! They are what students hand in, and what somebody hands in who wants more than to solve the assignment. `RACETRAP_CORPUS=FOLDER` also
//! writes them there, as classes of files. Programs can't be pinned as PTX is, so nothing is tested without a CUDA compiler.

mod neighbours;
mod row_sums;

use crate::course::example;
use racetrap_grade::Graded;
use racetrap_grade::assignment::Kind;
use racetrap_grade::build::Compiler;
use racetrap_grade::course::Course;
use racetrap_grade::grade::grade;
use racetrap_grade::result::State;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use toolchain::calls::Calls;
use toolchain::sandbox::{Confined, Sandbox};

/// What a submission must be graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// All points but perhaps those for efficiency.
    Right,
    /// It is built, and races cost points (or the results are too wrong for that to count).
    Racy,
    /// The same of barriers.
    Barrier,
    /// The same of memory.
    Memory,
    /// Some results are wrong.
    Wrong,
    /// No result is right: points for being built alone.
    Nothing,
    /// No points at all.
    Refused,
    /// A person decides on results or races.
    Review,
}

/// Name, label, source.
pub type Labelled = (&'static str, Label, String);

/// A text with something else between two others; the second stays.
pub fn between(text: &str, from: &str, to: &str, new: &str) -> String {
    let (before, rest) = text.split_once(from).expect(from);
    let after = rest.find(to).map_or("", |at| &rest[at..]);
    format!("{before}{new}{after}")
}

/// The assignment, where this machine can grade programs.
fn course(name: &str) -> Option<Course> {
    testing::needs_nvcc()?;
    if exec::library::find().is_err() {
        testing::skip("the library of `racetrap exec` is not built: cargo build -p racetrap-cuda");
        return None;
    }
    if Sandbox::available() == Confined::LimitsOnly || !Calls::are_filtered() {
        testing::skip("this system can't confine programs");
        return None;
    }
    let path = example(name).join("assignment.yaml");
    let mut course =
        Course::open(&path, Compiler::find()).unwrap_or_else(|e| panic!("{name}: {e}"));
    // What is decided does not depend on how busy this machine is; what is endless ends all the same.
    course.assignment.limits.seconds = 3600.0;
    course.assignment.build.seconds = 600.0;
    Some(course)
}

/// Every third submission from `part` on, so that tests are of a size.
fn as_labelled(name: &str, all: Vec<Labelled>, part: usize) {
    let Some(course) = course(name) else { return };
    let file = &course.assignment.submission.require[0];
    if let Some(folder) = std::env::var_os("RACETRAP_CORPUS") {
        for (id, _, source) in &all {
            let at = PathBuf::from(&folder).join(name).join(id);
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join(file), source).unwrap();
        }
    }
    let some: Vec<Labelled> = all.into_iter().skip(part).step_by(3).collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((id, label, source)) = some.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let folder = tempfile::tempdir().unwrap();
                    std::fs::write(folder.path().join(file), source).unwrap();
                    let graded =
                        grade(&course, folder.path()).unwrap_or_else(|e| panic!("{id}: {e}"));
                    if let Err(why) = judged(&graded, *label) {
                        let said = format!("{id} ({label:?}): {why}\n{}", shown(&graded));
                        wrong.lock().unwrap().push(said);
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
        some.len(),
        wrong.join("\n")
    );
}

/// Files that no submission may read: the assignment, the reference, another submission.
fn secrets() -> Vec<String> {
    let folder = example("row-sums");
    let all = [
        folder.join("assignment.yaml"),
        folder.join("solution/rowsums.cu"),
        example("wb-neighbours").join("solution/template.cu"),
        testing::root().join("Cargo.toml"),
    ];
    all.iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn selftests_of_programs_hold() {
    for name in ["row-sums", "wb-neighbours"] {
        let Some(course) = course(name) else { return };
        let done = racetrap_grade::selftest::selftest(&course).unwrap();
        assert!(
            done.ok() && done.lines.len() == 4,
            "{name}:\n{}",
            done.render()
        );
    }
}

/// A student's own makefile builds, and reaches nothing that a student must not reach.
#[test]
fn a_makefile_is_confined() {
    let Some(mut course) = course("row-sums") else {
        return;
    };
    course.assignment.build.harness.clear();
    course
        .assignment
        .submission
        .require
        .push("Makefile".to_owned());
    let source = std::fs::read_to_string(example("row-sums").join("solution/rowsums.cu")).unwrap();
    let secret = example("row-sums").join("assignment.yaml");
    let graded = |makefile: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("rowsums.cu"), &source).unwrap();
        std::fs::write(folder.path().join("Makefile"), makefile).unwrap();
        grade(&course, folder.path()).unwrap()
    };
    let plain = graded("rowsums: rowsums.cu\n\tnvcc -O2 -o $@ $<\n");
    assert_eq!(plain.points, 100.0, "{}", shown(&plain));
    let hostile = graded(&format!(
        "rowsums: rowsums.cu\n\tcat {0} && exit 1; true\n\tcat /etc/passwd > /dev/null && exit 1; true\n\techo a > /tmp/racetrap-was-here && exit 1; true\n\tsetsid sleep 100 && exit 1; true\n\tnvcc -cudart static -O2 -o $@ $<\n",
        secret.display()
    ));
    // The last runtime that is named counts, and that is racetrap's.
    assert_eq!(hostile.points, 100.0, "{}", shown(&hostile));
    let steals = graded(&format!(
        "rowsums: rowsums.cu\n\tcat {} {}\n",
        secret.display(),
        example("row-sums/solution/rowsums.cu").display()
    ));
    let said = serde_json::to_string(&steals).unwrap();
    assert!(
        steals.refused.is_some()
            && !said.contains("before you use")
            && !said.contains("One block a row"),
        "{said}"
    );
    let fails = graded("rowsums: rowsums.cu\n\ttouch other\n");
    assert_eq!(
        fails.refused.unwrap().what,
        "building it leaves no program `rowsums`"
    );
}

#[test]
fn labelled_programs_0() {
    as_labelled("row-sums", row_sums::row_sums(&secrets()), 0);
}

#[test]
fn labelled_programs_1() {
    as_labelled("row-sums", row_sums::row_sums(&secrets()), 1);
}

#[test]
fn labelled_programs_2() {
    as_labelled("row-sums", row_sums::row_sums(&secrets()), 2);
}

#[test]
fn labelled_wb_programs_0() {
    as_labelled("wb-neighbours", neighbours::neighbours(), 0);
}

#[test]
fn labelled_wb_programs_1() {
    as_labelled("wb-neighbours", neighbours::neighbours(), 1);
}

#[test]
fn labelled_wb_programs_2() {
    as_labelled("wb-neighbours", neighbours::neighbours(), 2);
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

fn judged(graded: &Graded, label: Label) -> Result<(), String> {
    let part = |kind: Kind| graded.parts.iter().find(|p| p.check == kind).unwrap();
    let want = |what: &str, holds: bool| if holds { Ok(()) } else { Err(what.to_owned()) };
    if label == Label::Review {
        let open = |kind| part(kind).state == State::NeedsReview;
        want("a person decides", open(Kind::Output) || open(Kind::Races))?;
        return want(
            "no points for races",
            part(Kind::Races).earned.is_none_or(|e| e == 0.0),
        );
    }
    want("nothing is left open", graded.is_final())?;
    if label == Label::Refused {
        want("it is refused", graded.refused.is_some())?;
        return want("no points", graded.points == 0.0);
    }
    want("it is built", graded.refused.is_none())?;
    let results = part(Kind::Output);
    match label {
        Label::Right => {
            want("no cause", graded.causes.is_empty())?;
            want(
                "all points but for counts",
                graded.points >= graded.of - part(Kind::Counts).of,
            )
        }
        Label::Racy => costs(graded, Kind::Races),
        Label::Barrier => costs(graded, Kind::Barriers),
        Label::Memory => costs(graded, Kind::Memory),
        Label::Wrong => want(
            "results lose points",
            results.earned.is_some_and(|e| e < results.of),
        ),
        Label::Nothing => want(
            "points for being built alone",
            graded.points == part(Kind::Compile).of,
        ),
        Label::Refused | Label::Review => Ok(()),
    }
}

fn shown(graded: &Graded) -> String {
    let mut out = String::new();
    for part in &graded.parts {
        out += &format!("    {}: {:?} of {}\n", part.id, part.earned, part.of);
    }
    for cause in &graded.causes {
        let lines: Vec<String> = cause
            .lines
            .iter()
            .map(|l| format!("{}:{}", l.file, l.line))
            .collect();
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
            out += &format!("    {}: {:?}\n", input.id, draw.outcome);
        }
    }
    out
}
