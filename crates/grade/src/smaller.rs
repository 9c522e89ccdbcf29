//! Smaller sizes that show the same root cause: one size after the other is made smaller, as long as the same rule is broken at the same lines.
//!
//! What is tried is counted in runs and warp-instructions, so that it does not depend on how fast the machine is.

use crate::causes::{Key, key};
use crate::course::Course;
use crate::input::{Drawn, resized};
use crate::run::Run;
use report::Diagnostic;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Runs for one root cause.
const RUNS: u32 = 30;
/// Warp-instructions for one root cause.
const STEPS: u64 = 2_000_000;
/// Schedules of each run.
const SCHEDULES: u32 = 4;

/// Where to look.
#[derive(Clone, Debug)]
pub struct Smaller<'a> {
    /// The assignment.
    pub course: &'a Course,
    /// The build.
    pub ptx: PathBuf,
    /// When the time is up.
    pub until: Instant,
}

impl Smaller<'_> {
    /// The smallest sizes that were found, and the finding there; nothing where none smaller shows it.
    pub fn of(&self, drawn: &Drawn, wanted: &Key) -> Option<(BTreeMap<String, i64>, Diagnostic)> {
        let mut best: Option<(BTreeMap<String, i64>, Diagnostic)> = None;
        let mut sizes = drawn.sizes.clone();
        let (mut runs, mut steps) = (0, 0);
        let names: Vec<String> = sizes.keys().cloned().collect();
        loop {
            let mut changed = false;
            for name in &names {
                for value in candidates(sizes[name]) {
                    if runs == RUNS || steps >= STEPS || Instant::now() >= self.until {
                        return best;
                    }
                    let mut fewer = sizes.clone();
                    fewer.insert(name.clone(), value);
                    runs += 1;
                    let (found, took) = self.shows(drawn, &fewer, wanted);
                    steps += took;
                    if let Some(diagnostic) = found {
                        best = Some((fewer.clone(), diagnostic));
                        sizes = fewer;
                        changed = true;
                        break;
                    }
                }
            }
            if !changed {
                return best;
            }
        }
    }

    /// The finding, if it shows with these sizes, and how many warp-instructions it took to know.
    fn shows(
        &self,
        drawn: &Drawn,
        sizes: &BTreeMap<String, i64>,
        wanted: &Key,
    ) -> (Option<Diagnostic>, u64) {
        let assignment = &self.course.assignment;
        let Ok(smaller) = resized(assignment, &self.course.folder, drawn, sizes.clone()) else {
            return (None, 0);
        };
        let run = Run {
            course: self.course,
            drawn: &smaller,
            ptx: self.ptx.clone(),
            steps: STEPS.min(assignment.limits.steps),
            schedules: SCHEDULES.min(assignment.schedules),
            until: self.until,
            trace: false,
        };
        let Ok(ran) = run.check() else {
            return (None, 0);
        };
        let took = ran.steps() * u64::from(SCHEDULES);
        let found = ran.checked.check.diagnostics.into_iter();
        (found.into_iter().find(|d| key(d) == *wanted), took)
    }
}

/// Smaller values, the smallest first.
fn candidates(value: i64) -> Vec<i64> {
    let mut all = vec![1, 2, 32, value / 2, value - 1];
    all.retain(|n| (1..value).contains(n));
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_smaller_and_grow() {
        assert_eq!(candidates(64), [1, 2, 32, 63]);
        assert_eq!(candidates(7), [1, 2, 3, 6]);
        assert_eq!(candidates(1), Vec::<i64>::new());
    }
}
