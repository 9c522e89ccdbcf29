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

use crate::concurrent_races::may_synchronise;
use crate::context::Context;
use crate::error::Result;
use crate::interrupt;
pub use crate::lifetime::Lifetime;
use crate::module::Kernel;
use crate::record::{Call, LaunchName};
use crate::suspended::Running;
use crate::trace::{Again, Shown};
use cores::independent;
use detect::Detectors;
use detect::footprint::Footprint;
use simt::observer::NullObserver;
use simt::{Dim3, Launch, Others, ScheduleSpec, Stats, Stop};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// What is to be launched.
#[derive(Clone, Debug)]
pub struct Request {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// The parameter block.
    pub params: Vec<u8>,
    /// Whether all blocks are resident together.
    pub cooperative: bool,
    /// Whether it may begin before the launch in front of it in the stream has ended.
    pub programmatic: bool,
    /// The stream's handle.
    pub stream: u64,
}

/// An operation, as it is remembered while others may run at the same time.
#[derive(Clone, Debug)]
pub struct Work {
    /// The kernel and its geometry; `None` for copies and the host.
    pub kernel: Option<(Arc<Kernel>, LaunchName)>,
    /// The call.
    pub call: Call,
    /// The stream, or `the host`.
    pub stream: String,
    /// What it does to the lifetime of memory.
    pub lifetime: Option<Lifetime>,
}

impl Work {
    /// A copy, or something that the host does.
    pub fn host(call: Call, stream: String) -> Work {
        Work {
            kernel: None,
            call,
            stream,
            lifetime: None,
        }
    }
}

/// How many there are of these extents; what is too large for the number is the largest one.
fn volume(extents: [u32; 3]) -> u64 {
    extents
        .into_iter()
        .fold(1, |n, extent| n.saturating_mul(u64::from(extent)))
}

fn dim([x, y, z]: [u32; 3]) -> Dim3 {
    Dim3 { x, y, z }
}

impl Context {
    /// Launches a kernel.
    ///
    /// # Errors
    ///
    /// The launch is impossible, or a kernel has failed before. What this one does wrong is told by later calls, as on a GPU.
    pub fn launch(&mut self, request: &Request, call: impl Fn() -> Call) -> Result<()> {
        self.healthy()?;
        let call = || Call {
            kernel: Some(request.kernel.name.clone()),
            ..call()
        };
        if let Err(error) = self.valid(request) {
            self.unheard.get_or_insert_with(|| (error, call()));
            return Err(error);
        }
        if self.depth == 0 && self.is_held_up(request.stream) {
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
        self.launches += 1;
        let kernel = &request.kernel;
        let geometry = [request.grid, request.block].concat();
        let geometry: [u32; 6] = std::array::from_fn(|i| geometry[i]);
        let count = self.geometries.entry((kernel.id, geometry)).or_insert(0);
        *count += 1;
        let number = *count;
        let wanted = self.recorder.is_heard() && self.options.watches(&kernel.mangled);
        let watched = wanted && self.options.samples(number);
        let threads = volume(request.grid).saturating_mul(volume(request.block));
        let totals = self.totals_of(kernel);
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
        self.tell(number == 1);
        let started = Instant::now();
        self.begins();
        let steps = self.run(request, watched, call);
        let took = started.elapsed();
        let totals = self.totals_of(kernel);
        totals.steps += steps;
        totals.seconds += took.as_secs_f64();
        self.tell(number == 1);
        self.ends();
    }

    /// A signal is to end what runs from now on, before it ends the program.
    pub(crate) fn begins(&mut self) {
        if self.is_own() && self.options.seal.is_none() && self.depth == 0 {
            self.live = interrupt::install();
            interrupt::begins();
        }
    }

    /// It has ended.
    pub(crate) fn ends(&mut self) {
        if self.is_own() && self.options.seal.is_none() && self.depth == 0 {
            if self.live.is_ended() {
                self.interrupted();
            }
            interrupt::ends();
        }
    }

    /// Bytes that launches and detectors may take beside the device's memory: of what is left, some is the program's own.
    pub(crate) fn memory_left(&self) -> u64 {
        let left = self.options.memory.saturating_sub(self.device.in_use());
        (left / 4 * 3).min(machine() / 2)
    }

    fn run(&mut self, request: &Request, watched: bool, call: &impl Fn() -> Call) -> u64 {
        let kernel = &request.kernel;
        let how = Launch {
            grid: dim(request.grid),
            block: dim(request.block),
            dynamic_shared: request.shared as u32,
            params: request.params.clone(),
            cooperative: request.cooperative,
            number: 0,
        };
        let mut ticket = self.take_ticket();
        let alone = self.is_idle();
        if !alone && ticket.is_none() {
            let agent = self.agent(request.stream);
            ticket = Some(self.timeline.begin(agent));
        }
        let limits = self.limits();
        let name = LaunchName {
            kernel: kernel.name.clone(),
            number: self.launches,
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
        let start = start.flatten();
        let work = || Work {
            kernel: Some((kernel.clone(), name.clone())),
            call: call(),
            stream: name.stream.clone(),
            lifetime: None,
        };
        let mut member = None;
        if watched && limits.others == Others::InTurn {
            let sites = kernel.program.sites.len() as u32;
            let expects = alone && may_synchronise(request);
            self.detectors.expect_others(expects.then_some(sites));
            if let Some(ticket) = &ticket {
                member = self.join(request, work(), ticket);
            }
        }
        if member.is_some() {
            jobs = 1;
        }
        let (device, program) = (&mut self.device, &kernel.program);
        let schedule = ScheduleSpec::Lockstep;
        let began = Instant::now();
        let ended = if watched {
            if let Some(only) = concerns {
                self.detectors.record_footprint(only);
            }
            if self.options.counts {
                self.detectors.count();
            }
            if self.primaries.concern(request) {
                self.detectors.record_dependency();
            }
            let detectors = &mut self.detectors;
            detectors.launch_or_wait(device, program, &how, &schedule, &limits, jobs)
        } else {
            let nobody = &mut NullObserver;
            simt::launch_or_wait(device, program, &how, &schedule, &limits, jobs, nobody)
        };
        let took = began.elapsed();
        self.spent.running += took;
        if member.is_some() {
            let mut own = std::mem::take(&mut self.detectors);
            self.leave_joint(&mut own);
            self.detectors = own;
            self.judge_joint();
        }
        let ended = match ended {
            Ok(stats) => Ok(stats),
            Err((stop, None)) => Err(stop),
            Err((stop, Some(waiting))) => {
                let agent = self.agent(request.stream);
                let ticket = ticket.unwrap_or_else(|| self.timeline.begin(agent));
                let fresh = || Detectors::new(self.options.perf);
                let own = watched.then(fresh);
                let own = own.map(|fresh| std::mem::replace(&mut self.detectors, fresh));
                let state = (stop, waiting);
                let watched = (own, member);
                self.put_aside(Running::new(
                    request,
                    &name,
                    call(),
                    &how,
                    ticket,
                    state,
                    watched,
                ));
                return 0;
            }
        };
        // Later runs are the simulator's alone: what they ask for is not done.
        let children = self.device.take_children();
        let again = before.map(|memory| Again::new(memory, &how));
        let shown = Shown {
            schedule: None,
            again: again.as_ref(),
            waits: None,
        };
        match watched {
            true => self.judge_dependence(request, work),
            false => self.primaries.forget(Some(request.stream)),
        }
        if watched
            && let Some(footprint) = self.seen(request, &name, call, shown, Some((&ended, jobs)))
        {
            let agent = self.agent(request.stream);
            self.ordered(agent, ticket, footprint, work());
        }
        match ended {
            Ok(Stats { steps, output, .. }) => {
                self.output.push_str(&output);
                if let Some(start) = start {
                    self.explore(start, request, &how, &name, (steps, took), call);
                }
                self.children(children, request, call);
                steps
            }
            Err(stop) => {
                self.stopped(&stop, request, &name, call, shown);
                limits.live.map_or(0, |live| live.steps())
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
        let coverage = self.detectors.take_coverage();
        let seen = self.coverage.entry(kernel.id).or_default();
        seen.0.merge(&coverage);
        let warps = dim(request.block).count().div_ceil(32);
        seen.1 = seen.1.max(warps as u32);
        if let Some(counts) = self.detectors.take_counts() {
            self.totals_of(kernel).counts.add(&counts);
        }
        let findings = self.detectors.take_findings();
        match ended {
            Some((Ok(stats), _)) if stats.parallel || independent(&kernel.program, &findings) => {
                self.independent.insert(kernel.id);
            }
            // On one core, with nothing found: there are programs whose threads order their accesses otherwise.
            Some((Ok(_), 1)) if findings.is_empty() => {}
            _ => {
                self.independent.remove(&kernel.id);
            }
        }
        self.report_under(&findings, request, name, call, shown);
        self.detectors.take_footprint()
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
        let children = self.device.take_children();
        let shown = Shown {
            schedule: None,
            again: None,
            waits: waits.as_deref(),
        };
        if watched && let Some(footprint) = self.seen(request, name, &call, shown, None) {
            let work = Work {
                kernel: Some((request.kernel.clone(), name.clone())),
                call: call(),
                stream: name.stream.clone(),
                lifetime: None,
            };
            self.watch(&footprint);
            let found = self.timeline.end(&running.ticket, footprint, work.clone());
            for unordered in found {
                self.side_by_side(&work, unordered);
            }
        }
        match ended {
            Ok(Stats { steps, output, .. }) => {
                self.output.push_str(&output);
                self.children(children, request, &call);
                steps
            }
            Err(stop) => {
                self.stopped(&stop, request, name, &call, shown);
                0
            }
        }
    }

    /// What the host learns of an error that a launch gave: nobody needs to be told any more.
    pub fn heard(&mut self) {
        self.unheard = None;
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
