//! Sizes that have to fit the launch.
//!
//! `if (i < n)` lets callers pass any `n`. A kernel that multiplies by `n` and never compares it with its threads works with those alone
//! that fit: a block of `n / 2` threads that scans `n` elements, a matrix that is a multiple of the tile that a block works on. The
//! guess, the number of threads, is one of many, so what it alone leads to is no error of the kernel. Multiples of it are tried, and the
//! threads of one block; with the first that makes no error the kernel is judged, if it shows as much of the kernel: what made the
//! errors is done again, and each branch that went both ways does so again. A clean verdict says what the first guess led to.
//!
//! `if (t + chunk < size)` says how two sizes go together and not that any will do, so `size` is among those that are tried.

use super::{Guess, Instead, Needs, STEPS};
use crate::error::Error;
use crate::hypothesis::Hypothesis;
use crate::known::{Known, LeftOut, Saying};
use crate::run::{Runner, possible};
use std::collections::HashSet;

/// Multiples that are tried: a thread computes up to 8 columns, and there are two blocks in a row.
const MULTIPLES: [u64; 4] = [2, 4, 8, 16];
/// Settings that are tried, at most.
const TRIALS: usize = 24;
/// Largest size that is tried.
const MOST: u64 = 4096;

pub(crate) struct FittingSize;

impl Guess for FittingSize {
    fn instead(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        let first = &known.judged.hypothesis;
        let others = candidates(first);
        if others.is_empty()
            || known.judged.steps() > STEPS
            || is_elsewhere(first, known.judged.steps(), runner)?
        {
            return Ok(Vec::new());
        }
        let program = &runner.prepared.programs[0];
        let exploration = runner.exploration(first);
        let deeds = possible(exploration.errors(program, &first.plan))?.flatten();
        let Some(deeds) = deeds.filter(|deeds| !deeds.is_empty()) else {
            return Ok(Vec::new());
        };
        let each = others.into_iter().map(|(hypothesis, less)| Instead {
            needs: Needs {
                well: vec![hypothesis.clone()],
                as_much: true,
                // With fewer elements fewer threads work.
                accesses: if less { HashSet::new() } else { deeds.clone() },
                ..Needs::default()
            },
            hypothesis,
            saying: Saying {
                left_out: Some(LeftOut::Numbers),
                ..Saying::default()
            },
        });
        Ok(each.collect())
    }
}

/// Whether a run of one warp after the other makes no error with the guessed sizes, or with others that may fit, all changed together.
/// `steps` is how many warp-instructions the kernel took with the launch that was guessed first.
///
/// # Errors
///
/// The check was cancelled.
pub(crate) fn runs_well(
    hypothesis: &Hypothesis,
    steps: u64,
    runner: &Runner<'_>,
) -> Result<bool, Error> {
    if is_elsewhere(hypothesis, steps, runner)? {
        return Ok(false);
    }
    if runner.is_well(hypothesis, STEPS)? {
        return Ok(true);
    }
    let places = hypothesis.plan.unasked();
    for (other, _) in changed(hypothesis, &[&places]) {
        if runner.gives_up() {
            break;
        }
        if runner.is_well(&other, STEPS)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the same threads do wrong in shared memory whatever the sizes are: then none of them will fit. A part of the work of a whole
/// run shows it: what is wrong with a tile is wrong with the first one.
fn is_elsewhere(hypothesis: &Hypothesis, steps: u64, runner: &Runner<'_>) -> Result<bool, Error> {
    const PART: u64 = 8;
    const LEAST: u64 = 20_000;
    let program = &runner.prepared.programs[0];
    let steps = (steps / PART).max(LEAST);
    let soon = |one: &Hypothesis| {
        let exploration = runner.exploration(one).within(STEPS);
        possible(exploration.soon(program, &one.plan, steps))
    };
    let Some(first) = soon(hypothesis)?.filter(|deeds| !deeds.is_empty()) else {
        return Ok(false);
    };
    let places = hypothesis.plan.unasked();
    for (other, _) in changed(hypothesis, &[&places]).iter().take(2) {
        if soon(other)?.as_ref() != Some(&first) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Other sizes, one at a time and all together; with each, whether it is a smaller one.
fn candidates(hypothesis: &Hypothesis) -> Vec<(Hypothesis, bool)> {
    let places = hypothesis.plan.unasked();
    let mut sets: Vec<&[usize]> = places.chunks(1).collect();
    if places.len() > 1 {
        sets.push(&places);
    }
    changed(hypothesis, &sets)
}

/// The same, for sets of places of [`Plan::integer_values`](crate::plan::Plan::integer_values) that change together.
fn changed(hypothesis: &Hypothesis, sets: &[&[usize]]) -> Vec<(Hypothesis, bool)> {
    let plan = &hypothesis.plan;
    let values = plan.integer_values();
    let change = |set: &[usize], change: &dyn Fn(u64) -> u64| {
        let each = set.iter().copied();
        let plan = each.fold(plan.clone(), |plan, at| {
            plan.with_integer(at, change(values[at]))
        });
        Hypothesis {
            plan,
            geometry: hypothesis.geometry.clone(),
        }
    };
    let mut all: Vec<(Hypothesis, bool)> = Vec::new();
    let shape = hypothesis.shape();
    let threads = shape.block.count();
    if shape.grid.count() > 1 {
        let one_block = |n: u64| if n > threads { threads } else { n };
        all.extend(sets.iter().map(|set| (change(set, &one_block), true)));
    }
    for by in MULTIPLES {
        let larger = |n: u64| if n * by <= MOST { n * by } else { n };
        all.extend(sets.iter().map(|set| (change(set, &larger), false)));
    }
    all.retain(|(other, _)| other.plan != *plan);
    all.truncate(TRIALS);
    all
}
