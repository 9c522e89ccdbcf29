//! Grades one submission.

use crate::assignment::BuildKind;
use crate::build::{BuildError, Compiled};
use crate::course::Course;
use crate::observe::{Observed, nothing_yet, observe};
use crate::program::{self, build::Built};
use crate::result::{FORMAT, Graded, Provenance, Refused, Submitted, round};
use crate::score::{Evidence, score};
use crate::submission::{CollectError, Files, SubmissionError, collect};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Why a submission was not graded. It is not the student's fault.
#[derive(Debug, thiserror::Error)]
pub enum GradeError {
    /// It can't be read.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// It can't be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Grades the submission at a path.
///
/// # Errors
///
/// What is not the student's fault; all that is comes back as a grade.
pub fn grade(course: &Course, path: &Path) -> Result<Graded, GradeError> {
    grade_step_by_step(course, path, &name_of(path), &mut |_| {})
}

/// The same under a name of one's own; `progress` is told what is known until then, over and over, in grades of which what is not
/// known has no points yet.
///
/// # Errors
///
/// As [`grade`].
pub fn grade_step_by_step(
    course: &Course,
    path: &Path,
    name: &str,
    progress: &mut dyn FnMut(&Graded),
) -> Result<Graded, GradeError> {
    match collect(path, &course.assignment.submission) {
        Ok(files) => grade_files(course, &files, name, progress),
        Err(CollectError::Submission(error)) => Ok(refused_result(course, name, &error)),
        Err(error) => Err(GradeError::Collect(error)),
    }
}

/// The grade of a submission that does not keep to what is asked for.
pub fn refused_result(course: &Course, name: &str, error: &SubmissionError) -> Graded {
    let refused = Refused {
        what: error.to_string(),
        messages: String::new(),
    };
    let submission = Submitted::of_nothing(name);
    let making = Making::new(course, &submission);
    making.graded(Some(refused), Observed::default())
}

/// Grades files that were collected.
///
/// # Errors
///
/// As [`grade`].
pub fn grade_files(
    course: &Course,
    files: &Files,
    name: &str,
    progress: &mut dyn FnMut(&Graded),
) -> Result<Graded, GradeError> {
    let submission = files.submitted(name);
    let mut making = Making::new(course, &submission);
    progress(&making.graded(None, nothing_yet(course)));
    let source = course.source(files)?;
    if course.assignment.build.kind != BuildKind::Kernel {
        making.called = true;
        let built = course.compiler.program(&source, &course.assignment.build)?;
        return match built {
            Err(refused) => Ok(making.graded(Some(refused), Observed::default())),
            Ok(built) => making.run_program(&built, files, progress),
        };
    }
    let compiled = match course.compiler.compile(&source, &course.assignment.build)? {
        Err(refused) => return Ok(making.graded(Some(refused), Observed::default())),
        Ok(compiled) => compiled,
    };
    making.called = compiled.called;
    Ok(making.run(&compiled, files, progress))
}

/// Grades PTX as if it were the optimised build of these files.
///
/// # Errors
///
/// A scratch folder can't be made.
pub fn grade_ptx(
    course: &Course,
    files: &Files,
    ptx: &str,
    name: &str,
) -> Result<Graded, GradeError> {
    let submission = files.submitted(name);
    let making = Making::new(course, &submission);
    let compiled = Compiled::of_ptx(&course.source(files)?, ptx)?;
    Ok(making.run(&compiled, files, &mut |_| {}))
}

/// Grades a program that was built of these files.
///
/// # Errors
///
/// As [`grade`].
pub fn grade_built(
    course: &Course,
    files: &Files,
    built: &Built,
    name: &str,
) -> Result<Graded, GradeError> {
    let submission = files.submitted(name);
    let making = Making::new(course, &submission);
    making.run_program(built, files, &mut |_| {})
}

/// A grade that is being made.
struct Making<'a> {
    course: &'a Course,
    submission: &'a Submitted,
    started: Instant,
    /// Whether the compiler was called.
    called: bool,
}

impl<'a> Making<'a> {
    fn new(course: &'a Course, submission: &'a Submitted) -> Making<'a> {
        Making {
            course,
            submission,
            started: Instant::now(),
            called: false,
        }
    }

    fn run(&self, compiled: &Compiled, files: &Files, progress: &mut dyn FnMut(&Graded)) -> Graded {
        let limit = self.course.assignment.limits.seconds.clamp(0.1, 86_400.0);
        let until = Instant::now() + Duration::from_secs_f64(limit);
        let observed = observe(self.course, compiled, &files.texts, until, &mut |known| {
            progress(&self.graded(None, known.clone()));
        });
        match observed {
            Ok(observed) => self.graded(None, observed),
            Err(refused) => self.graded(Some(refused), Observed::default()),
        }
    }

    fn run_program(
        &self,
        built: &Built,
        files: &Files,
        progress: &mut dyn FnMut(&Graded),
    ) -> Result<Graded, GradeError> {
        let limit = self.course.assignment.limits.seconds.clamp(0.1, 86_400.0);
        let until = Instant::now() + Duration::from_secs_f64(limit);
        let mut told = |known: &Observed| progress(&self.graded(None, known.clone()));
        let observed =
            program::observe::observe(self.course, built, &files.texts, until, &mut told)?;
        Ok(self.graded(None, observed))
    }

    fn graded(&self, refused: Option<Refused>, observed: Observed) -> Graded {
        let Making { course, .. } = self;
        let evidence = Evidence {
            refused: refused.as_ref(),
            observed: &observed,
        };
        let (parts, review) = score(&course.assignment, evidence);
        Graded {
            format: FORMAT,
            assignment: course.assignment.id.clone(),
            title: course.assignment.title.clone(),
            submission: self.submission.clone(),
            points: round(parts.iter().filter_map(|p| p.earned).sum()),
            of: round(parts.iter().map(|p| p.of).sum()),
            review,
            parts,
            refused,
            causes: observed.causes,
            inputs: observed.inputs,
            provenance: Provenance {
                racetrap: env!("CARGO_PKG_VERSION").to_owned(),
                nvcc: course.compiler.version.clone().filter(|_| self.called),
                assignment: course.hash.clone(),
                seed: course.assignment.seed,
                seconds: self.started.elapsed().as_secs_f64(),
                schedules: course.assignment.schedules,
            },
        }
    }
}

impl Submitted {
    /// A submission that could not be collected.
    fn of_nothing(name: &str) -> Submitted {
        Submitted {
            name: name.to_owned(),
            sha256: String::new(),
            files: BTreeMap::new(),
            ignored: Vec::new(),
        }
    }
}

/// The name of a submission: that of its folder or file, without the ending of an archive.
pub fn name_of(path: &Path) -> String {
    let real = path.canonicalize();
    let path = real.as_deref().unwrap_or(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let known = [".zip", ".tar.gz", ".tgz", ".tar", ".cu"];
    let name = known
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name);
    name.chars()
        .map(|c| if report::visible(c) == c { c } else { '_' })
        .collect()
}
