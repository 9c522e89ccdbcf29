//! A session on the simulator: one device, its detectors, and launches one after another.

use crate::detect::Detectors;
use crate::finding::{Action, Detail, End, Finding};
use crate::rules::Rule;
use crate::simt::ids::*;
use crate::simt::observer::Party;
use crate::simt::schedule::Trace;
use crate::simt::{Device, Launch, Limits, Program, ScheduleSpec, Stats, Stop, launch};

/// How a session runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who runs when.
    pub schedule: ScheduleSpec,
    /// Budgets of each launch.
    pub limits: Limits,
    /// Cores that blocks may be dealt out to.
    pub jobs: usize,
    /// Whether performance is judged too (bank conflicts, coalescing, divergence).
    pub perf: bool,
    /// Global memory of the device, bytes.
    pub device_bytes: u64,
}

impl Default for Options {
    /// Lockstep, one core, correctness only, 1 GiB of global memory.
    fn default() -> Options {
        Options {
            schedule: ScheduleSpec::Lockstep,
            limits: Limits::default(),
            jobs: 1,
            perf: false,
            device_bytes: 1 << 30,
        }
    }
}

/// What a clean run says about schedules that were not tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Independence {
    /// Every schedule gives this result for this input: no race, and no value that
    /// depends on the order of threads steers control flow or an address, or reaches memory.
    Independent,
    /// Every schedule has this verdict, but values in memory may depend on the order
    /// (the old values that atomics return, sums of floats in any order).
    VerdictOnly,
    /// Other schedules may do other things.
    Dependent,
}

/// What a session has found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Findings of all detectors, and of launches that did not end; grouped, in a stable order.
    pub findings: Vec<Finding>,
    /// Why the last launch did not come to its end.
    pub stopped: Option<Stop>,
    /// What the run says about other schedules. Only meaningful where there is no finding.
    pub independence: Independence,
    /// What the kernels printed.
    pub output: String,
    /// Decisions of each launch, for schedules that make some.
    pub traces: Vec<Trace>,
    /// Warp-instructions executed.
    pub steps: u64,
}

/// A device with detectors watching.
pub struct Session {
    options: Options,
    device: Device,
    detectors: Detectors,
    launches: u32,
    extra: Vec<Finding>,
    stopped: Option<Stop>,
    independence: Independence,
    output: String,
    traces: Vec<Trace>,
    steps: u64,
}

impl Session {
    /// A session with an empty device.
    pub fn new(options: Options) -> Session {
        Session {
            device: Device::new(options.device_bytes),
            detectors: Detectors::new(options.perf),
            options,
            launches: 0,
            extra: Vec::new(),
            stopped: None,
            independence: Independence::Independent,
            output: String::new(),
            traces: Vec::new(),
            steps: 0,
        }
    }

    /// The device, for allocations and copies.
    pub fn device(&mut self) -> &mut Device {
        &mut self.device
    }

    /// Launches a kernel and runs it to its end; [`Launch::number`] is set here.
    ///
    /// # Errors
    /// [`Stop`]. Deadlocks and endless kernels have become findings, too.
    pub fn launch(&mut self, program: &Program, how: &Launch) -> Result<Stats, Stop> {
        let number = self.launches;
        self.launches += 1;
        let how = Launch {
            number,
            ..how.clone()
        };
        let o = &self.options;
        let ended = launch(
            &mut self.device,
            program,
            &how,
            &o.schedule,
            &o.limits,
            o.jobs,
            &mut self.detectors,
        );
        let facts = &program.facts;
        if facts.steered {
            self.independence = Independence::Dependent;
        } else if facts.order_in_results && self.independence == Independence::Independent {
            self.independence = Independence::VerdictOnly;
        }
        match &ended {
            Ok(stats) => {
                self.output.push_str(&stats.output);
                self.traces.push(stats.trace.clone());
                self.steps += stats.steps;
            }
            Err(stop) => {
                self.extra.extend(finding(stop, number));
                self.stopped = Some(stop.clone());
            }
        }
        ended
    }

    /// Ends the session.
    pub fn finish(mut self) -> (Outcome, Device) {
        let mut findings = self.detectors.take_findings();
        findings.append(&mut self.extra);
        findings.sort_by_key(|f| (f.rule, f.ends.first().map(|e| e.site)));
        let outcome = Outcome {
            findings,
            stopped: self.stopped,
            independence: self.independence,
            output: self.output,
            traces: self.traces,
            steps: self.steps,
        };
        (outcome, self.device)
    }
}

/// Deadlocks and endless kernels as findings; other stops are no findings.
fn finding(stop: &Stop, launch: u32) -> Option<Finding> {
    let ends = |block: BlockId, parties: &[Party], action: Action| -> Vec<End> {
        let mut ends: Vec<End> = Vec::new();
        for p in parties {
            match ends.iter_mut().find(|e| e.site == p.site) {
                Some(end) => end.threads += p.mask.count_ones(),
                None => ends.push(End {
                    site: p.site,
                    launch,
                    block,
                    thread: ThreadId::of(p.warp, LaneId(p.mask.trailing_zeros() as u8)),
                    threads: p.mask.count_ones(),
                    action,
                    order: None,
                }),
            }
        }
        ends
    };
    let (rule, ends, detail) = match stop {
        Stop::Deadlock { block, waiting } => (
            Rule::Deadlock,
            ends(*block, waiting, Action::Wait),
            Detail::None,
        ),
        Stop::NoProgress {
            steps,
            block,
            running,
            waiting,
        } => {
            let mut all = ends(*block, running, Action::Run);
            all.extend(ends(*block, waiting, Action::Wait));
            (Rule::NoProgress, all, Detail::Steps(*steps))
        }
        _ => return None,
    };
    Some(Finding {
        rule,
        ends,
        place: None,
        detail,
        count: 1,
    })
}
