//! Numbers that an assertion or a trap refuses.
//!
//! `assert(n % 16 == 0)` and `if (mode > 3) __trap();` say what callers pass. So where all that goes wrong is an assertion, a trap or a
//! call, other integers are tried, one at a time and then all; with the first that makes no error, and shows as much of the kernel but for
//! the branch to the failure, the kernel is judged, and what the guessed ones showed is a warning. An assertion that fails with all of
//! them stays an error.

use super::{Guess, Instead, Needs, STEPS};
use crate::change::Change;
use crate::error::Error;
use crate::known::{Known, Saying, Warnings};
use crate::run::Runner;
use detect::rules::Rule;

/// What an integer becomes, after half of it and its square root: what a mode, a level or a radius may be.
const SMALL: [u64; 5] = [8, 4, 2, 1, 0];

pub(crate) struct Asserted;

impl Guess for Asserted {
    fn instead(&self, known: &Known, _: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        let first = &known.judged.hypothesis;
        let refused = |rule| matches!(rule, Rule::AssertionFailed | Rule::Trap | Rule::InvalidCall);
        if known.judged.longest() > STEPS || !known.judged.errors().all(|e| refused(e.found.rule)) {
            return Ok(Vec::new());
        }
        let values = first.plan.integer_values();
        let mut changes = Vec::new();
        for (place, value) in values.iter().enumerate() {
            let others = [value / 2, value.isqrt()].into_iter().chain(SMALL);
            let others = others.filter(|other| other != value);
            changes.extend(others.map(|other| Change::One(place, other)));
        }
        if values.len() > 1 {
            let most = values.iter().copied().max().unwrap_or(0);
            changes.extend([most / 2, most.isqrt(), 4, 1].map(Change::All));
        }
        let each = changes.into_iter().map(|change| {
            let hypothesis = change.in_hypothesis(&known.judged.asked);
            Instead {
                needs: Needs {
                    well: vec![hypothesis.clone()],
                    ..Needs::default()
                },
                hypothesis,
                saying: Saying {
                    warnings: Warnings::All,
                    ..Saying::default()
                },
            }
        });
        Ok(each.collect())
    }
}
