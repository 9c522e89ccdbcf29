//! Larger blocks with which loops go round at least three times.
//!
//! `for (k = blockDim.x / 2; k >= 32; k /= 2)` goes round once in a block of 64 threads, and a barrier that is missing in it shows in no
//! such block. So where a loop went round less than three times, and nothing but what is likely says how large a block is, a kernel that
//! fits every block is run with four times as many threads beside. Races in shared memory that this shows are the kernel's; anything else
//! may be the guess's: an array may be too small for so many threads.

use super::{Aim, Further, Guess};
use crate::error::Error;
use crate::geometry::{self, From};
use crate::known::{Fault, Known};
use crate::request::Given;
use crate::run::Runner;
use simt::ids::Dim3;

/// How many times as many threads.
const TIMES: u32 = 4;

pub(crate) struct MoreThreads;

impl Guess for MoreThreads {
    fn beside(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Further>, Error> {
        let prepared = runner.prepared;
        let (input, entry) = (&prepared.input, &prepared.entry);
        let first = &known.judged.asked;
        let block = first.block();
        let threads = block.count() * u64::from(TIMES);
        let likely = first.geometry.origins.block == From::Default
            && first.geometry.is_guessed()
            && threads <= geometry::most_threads(input, entry)
            && geometry::fits_every_block(input, entry);
        // Numbers that were guessed otherwise were so for this block.
        if !likely || block.y > 1 || !known.given_up.is_empty() {
            return Ok(Vec::new());
        }
        if runner.turns(first)?.too_few().is_none() {
            return Ok(Vec::new());
        }
        let launch = Given {
            block: Some(Dim3::linear(threads as u32)),
            ..runner.request.launch
        };
        let Ok(mut hypothesis) = prepared.hypothesis(runner.request, launch) else {
            return Ok(Vec::new());
        };
        hypothesis
            .geometry
            .origins
            .clone_from(&first.geometry.origins);
        Ok(vec![Further {
            hypothesis,
            aim: Aim::Turns,
            rank: 1,
            counts: false,
            fault: Fault::Multiple,
        }])
    }
}
