//! Integers and contents that lead outside memory whose size somebody has said: an array in the source, a buffer that the user gave.
//!
//! - The number of elements of a given buffer that is left is the likeliest value of whatever says how many there are: then the user has
//!   said it, and nothing is told.
//! - Where indices are read from a buffer whose contents are guessed, smaller numbers are tried: what only those contents showed is a
//!   warning.
//! - `filter[j + radius]` with 17 weights is right with a radius of 5. So if the very threads that reach outside an array do the same
//!   access inside with another value, the first value was wrong, and what it showed is a warning: callers know. `s[t + 1]` below
//!   `if (t < n)` stays an error: with a smaller `n` the last thread does not come there.

use super::{Guess, Instead, LONG, May, Needs, STEPS};
use crate::change::{Change, smaller_contents};
use crate::error::Error;
use crate::explore::Deed;
use crate::known::{Known, Saying, Warnings};
use crate::plan::Plan;
use crate::run::{Runner, possible};
use std::collections::HashSet;

/// Runs with other integers, at most.
const TRIALS: usize = 40;

pub(crate) struct ArrayBounds;

/// Why a guess is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Excuse {
    /// It is not the size of a buffer that was given.
    Given,
    /// It leads outside an array, and another one does not.
    Array,
    /// Contents of buffers lead outside an array, and others do not.
    Contents,
}

impl Guess for ArrayBounds {
    fn instead(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        let judged = &known.judged;
        if !judged.leaves() || judged.longest() > LONG {
            return Ok(Vec::new());
        }
        let long = judged.longest() > STEPS;
        let found = inside(known, runner, long)?;
        let instead = found.map(|(change, excuse)| Instead {
            hypothesis: change.in_hypothesis(&judged.asked),
            needs: Needs {
                may: May::StayInside,
                ..Needs::default()
            },
            saying: Saying {
                warnings: match excuse {
                    // The user has said how many elements there are.
                    Excuse::Given => Warnings::Nothing,
                    Excuse::Array | Excuse::Contents => Warnings::Outside,
                },
                left_out: None,
                bounded: excuse == Excuse::Given,
            },
        });
        Ok(instead.into_iter().collect())
    }
}

/// The change with which nothing is reached outside.
fn inside(
    known: &Known,
    runner: &Runner<'_>,
    long: bool,
) -> Result<Option<(Change, Excuse)>, Error> {
    let hypothesis = &known.judged.hypothesis;
    let plan = &hypothesis.plan;
    let integers = plan.integer_values();
    if integers.is_empty() && plan.random_integers().is_empty() {
        return Ok(None);
    }
    let exploration = runner.exploration(hypothesis);
    let program = &runner.prepared.programs[0];
    let first = exploration.outside(program, plan, &HashSet::new())?;
    if first.wild || first.is_nothing() && first.before.is_empty() {
        return Ok(None);
    }
    let smaller = smaller_contents(plan).into_iter();
    let smaller = smaller.map(|change| (change, Excuse::Contents));
    let others = candidates(plan, &integers, &first.given, !first.fixed.is_empty());
    let most = if long { 3 } else { TRIALS };
    let asked: HashSet<Deed> = first.fixed.union(&first.before).copied().collect();
    for (change, excuse) in smaller.chain(others).take(most) {
        // Integers say how far a kernel reaches, not that it begins before a buffer.
        if exploration.gives_up() || first.is_nothing() && excuse != Excuse::Contents {
            break;
        }
        let other = exploration.outside(program, &change.of(plan), &asked);
        let Some(other) = possible(other)? else {
            continue;
        };
        let same = asked.is_empty() || !other.inside.is_empty();
        let before = first.before.is_empty() || other.before.is_empty();
        if other.is_nothing() && before && same {
            return Ok(Some((change, excuse)));
        }
    }
    Ok(None)
}

/// What is tried, in order.
fn candidates(
    plan: &Plan,
    integers: &[u64],
    given: &[usize],
    array: bool,
) -> Vec<(Change, Excuse)> {
    let mut all = Vec::new();
    let each = |value: u64| {
        let larger = integers
            .iter()
            .enumerate()
            .filter(move |(_, n)| **n > value);
        larger.map(move |(place, _)| Change::One(place, value))
    };
    for length in given.iter().filter_map(|index| plan.length_of(*index)) {
        all.extend(each(length).map(|change| (change, Excuse::Given)));
        all.push((Change::All(length), Excuse::Given));
    }
    if array {
        let most = integers.iter().copied().max().unwrap_or(0);
        for value in [most.isqrt(), 5, 3, 1] {
            all.extend(each(value).map(|change| (change, Excuse::Array)));
        }
        for value in [most.isqrt(), 5, 3, 1] {
            all.push((Change::All(value), Excuse::Array));
        }
    }
    all
}
