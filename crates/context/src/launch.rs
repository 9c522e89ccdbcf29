//! Launches: checked as the runtime checks them, run on the simulator, watched as far as the budgets go.
//!
//! A launch is run when it is issued, as far as it can ([`crate::beside`]). The first launches of a kernel and geometry are watched by all detectors, of the later ones
//! a sample; the others run without detectors, some five times as fast. Where several streams exist, what a watched launch touched is
//! compared with what other streams did that nothing orders with it.

use crate::beside::Running;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::joint::may_synchronise;
use crate::module::Kernel;
use crate::property;
use crate::record::{Call, LaunchName};
use crate::report::describe;
use crate::timeline::{Agent, Ticket, Unordered};
use crate::trace::{Again, Shown};
use detect::Detectors;
use detect::finding::Finding;
use detect::footprint::{Conflict, Footprint};
use detect::rules::Rule;
use simt::children::Child;
use simt::observer::NullObserver;
use simt::{Dim3, Launch, ScheduleSpec, Stats, Stop};
use std::sync::Arc;
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
}

impl Work {
    /// A copy, or something that the host does.
    pub fn host(call: Call, stream: String) -> Work {
        Work {
            kernel: None,
            call,
            stream,
        }
    }
}

/// How many there are of these extents; what is too large for the number is the largest one.
fn volume(extents: [u32; 3]) -> u64 {
    extents
        .into_iter()
        .fold(1, |n, extent| n.saturating_mul(u64::from(extent)))
}

/// Whether what was found in a launch shows that the order of its blocks changes nothing.
///
/// Where no result of a strong operation on global memory is used ([`blocks_commute`](simt::program::Facts::blocks_commute)), nothing orders threads of different blocks: whatever two
/// of them do to each other is a finding. Equal values are equal in any order, and an access that is wrong by itself is so in any order.
fn independent(program: &simt::Program, findings: &[Finding]) -> bool {
    let harmless = |f: &Finding| {
        matches!(
            f.rule,
            Rule::SameValueWrite
                | Rule::UninitializedRead
                | Rule::OutOfBounds
                | Rule::MisalignedAccess
        )
    };
    program.facts.blocks_commute && findings.iter().all(harmless)
}

fn dim([x, y, z]: [u32; 3]) -> Dim3 {
    Dim3 { x, y, z }
}

impl Context {
    /// Lets a kernel have more than 48 KiB of shared memory (`cudaFuncAttributeMaxDynamicSharedMemorySize`).
    ///
    /// # Errors
    ///
    /// It is more than the device has.
    pub fn opt_in(&mut self, kernel: &Kernel, bytes: u32) -> Result<()> {
        let all = u64::from(kernel.program.shared_bytes) + u64::from(bytes);
        if all > u64::from(self.model.shared_limit()) {
            return Err(Error::INVALID_VALUE);
        }
        self.opted_in.insert(kernel.id, bytes);
        Ok(())
    }

    /// Dynamic shared memory that a kernel may have, bytes.
    pub fn dynamic_limit(&self, kernel: &Kernel) -> u32 {
        let plain = property::SHARED.saturating_sub(kernel.program.shared_bytes);
        self.opted_in
            .get(&kernel.id)
            .copied()
            .unwrap_or(0)
            .max(plain)
    }

    /// Whether the runtime would take the launch.
    fn valid(&self, request: &Request) -> Result<()> {
        let Request { grid, block, .. } = *request;
        let threads = volume(block);
        let program = &request.kernel.program;
        if threads == 0 || grid.contains(&0) || threads > 1024 || block[2] > 64 {
            return Err(Error::INVALID_CONFIGURATION);
        }
        if grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
            return Err(Error::INVALID_CONFIGURATION);
        }
        if request.shared > u64::from(self.dynamic_limit(&request.kernel)) {
            return Err(Error::INVALID_VALUE);
        }
        if program.max_threads.is_some_and(|max| threads > max) {
            return Err(Error::LAUNCH_OUT_OF_RESOURCES);
        }
        if program
            .required_block
            .is_some_and(|required| required != block)
        {
            return Err(Error::INVALID_CONFIGURATION);
        }
        if request.cooperative {
            let shared = u64::from(program.shared_bytes) + request.shared;
            let resident = self.model.occupancy(threads, shared);
            let room = u64::from(resident) * u64::from(self.model.multiprocessors);
            if volume(grid) > room {
                return Err(Error::COOPERATIVE_LAUNCH_TOO_LARGE);
            }
        }
        Ok(())
    }

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
        let steps = self.run(request, watched, call);
        let took = started.elapsed();
        let totals = self.totals_of(kernel);
        totals.steps += steps;
        totals.seconds += took.as_secs_f64();
        self.tell(number == 1);
    }

    /// Cores that a launch is dealt out to. Threads are started, and mostly a copy of the memory is made first, so that it has to be worth it.
    /// What nobody watches runs on several cores only where all watched launches of the kernel showed that its blocks are independent.
    fn cores(&mut self, request: &Request, watched: bool) -> usize {
        /// Warp-instructions that take as long as starting the threads, with room to spare.
        const WORTH: u64 = 1 << 15;
        /// Those of a core, for which it is worth starting a thread.
        const SHARE: u64 = 1 << 13;
        /// Warp-instructions of a warp, as long as there is no better guess.
        const SHORT: u64 = 16;
        if self.options.jobs < 2 || !watched && !self.independent.contains(&request.kernel.id) {
            return 1;
        }
        let [blocks, threads] = [request.grid, request.block].map(volume);
        let warps = blocks.saturating_mul(threads.div_ceil(32));
        let totals = self.totals_of(&request.kernel);
        let before = totals.steps / (totals.launches - 1).max(1);
        let steps = before.max(warps.saturating_mul(SHORT));
        // Who watches may find that the launch has to run again; so may who takes turns. See `simt::launch`.
        let copied = match watched || request.kernel.program.facts.order_sources {
            true => self.device.in_use() / 4,
            false => 0,
        };
        let copying = copied / 4 / self.options.jobs.min(4) as u64;
        match steps >= WORTH && copying <= steps {
            true => self.options.jobs.min((steps / SHARE) as usize),
            false => 1,
        }
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
        };
        let mut member = None;
        if watched && limits.may_wait {
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
                0
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

    /// A launch that was put aside conflicts with what ran meanwhile: a race, unless something that is not followed may have ordered the two.
    fn side_by_side(&mut self, now: &Work, unordered: Unordered<Work>) {
        let Unordered {
            what,
            conflicts,
            meet,
            may_synchronise: both,
            after_waiting,
            synchronises,
        } = unordered;
        if !after_waiting && self.are_joint([now, &what]) {
            return;
        }
        let mut conflicts = conflicts;
        if what.kernel.is_none() {
            // As it is with the host's own accesses: a flag that is copied is taken to be whole.
            conflicts.retain(|c| !c.first.reaches_host());
            if conflicts.is_empty() {
                return;
            }
        }
        let handed_over = match what.kernel {
            _ if after_waiting => true,
            Some(_) => both && meet || synchronises && self.beside.by_host,
            None => synchronises,
        };
        match handed_over {
            true => self.undecided(now, &what),
            false => self.unordered(now, &what, &conflicts),
        }
    }

    /// Two launches that one detector watches conflict.
    pub(crate) fn cross(&mut self, now: &Work, earlier: &Work, conflicts: &[Conflict]) {
        match self.beside.by_host {
            true => self.undecided(now, earlier),
            false => self.unordered(now, earlier, conflicts),
        }
    }

    /// Something that is not followed may have ordered two operations that conflict.
    pub(crate) fn undecided(&mut self, now: &Work, what: &Work) {
        let [a, b] = [what, now].map(describe);
        let how = match what.kernel {
            Some(_) if self.beside.by_host => {
                "be ordered by the host, which hears of one and feeds the other"
            }
            Some(_) => "hand memory over to each other by flags and fences",
            None => "do so after the launch has waited for what was copied",
        };
        self.doubt(&format!(
            "{a} and {b}, or what ran before it, ran side by side; they touch the same memory, and may {how}: whether that orders all of it is not followed from one launch to the other"
        ));
    }

    /// Does what a kernel has asked for, when it has ended (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"): each launch with
    /// all that it launches itself before the next one, which is the order of a stream. Blind spot: what launches on different streams
    /// of the device do to each other.
    fn children(&mut self, children: Vec<Child>, parent: &Request, call: &impl Fn() -> Call) {
        // The guide's limit for nested launches.
        const DEEPEST: u32 = 24;
        if children.is_empty() {
            return;
        }
        if self.depth == DEEPEST {
            self.doubt(&format!(
                "`{}`: kernels launch each other more than {DEEPEST} deep",
                parent.kernel.name
            ));
            return;
        }
        self.depth += 1;
        for child in children {
            if self.sticky.is_some() {
                break;
            }
            let done = match child {
                Child::Copy { to, from, bytes } => self
                    .check(from, bytes, &call())
                    .and_then(|()| self.check(to, bytes, &call()))
                    .and_then(|()| self.copy(to, from, bytes)),
                Child::Launch {
                    kernel,
                    grid,
                    block,
                    shared,
                    params,
                } => self
                    .kernel(parent.kernel.module, &kernel)
                    .and_then(|kernel| {
                        let request = Request {
                            kernel,
                            grid,
                            block,
                            shared: u64::from(shared),
                            params,
                            cooperative: false,
                            stream: parent.stream,
                        };
                        let call: &dyn Fn() -> Call = call;
                        self.launch(&request, call)
                    }),
            };
            if let Err(error) = done {
                self.doubt(&format!(
                    "`{}` launches what can't be launched: {error}",
                    parent.kernel.name
                ));
            }
        }
        self.depth -= 1;
    }

    /// Puts an operation in order, and reports what conflicts with it.
    pub(crate) fn ordered(
        &mut self,
        agent: Agent,
        ticket: Option<Ticket>,
        footprint: Footprint,
        work: Work,
    ) {
        self.watch(&footprint);
        let ticket = ticket.unwrap_or_else(|| self.timeline.begin(agent));
        let found = self.timeline.end(&ticket, footprint, work.clone());
        let alone = self.is_idle();
        for earlier in found {
            match alone && !earlier.after_waiting {
                true => self.unordered(&work, &earlier.what, &earlier.conflicts),
                false => self.side_by_side(&work, earlier),
            }
        }
    }

    /// A launch did not come to its end.
    fn stopped(
        &mut self,
        stop: &Stop,
        request: &Request,
        name: &LaunchName,
        call: &impl Fn() -> Call,
        shown: Shown<'_>,
    ) {
        if let Some(finding) = session::simulator::finding(stop, 0) {
            self.report_under(&[finding], request, name, call, shown);
        }
        let kernel = &request.kernel;
        let error = match stop {
            Stop::Assert {
                message,
                file,
                line,
                function,
                block,
                thread,
                ..
            } => {
                let [bx, by, bz] = dim(request.grid).coordinates(block.0);
                let [tx, ty, tz] = dim(request.block).coordinates(thread.0);
                if self.is_own() {
                    eprintln!(
                        "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed."
                    );
                }
                Error::ASSERT
            }
            Stop::Trap { .. } | Stop::InvalidCall { .. } => Error::LAUNCH_FAILURE,
            Stop::Deadlock { .. } | Stop::NoProgress { .. } => Error::LAUNCH_TIMEOUT,
            Stop::InvalidLaunch(what) => {
                self.doubt(&format!("launch of `{}`: {what}", kernel.name));
                Error::INVALID_CONFIGURATION
            }
            Stop::Unsupported { site, .. } => {
                let line = kernel.program.site(*site).lines.first();
                let at = line
                    .map(|l| format!(" ({}:{})", l.file, l.line))
                    .unwrap_or_default();
                self.doubt(&format!("`{}`{at}: {stop}", kernel.name));
                Error::NOT_SUPPORTED
            }
            stop => {
                let budget = matches!(stop, Stop::Budget { .. });
                self.doubt_for(&format!("`{}`: {stop}", kernel.name), budget);
                Error::LAUNCH_FAILURE
            }
        };
        self.sticky = Some(error);
    }

    /// What the host learns of an error that a launch gave: nobody needs to be told any more.
    pub fn heard(&mut self) {
        self.unheard = None;
    }
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

    fn program(body: &str) -> simt::Program {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n\
             ld.param.u64 %rd1, [p];\n{body}\nret;\n}}\n"
        );
        let tree = ptx::parse(&text).unwrap();
        simt::Program::lower(&tree, &text, "k").unwrap()
    }

    fn finding(rule: Rule) -> Finding {
        Finding {
            rule,
            ends: Vec::new(),
            place: None,
            detail: detect::finding::Detail::None,
            count: 1,
            stale_loads: Vec::new(),
        }
    }

    #[test]
    fn a_launch_on_one_core_shows_that_its_blocks_are_independent() {
        let plain = program("st.global.u32 [%rd1], 1;");
        assert!(independent(&plain, &[]));
        let harmless = [Rule::SameValueWrite, Rule::UninitializedRead].map(finding);
        assert!(independent(&plain, &harmless));
        assert!(!independent(&plain, &[finding(Rule::DataRace)]));
        // One block may see what another one has done, and be ordered behind it.
        let reads = program("ld.acquire.gpu.global.u32 %r1, [%rd1];");
        assert!(!independent(&reads, &[]));
        let counts = program("atom.global.add.u32 %r1, [%rd1], 1; st.global.u32 [%rd1+4], %r1;");
        assert!(!independent(&counts, &[]));
    }
}
