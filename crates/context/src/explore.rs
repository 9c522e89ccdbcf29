//! A launch under other schedules: what the program goes on with is the first run's memory, and the others start from what was there before it.
//!
//! Where the first run promises that every schedule has its verdict, there is nothing to try. Elsewhere schedules are chosen as for a
//! kernel by itself ([`session::explorer`]), reversals of what the run did included, within a share of the program's time.
//!
//! Where data passes between warps in no certain order ([`Rule::UnorderedCommunication`]), what other schedules leave in memory is compared
//! with what the first one left: the finding is an error if they differ.
//!
//! Blind spot: elsewhere it is not compared.

use crate::call::{Call, LaunchName};
use crate::context::Context;
use crate::operation::Request;
use crate::trace::{Again, MOST, Shown};
use detect::Detectors;
use detect::communication::Log;
use detect::coverage::Coverage;
use detect::finding::{Finding, Place};
use detect::rules::Rule;
use session::explorer::{Explorer, Schedules, explore};
use simt::lower::dependence::dependence;
use simt::observer::Space;
use simt::snapshot::Image;
use simt::{Launch, Limits, Program, ScheduleSpec};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Exploration that is allowed whatever its share of the time.
const GRACE: Duration = Duration::from_secs(3);
/// How much longer than the first run another one may take, if the budget allows it.
const LONGER: u32 = 20;

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
    /// Where it leaves something else than the first run did: the word's byte offset, and both values.
    differs: Option<(u64, [u32; 2])>,
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

/// A word whose type nobody knows: as an integer, or as a number with a fraction where it looks like one.
fn shown(word: u32) -> String {
    let float = f32::from_bits(word);
    match (1e-6..1e9).contains(&float.abs()) {
        true => format!("{float} (as a float; {word:#x})"),
        false => (word as i32).to_string(),
    }
}

impl Context {
    /// Time that exploration may take in all, as long as no more was launched than until now.
    fn allowed(&self) -> Duration {
        let share = f64::from(self.options.budget) / 100.0;
        self.launches.spent.running.mul_f64(share).max(GRACE)
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
            || self.launches.spent.exploring >= self.allowed()
            || self.launches.depth > 0
        {
            return None;
        }
        let memory = match before {
            Some(memory) => memory.clone(),
            None => Arc::new(self.memory.device.image(MOST)?),
        };
        let explorer = Explorer::new(&Schedules::UpTo {
            most,
            seed: 0,
            weak: program.facts.stale_values,
        });
        if records(program) && explorer.recording(program).of(&ScheduleSpec::Lockstep) {
            self.launches.detectors.record_communication();
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
        let log = log_of(&mut self.launches.detectors, program);
        if !dependence(program, self.launches.detectors.order_sources()).steered {
            return;
        }
        let Some(left) = self.memory.device.image(MOST) else {
            return;
        };
        let Start {
            memory,
            mut explorer,
        } = start;
        let recording = explorer.recording(program);
        let allowed = self.allowed();
        let left_of_budget = allowed.saturating_sub(self.launches.spent.exploring);
        let limits = Limits {
            pause: simt::Pause::Nowhere,
            steps: self.options.steps,
            wall: Some(
                (took * LONGER)
                    .min(left_of_budget)
                    .max(Duration::from_secs(1)),
            ),
            others: self.others(),
            engine: self.options.engine(),
            memory: self.memory_left(),
            live: Some(self.launches.live.part()),
        };
        let first = Mutex::new(Some(Run {
            findings: Vec::new(),
            steps,
            log,
            ended: true,
            coverage: None,
            took: Duration::ZERO,
            differs: None,
        }));
        let device = Mutex::new(&mut self.memory.device);
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
            let unordered = findings
                .iter()
                .any(|f| f.rule == Rule::UnorderedCommunication);
            let differs = match (unordered, ended.is_ok()) {
                (true, true) => device.first_difference(&left),
                _ => None,
            };
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
                differs,
            }
        };
        let mut exploring = self.launches.spent.exploring;
        let mut found = Vec::new();
        let mut tried = 0;
        let mut different = None;
        let take = |explorer: &mut Explorer, number: usize, schedule: &ScheduleSpec, run: Run| {
            explorer.learn(schedule, run.steps, run.log.as_ref(), run.ended);
            exploring += run.took;
            tried += u64::from(number > 0);
            if !run.findings.is_empty() {
                explorer.found();
            }
            if let (None, Some(place)) = (&different, run.differs) {
                different = Some((schedule.clone(), place));
            }
            found.push((schedule.clone(), run.findings, run.coverage));
            match exploring < allowed {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        explore(&mut explorer, 1, run, take);
        self.memory.device.put_back(&left);
        let again = self.options.traces.then(|| Again::new(memory, how));
        self.launches.spent.exploring = exploring;
        let totals = self.findings.totals_of(&request.kernel);
        totals.explored.0 += 1;
        totals.explored.1 += tried + 1;
        for (schedule, findings, coverage) in found {
            if let Some(coverage) = coverage {
                self.findings
                    .coverage
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
        if let Some((schedule, (offset, values))) = different {
            let place = Place {
                space: Space::Global,
                address: offset,
                bytes: 4,
                mapped: true,
            };
            let [first, other] = values.map(shown);
            let text = format!(
                "{} is {first} in the program's own run and {other} under schedule `{schedule}`",
                self.view(name, request).memory.describe(&place)
            );
            self.differ(request, &text);
        }
    }
}
