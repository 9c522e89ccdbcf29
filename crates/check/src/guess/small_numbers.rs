//! Small numbers, where much of a kernel was not reached.
//!
//! A number of iterations, the width of a border, a level: guessed as large as the launch, they may keep a kernel from doing anything. So
//! where a part of its instructions was not reached, integers become 1, one after the other; each stays so if a run of one warp after the
//! other reaches more with it. What the hypothesis that comes of this shows to be wrong between threads in shared memory, or at barriers, is a
//! warning. All else is the guess's: numbers that do not fit each other lead to one place in global memory, or outside.

use super::{Aim, Further, Guess, STEPS};
use crate::error::Error;
use crate::hypothesis::Hypothesis;
use crate::known::{Fault, Known};
use crate::run::{Runner, possible};

/// How often each integer is looked at: what one lets through, the next one may stop.
const PASSES: usize = 2;
/// Integers that are looked at, at most.
const MOST: usize = 8;
/// Instructions that have to be missing, and their part of all.
const MISSING: (usize, usize) = (8, 20);

pub(crate) struct SmallNumbers;

impl Guess for SmallNumbers {
    fn beside(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Further>, Error> {
        let first = &known.judged.hypothesis;
        let count = first.plan.integer_values().len().min(MOST);
        let reached = |hypothesis: &Hypothesis| {
            let exploration = runner.exploration(hypothesis).within(STEPS);
            let program = &runner.prepared.programs[0];
            let reached = possible(exploration.reached(program, &hypothesis.plan))?;
            Ok::<_, Error>(reached.unwrap_or_default())
        };
        // One is what `further_sizes` tries anyway.
        if count < 2 {
            return Ok(Vec::new());
        }
        let (mut most, all) = reached(first)?;
        let missing = all - most;
        if missing < MISSING.0 || missing * MISSING.1 < all {
            return Ok(Vec::new());
        }
        let mut best = first.clone();
        for place in (0..PASSES).flat_map(|_| 0..count) {
            if runner.gives_up() || most == all {
                break;
            }
            let other = Hypothesis {
                plan: best.plan.with_integer(place, 1),
                geometry: best.geometry.clone(),
            };
            if other.plan == best.plan {
                continue;
            }
            let (now, _) = reached(&other)?;
            if now > most {
                (best, most) = (other, now);
            }
        }
        Ok(vec![Further {
            hypothesis: best,
            aim: Aim::Ways,
            rank: 5,
            counts: false,
            fault: Fault::Extents,
        }])
    }
}
