//! Runs a kernel under one hypothesis, and says what came of it: plain data.
//!
//! [`Runner::run`] explores each build. What guesses look at beside, single short runs, are questions to an
//! [`Runner::exploration`].

use super::error::{Error, ErrorKind};
use super::explore::{Exploration, Explored, Turns};
use super::hypothesis::Hypothesis;
use super::prepare::Prepared;
use super::request::{Request, Watch};
use super::seen::Seen;
use super::two_builds;
use super::work::Work;
use detect::rules::{Level, Rule};
use report::Sources;
use session::explorer::Schedules;
use simt::Limits;
use simt::ids::Dim3;
use std::sync::Arc;

/// Runs hypotheses of one kernel.
pub(crate) struct Runner<'a> {
    /// The kernel.
    pub prepared: &'a Prepared,
    /// What is asked.
    pub request: &'a Request,
    /// Who watches.
    pub watch: &'a dyn Watch,
    /// The files.
    pub sources: &'a mut Sources,
    /// What may be spent on other guesses.
    pub work: Arc<Work>,
    /// Hypotheses that were run as a whole.
    pub runs: u32,
    /// How often loops go round under a hypothesis, where that was asked.
    turns: Vec<(Hypothesis, Turns)>,
    /// Grids and blocks that were tried.
    pub launches: Vec<(Dim3, Dim3)>,
}

/// How far a hypothesis is run.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    /// Warp-instructions of a schedule, at most, where they are fewer than the user allows.
    pub steps: Option<u64>,
    /// The schedules, where they are others than all.
    pub schedules: Option<Schedules>,
    /// Whether the optimised build alone is run.
    pub one_build: bool,
}

/// What came of a hypothesis.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// As it was proposed.
    pub asked: Hypothesis,
    /// As it was run: guessed buffers grow to what the kernel reaches.
    pub hypothesis: Hypothesis,
    /// By build.
    pub explored: Vec<Explored>,
    /// What was found, by build.
    pub seen: Vec<Vec<Seen>>,
}

impl<'a> Runner<'a> {
    /// Of a kernel that is ready.
    pub fn new(
        prepared: &'a Prepared,
        request: &'a Request,
        watch: &'a dyn Watch,
        sources: &'a mut Sources,
    ) -> Runner<'a> {
        Runner {
            prepared,
            request,
            watch,
            sources,
            work: Arc::default(),
            runs: 0,
            turns: Vec::new(),
            launches: Vec::new(),
        }
    }

    /// How a hypothesis is explored.
    pub fn exploration<'h>(&self, hypothesis: &'h Hypothesis) -> Exploration<'h>
    where
        'a: 'h,
    {
        let (prepared, request, watch) = (self.prepared, self.request, self.watch);
        Exploration {
            work: Arc::clone(&self.work),
            ..prepared.exploration(&hypothesis.geometry, request, watch)
        }
    }

    /// Explores each build under a hypothesis.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn run(&mut self, asked: Hypothesis, how: &How) -> Result<Outcome, Error> {
        let prepared = self.prepared;
        let mut plan = asked.plan.clone();
        let mut explored: Vec<Explored> = Vec::new();
        let exploration = self.exploration(&asked);
        let steps = exploration.limits.steps;
        let exploration = Exploration {
            limits: Limits {
                steps: how.steps.map_or(steps, |most| most.min(steps)),
                ..exploration.limits.clone()
            },
            schedules: how
                .schedules
                .clone()
                .unwrap_or(exploration.schedules.clone()),
            ..exploration
        };
        let builds = if how.one_build { 1 } else { usize::MAX };
        let all = prepared.input.builds.iter().zip(&prepared.programs);
        for (build, program) in all.take(builds) {
            explored.push(exploration.explore(build, program, &mut plan, self.sources)?);
            // What does not end in one build takes as long in the other, and the finding is there.
            if explored
                .last()
                .is_some_and(|e| e.took_the_budget() && !e.diagnostics().is_empty())
            {
                break;
            }
        }
        self.runs += 1;
        let seen = two_builds::joined(&explored, &prepared.input.builds);
        let hypothesis = Hypothesis {
            geometry: asked.geometry.clone(),
            plan,
        };
        Ok(Outcome {
            asked,
            hypothesis,
            explored,
            seen,
        })
    }

    /// The same of a hypothesis that may be one that no GPU can launch: then nothing comes of it.
    ///
    /// # Errors
    ///
    /// The check was cancelled.
    pub fn try_run(&mut self, asked: Hypothesis, how: &How) -> Result<Option<Outcome>, Error> {
        possible(self.run(asked, how))
    }

    /// How often the loops go round in a run of one warp after the other; of the build that has all loops of the source, which is the one
    /// that is not optimised.
    ///
    /// # Errors
    ///
    /// The check was cancelled.
    pub fn turns(&mut self, hypothesis: &Hypothesis) -> Result<Turns, Error> {
        if let Some((_, turns)) = self.turns.iter().find(|(known, _)| known == hypothesis) {
            return Ok(turns.clone());
        }
        let Some(program) = self.prepared.programs.last() else {
            return Ok(Turns::default());
        };
        let turns = self
            .exploration(hypothesis)
            .turns(program, &hypothesis.plan);
        let turns = possible(turns)?.unwrap_or_default();
        self.turns.push((hypothesis.clone(), turns.clone()));
        Ok(turns)
    }

    /// Whether no time is left.
    pub fn out_of_time(&self) -> bool {
        self.exploration(&self.prepared.first).out_of_time()
    }

    /// Whether no other guess is to be tried: there is no time left, or no work.
    pub fn gives_up(&self) -> bool {
        self.exploration(&self.prepared.first).gives_up()
    }

    /// Whether a run of one warp after the other makes no error within so many warp-instructions.
    ///
    /// # Errors
    ///
    /// The check was cancelled.
    pub fn is_well(&self, hypothesis: &Hypothesis, steps: u64) -> Result<bool, Error> {
        let exploration = self.exploration(hypothesis).within(steps);
        let program = &self.prepared.programs[0];
        let guilty = possible(exploration.guilty(program, &hypothesis.plan))?.flatten();
        Ok(guilty.is_some_and(|guilty| guilty.is_empty()))
    }
}

/// What a run with another guess tells; nothing where it can't be launched.
pub(crate) fn possible<T>(run: Result<T, Error>) -> Result<Option<T>, Error> {
    match run {
        Ok(told) => Ok(Some(told)),
        Err(error) if error.kind == ErrorKind::Cancelled => Err(error),
        Err(_) => Ok(None),
    }
}

impl Outcome {
    /// The errors, of all builds.
    pub fn errors(&self) -> impl Iterator<Item = &Seen> {
        let all = self.seen.iter().flatten();
        all.filter(|seen| seen.level == Level::Error)
    }

    /// Whether there are errors.
    pub fn is_wrong(&self) -> bool {
        self.errors().next().is_some()
    }

    /// Whether something was reached outside memory.
    pub fn leaves(&self) -> bool {
        let rules = [Rule::OutOfBounds, Rule::UseAfterFree];
        self.errors().any(|seen| rules.contains(&seen.found.rule))
    }

    /// Whether a guessed buffer would have to be larger than any guess.
    pub fn is_too_far(&self) -> bool {
        self.explored.iter().any(|e| e.too_far)
    }

    /// Whether every schedule came to its end.
    pub fn ended(&self) -> bool {
        !self.explored.iter().any(|e| e.stopped.is_some())
    }

    /// Warp-instructions of all schedules and builds.
    pub fn work(&self) -> u64 {
        let all = self.explored.iter();
        all.map(|e| e.steps.saturating_mul(e.schedules.len().max(1) as u64))
            .sum()
    }

    /// Warp-instructions of the longest schedule.
    pub fn longest(&self) -> u64 {
        self.explored.iter().map(|e| e.steps).max().unwrap_or(0)
    }

    /// Warp-instructions of the first build's longest schedule: the other one goes on lane by lane.
    pub fn steps(&self) -> u64 {
        self.explored.first().map_or(0, |e| e.steps)
    }
}
