//! Smaller sizes that show the same root cause: one size after the other is made smaller, as long as the same rule is broken at the same lines.
//!
//! What is tried is counted in runs and warp-instructions, so that it does not depend on how fast the machine is.

use crate::causes::{Key, key};
use crate::course::Course;
use crate::input::{Drawn, resized};
use report::Diagnostic;
use std::time::Instant;

/// What may be tried for one root cause.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Runs.
    pub runs: u32,
    /// Warp-instructions.
    pub steps: u64,
    /// When the time is up.
    pub until: Instant,
}

/// The smallest input that was found, and the finding there; nothing where none smaller shows it. `run` tells what an input shows, and
/// how many warp-instructions it took to know.
pub fn smallest(
    course: &Course,
    drawn: &Drawn,
    wanted: &Key,
    budget: Budget,
    run: &mut dyn FnMut(&Drawn) -> (Vec<Diagnostic>, u64),
) -> Option<(Drawn, Diagnostic)> {
    let mut best: Option<(Drawn, Diagnostic)> = None;
    let mut sizes = drawn.sizes.clone();
    let (mut runs, mut steps) = (0, 0);
    let names: Vec<String> = sizes.keys().cloned().collect();
    loop {
        let mut changed = false;
        for name in &names {
            for value in candidates(sizes[name]) {
                if runs == budget.runs || steps >= budget.steps || Instant::now() >= budget.until {
                    return best;
                }
                let mut fewer = sizes.clone();
                fewer.insert(name.clone(), value);
                runs += 1;
                let made = resized(&course.assignment, &course.folder, drawn, fewer.clone());
                let Ok(smaller) = made else {
                    continue;
                };
                let (found, took) = run(&smaller);
                steps += took;
                if let Some(diagnostic) = found.into_iter().find(|d| key(d) == *wanted) {
                    best = Some((smaller, diagnostic));
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
