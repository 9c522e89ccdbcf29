//! Indices that were guessed as sizes.
//!
//! `a[t * (n - k)]` makes one place of all where `k` equals `n`. If the very accesses that race are made without a race with one less, the
//! value was an index; what it showed is a warning.

use super::{Guess, Instead, Needs, STEPS};
use crate::change::Change;
use crate::error::Error;
use crate::known::{Known, Saying, Warnings};
use crate::run::{Runner, possible};
use crate::search::most_are_done;

/// Runs with other integers, at most.
const TRIALS: usize = 40;

pub(crate) struct SizeAsIndex;

impl Guess for SizeAsIndex {
    fn instead(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        if known.judged.leaves() || known.judged.longest() > STEPS {
            return Ok(Vec::new());
        }
        let change = one_less(known, runner)?;
        let instead = change.map(|change| Instead {
            hypothesis: change.in_hypothesis(&known.judged.asked),
            needs: Needs::default(),
            saying: Saying {
                warnings: Warnings::All,
                ..Saying::default()
            },
        });
        Ok(instead.into_iter().collect())
    }
}

/// An integer of which one less makes the same accesses, and no error.
fn one_less(known: &Known, runner: &Runner<'_>) -> Result<Option<Change>, Error> {
    let hypothesis = &known.judged.hypothesis;
    let plan = &hypothesis.plan;
    let integers = plan.integer_values();
    if integers.is_empty() {
        return Ok(None);
    }
    let exploration = runner.exploration(hypothesis);
    let program = &runner.prepared.programs[0];
    let guilty = possible(exploration.guilty(program, plan))?.flatten();
    let Some(guilty) = guilty.filter(|g| !g.is_empty()) else {
        return Ok(None);
    };
    let positive = integers.iter().enumerate().filter(|(_, n)| **n > 1);
    for (place, value) in positive.take(TRIALS) {
        if exploration.gives_up() {
            break;
        }
        let change = Change::One(place, value - 1);
        let other = change.of(plan);
        let clean = possible(exploration.guilty(program, &other))?.flatten();
        if clean.is_some_and(|g| g.is_empty())
            && let Some(seen) = possible(exploration.outside(program, &other, &guilty))?
            && seen.is_nothing()
            && most_are_done(&guilty, &seen.inside)
        {
            return Ok(Some(change));
        }
    }
    Ok(None)
}
