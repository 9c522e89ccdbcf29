//! Further floating-point numbers.
//!
//! Guessed floating-point numbers are 1 at first. Further hypotheses set all of them to 0, to a negative and to a small number: what
//! threads compare with them, and what is divided by them, then goes the other way. What that shows is a warning.

use super::{Aim, Further, Guess};
use crate::error::Error;
use crate::hypothesis::Hypothesis;
use crate::known::{Fault, Known};
use crate::run::Runner;

/// The numbers, each with its place among all further hypotheses.
const NUMBERS: [(&str, u32); 3] = [("0.0", 20), ("-1.0", 50), ("0.001", 70)];

pub(crate) struct FurtherNumbers;

impl Guess for FurtherNumbers {
    fn beside(&self, known: &Known, _: &mut Runner<'_>) -> Result<Vec<Further>, Error> {
        let first = &known.judged.hypothesis;
        let all = NUMBERS.into_iter().filter_map(|(value, rank)| {
            let plan = first.plan.with_floats(value)?;
            Some(Further {
                hypothesis: Hypothesis {
                    plan,
                    geometry: first.geometry.clone(),
                },
                aim: Aim::Ways,
                rank,
                counts: true,
                fault: Fault::Unknown,
            })
        });
        Ok(all.collect())
    }
}
