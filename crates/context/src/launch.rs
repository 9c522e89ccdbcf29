//! Launches: checked as the runtime checks them, run on the simulator, watched as far as the budgets go.
//!
//! A launch is run when it is issued, as far as it can ([`crate::suspended`]). The first launches of a kernel and geometry are watched by all detectors, of the later ones
//! a sample; the others run without detectors, some five times as fast. Where several streams exist, what a watched launch touched is
//! compared with what other streams did that nothing orders with it.

mod children;
mod cores;
mod limits;
mod order;
mod stopped;

use crate::call::{Call, LaunchName};
use crate::concurrent_races::may_synchronise;
use crate::context::Context;
use crate::error::Result;
use crate::explore::Start;
use crate::interrupt;
use crate::launches::Running;
pub use crate::operation::{Lifetime, Request, Work};
use crate::operation::{dim, volume};
use crate::pulse;
use crate::timeline::Ticket;
use crate::trace::{Again, Shown};
pub(crate) use children::order_children;
use cores::independent;
use detect::Detectors;
use detect::footprint::{Footprint, Ranges};
use report::unjudged::Unjudged;
use simt::observer::NullObserver;
use simt::snapshot::Image;
use simt::{Launch, Limits, Others, ScheduleSpec, Stats, Stop, Waiting};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A launch that is about to run, and what was decided about it.
struct Prepared {
    how: Launch,
    name: LaunchName,
    /// Its place in the order; given when it ends, where it comes after nothing that is still to end.
    ticket: Option<Ticket>,
    limits: Limits,
    watched: bool,
    /// Cores that it may run on.
    jobs: usize,
    /// Its number among those that one detector watches.
    member: Option<usize>,
    /// The memory before it, where findings are to get a trace.
    before: Option<Arc<Image>>,
    /// What its exploration begins with.
    start: Option<Start>,
}

impl Context {
    /// Launches a kernel.
    ///
    /// # Errors
    ///
    /// The launch is impossible, or a kernel has failed before. What this one does wrong is told by later calls, as on a GPU.
    pub fn launch(&mut self, request: &Request, call: impl Fn() -> Call) -> Result<()> {
        self.findings.healthy()?;
        let call = || Call {
            kernel: Some(request.kernel.name.clone()),
            ..call()
        };
        if let Err(error) = self.valid(request) {
            self.findings.unheard.get_or_insert_with(|| (error, call()));
            return Err(error);
        }
        if self.launches.depth == 0 && self.is_held_up(request.stream) {
            let (request, call) = (request.clone(), call());
            self.defer(request.stream, call.clone(), move |context| {
                context.launch_now(&request, &|| call.clone());
            });
            return Ok(());
        }
        self.launch_now(request, &call);
        self.advance();
        Ok(())
    }

    /// Launches what was found valid.
    fn launch_now(&mut self, request: &Request, call: &impl Fn() -> Call) {
        self.launches.count += 1;
        if request.programmatic && self.options.capability < 90 {
            self.findings.unjudged(Unjudged::EarlyLaunch);
        }
        let kernel = &request.kernel;
        let geometry = [request.grid, request.block].concat();
        let geometry: [u32; 6] = std::array::from_fn(|i| geometry[i]);
        let count = self
            .launches
            .geometries
            .entry((kernel.id, geometry))
            .or_insert(0);
        *count += 1;
        let number = *count;
        let wanted = self.findings.recorder.is_heard() && self.options.watches(&kernel.mangled);
        let watched = wanted && self.options.samples(number);
        let threads = volume(request.grid).saturating_mul(volume(request.block));
        let totals = self.findings.totals_of(kernel);
        totals.launches += 1;
        totals.watched += u64::from(watched);
        totals.threads = totals.threads.saturating_add(threads);
        let blocks = volume(request.grid);
        let shared = u64::from(kernel.program.shared_bytes) + request.shared;
        let (most_blocks, most_threads, most_shared) = totals.largest;
        totals.largest = (
            most_blocks.max(blocks),
            most_threads.max(threads / blocks.max(1)),
            most_shared.max(shared),
        );
        // Told before, too: the program may be stopped while the kernel runs.
        self.findings.tell(number == 1);
        let started = Instant::now();
        self.begins();
        let shown = self.is_own() && self.launches.depth == 0;
        if shown {
            pulse::begins(
                &self.options,
                &self.launches.live,
                self.launches.count,
                &kernel.name,
            );
        }
        let steps = self.run(request, watched, call);
        if shown {
            pulse::ends(&self.options);
        }
        let took = started.elapsed();
        let totals = self.findings.totals_of(kernel);
        totals.steps += steps;
        totals.seconds += took.as_secs_f64();
        self.findings.tell(number == 1);
        self.ends();
    }

    /// A signal is to end what runs from now on, before it ends the program.
    pub(crate) fn begins(&mut self) {
        if self.is_own() && self.options.seal.is_none() && self.launches.depth == 0 {
            self.launches.live = interrupt::install();
            interrupt::begins();
        }
    }

    /// It has ended.
    pub(crate) fn ends(&mut self) {
        if self.is_own() && self.options.seal.is_none() && self.launches.depth == 0 {
            if self.launches.live.is_ended() {
                self.interrupted();
            }
            interrupt::ends();
        }
    }

    /// Bytes that launches and detectors may take beside the device's memory: of what is left, some is the program's own.
    pub(crate) fn memory_left(&self) -> u64 {
        let left = self
            .options
            .memory
            .saturating_sub(self.memory.device.in_use());
        (left / 4 * 3).min(machine() / 2)
    }

    /// Runs a launch, from what is decided before it to what it says of itself and of others; its warp-instructions.
    fn run(&mut self, request: &Request, watched: bool, call: &impl Fn() -> Call) -> u64 {
        let mut launch = self.prepare(request, watched, call);
        let began = Instant::now();
        let ended = self.simulate(request, &mut launch);
        let took = began.elapsed();
        self.launches.spent.running += took;
        if launch.member.is_some() {
            let mut own = std::mem::take(&mut self.launches.detectors);
            self.leave_joint(&mut own);
            self.launches.detectors = own;
            self.judge_joint();
        }
        match ended {
            Ok(stats) => self.conclude(request, launch, Ok(stats), took, call),
            Err((stop, None)) => self.conclude(request, launch, Err(stop), took, call),
            Err((stop, Some(waiting))) => {
                self.suspend(request, launch, call(), stop, waiting);
                0
            }
        }
    }

    /// Decides before a launch where it comes in the order, who watches it, on how many cores it runs and what is kept for later runs of it.
    fn prepare(&mut self, request: &Request, watched: bool, call: &impl Fn() -> Call) -> Prepared {
        let kernel = &request.kernel;
        let mut ticket = self.take_ticket();
        let alone = self.is_idle();
        if !alone && ticket.is_none() {
            let agent = self.agent(request.stream);
            ticket = Some(self.launches.timeline.begin(agent));
        }
        let limits = self.limits();
        let name = LaunchName {
            kernel: kernel.name.clone(),
            number: self.launches.count,
            stream: self.stream_name(request.stream),
            grid: request.grid,
            block: request.block,
        };
        let concerns = self.concerns();
        if self.options.tape {
            // To walk the stack takes longer than a small launch.
            self.tape(request, &name, call());
        }
        // What somebody else looks at is watched here for what concerns others.
        let watched = watched && (!self.options.tape || concerns.is_some());
        let mut jobs = self.cores(request, watched);
        let before = self.before(watched);
        // Under other schedules, what waits for others would wait in vain.
        let explores = watched && alone;
        let start = explores.then(|| self.start(request, before.as_ref()));
        let mut member = None;
        if watched && limits.others == Others::InTurn {
            let sites = kernel.program.sites.len() as u32;
            let expects = alone && may_synchronise(request);
            self.launches
                .detectors
                .expect_others(expects.then_some(sites));
            if let Some(ticket) = &ticket {
                let work = Work::launch(request, &name, call());
                member = self.join(request, work, ticket);
            }
        }
        if member.is_some() {
            jobs = 1;
        }
        if watched {
            self.arm(request, concerns);
            let program = &request.kernel.program;
            let cluster = request.cluster.or(program.required_cluster);
            let blocks = cluster.map_or(1, volume);
            if blocks > 1 && volume(request.grid) > blocks && program.facts.cluster_scope {
                self.findings.unjudged(Unjudged::ClusterScope);
            }
        }
        Prepared {
            how: Launch {
                grid: dim(request.grid),
                block: dim(request.block),
                dynamic_shared: request.shared as u32,
                params: request.params.clone(),
                cooperative: request.cooperative,
                cluster: request.cluster.map(dim),
                number: 0,
            },
            name,
            ticket,
            limits,
            watched,
            jobs,
            member,
            before,
            start: start.flatten(),
        }
    }

    /// Tells the detectors what they are to look at beside what they always do.
    fn arm(&mut self, request: &Request, concerns: Option<Option<Ranges>>) {
        let detectors = &mut self.launches.detectors;
        if let Some(only) = concerns {
            detectors.record_footprint(only);
        }
        if self.options.counts {
            detectors.count();
        }
        if self.launches.primaries.concern(request) {
            detectors.record_dependency();
        }
    }

    fn simulate(
        &mut self,
        request: &Request,
        launch: &mut Prepared,
    ) -> std::result::Result<Stats, (Stop, Option<Box<Waiting>>)> {
        let (device, program) = (&mut self.memory.device, &request.kernel.program);
        let Prepared {
            how, limits, jobs, ..
        } = launch;
        let schedule = match self.options.in_step {
            true => ScheduleSpec::InStep,
            false => ScheduleSpec::Lockstep,
        };
        if launch.watched {
            let detectors = &mut self.launches.detectors;
            return detectors.launch_or_wait(device, program, how, &schedule, limits, *jobs);
        }
        let nobody = &mut NullObserver;
        simt::launch_or_wait(device, program, how, &schedule, limits, *jobs, nobody)
    }

    /// Puts a launch aside that waits for others, with the detectors that watch it.
    fn suspend(
        &mut self,
        request: &Request,
        launch: Prepared,
        call: Call,
        stop: Stop,
        waiting: Box<Waiting>,
    ) {
        let agent = self.agent(request.stream);
        let begin = || self.launches.timeline.begin(agent);
        let ticket = launch.ticket.unwrap_or_else(begin);
        let fresh = launch.watched.then(|| Detectors::new(self.options.perf));
        let own = fresh.map(|fresh| std::mem::replace(&mut self.launches.detectors, fresh));
        self.put_aside(Running {
            id: 0,
            request: request.clone(),
            name: launch.name,
            call,
            how: launch.how,
            ticket,
            waiting: Some(waiting),
            stop,
            detectors: own,
            member: launch.member,
        });
    }

    /// After a launch that came to its end, or never will: judges it and what nothing orders with it, tries it under other schedules, and does what
    /// its kernel asked for.
    fn conclude(
        &mut self,
        request: &Request,
        launch: Prepared,
        ended: std::result::Result<Stats, Stop>,
        took: Duration,
        call: &impl Fn() -> Call,
    ) -> u64 {
        let Prepared { how, name, .. } = launch;
        let work = || Work::launch(request, &name, call());
        // Later runs are the simulator's alone: what they ask for is not done.
        let children = self.memory.device.take_children();
        let again = launch.before.map(|memory| Again::new(memory, &how));
        let shown = Shown {
            schedule: None,
            again: again.as_ref(),
            waits: None,
        };
        match launch.watched {
            true => self.judge_dependence(request, work),
            false => self.launches.primaries.forget(Some(request.stream)),
        }
        let cores = Some((&ended, launch.jobs));
        if launch.watched
            && let Some(footprint) = self.seen(request, &name, call, shown, cores)
        {
            let agent = self.agent(request.stream);
            self.ordered(agent, launch.ticket, footprint, work());
        }
        match ended {
            Ok(Stats { steps, output, .. }) => {
                self.findings.output.push_str(&output);
                if let Some(start) = launch.start {
                    self.explore(start, request, &how, &name, (steps, took), call);
                }
                self.children(children, request, call);
                steps
            }
            Err(stop) => {
                self.stopped(&stop, request, &name, call, shown);
                launch.limits.live.map_or(0, |live| live.steps())
            }
        }
    }

    /// Tells what the detectors saw of a launch, and hands over what it did to memory. How it `ended`, and on how many cores it may have run, says
    /// whether its blocks are independent.
    fn seen(
        &mut self,
        request: &Request,
        name: &LaunchName,
        call: &impl Fn() -> Call,
        shown: Shown<'_>,
        ended: Option<(&std::result::Result<Stats, Stop>, usize)>,
    ) -> Option<Footprint> {
        let kernel = &request.kernel;
        let coverage = self.launches.detectors.take_coverage();
        let seen = self.findings.coverage.entry(kernel.id).or_default();
        seen.0.merge(&coverage);
        let warps = dim(request.block).count().div_ceil(32);
        seen.1 = seen.1.max(warps as u32);
        if let Some(counts) = self.launches.detectors.take_counts() {
            self.findings.totals_of(kernel).counts.add(&counts);
        }
        let findings = self.launches.detectors.take_findings();
        match ended {
            Some((Ok(stats), _)) if stats.parallel || independent(&kernel.program, &findings) => {
                self.launches.independent.insert(kernel.id);
            }
            // On one core, with nothing found: there are programs whose threads order their accesses otherwise.
            Some((Ok(_), 1)) if findings.is_empty() => {}
            _ => {
                self.launches.independent.remove(&kernel.id);
            }
        }
        self.report_under(&findings, request, name, call, shown);
        self.launches.detectors.take_footprint()
    }

    /// A launch that was put aside has ended, or never will, since it `waits`; its detectors are the context's now. Its warp-instructions.
    pub(crate) fn after(
        &mut self,
        running: &Running,
        watched: bool,
        ended: std::result::Result<Stats, Stop>,
        waits: Option<String>,
    ) -> u64 {
        let Running { request, name, .. } = running;
        let call = || running.call.clone();
        let children = self.memory.device.take_children();
        let shown = Shown {
            schedule: None,
            again: None,
            waits: waits.as_deref(),
        };
        if watched && let Some(footprint) = self.seen(request, name, &call, shown, None) {
            let work = Work::launch(request, name, call());
            self.watch(&footprint);
            let found = self
                .launches
                .timeline
                .end(&running.ticket, footprint, work.clone());
            for unordered in found {
                self.side_by_side(&work, unordered);
            }
        }
        match ended {
            Ok(Stats { steps, output, .. }) => {
                self.findings.output.push_str(&output);
                self.children(children, request, &call);
                steps
            }
            Err(stop) => {
                self.stopped(&stop, request, name, &call, shown);
                0
            }
        }
    }

    /// A launch by a function whose status its caller sees, unlike that of `<<<…>>>`: nobody needs to ask for the error again.
    ///
    /// # Errors
    ///
    /// The launch's own.
    pub fn answered<T>(&mut self, launch: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
        let before = self.findings.unheard.take();
        let result = launch(self);
        self.findings.unheard = before;
        result
    }

    /// What the host learns of an error that a launch gave: nobody needs to be told any more.
    pub fn heard(&mut self) {
        self.findings.unheard = None;
    }
}

/// Memory of the machine, bytes.
fn machine() -> u64 {
    static TOTAL: OnceLock<u64> = OnceLock::new();
    *TOTAL.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kibibytes = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kibibytes.map_or(4 << 30, |k| k << 10)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest grid and block that pass the checks are more threads than a number of 64 bits holds.
    #[test]
    fn extents_do_not_overflow() {
        assert_eq!(volume([2, 3, 4]), 24);
        assert_eq!(volume([0, u32::MAX, u32::MAX]), 0);
        let grid = volume([i32::MAX as u32, 65535, 65535]);
        assert_eq!(grid.saturating_mul(volume([1024, 1, 1])), u64::MAX);
    }
}
