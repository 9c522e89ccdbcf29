//! Which schedules are tried, one after the other.
//!
//! The sweeps come first. Where they have shown that the result may depend on the order of threads, what they did is tried in
//! other orders ([`super::reversal`]), with schedules that decide by chance in between. Small runs whose orders can all be
//! tried go on until they have been.
//!
//! Schedules come in batches, whose size has nothing to do with the number of cores: so that changes nothing of what comes out.

use super::Outcome;
use super::explore::side_by_side;
use super::reversal::Reversals;
use detect::communication::Log;
use simt::{Program, ScheduleSpec};
use std::ops::ControlFlow;

/// Which schedules are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// These.
    Only(Vec<ScheduleSpec>),
    /// Those that are worth it, up to a number, where the result may depend on them.
    UpTo {
        /// How many.
        most: usize,
        /// Seed of those that decide by chance.
        seed: u64,
        /// Whether loads may return older values than the last.
        weak: bool,
    },
}

impl Schedules {
    /// Those that need no run to be known.
    pub fn known(&self) -> Vec<ScheduleSpec> {
        match self {
            Schedules::Only(all) => all.clone(),
            Schedules::UpTo { most, seed, weak } => ScheduleSpec::sweeps(*weak)
                .chain(ScheduleSpec::chances(*seed, *weak))
                .take(*most)
                .collect(),
        }
    }
}

/// Schedules that run side by side, after the sweeps.
const BATCH: usize = 4;
/// How many times the number that was asked for is run, so that every order of communication is tried.
const FURTHER: usize = 8;
/// Warp-instructions of a run up to which that is done.
const SMALL: u64 = 20_000;

/// Schedules, one after the other.
pub struct Explorer {
    given: Vec<ScheduleSpec>,
    chances: Box<dyn Iterator<Item = ScheduleSpec>>,
    reversals: Reversals,
    most: usize,
    taken: usize,
    /// Whether runs are tried in other orders.
    reverses: bool,
    rooted: bool,
    enough: bool,
    steps: u64,
}

impl Explorer {
    /// Nothing tried yet.
    pub fn new(schedules: &Schedules) -> Explorer {
        let (mut given, most, chances): (Vec<ScheduleSpec>, _, Box<dyn Iterator<Item = _>>) =
            match schedules {
                Schedules::Only(all) => (all.clone(), all.len(), Box::new(std::iter::empty())),
                Schedules::UpTo { most, seed, weak } => (
                    ScheduleSpec::sweeps(*weak).take(*most).collect(),
                    *most,
                    Box::new(ScheduleSpec::chances(*seed, *weak)),
                ),
            };
        given.reverse();
        Explorer {
            given,
            chances,
            reversals: Reversals::new(),
            most,
            taken: 0,
            reverses: matches!(schedules, Schedules::UpTo { .. }),
            rooted: false,
            enough: false,
            steps: 0,
        }
    }

    /// The number of schedules that were asked for.
    pub fn most(&self) -> usize {
        self.most
    }

    /// The next ones, which may run side by side; none where there is nothing more to try.
    fn batch(&mut self) -> Vec<ScheduleSpec> {
        let mut batch = Vec::new();
        if self.taken == 0 {
            batch.extend(self.given.pop());
        } else if !self.given.is_empty() {
            batch.extend(std::mem::take(&mut self.given).into_iter().rev());
        } else {
            while batch.len() < BATCH && self.taken + batch.len() < self.most {
                // Some that are meant for this kernel, then one that is not.
                let meant = match batch.len() < BATCH - 1 {
                    true => self.reversals.next(),
                    false => None,
                };
                match meant.or_else(|| self.chances.next()) {
                    Some(schedule) => batch.push(schedule),
                    None => break,
                }
            }
            let further = !self.enough
                && self.taken >= self.most
                && self.taken < self.most * FURTHER
                && self.reversals.may_be_all()
                && self.steps <= SMALL;
            while further && batch.len() < BATCH {
                match self.reversals.next() {
                    Some(schedule) => batch.push(schedule),
                    None => break,
                }
            }
        }
        self.taken += batch.len();
        batch
    }

    /// Which runs of a program are to write down what its threads do to memory.
    pub fn recording(&self, program: &Program) -> Recording {
        let first = match program.facts.blocks_commute {
            // The first run may deal its blocks out to several cores.
            true => ScheduleSpec::LaneByLane,
            false => ScheduleSpec::Lockstep,
        };
        Recording((self.reverses && self.most > 1).then_some(first))
    }

    /// Takes what a run has shown.
    pub fn add(&mut self, schedule: &ScheduleSpec, outcome: &Outcome) {
        let log = outcome.communication.as_ref();
        self.learn(schedule, outcome.steps, log, outcome.stopped.is_none());
    }

    /// The same of a run that took so many warp-instructions, whose threads did this to memory that they share, and that came to its end
    /// or not.
    pub fn learn(&mut self, schedule: &ScheduleSpec, steps: u64, log: Option<&Log>, ended: bool) {
        self.steps = self.steps.max(steps);
        let reversed = matches!(schedule, ScheduleSpec::Reverse(_));
        if reversed && self.reverses || !self.rooted && log.is_some() {
            self.rooted = true;
            self.reversals.add(schedule, log.filter(|_| ended));
        }
    }

    /// There is something to mend: no more than what was asked for is worth trying.
    pub fn found(&mut self) {
        self.enough = true;
    }

    /// Whether the runs show every order of communication, as far as memory is sequentially consistent.
    pub fn has_every_order(&self) -> bool {
        self.reversals.are_all()
    }
}

/// Which runs are to write down what their threads do to memory ([`super::Options::communication`]).
#[derive(Clone, Debug)]
pub struct Recording(Option<ScheduleSpec>);

impl Recording {
    /// Whether the one under a schedule is.
    pub fn of(&self, schedule: &ScheduleSpec) -> bool {
        let reversed = matches!(schedule, ScheduleSpec::Reverse(_));
        self.0
            .as_ref()
            .is_some_and(|first| reversed || first == schedule)
    }
}

/// Tries schedules on up to `jobs` cores: `run` for each, with its number, and how many cores it may use; its result goes to `take`, in the
/// order of the schedules, until that breaks. `take` is to [`add`](Explorer::add) what counts.
pub fn explore<R: Send>(
    explorer: &mut Explorer,
    jobs: usize,
    run: impl Fn(usize, &ScheduleSpec, usize) -> R + Sync,
    mut take: impl FnMut(&mut Explorer, usize, &ScheduleSpec, R) -> ControlFlow<()>,
) {
    let mut number = 0;
    loop {
        let batch = explorer.batch();
        if batch.is_empty() {
            return;
        }
        let numbered: Vec<(usize, ScheduleSpec)> = (number..).zip(batch).collect();
        let mut ended = false;
        side_by_side(
            &numbered,
            jobs,
            |(number, schedule), jobs| run(*number, schedule, jobs),
            |(number, schedule), result| {
                let flow = take(explorer, *number, schedule, result);
                ended |= flow.is_break();
                flow
            },
        );
        if ended {
            return;
        }
        number += numbered.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// What is taken, of ten schedules with a break at `stop`, and how many runs were begun.
    fn taken(jobs: usize, stop: usize) -> (Vec<String>, usize) {
        let begun = AtomicUsize::new(0);
        let mut taken = Vec::new();
        let mut explorer = Explorer::new(&Schedules::UpTo {
            most: 10,
            seed: 3,
            weak: true,
        });
        explore(
            &mut explorer,
            jobs,
            |_, schedule, _| {
                begun.fetch_add(1, Ordering::Relaxed);
                schedule.to_string()
            },
            |_, number, _, name| {
                taken.push(name);
                match number == stop {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            },
        );
        (taken, begun.into_inner())
    }

    #[test]
    fn the_number_of_cores_changes_nothing() {
        for stop in [0, 1, 4, 9, 20] {
            let (alone, _) = taken(1, stop);
            assert_eq!(alone.len(), stop.min(9) + 1);
            for jobs in 2..12 {
                assert_eq!(taken(jobs, stop).0, alone, "{jobs} jobs, stop at {stop}");
            }
        }
    }

    #[test]
    fn the_first_run_is_alone() {
        assert_eq!(taken(8, 0).1, 1);
        assert_eq!(taken(1, 3).1, 4);
    }
}
