//! Flags in buffers.
//!
//! Where buffers of integers hold random numbers because nobody said what they hold, a further hypothesis fills them with zeros and ones:
//! flags, and what a branch compares with. What that shows is a warning.

use super::{Aim, Further, Guess};
use crate::argument::Fill;
use crate::change::Change;
use crate::error::Error;
use crate::known::{Fault, Known};
use crate::run::Runner;

pub(crate) struct Contents;

impl Guess for Contents {
    fn beside(&self, known: &Known, _: &mut Runner<'_>) -> Result<Vec<Further>, Error> {
        let first = &known.judged.hypothesis;
        let few = Change::Contents(Fill::random_in(0, 1)).in_hypothesis(first);
        Ok(vec![Further {
            hypothesis: few,
            aim: Aim::Ways,
            rank: 0,
            counts: false,
            fault: Fault::Unknown,
        }])
    }
}
