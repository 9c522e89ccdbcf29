//! Whole programs as submissions: each is graded as its label says.
//!
//! They are what students hand in, and what somebody hands in who wants more than to solve the assignment. Programs can't be pinned as
//! PTX is, so nothing is tested without a CUDA compiler.

mod forging;
mod hostile;
mod makefiles;
mod neighbours;
mod row_sums;
mod smallest;

use crate::course::{example, one};
use crate::judge::{self, Label, Labelled};
use racetrap_grade::Graded;
use racetrap_grade::assignment::Optimisation;
use racetrap_grade::build::{Compiler, Source};
use racetrap_grade::course::Course;
use racetrap_grade::grade::{grade, grade_built};
use racetrap_grade::program::build::Built;
use std::sync::Mutex;
use toolchain::sandbox::{Confined, Sandbox};
use toolchain::seccomp::Calls;

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
    // Nor does it on how fast host code is, and so it is compiled a third sooner: headers of C++17 are long.
    let sooner = ["-O0", "-std=c++14"].map(str::to_owned);
    course.assignment.build.flags.extend(sooner);
    Some(course)
}

/// What runs until it is stopped, on each input: half a second of that shows as much as five.
const ENDLESS: [&str; 3] = ["endless", "ignores-signals", "stops-itself"];

/// The submissions of an assignment: whether the reference's host program can run their kernels, or they have to be built whole.
struct Submissions {
    /// With the reference's host program.
    kernels: Vec<Labelled>,
    /// With one of their own.
    programs: Vec<Labelled>,
}

impl Submissions {
    fn of(name: &str, file: &str, all: Vec<Labelled>) -> Submissions {
        judge::corpus(name, file, &all);
        let (_, _, solution) = all.iter().find(|(id, ..)| *id == "solution").expect(name);
        let solution = around_the_kernel(solution).expect(name);
        let solution = solution.map(str::to_owned);
        let (kernels, programs) = all.into_iter().partition(|(id, label, source)| {
            let other = around_the_kernel(source);
            let same = other.is_some_and(|other| other == solution);
            same && *id != "solution" && *label != Label::Refused
        });
        Submissions { kernels, programs }
    }
}

/// A program but for the body of its one kernel: what makes its host program.
fn around_the_kernel(source: &str) -> Option<[&str; 2]> {
    let (_, rest) = source.split_once("__global__")?;
    let head = source.len() - rest.len() + rest.find('{')?;
    let end = head + source[head..].find("\n}\n")?;
    let one = !rest.contains("__global__");
    one.then(|| [&source[..head], &source[end..]])
}

/// Those that have to be built whole. One test grades them all, so that the reference is built and run once.
fn programs_as_labelled(name: &str, all: Vec<Labelled>) {
    let Some(course) = course(name) else { return };
    let mut hasty = course.clone();
    hasty.assignment.program.as_mut().unwrap().seconds = 0.5;
    let file = &course.assignment.submission.require[0];
    let programs = Submissions::of(name, file, all).programs;
    let known = |id: &&&str| programs.iter().any(|(other, ..)| other == *id);
    assert!(ENDLESS.iter().filter(known).count() >= 1, "{name}");
    judge::all_as_labelled(&programs, &|id, source| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(file), source).unwrap();
        let course = match ENDLESS.contains(&id) {
            true => &hasty,
            false => &course,
        };
        grade(course, folder.path()).unwrap_or_else(|e| panic!("{id}: {e}"))
    });
}

/// Those that differ from the reference in the kernel alone. Its host program, which takes most of the time to build, is built once, and
/// runs their kernels instead of its own.
fn kernels_as_labelled(name: &str, all: Vec<Labelled>) {
    let Some(course) = course(name) else { return };
    let file = &course.assignment.submission.require[0];
    let (_, _, solution) = &all[0];
    let built = {
        let source = course.source(&one(file, solution)).unwrap();
        let built = course.compiler.program(&source, &course.assignment.build);
        Mutex::new(built.unwrap().unwrap())
    };
    let kernels = Submissions::of(name, file, all).kernels;
    assert!(kernels.len() >= 10, "{name}: {}", kernels.len());
    judge::all_as_labelled(&kernels, &|id, source| {
        let ptx = ptx_of(&course, source);
        with_kernel(&course, &mut built.lock().unwrap(), id, source, &ptx)
    });
}

fn ptx_of(course: &Course, source: &str) -> String {
    let file = &course.assignment.submission.require[0];
    // Beside it: kernels alone are compiled without a folder to look in.
    let source = source.replace("#include <wb.h>", "#include \"wb.h\"");
    let source = Source {
        // And not the makefile that the course has for it.
        main: file.clone(),
        ..course.source(&one(file, &source)).unwrap()
    };
    let compiled = course.compiler.compile(&source, &course.assignment.build);
    let compiled = compiled.unwrap().unwrap();
    std::fs::read_to_string(compiled.ptx(Optimisation::Optimised)).unwrap()
}

/// Grades a program whose host program was built before.
fn with_kernel(course: &Course, built: &mut Built, id: &str, source: &str, ptx: &str) -> Graded {
    let files = one(&course.assignment.submission.require[0], source);
    let own = built.device_code(&course.assignment.build).unwrap();
    let [own] = &own[..] else {
        panic!("{id}: {} texts", own.len());
    };
    built.run_instead(own, ptx).unwrap();
    built.texts = course.source(&files).unwrap().files;
    grade_built(course, &files, built, id).unwrap_or_else(|e| panic!("{id}: {e}"))
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

/// That of `row-sums` is run by `the_zip_of_a_program_grades_in_an_empty_folder`, as a service runs it.
#[test]
fn the_selftest_of_wb_neighbours_holds() {
    let Some(course) = course("wb-neighbours") else {
        return;
    };
    let done = racetrap_grade::selftest::selftest(&course).unwrap();
    assert!(done.ok() && done.lines.len() == 6, "{}", done.render());
}

fn all_neighbours() -> Vec<Labelled> {
    let mut all = neighbours::neighbours();
    all.extend(neighbours::more());
    all
}

fn row_sums() -> Vec<Labelled> {
    let mut all = row_sums::row_sums(&secrets());
    all.extend(hostile::hostile());
    all.extend(forging::forging_programs());
    all
}

#[test]
fn labelled_programs() {
    programs_as_labelled("row-sums", row_sums());
}

#[test]
fn labelled_wb_programs() {
    programs_as_labelled("wb-neighbours", all_neighbours());
}

#[test]
fn labelled_kernels() {
    kernels_as_labelled("row-sums", row_sums());
}

#[test]
fn labelled_wb_kernels() {
    kernels_as_labelled("wb-neighbours", all_neighbours());
}

/// Both assignments have at least this many submissions whose grades are known.
#[test]
fn there_are_many_labelled_programs() {
    let (programs, wb) = (row_sums().len(), all_neighbours().len());
    assert!(programs >= 60 && wb >= 40, "{programs}, {wb}");
}
