//! A session on the simulator: one device with its detectors, and a sequence of launches and copies.
//!
//! If some operations of a host program are unordered, the session executes one of the sequences that its [`Order`] allows. It
//! compares the memory accesses of the operations pair by pair ([`super::concurrent`]), so that it finds a conflict whichever
//! operation ran first.

use super::concurrent::{Concurrent, Unknown};
use super::order::Order;
use detect::Detectors;
use detect::communication::Log;
use detect::coverage::Coverage;
use detect::finding::{Action, Detail, End, Finding, Place};
use detect::footprint::Footprint;
use detect::rules::Rule;
use ptx::demangle;
use simt::ids::*;
use simt::lower::dependence::dependence;
use simt::memory::{GLOBAL_BASE, MemoryError};
use simt::observer::{Party, Space};
use simt::schedule::Trace;
use simt::{Device, Launch, Limits, Live, Program, ScheduleSpec, Stats, Stop};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Bytes that a launch and its detectors may take in any case: no launch does with less.
const LEAST: u64 = 32 << 20;

/// How a session runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who runs when.
    pub schedule: ScheduleSpec,
    /// Budgets of each launch.
    pub limits: Limits,
    /// Cores that blocks may be dealt out to.
    pub jobs: usize,
    /// Whether what threads do to memory that they share is written down, for [`super::reversal`].
    pub communication: bool,
    /// Whether performance is judged too (bank conflicts, coalescing, divergence).
    pub perf: bool,
    /// Global memory of the device, bytes; of what is left of it, five eighths are for the state of blocks and for what detectors remember.
    pub device_bytes: u64,
}

impl Default for Options {
    /// Lockstep, one core, correctness only, 1 GiB of global memory.
    fn default() -> Options {
        Options {
            schedule: ScheduleSpec::Lockstep,
            limits: Limits::default(),
            jobs: 1,
            communication: false,
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
    /// Other schedules may behave differently.
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
    /// Warp-instructions of the launches that came to their end.
    pub steps: u64,
    /// Warp-instructions of all.
    pub executed: u64,
    /// Accesses to memory that the detectors have judged, one for each thread and instruction.
    pub accesses: u64,
    /// What the threads of the last launch did to memory that they share, where that was asked for.
    pub communication: Option<Log>,
    /// Where the branches of the first launch went.
    pub coverage: Coverage,
}

/// A device with detectors watching.
pub struct Session {
    pub(super) options: Options,
    pub(super) device: Device,
    pub(super) detectors: Detectors,
    launches: u32,
    pub(super) extra: Vec<Finding>,
    pub(super) stopped: Option<Stop>,
    pub(super) independence: Independence,
    output: String,
    traces: Vec<Trace>,
    steps: u64,
    executed: u64,
    accesses: u64,
    communication: Option<Log>,
    coverage: Option<Coverage>,
    /// Findings of the launches so far, by kernel: an instruction's number means something in its own program only.
    found: BTreeMap<(Rule, usize, Site, Site), Finding>,
    kernels: Vec<String>,
    /// Where not all operations are ordered, and how many steps there are.
    concurrent: Option<(Concurrent, usize)>,
    /// Launches that wait, perhaps for what has yet to run.
    waiting: Vec<(u32, Stop)>,
    /// The last launch, where one that depends on it programmatically may begin before its end.
    pub(super) primary: Option<Primary>,
    /// What was found of such pairs.
    pub(super) dependence: BTreeMap<[(usize, Site); 2], Finding>,
}

/// What a launch did that dependent ones may overlap.
#[derive(Debug)]
pub(super) struct Primary {
    /// The kernel's number.
    pub kernel: usize,
    /// Its own.
    pub number: u32,
    /// All that it did.
    pub all: Footprint,
}

/// A launch for which the detectors are ready.
pub(super) struct Begun {
    /// The kernel's number.
    pub kernel: usize,
    pub live: Live,
    pub limits: Limits,
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
            executed: 0,
            accesses: 0,
            communication: None,
            coverage: None,
            found: BTreeMap::new(),
            kernels: Vec::new(),
            concurrent: None,
            waiting: Vec::new(),
            primary: None,
            dependence: BTreeMap::new(),
        }
    }

    /// A session with operations that are ordered like this, of a host program of so many steps.
    pub fn ordered(options: Options, order: Order, steps: usize) -> Session {
        let concurrent = order.has_concurrency();
        Session {
            concurrent: concurrent.then(|| (Concurrent::new(order), steps)),
            ..Session::new(options)
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
        self.launch_as_numbered(program, &how)
    }

    /// Whether step `number` of the host program is still to be executed: nothing has stopped the session, and no launch
    /// that it must follow waits for ever. A launch that waits can be freed by one that runs at the same time; so all that may do so is
    /// executed before anything is said of it.
    pub fn may_run(&self, number: usize) -> bool {
        let concurrent = self.concurrent.as_ref();
        self.stopped.is_none() && concurrent.is_none_or(|(c, _)| c.may_run(number))
    }

    /// The same where the host program's steps have numbers; those that [`Session::may_run`] denies are left out.
    ///
    /// # Errors
    /// [`Stop`]. Deadlocks and endless kernels have become findings, too.
    pub fn launch_as_numbered(&mut self, program: &Program, how: &Launch) -> Result<Stats, Stop> {
        let begun = self.begin(program, false);
        let ended = self.detectors.launch(
            &mut self.device,
            program,
            how,
            &self.options.schedule,
            &begun.limits,
            self.options.jobs,
        );
        self.primary = None;
        self.end((program, how), begun, ended)
    }

    /// Makes the detectors ready for a launch; `dependency`: another one depends on it programmatically, or it on another one.
    pub(super) fn begin(&mut self, program: &Program, dependency: bool) -> Begun {
        let kernel = self.kernel(&program.entry);
        self.detectors.enter(kernel);
        if dependency {
            self.detectors.record_dependency();
        }
        if self.concurrent.is_some() {
            self.detectors.record_footprint(None);
        }
        if self.options.communication
            && (program.facts.strong_global || program.facts.strong_shared)
        {
            self.detectors.record_communication();
        }
        let o = &self.options;
        // The program's variables count; what is wrong with them, the launch says.
        let _ = self.device.load(program);
        let live = o.limits.live.as_ref().map_or_else(Live::new, Live::part);
        let left = o.device_bytes.saturating_sub(self.device.in_use());
        let limits = Limits {
            // The rest is for what the process holds beside this run.
            memory: o.limits.memory.min((left / 8 * 5).max(LEAST)),
            live: Some(live.clone()),
            ..o.limits.clone()
        };
        Begun {
            kernel,
            live,
            limits,
        }
    }

    /// Takes what the detectors know of a launch that has ended.
    pub(super) fn end(
        &mut self,
        (program, how): (&Program, &Launch),
        begun: Begun,
        ended: Result<Stats, Stop>,
    ) -> Result<Stats, Stop> {
        self.executed += begun.live.steps();
        self.accesses += self.detectors.take_accesses();
        let coverage = self.detectors.take_coverage();
        self.coverage.get_or_insert(coverage);
        self.communication = self.detectors.take_communication().map(|mut log| {
            log.whole &= program.facts.memory_alone;
            log
        });
        self.keep_findings(begun.kernel);
        self.promise(program);
        let footprint = self.detectors.take_footprint().unwrap_or_default();
        let ended = self.judge(how.number as usize, &program.entry, footprint, ended);
        match &ended {
            Ok(stats) => {
                self.output.push_str(&stats.output);
                self.traces.push(stats.trace.clone());
                self.steps += stats.steps;
            }
            Err(stop) => {
                let waits = self.waiting.iter().any(|(number, _)| *number == how.number);
                if !waits {
                    self.extra.extend(finding(stop, how.number));
                    self.stopped = Some(stop.clone());
                }
            }
        }
        ended
    }

    /// Copies memory as step `number` of the host program, with what is known of its having been written. Addresses are the device's;
    /// `element` is the size of what lies there, in bytes, for what is said of it.
    ///
    /// # Errors
    /// [`MemoryError`], where a range lies in no allocation.
    pub fn copy(
        &mut self,
        number: usize,
        from: u64,
        to: u64,
        bytes: u64,
        element: u32,
    ) -> Result<(), MemoryError> {
        self.device.copy(from, to, bytes)?;
        if let Some((concurrent, _)) = &mut self.concurrent {
            let range = |address: u64| Some((address - GLOBAL_BASE, bytes));
            let footprint = Footprint::of_host(range(from), range(to), element);
            // Two operations of which one is a copy don't synchronise.
            let _ = concurrent.executed(number, None, footprint);
        }
        Ok(())
    }

    /// Lowers the promise to what the launch that has ended allows.
    fn promise(&mut self, program: &Program) {
        let mut sources = self.detectors.order_sources().clone();
        // What an earlier launch left in memory may depend on the order of its threads.
        sources.global |= self.independence == Independence::VerdictOnly;
        let found = dependence(program, &sources);
        if found.steered {
            self.independence = Independence::Dependent;
        } else if found.results && self.independence == Independence::Independent {
            self.independence = Independence::VerdictOnly;
        }
    }

    /// What unordered operations have to do with how a launch ended.
    fn judge(
        &mut self,
        number: usize,
        entry: &str,
        footprint: Footprint,
        ended: Result<Stats, Stop>,
    ) -> Result<Stats, Stop> {
        let Some((concurrent, steps)) = &mut self.concurrent else {
            return ended;
        };
        let unknown =
            |Unknown { kernels: [a, b] }| Stop::KernelsSynchronise(demangle(&a), demangle(&b));
        if let Err(stop @ (Stop::NoProgress { .. } | Stop::Deadlock { .. })) = ended {
            concurrent
                .waits(number, entry, footprint)
                .map_err(unknown)?;
            if concurrent.is_awaited(number, *steps) {
                self.waiting.push((number as u32, stop.clone()));
            }
            return Err(stop);
        }
        let stats = ended?;
        concurrent
            .executed(number, Some(entry), footprint)
            .map_err(unknown)?;
        Ok(stats)
    }

    /// The number of a kernel.
    fn kernel(&mut self, entry: &str) -> usize {
        let known = self.kernels.iter().position(|k| k == entry);
        known.unwrap_or_else(|| {
            self.kernels.push(entry.to_owned());
            self.kernels.len() - 1
        })
    }

    /// Puts the findings of a launch to those of the same kernel's earlier ones.
    fn keep_findings(&mut self, kernel: usize) {
        for finding in self.detectors.take_findings() {
            let (first, second) = finding.sites();
            match self.found.entry((finding.rule, kernel, first, second)) {
                Entry::Vacant(none) => drop(none.insert(finding)),
                Entry::Occupied(mut known) => known.get_mut().count += finding.count,
            }
        }
    }

    /// Ends the session.
    pub fn finish(mut self) -> (Outcome, Device) {
        let mut findings: Vec<_> = self.found.into_values().collect();
        findings.extend(self.dependence.into_values());
        findings.append(&mut self.detectors.take_notes());
        findings.append(&mut self.extra);
        if let Some((concurrent, _)) = self.concurrent {
            // What stopped the session leaves open what the others wait for.
            let known = self.stopped.is_none();
            for (launch, stop) in self.waiting.into_iter().filter(|_| known) {
                if !concurrent.is_raced(launch as usize) {
                    findings.extend(finding(&stop, launch));
                }
                self.stopped.get_or_insert(stop);
            }
            if concurrent.meets() {
                self.independence = Independence::Dependent;
            }
            findings.append(&mut concurrent.into_findings());
        }
        findings.sort_by_key(|f| (f.rule, f.ends.first().map(|e| e.site)));
        let outcome = Outcome {
            findings,
            stopped: self.stopped,
            independence: self.independence,
            output: self.output,
            traces: self.traces,
            steps: self.steps,
            executed: self.executed,
            accesses: self.accesses,
            communication: self.communication,
            coverage: self.coverage.unwrap_or_default(),
        };
        (outcome, self.device)
    }
}

/// The thread that stopped a launch.
fn stops(site: Site, block: BlockId, thread: ThreadId, launch: u32) -> End {
    End {
        site,
        launch,
        block,
        thread,
        threads: 1,
        action: Action::Stop,
        order: None,
    }
}

/// What a thread did that stopped the launch, or what it waits for in vain, as a finding; other stops are no findings
/// ([`Stop::is_finding`]).
pub fn finding(stop: &Stop, launch: u32) -> Option<Finding> {
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
        Stop::Deadlock {
            block,
            waiting,
            phases,
        } => (
            Rule::Deadlock,
            ends(*block, waiting, Action::Wait),
            match &phases[..] {
                [] => Detail::None,
                _ => Detail::Phases(phases.clone()),
            },
        ),
        Stop::NoProgress {
            steps,
            for_ever,
            block,
            running,
            waiting,
        } => {
            let mut all = ends(*block, running, Action::Run);
            all.extend(ends(*block, waiting, Action::Wait));
            let detail = match for_ever {
                true => Detail::Repeats,
                false => Detail::Steps(*steps),
            };
            (Rule::NoProgress, all, detail)
        }
        Stop::Trap {
            site,
            block,
            thread,
        } => (
            Rule::Trap,
            vec![stops(*site, *block, *thread, launch)],
            Detail::None,
        ),
        Stop::Assert {
            site,
            block,
            thread,
            message,
            file,
            line,
            function,
        } => (
            Rule::AssertionFailed,
            vec![stops(*site, *block, *thread, launch)],
            Detail::Assertion {
                message: message.clone(),
                file: file.clone(),
                line: *line,
                function: function.clone(),
            },
        ),
        Stop::InvalidCall {
            site,
            block,
            thread,
            why,
        } => (
            Rule::InvalidCall,
            vec![stops(*site, *block, *thread, launch)],
            Detail::Call(why.clone()),
        ),
        Stop::Unsupported { .. }
        | Stop::Budget { .. }
        | Stop::WallClock(_)
        | Stop::Memory(_)
        | Stop::Interrupted
        | Stop::EnginesDiffer(_)
        | Stop::KernelsSynchronise(..)
        | Stop::InvalidLaunch(_)
        | Stop::OutOfMemory(_) => return None,
    };
    let place = match stop {
        Stop::Deadlock { phases, .. } => phases.first().map(|phase| Place {
            space: Space::Shared,
            address: phase.object,
            bytes: 8,
            mapped: true,
        }),
        _ => None,
    };
    Some(Finding {
        rule,
        ends,
        place,
        detail,
        count: 1,
        stale_loads: Vec::new(),
    })
}
