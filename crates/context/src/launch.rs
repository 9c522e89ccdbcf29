//! Launches: checked as the runtime checks them, run on the simulator, watched as far as the budgets go.
//!
//! A launch is run when it is issued. The first launches of a kernel and geometry are watched by all detectors, of the later ones
//! a sample; the others run without detectors, some five times as fast. Where several streams exist, what a watched launch touched is
//! compared with what other streams did that nothing orders with it.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::module::Kernel;
use crate::property;
use crate::record::{Call, LaunchName};
use crate::timeline::Agent;
use crate::trace::{Again, Shown};
use detect::finding::Finding;
use detect::footprint::Footprint;
use detect::rules::Rule;
use simt::children::Child;
use simt::{Dim3, Launch, Limits, ScheduleSpec, Stats, Stop};
use std::sync::Arc;
use std::time::{Duration, Instant};

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
        let steps = self.run(request, watched, &call);
        let took = started.elapsed();
        let totals = self.totals_of(kernel);
        totals.steps += steps;
        totals.seconds += took.as_secs_f64();
        self.tell(number == 1);
        Ok(())
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
        let limits = Limits {
            steps: self.options.steps,
            wall: Some(Duration::from_secs_f64(self.options.launch_seconds)),
            ..Limits::default()
        };
        let name = LaunchName {
            kernel: kernel.name.clone(),
            number: self.launches,
            stream: self.stream_name(request.stream),
            grid: request.grid,
            block: request.block,
        };
        let concerns = self.concerns();
        self.tape(request, &name, call());
        // What somebody else looks at is watched here for what concerns others.
        let watched = watched && (!self.options.tape || concerns.is_some());
        let jobs = self.cores(request, watched);
        let before = self.before(watched);
        let start = watched.then(|| self.start(request, before.as_ref()));
        let start = start.flatten();
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
            detectors.launch(device, program, &how, &schedule, &limits, jobs)
        } else {
            simt::launch_unwatched(device, program, &how, &schedule, &limits, jobs)
        };
        let took = began.elapsed();
        self.spent.running += took;
        // Later runs are the simulator's alone: what they ask for is not done.
        let children = self.device.take_children();
        let again = before.map(|memory| Again::new(memory, &how));
        let shown = Shown {
            schedule: None,
            again: again.as_ref(),
        };
        if watched {
            let coverage = self.detectors.take_coverage();
            let seen = self.coverage.entry(kernel.id).or_default();
            seen.0.merge(&coverage);
            seen.1 = seen.1.max(how.block.count().div_ceil(32) as u32);
            if let Some(counts) = self.detectors.take_counts() {
                self.totals_of(kernel).counts.add(&counts);
            }
            let findings = self.detectors.take_findings();
            match &ended {
                Ok(stats) if stats.parallel || independent(&kernel.program, &findings) => {
                    self.independent.insert(kernel.id);
                }
                // On one core, with nothing found: there are programs whose threads order their accesses otherwise.
                Ok(_) if jobs == 1 && findings.is_empty() => {}
                _ => {
                    self.independent.remove(&kernel.id);
                }
            }
            self.report_under(&findings, request, &name, call, shown);
            let footprint = self.detectors.take_footprint();
            if let Some(footprint) = footprint {
                let agent = self.agent(request.stream);
                let work = Work {
                    kernel: Some((kernel.clone(), name.clone())),
                    call: call(),
                    stream: name.stream.clone(),
                };
                self.ordered(agent, footprint, work);
            }
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
    pub(crate) fn ordered(&mut self, agent: Agent, footprint: Footprint, work: Work) {
        self.watch(&footprint);
        let found = self.timeline.operation(agent, footprint, work.clone());
        for (earlier, conflicts) in found {
            self.unordered(&work, &earlier, &conflicts);
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
