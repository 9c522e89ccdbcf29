//! Launching a kernel: checks, resident blocks, and the loops that give turns.
//!
//! Schedules that sweep run one block after another, each warp as far as it
//! can; further blocks become resident when those that are can't finish by themselves. Schedules that decide begin with
//! many resident blocks.
//! Where blocks can't wait for each other ([`super::program::Facts::blocks_commute`])
//! they are dealt out to several cores; when the observers' forks then don't agree
//! that nothing happened between blocks, memory is put back and the launch is run
//! again on one core. What nobody watches is not run again.

mod both;
mod decide;
mod parallel;
mod prepare;
mod repeats;
mod sweep;
mod turn;
mod validate;
mod wait;

pub use validate::shared_limit;
pub use wait::Waiting;

use super::alu::Row64;
use super::exec::{Core, Range};
use super::hooks::{Any, Hooks, Lent};
use super::ids::*;
use super::memory::*;
use super::observer::*;
use super::operations::Moment;
use super::program::Program;
use super::schedule::ScheduleSpec;
use super::state::*;
use super::stop::*;
use super::weak_memory::StoreHistory;
use crate::device::Device;
use prepare::Prepared;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Steps that a split runs before others of its warp get a turn.
const SPLIT_QUANTUM: u32 = 4096;

/// A launch: `kernel<<<grid, block, dynamic_shared>>>(params)`.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory of a block, bytes.
    pub dynamic_shared: u32,
    /// The parameter block, laid out as [`Program::params`] says.
    pub params: Vec<u8>,
    /// `cudaLaunchCooperativeKernel`: all blocks are resident, `grid.sync()` works.
    pub cooperative: bool,
    /// Its number in its session, from 0.
    pub number: u32,
    /// Blocks of a cluster, as `cudaLaunchAttributeClusterDimension` says; without, what the kernel says, or one.
    pub cluster: Option<Dim3>,
}

/// Launches a kernel and runs it to its end.
///
/// `jobs` is the number of cores that blocks may be dealt out to.
///
/// # Errors
/// [`Stop`], when it did not come to its end. The observer has seen what happened until then.
pub fn launch<O: Observer>(
    device: &mut Device,
    program: &Program,
    launch: &Launch,
    schedule: &ScheduleSpec,
    limits: &Limits,
    jobs: usize,
    observer: &mut O,
) -> Result<Stats, Stop> {
    let ended = launch_or_wait(device, program, launch, schedule, limits, jobs, observer);
    ended.map_err(|(stop, _)| stop)
}

/// The same; a launch that waits for memory which somebody else writes is put aside, if the limits say so: then it comes with the reason
/// why it has not ended, and the observer still belongs to it.
///
/// # Errors
/// As [`launch()`].
pub fn launch_or_wait<O: Observer>(
    device: &mut Device,
    program: &Program,
    launch: &Launch,
    schedule: &ScheduleSpec,
    limits: &Limits,
    jobs: usize,
    observer: &mut O,
) -> Result<Stats, (Stop, Option<Box<Waiting>>)> {
    if limits.engine != Engine::Both {
        return on_one_engine(device, program, launch, schedule, limits, jobs, observer);
    }
    let jobs = if O::WATCHES { jobs } else { 1 };
    let ready = validate::validate(program, launch)
        .and_then(|()| Prepared::new(device, program, launch))
        .is_ok();
    let kernel = (program.entry.as_str(), ready);
    both::launch(
        device,
        kernel,
        limits,
        observer,
        |device, limits, observer| {
            on_one_engine(device, program, launch, schedule, limits, jobs, observer)
        },
    )
}

/// The same, on the engine that the limits name.
fn on_one_engine<O: Observer>(
    device: &mut Device,
    program: &Program,
    launch: &Launch,
    schedule: &ScheduleSpec,
    limits: &Limits,
    jobs: usize,
    observer: &mut O,
) -> Result<Stats, (Stop, Option<Box<Waiting>>)> {
    let blocks = launch.grid.count();
    let several = jobs > 1
        && limits.engine == Engine::Fast
        && limits.pause == Pause::Nowhere
        && blocks > 1
        && program.facts.blocks_commute
        && !prepare::is_clustered(program, launch)
        && !launch.cooperative
        && !is_weak(program, schedule);
    let parallel = several.then_some(|grid: &Grid<'_>, device: &mut Device, observer: &mut O| {
        grid.in_parallel(device, blocks as u32, jobs, observer)
    });
    run(
        device, program, launch, schedule, limits, observer, parallel, None,
    )
}

impl Waiting {
    /// Goes on with a launch that was put aside: the same program, launch and observer. Until it is known that it waits for ever, if that is
    /// to be proved, or as far as it can.
    ///
    /// # Errors
    /// As [`launch_or_wait`].
    pub fn resume<O: Observer>(
        mut self: Box<Self>,
        device: &mut Device,
        program: &Program,
        launch: &Launch,
        limits: &Limits,
        prove: bool,
        observer: &mut O,
    ) -> Result<Stats, (Stop, Option<Box<Waiting>>)> {
        type Never<O> = fn(&Grid<'_>, &mut Device, &mut O) -> Option<Result<(), Stop>>;
        self.aside.undecided = self.aside.prove && !self.aside.for_ever;
        self.aside.prove = prove;
        let none = None::<Never<O>>;
        let schedule = self.schedule.clone();
        let from = Some(self);
        run(
            device, program, launch, &schedule, limits, observer, none, from,
        )
    }
}

/// Launches a kernel that nobody watches, at full speed.
///
/// # Errors
/// As [`launch()`].
pub fn launch_unwatched(
    device: &mut Device,
    program: &Program,
    how: &Launch,
    schedule: &ScheduleSpec,
    limits: &Limits,
    jobs: usize,
) -> Result<Stats, Stop> {
    launch(
        device,
        program,
        how,
        schedule,
        limits,
        jobs,
        &mut NullObserver,
    )
}

/// Launches a kernel for an observer of any kind, on one core. It is told of each event through a pointer, which is slower than
/// [`launch()`], and compiles once for all observers.
///
/// # Errors
/// As [`launch()`].
pub fn watch(
    device: &mut Device,
    program: &Program,
    launch: &Launch,
    schedule: &ScheduleSpec,
    limits: &Limits,
    observer: &mut dyn Events,
) -> Result<Stats, Stop> {
    type Never<'o> = fn(&Grid<'_>, &mut Device, &mut Any<'o>) -> Option<Result<(), Stop>>;
    let any = &mut Any { observer };
    run(
        device,
        program,
        launch,
        schedule,
        limits,
        any,
        None::<Never<'_>>,
        None,
    )
    .map_err(|(stop, _)| stop)
}

/// Whether strong loads may return older values than the last.
fn is_weak(program: &Program, schedule: &ScheduleSpec) -> bool {
    schedule.is_weak() && program.facts.stale_values
}

/// A launch, from its beginning or from where it was put aside; `parallel` tries to run it on several cores, which tells how it ended if the result counts.
#[allow(clippy::too_many_arguments)]
fn run<H: Hooks>(
    device: &mut Device,
    program: &Program,
    launch: &Launch,
    schedule: &ScheduleSpec,
    limits: &Limits,
    observer: &mut H,
    parallel: Option<impl FnOnce(&Grid<'_>, &mut Device, &mut H) -> Option<Result<(), Stop>>>,
    from: Option<Box<Waiting>>,
) -> Result<Stats, (Stop, Option<Box<Waiting>>)> {
    let (prepared, begun, counts, text, used) = match from {
        Some(waiting) => {
            let Waiting {
                mut prepared,
                aside,
                counts,
                output,
                used,
                schedule: _,
            } = *waiting;
            // What was allocated meanwhile may be used.
            prepared.ranges = prepare::ranges(device);
            (prepared, Some(aside), counts, output, used)
        }
        None => {
            let whole = validate::validate(program, launch);
            let prepared = whole.and_then(|()| Prepared::new(device, program, launch));
            let prepared = prepared.map_err(|stop| (stop, None))?;
            (prepared, None, [0; 3], String::new(), Duration::ZERO)
        }
    };
    let output = Mutex::new(text);
    let now = Instant::now();
    let grid = Grid {
        program,
        geometry: &prepared.geometry,
        const_d: &prepared.const_d,
        ranges: &prepared.ranges,
        output: &output,
        limits,
        started: now.checked_sub(used).unwrap_or(now),
        steps: AtomicU64::new(counts[0]),
        held: AtomicI64::new(0),
        ended: AtomicU32::new(counts[1] as u32),
        ended_at: AtomicU64::new(counts[2]),
        apart: schedule.is_apart(),
        weak: is_weak(program, schedule),
        moment: schedule.moment(),
        state_bytes: prepared.state_bytes(program),
    };
    let blocks = launch.grid.count() as u32;
    if begun.is_none() {
        let shape = prepared.shape(device, program, launch);
        observer.launch_begins(&LaunchShape {
            stale_values: grid.weak,
            ..shape
        });
    }
    let mut aside = None;
    let mut stats = Stats {
        blocks: u64::from(blocks),
        ..Stats::default()
    };
    let ended = if let Some(mut strategy) = schedule.strategy() {
        let core = grid.core(device, observer, false);
        grid.decide(core, blocks, launch.cooperative, &mut *strategy, &mut stats)
    } else if let Some(ended) = parallel.and_then(|parallel| parallel(&grid, device, observer)) {
        stats.parallel = true;
        ended
    } else {
        if begun.is_none() {
            grid.forget();
        }
        let core = grid.core(device, observer, false);
        grid.sweep(core, blocks, launch.cooperative, begun, &mut aside)
    };
    stats.steps = grid.steps.load(Relaxed);
    let counts = [
        stats.steps,
        u64::from(grid.ended.load(Relaxed)),
        grid.ended_at.load(Relaxed),
    ];
    let used = grid.started.elapsed();
    let output = output.into_inner().unwrap_or_default();
    match (ended, aside) {
        (Err(stop), Some(aside)) => {
            if launch.cooperative {
                device.keep_workspace(prepared.geometry.workspace);
            }
            let waiting = Waiting {
                prepared,
                aside,
                counts,
                output,
                used,
                schedule: schedule.clone(),
            };
            Err((stop, Some(Box::new(waiting))))
        }
        (ended, _) => {
            observer.launch_ends();
            stats.output = output;
            ended.map(|()| stats).map_err(|stop| (stop, None))
        }
    }
}

/// What all cores of a launch share.
struct Grid<'a> {
    program: &'a Program,
    geometry: &'a Geometry,
    const_d: &'a [Row64],
    ranges: &'a [Range],
    output: &'a Mutex<String>,
    limits: &'a Limits,
    started: Instant,
    steps: AtomicU64,
    /// Bytes that the cores hold.
    held: AtomicI64,
    /// Blocks that have ended.
    ended: AtomicU32,
    /// Steps taken when the last of them did.
    ended_at: AtomicU64,
    apart: bool,
    /// Whether strong loads may return older values.
    weak: bool,
    /// When asynchronous operations are performed.
    moment: Moment,
    state_bytes: u64,
}

impl<'a> Grid<'a> {
    fn core<'c, H: Hooks>(
        &'c self,
        device: &'c Device,
        observer: &'c mut H,
        parallel: bool,
    ) -> Core<'c, Lent<'c, H>> {
        let observer = Lent::new(observer, None);
        let pool = (&self.program.const_w[..], self.const_d);
        let mut core = Core::new(
            self.program,
            device,
            self.geometry,
            pool,
            self.ranges,
            observer,
            self.output,
            parallel,
        );
        core.engine = self.limits.engine;
        core.moment = self.moment;
        // A sweep reads the oldest values everywhere; schedules that decide say where.
        core.history = self.weak.then(|| Box::new(StoreHistory::new()));
        core
    }

    /// Forgets a run that does not count.
    fn forget(&self) {
        let steps = self.steps.swap(0, Relaxed);
        if let Some(live) = &self.limits.live {
            live.take_back(steps);
        }
        self.held.store(0, Relaxed);
        self.ended.store(0, Relaxed);
        self.ended_at.store(0, Relaxed);
        if let Ok(mut text) = self.output.lock() {
            text.clear();
        }
    }

    /// A block that begins, the next one after so many; what one that has ended leaves is used again.
    fn block<O: Hooks>(
        &self,
        core: &mut Core<'_, O>,
        position: u32,
        ended: Option<Block>,
    ) -> Block {
        let threads = self.geometry.block.count() as u32;
        let id = self.geometry.placed(position);
        let size = self.geometry.cluster.count() as u32;
        let (cluster, rank) = (position / size, position % size);
        if O::WATCHES {
            core.observer.block_begins(BlockId(id));
        }
        let (mut warps, mut shared) = match ended {
            Some(ended) => (ended.warps, Some(ended.shared)),
            None => (Vec::new(), None),
        };
        for warp in &mut warps {
            warp.renew(self.program);
        }
        for w in warps.len() as u32..self.geometry.tids.len() as u32 {
            let lanes = (threads - w * LANES as u32).min(LANES as u32);
            let exist = Mask::MAX >> (LANES as u32 - lanes);
            warps.push(Warp::new(WarpId(w), exist, self.program, self.apart));
        }
        if let Some(shared) = &mut shared {
            shared.renew();
        }
        if self.geometry.clustered {
            core.joins_cluster(cluster);
            shared = Some(Shared::elsewhere(self.geometry.shared_bytes));
        }
        Block {
            id: BlockId(id),
            coordinates: self.geometry.grid.coordinates(id),
            cluster,
            rank,
            warps,
            shared: shared.unwrap_or_else(|| Shared::new(self.geometry.shared_bytes)),
            barriers: Default::default(),
            live: threads,
            missed: 0,
            out_of_step: false,
            steps: 0,
            poison: None,
        }
    }

    /// Notes that a block has ended.
    fn block_ends<O: Hooks>(&self, core: &mut Core<'_, O>, (block, cluster): (BlockId, u32)) {
        self.ended.fetch_add(1, Relaxed);
        let steps = self.steps.load(Relaxed) + core.steps;
        self.ended_at.fetch_max(steps, Relaxed);
        core.block_ends(block);
        core.leaves_cluster(cluster);
    }

    /// Takes the core's steps into the common count, and gives what that was.
    fn count<O: Hooks>(&self, core: &mut Core<'_, O>) -> u64 {
        let taken = core.take_steps();
        if let Some(live) = &self.limits.live {
            live.add(taken);
        }
        self.steps.fetch_add(taken, Relaxed)
    }

    /// Takes the core's steps into the common count and checks the budgets.
    fn spend<'b, O: Hooks>(
        &self,
        core: &mut Core<'_, O>,
        blocks: impl IntoIterator<Item = &'b Block> + Clone,
    ) -> Result<(), Stop> {
        let steps = self.count(core);
        if steps > self.limits.steps {
            let (ended, ended_at) = (self.ended.load(Relaxed), self.ended_at.load(Relaxed));
            let runnable = || blocks.clone().into_iter().filter(|b| b.runnable());
            let stuck = runnable().find(|b| b.steps > steps / 2);
            if stuck.is_none() && ended > 0 && ended_at > steps / 2 {
                return Err(Stop::Budget {
                    steps,
                    ended,
                    blocks: self.geometry.grid.count() as u32,
                });
            }
            let (mut block, mut running, mut waiting) = (BlockId(0), Vec::new(), Vec::new());
            if let Some(b) = stuck.or_else(|| runnable().next()) {
                block = b.id;
                (running, waiting) = standing(self.program, b);
            }
            return Err(Stop::NoProgress {
                steps,
                for_ever: false,
                block,
                running,
                waiting,
            });
        }
        self.goes_on(core)
    }

    /// Stops where time is up, memory is full, or somebody wants it to end.
    fn goes_on<O: Hooks>(&self, core: &mut Core<'_, O>) -> Result<(), Stop> {
        let now = meter::held();
        let more = now - std::mem::replace(&mut core.held, now);
        let held = self.held.fetch_add(more, Relaxed) + more;
        if held > 0 && held as u64 > self.limits.memory {
            return Err(Stop::Memory(self.limits.memory));
        }
        core.tight = held > 0 && held as u64 > self.limits.memory / 2;
        if self.limits.live.as_ref().is_some_and(Live::is_ended) {
            return Err(Stop::Interrupted);
        }
        match self.limits.wall {
            Some(wall) if self.started.elapsed() > wall => Err(Stop::WallClock(wall)),
            _ => Ok(()),
        }
    }

    /// Number of blocks that may be resident at the same time.
    fn room(&self, blocks: u32, cooperative: bool) -> Result<usize, Stop> {
        let room =
            (self.limits.memory / 2 / self.state_bytes.max(1)).clamp(1, u64::from(blocks)) as u32;
        // The blocks of a cluster are resident together.
        let room = room.max(self.geometry.cluster.count() as u32);
        if cooperative && room < blocks {
            return Err(Stop::OutOfMemory(format!(
                "a cooperative launch of {blocks} blocks needs {} bytes of state, the budget is {}",
                self.state_bytes * u64::from(blocks),
                self.limits.memory / 2
            )));
        }
        Ok(room as usize)
    }
}

/// Why a block can't go on.
fn deadlock(program: &Program, block: &Block) -> Stop {
    Stop::Deadlock {
        block: block.id,
        waiting: standing(program, block).1,
        phases: super::exec::mbarrier::awaited(program, block),
    }
}

/// Threads of a block that can run, and those that wait.
fn standing(program: &Program, block: &Block) -> (Vec<Party>, Vec<Party>) {
    let (mut running, mut waiting) = (Vec::new(), Vec::new());
    for warp in &block.warps {
        for split in &warp.splits {
            // A split that waits at a barrier stands behind it already.
            let at = if matches!(split.state, State::Barrier(_)) {
                split.pc - 1
            } else {
                split.pc
            };
            let party = Party {
                warp: warp.id,
                mask: split.mask,
                site: program.code[at as usize].site,
            };
            if split.state == State::Ready {
                running.push(party)
            } else {
                waiting.push(party)
            }
        }
    }
    (running, waiting)
}
