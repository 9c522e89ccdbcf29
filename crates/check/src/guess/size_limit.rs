//! Sizes that lead further than any buffer grows.
//!
//! Guessed sizes are multiplied where several say the extent of one buffer: no kernel is wrong because of that. So all guessed integers
//! are made smaller, until nothing leads so far; what the larger ones showed is not told.

use super::{Guess, Instead, May, Needs};
use crate::error::Error;
use crate::hypothesis::Hypothesis;
use crate::known::{Known, Saying};
use crate::run::Runner;

/// How often they are made smaller.
const SMALLER: usize = 2;

pub(crate) struct SizeLimit;

impl Guess for SizeLimit {
    fn instead(&self, known: &Known, _: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        let mut all: Vec<Instead> = Vec::new();
        if !known.judged.is_too_far() {
            return Ok(all);
        }
        let mut last = known.judged.asked.clone();
        for _ in 0..SMALLER {
            let plan = last
                .plan
                .with_integers(|n| if n < 4 { n } else { n.isqrt() });
            if plan == last.plan {
                break;
            }
            last = Hypothesis { plan, ..last };
            all.push(Instead {
                hypothesis: last.clone(),
                needs: Needs {
                    may: May::NotTooFar,
                    ..Needs::default()
                },
                saying: Saying::default(),
            });
        }
        Ok(all)
    }
}
