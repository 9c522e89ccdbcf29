//! What is known of a kernel so far: the hypothesis that it is judged with, those that were given up, and those that were tried beside.
//! All of it is data; [`judge`](super::judge) puts it into words.

use super::explore::Key;
use super::hypothesis::Hypothesis;
use super::run::Outcome;
use super::seen::Seen;
use detect::rules::{Level, Rule};
use std::collections::HashSet;

/// What is known.
#[derive(Debug)]
pub(crate) struct Known {
    /// What the kernel is judged with, and what came of it.
    pub judged: Outcome,
    /// What was judged with before, and is not the kernel's fault.
    pub given_up: Vec<GivenUp>,
    /// Further hypotheses.
    pub beside: Vec<Beside>,
    /// What single runs with short buffers showed.
    pub short: Vec<Short>,
    /// Whether the integers are as large as given buffers let them be.
    pub bounded: bool,
    /// Whether only the first steps of what the kernel is judged with were run: there it went wrong at once.
    pub at_once: bool,
}

/// A hypothesis that was given up because another one shows no error.
#[derive(Debug)]
pub(crate) struct GivenUp {
    /// The hypothesis.
    pub hypothesis: Hypothesis,
    /// Its findings, by build.
    pub seen: Vec<Vec<Seen>>,
    /// What is said of its errors.
    pub saying: Saying,
}

/// What is said of the errors of a hypothesis that was given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saying {
    /// Which of them are warnings.
    pub warnings: Warnings,
    /// What a clean verdict says that it does not hold for.
    pub left_out: Option<LeftOut>,
    /// Whether the integers are as large as given buffers let them be.
    pub bounded: bool,
}

/// Which errors are warnings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Warnings {
    /// None.
    #[default]
    Nothing,
    /// All.
    All,
    /// Races.
    Races,
    /// What was reached outside, as one finding: it is one number that leads there, and what else was seen follows from it.
    Outside,
}

/// The part of a hypothesis that a verdict does not hold for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// The numbers that are others now.
    Numbers,
    /// The number of threads in a block.
    Block,
}

/// A further hypothesis.
#[derive(Debug)]
pub(crate) struct Beside {
    /// What came of it.
    pub outcome: Outcome,
    /// Whose fault it is what it alone shows.
    pub fault: Fault,
    /// Whether it was tried for loops to go round more often.
    pub for_turns: bool,
}

/// A finding of a single run with buffers that are shorter than those that the kernel is judged with.
#[derive(Debug)]
pub(crate) struct Short {
    /// The finding.
    pub seen: Seen,
    /// What shows it.
    pub hypothesis: Hypothesis,
}

/// Whose fault an error is that a further hypothesis alone shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The kernel's, for it asks its threads about all that was changed, and sizes became smaller.
    Asked,
    /// The same, and sizes became larger: arrays may be too small for them.
    AskedLarger,
    /// The kernel's, where it is between threads: a size was multiplied that has to fit the launch.
    Multiple,
    /// The guess's: a size was changed that has to fit the launch.
    Unasked,
    /// The guess's, for numbers were changed that need not fit each other and say how rows lie in global memory. What is wrong between threads
    /// elsewhere may be the kernel's.
    Extents,
    /// The kernel's, where it is between threads and not of stores alone: the kernel asks for such contents.
    Compared,
    /// Nobody knows.
    Unknown,
}

impl Fault {
    /// What a finding counts as; `None` where it is the guess's fault. `races` says that all that the hypothesis shows is wrong between
    /// the threads of a block, `global` that the finding is in global memory, and `stores` that nobody reads in it.
    pub fn level(self, seen: &Seen, races: bool, global: bool, stores: bool) -> Option<Level> {
        match self {
            Fault::Compared if !stores && is_between_threads(seen.found.rule) => Some(seen.level),
            Fault::Extents if global || !is_between_threads(seen.found.rule) => None,
            Fault::Asked | Fault::AskedLarger if is_between_threads(seen.found.rule) => {
                Some(seen.level)
            }
            Fault::Multiple if races => Some(seen.level),
            Fault::AskedLarger | Fault::Multiple | Fault::Unasked => None,
            // Nobody asks for contents that lead outside.
            Fault::Compared if !is_between_threads(seen.found.rule) => None,
            Fault::Asked | Fault::Extents | Fault::Compared | Fault::Unknown => {
                Some(seen.level.min(Level::Warning))
            }
        }
    }
}

/// Whether a rule is about what threads do together, which no array's size excuses.
fn is_between_threads(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::DataRace
            | Rule::InsufficientScope
            | Rule::DivergentBarrier
            | Rule::WarpSyncMask
            | Rule::UndefinedShuffle
            | Rule::Deadlock
            | Rule::LockstepAssumption
            | Rule::SameValueWrite
            | Rule::BarrierAfterExit
            | Rule::UnorderedCommunication
    )
}

impl Beside {
    /// What it shows that is not known, with what each finding counts as; `None` where that is the guess's fault.
    pub fn new_findings(&self, known: &HashSet<Key>) -> Option<Vec<(&Seen, Level)>> {
        let fresh = self.fresh(known);
        let explored = &self.outcome.explored;
        let is_race = |seen: &&Seen| {
            let key = seen.found.key();
            explored.iter().any(|e| e.races_in_shared.contains(&key))
        };
        let races = fresh.iter().all(is_race);
        let is_global = |seen: &Seen| {
            let key = seen.found.key();
            explored.iter().any(|e| e.in_global.contains(&key))
        };
        let stores_alone = |seen: &Seen| {
            let key = seen.found.key();
            !explored.iter().any(|e| e.read.contains(&key))
        };
        let each = fresh.into_iter();
        each.map(|seen| {
            let (global, stores) = (is_global(seen), stores_alone(seen));
            Some((seen, self.fault.level(seen, races, global, stores)?))
        })
        .collect()
    }

    /// What it shows that is not known.
    pub fn fresh(&self, known: &HashSet<Key>) -> Vec<&Seen> {
        let all = self.outcome.seen.iter().flatten();
        all.filter(|seen| seen.level > Level::Note && !known.contains(&seen.found.key()))
            .collect()
    }
}

impl Known {
    /// What came of the first hypothesis.
    pub fn of(judged: Outcome) -> Known {
        Known {
            judged,
            given_up: Vec::new(),
            beside: Vec::new(),
            short: Vec::new(),
            bounded: false,
            at_once: false,
        }
    }

    /// Judges with another hypothesis from now on.
    pub fn replace(&mut self, other: Outcome, saying: Saying) {
        let before = std::mem::replace(&mut self.judged, other);
        self.bounded = saying.bounded;
        self.abandon(&before, saying);
    }

    /// Keeps what is to be said of a hypothesis that is not judged with.
    pub fn abandon(&mut self, outcome: &Outcome, saying: Saying) {
        self.given_up.push(GivenUp {
            hypothesis: outcome.hypothesis.clone(),
            seen: outcome.seen.clone(),
            saying,
        });
    }

    /// The findings of what the kernel is judged with, for those who excuse some.
    pub fn findings_mut(&mut self) -> impl Iterator<Item = &mut Seen> {
        self.judged.seen.iter_mut().flatten()
    }
}

impl GivenUp {
    /// Its errors, of all builds.
    pub fn errors(&self) -> impl Iterator<Item = &Seen> {
        let all = self.seen.iter().flatten();
        all.filter(|seen| seen.level == Level::Error)
    }

    /// Those of them that are warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Seen> {
        self.errors().filter(|seen| match self.saying.warnings {
            Warnings::Nothing => false,
            Warnings::All => true,
            Warnings::Races => matches!(seen.found.rule, Rule::DataRace | Rule::InsufficientScope),
            Warnings::Outside => seen.found.rule == Rule::OutOfBounds,
        })
    }
}
