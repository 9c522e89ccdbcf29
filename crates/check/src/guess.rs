//! The ways to guess, one a file.
//!
//! racetrap has to launch a kernel of which it sees neither the host nor the data. A guess is never the kernel's fault. So each way to
//! guess is a [`Guess`]: it proposes hypotheses from what is known so far, says what each of them needs to be believed, and whose fault it
//! is what a hypothesis shows. [`search`](super::search) tries them; `docs/guesses.md` lists the files.

mod address;
mod array_bounds;
mod asserted;
mod block_size;
mod buffer_size;
mod compared_contents;
mod contents;
pub(crate) mod fitting_size;
mod further_numbers;
mod further_sizes;
mod index_base;
mod more_threads;
mod one_past;
mod pointer_offset;
mod scattered_stores;
mod size_as_index;
mod size_limit;
mod small_numbers;
#[cfg(test)]
mod tests;
mod turns;
mod unwritten_contents;

use super::error::Error;
use super::explore::Deed;
use super::hypothesis::Hypothesis;
use super::known::{Fault, Known, Saying, Short};
use super::run::{Outcome, Runner};
use std::collections::HashSet;

/// Warp-instructions of a schedule beyond which nothing else is tried.
pub(crate) const STEPS: u64 = 4_000_000;
/// The same for what takes few runs, and what a kernel gets first that a guessed 0 may keep from ending.
const LONG: u64 = 4 * STEPS;

/// One way to guess. All that a file does not do is nothing.
pub(crate) trait Guess: Sync {
    /// Warp-instructions that a hypothesis gets first, where this guess may be why it does not end.
    fn patience(&self, hypothesis: &Hypothesis) -> Option<u64> {
        let _ = hypothesis;
        None
    }

    /// What a hypothesis does wrong at once, where it is not worth a whole run then.
    ///
    /// # Errors
    ///
    /// The check was cancelled.
    fn soon(
        &self,
        hypothesis: &Hypothesis,
        runner: &mut Runner<'_>,
    ) -> Result<Option<Outcome>, Error> {
        let _ = (hypothesis, runner);
        Ok(None)
    }

    /// Makes warnings of findings that are this guess's fault whatever else is guessed.
    ///
    /// # Errors
    ///
    /// The check was cancelled.
    fn excuse(&self, known: &mut Known, runner: &mut Runner<'_>) -> Result<(), Error> {
        let _ = (known, runner);
        Ok(())
    }

    /// Hypotheses to judge with instead of one that shows errors, the likeliest first.
    ///
    /// # Errors
    ///
    /// The check was cancelled.
    fn instead(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        let _ = (known, runner);
        Ok(Vec::new())
    }

    /// Hypotheses to try beside one that shows no error, the most telling first.
    ///
    /// # Errors
    ///
    /// The check was cancelled.
    fn beside(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Further>, Error> {
        let _ = (known, runner);
        Ok(Vec::new())
    }

    /// What single runs show with buffers that are as short as somebody says, or as likely.
    ///
    /// # Errors
    ///
    /// The check was cancelled.
    fn short(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Short>, Error> {
        let _ = (known, runner);
        Ok(Vec::new())
    }
}

/// A hypothesis that may be judged with instead.
#[derive(Debug)]
pub(crate) struct Instead {
    /// The hypothesis.
    pub hypothesis: Hypothesis,
    /// What it needs to be believed.
    pub needs: Needs,
    /// What is said of the one that it replaces.
    pub saying: Saying,
}

/// What a hypothesis needs to be judged with.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Hypotheses that have to be well in a run of one warp after the other first, which is cheap.
    pub well: Vec<Hypothesis>,
    /// What may still be wrong with it.
    pub may: May,
    /// Whether each branch that went both ways before has to do so again.
    pub as_much: bool,
    /// Accesses most of which it has to make inside.
    pub accesses: HashSet<Deed>,
}

/// What may still be wrong with a hypothesis that replaces another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum May {
    /// Nothing.
    #[default]
    Nothing,
    /// Anything but accesses outside memory.
    StayInside,
    /// Anything but accesses further outside than a guessed buffer grows.
    NotTooFar,
}

/// What a further hypothesis is to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// Loops that go round at least three times.
    Turns,
    /// Branches that go the other way: other contents, other numbers.
    Ways,
    /// Sizes around those that fit, of which some threads have no part: warps that are not whole.
    Around,
    /// What the verdict does not hold for.
    Limits,
}

/// A further hypothesis.
#[derive(Debug)]
pub(crate) struct Further {
    /// The hypothesis.
    pub hypothesis: Hypothesis,
    /// What it is to add.
    pub aim: Aim,
    /// Its place among all: the most telling first.
    pub rank: u32,
    /// Whether it counts among the settings that the user limits.
    pub counts: bool,
    /// Whose fault it is what it alone shows.
    pub fault: Fault,
}

/// The ways to guess numbers, contents and buffers, in the order in which they are asked.
pub(crate) const ARGUMENTS: [&dyn Guess; 17] = [
    &size_limit::SizeLimit,
    &index_base::IndexBase,
    &address::Address,
    &pointer_offset::PointerOffset,
    &array_bounds::ArrayBounds,
    &size_as_index::SizeAsIndex,
    &scattered_stores::ScatteredStores,
    &unwritten_contents::UnwrittenContents,
    &asserted::Asserted,
    &fitting_size::FittingSize,
    &contents::Contents,
    &compared_contents::ComparedContents,
    &turns::Turns,
    &small_numbers::SmallNumbers,
    &further_sizes::FurtherSizes,
    &further_numbers::FurtherNumbers,
    &one_past::OnePast,
];

/// The ways to guess launches; for each of these, arguments are guessed anew.
pub(crate) const LAUNCHES: [&dyn Guess; 2] = [&block_size::BlockSize, &more_threads::MoreThreads];

/// What single runs with short buffers show, whatever was guessed.
pub(crate) const BUFFERS: [&dyn Guess; 1] = [&buffer_size::BufferSize];
