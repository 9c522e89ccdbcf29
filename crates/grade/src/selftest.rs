//! Proves a rubric before students see it: submissions whose scores are known, and mutants of the reference.
//!
//! A mutant is the reference with one barrier, fence or atomic removed or weakened in its PTX. It shows that the rubric notices when just
//! that is missing.

mod mutants;

use crate::assignment::Points;
use crate::course::Course;
use crate::grade::{GradeError, grade_step_by_step};
use crate::result::Graded;
use std::collections::BTreeMap;
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

    /// Compares what parts earn with what they must earn.
    fn scores(&mut self, name: &str, graded: &Graded, scores: &BTreeMap<String, Points>) {
        for (part, points) in scores {
            let earned = earned(graded, part);
            let ok = points.met(earned);
            let mut line = format!("{name}: {part}: {}", shown_points(earned));
            if !ok {
                let _ = write!(line, ", expected {points}{}", reasons(graded));
            }
            self.lines.push((ok, line));
        }
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
        out.scores(&shown, &graded, scores);
    }
    mutants::judge(course, &mut out)?;
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
