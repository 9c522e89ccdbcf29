//! A launch under other schedules: what the program goes on with is the first run's memory, and the others start from what was there before it.
//!
//! Where the first run promises that every schedule has its verdict, there is nothing to try. Elsewhere schedules are chosen as for a
//! kernel by itself ([`session::explorer`]), reversals of what the run did included, within a share of the program's time.
//!
//! Blind spot: what other schedules leave in memory is not compared with what the first one left.

use crate::context::Context;
use crate::launch::Request;
use crate::record::{Call, LaunchName};
use crate::trace::{Again, Shown};
use detect::Detectors;
use detect::communication::Log;
use detect::coverage::Coverage;
use detect::finding::Finding;
use session::explorer::{Explorer, Schedules, explore};
use simt::lower::dependence::dependence;
use simt::snapshot::Image;
use simt::{Launch, Limits, Program, ScheduleSpec};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Allocated bytes of the device up to which launches are explored; they are copied twice.
pub(crate) const MOST: u64 = 1 << 30;
/// Exploration that is allowed whatever its share of the time.
const GRACE: Duration = Duration::from_secs(3);
/// How much longer than the first run another one may take, if the budget allows it.
const LONGER: u32 = 20;

/// What exploration has cost.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    /// Launches as the program wants them.
    pub running: Duration,
    /// Launches under other schedules.
    pub exploring: Duration,
}

/// What there is to explore of a launch: from before its first run.
pub(crate) struct Start {
    memory: Arc<Image>,
    explorer: Explorer,
}

/// How a run went.
struct Run {
    findings: Vec<Finding>,
    steps: u64,
    log: Option<Log>,
    ended: bool,
    coverage: Option<Coverage>,
    took: Duration,
}

/// What a run's threads did to memory that they share.
fn log_of(detectors: &mut Detectors, program: &Program) -> Option<Log> {
    detectors.take_communication().map(|mut log| {
        log.whole &= program.facts.memory_alone;
        log
    })
}

fn records(program: &Program) -> bool {
    program.facts.strong_global || program.facts.strong_shared
}

impl Context {
    /// Time that exploration may take in all, as long as no more was launched than until now.
    fn allowed(&self) -> Duration {
        let share = f64::from(self.options.budget) / 100.0;
        self.spent.running.mul_f64(share).max(GRACE)
    }

    /// Before a launch: what is needed to run it under other schedules; `None` where nothing is to be tried. `before` is a copy of its
    /// memory, if there is one already.
    pub(crate) fn start(
        &mut self,
        request: &Request,
        before: Option<&Arc<Image>>,
    ) -> Option<Start> {
        let program = &request.kernel.program;
        let most = self.options.schedules as usize;
        if most < 2
            || !program.facts.order_sources
            || self.spent.exploring >= self.allowed()
            || self.depth > 0
        {
            return None;
        }
        let memory = match before {
            Some(memory) => memory.clone(),
            None => Arc::new(self.device.image(MOST)?),
        };
        let explorer = Explorer::new(&Schedules::UpTo {
            most,
            seed: 0,
            weak: program.facts.stale_values,
        });
        if records(program) && explorer.recording(program).of(&ScheduleSpec::Lockstep) {
            self.detectors.record_communication();
        }
        Some(Start { memory, explorer })
    }

    /// After the first run of a launch, which took so many warp-instructions: tries it under other schedules, and tells what they find.
    pub(crate) fn explore(
        &mut self,
        start: Start,
        request: &Request,
        how: &Launch,
        name: &LaunchName,
        (steps, took): (u64, Duration),
        call: &impl Fn() -> Call,
    ) {
        let program = &request.kernel.program;
        let log = log_of(&mut self.detectors, program);
        if !dependence(program, self.detectors.order_sources()).steered {
            return;
        }
        let Some(left) = self.device.image(MOST) else {
            return;
        };
        let Start {
            memory,
            mut explorer,
        } = start;
        let recording = explorer.recording(program);
        let allowed = self.allowed();
        let left_of_budget = allowed.saturating_sub(self.spent.exploring);
        let limits = Limits {
            steps: self.options.steps,
            wall: Some(
                (took * LONGER)
                    .min(left_of_budget)
                    .max(Duration::from_secs(1)),
            ),
            others: self.others(),
            engine: self.options.engine(),
            ..Limits::default()
        };
        let first = Mutex::new(Some(Run {
            findings: Vec::new(),
            steps,
            log,
            ended: true,
            coverage: None,
            took: Duration::ZERO,
        }));
        let device = Mutex::new(&mut self.device);
        let run = |number: usize, schedule: &ScheduleSpec, _: usize| {
            let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let (0, Some(first)) = (number, first) {
                return first;
            }
            let mut device = device.lock().unwrap_or_else(PoisonError::into_inner);
            let began = Instant::now();
            device.put_back(&memory);
            let mut detectors = Detectors::new(false);
            if records(program) && recording.of(schedule) {
                detectors.record_communication();
            }
            let ended = detectors.launch(&mut device, program, how, schedule, &limits, 1);
            device.take_children();
            let mut findings = detectors.take_findings();
            if let Err(stop) = &ended {
                findings.extend(session::simulator::finding(stop, 0));
            }
            Run {
                findings,
                steps: ended.as_ref().map_or(0, |stats| stats.steps),
                log: log_of(&mut detectors, program),
                ended: ended.is_ok(),
                coverage: Some(detectors.take_coverage()),
                took: began.elapsed(),
            }
        };
        let mut exploring = self.spent.exploring;
        let mut found = Vec::new();
        let mut tried = 0;
        let take = |explorer: &mut Explorer, number: usize, schedule: &ScheduleSpec, run: Run| {
            explorer.learn(schedule, run.steps, run.log.as_ref(), run.ended);
            exploring += run.took;
            tried += u64::from(number > 0);
            if !run.findings.is_empty() {
                explorer.found();
            }
            found.push((schedule.clone(), run.findings, run.coverage));
            match exploring < allowed {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        explore(&mut explorer, 1, run, take);
        self.device.put_back(&left);
        let again = self.options.traces.then(|| Again::new(memory, how));
        self.spent.exploring = exploring;
        let totals = self.totals_of(&request.kernel);
        totals.explored.0 += 1;
        totals.explored.1 += tried + 1;
        for (schedule, findings, coverage) in found {
            if let Some(coverage) = coverage {
                self.coverage
                    .entry(request.kernel.id)
                    .or_default()
                    .0
                    .merge(&coverage);
            }
            let from = Shown {
                schedule: Some(&schedule),
                again: again.as_ref(),
                waits: None,
            };
            self.report_under(&findings, request, name, call, from);
        }
    }
}
