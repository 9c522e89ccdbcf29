//! Counterexamples, for people.

use super::draw::{Draw, Inputs};
use super::entry::Entry;
use super::plan::Plan;
use super::token::{free, token};
use super::values::Fill;
use session::expression::Expression;
use simt::ScheduleSpec;
use std::fmt;

/// A run that shows something, made as small as it gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterexample {
    /// Threads of a block, in the largest launch.
    pub threads: u64,
    /// Blocks, in that launch.
    pub blocks: u64,
    /// The sizes that are not themselves the number of threads or blocks.
    pub sizes: Vec<(String, i64)>,
    /// The inputs, where the case draws some.
    pub inputs: Option<Inputs>,
    /// The schedule; `None` on a GPU, which has its own.
    pub schedule: Option<ScheduleSpec>,
    /// What it shows: a wrong result, or the name of a finding.
    pub shows: String,
    /// The token that replays it.
    pub token: String,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        write!(
            f,
            "{} thread{}, {} block{}",
            self.threads,
            plural(self.threads),
            self.blocks,
            plural(self.blocks)
        )?;
        for (name, value) in &self.sizes {
            write!(f, ", {name} = {value}")?;
        }
        match self.inputs {
            None => {}
            Some(Inputs::Ones) => f.write_str(", all inputs 1")?,
            Some(Inputs::Iota) => f.write_str(", inputs 1, 2, 3 …")?,
            Some(Inputs::Random(_)) => f.write_str(", random inputs")?,
        }
        if let Some(schedule) = &self.schedule {
            write!(f, ", {schedule}")?;
        }
        write!(f, ": {}", self.shows)
    }
}

/// The counterexample that a run is.
pub fn example(
    entry: &Entry,
    plan: &Plan,
    draw: &Draw,
    schedule: Option<ScheduleSpec>,
    shows: String,
) -> Counterexample {
    let case = &entry.case;
    let largest = plan
        .launches()
        .max_by_key(|l| l.grid.count() * l.block.count());
    let (threads, blocks) = largest.map_or((0, 0), |l| (l.block.count(), l.grid.count()));
    let is_geometry = |name: &str| {
        case.launched().any(|l| {
            let is = |e: &Vec<Expression>| e.len() == 1 && e[0].as_name() == Some(name);
            is(&l.grid.0) || is(&l.block.0)
        })
    };
    let sizes = free(case)
        .filter(|(name, _)| !is_geometry(name))
        .filter_map(|(name, _)| Some((name.to_owned(), *plan.sizes.get(name)?)));
    let random = case
        .buffers
        .values()
        .any(|b| matches!(b.values, Fill::Random(_)));
    Counterexample {
        threads,
        blocks,
        sizes: sizes.collect(),
        inputs: random.then_some(draw.inputs),
        schedule,
        shows,
        token: token(&entry.id, case, &plan.sizes, draw),
    }
}
