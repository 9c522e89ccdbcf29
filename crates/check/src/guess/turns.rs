//! Sizes with which loops go round at least three times.
//!
//! A stage that is overwritten while others still read it shows in the third turn of a loop. So where one went round less often, sizes are
//! made larger: three times those that the kernel compares with its threads, and no multiple of anything, so that the last turn is not a
//! whole one; and multiples of those that have to fit the launch. If all that the latter show are races in shared memory, these are the
//! kernel's: with more turns of a loop, no size is at fault.

use super::further_sizes::fault_of_sizes;
use super::{Aim, Further, Guess};
use crate::error::Error;
use crate::hypothesis::Hypothesis;
use crate::known::{Fault, Known};
use crate::run::Runner;

pub(crate) struct Turns;

impl Guess for Turns {
    fn beside(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Further>, Error> {
        let first = &known.judged.hypothesis;
        let plan = &first.plan;
        if !plan.are_sizes() || plan.integer_values().is_empty() {
            return Ok(Vec::new());
        }
        let Some(turns) = runner.turns(first)?.too_few() else {
            return Ok(Vec::new());
        };
        let asked = plan.with_sizes(|n| n.saturating_mul(3) + 13, 0);
        let fault = fault_of_sizes(plan, &asked);
        let unasked = plan.with_unasked(|n| n.saturating_mul(if turns == 1 { 4 } else { 2 }));
        let both = [(unasked, Fault::Multiple), (asked, fault)];
        let all = both.into_iter().map(|(plan, fault)| Further {
            hypothesis: Hypothesis {
                plan,
                geometry: first.geometry.clone(),
            },
            aim: Aim::Turns,
            rank: 1,
            counts: false,
            fault,
        });
        Ok(all.collect())
    }
}
