//! Launching a kernel: checks, resident blocks, and the loops that give turns.
//!
//! Schedules that sweep run one block after another, each warp as far as it
//! can; further blocks become resident when those that are can't finish by themselves. Schedules that decide begin with
//! many resident blocks.
//! Where blocks can't wait for each other ([`super::program::Facts::blocks_commute`])
//! they are dealt out to several cores; when the observers' forks then don't agree
//! that nothing happened between blocks, memory is put back and the launch is run
//! again on one core.

use super::alu::{Row32, Row64};
use super::exec::{Core, IDLE, Quantum, Range, Yield};
use super::ids::*;
use super::memory::*;
use super::observer::*;
use super::program::Program;
use super::schedule::{Decision, Performed, Ready, Runnable, Schedule, ScheduleSpec};
use super::state::*;
use super::stop::*;
use super::weak_memory::StoreHistory;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Limits of a launch (CUDA C++ Programming Guide, "Compute Capabilities", "Technical Specifications").
const BLOCK_THREADS: u64 = 1024;
const BLOCK_DIM: [u32; 3] = [1024, 1024, 64];
const GRID_DIM: [u64; 3] = [(1 << 31) - 1, 65535, 65535];

/// Steps that a split runs before others of its warp get a turn.
const SPLIT_QUANTUM: u32 = 4096;
/// Steps that a warp runs before the next one gets a turn.
const WARP_QUANTUM: u32 = 1 << 16;
/// The same where several blocks are resident, which may wait for each other in loops.
const SHORT_QUANTUM: u32 = 1 << 10;
/// Passes over a block before it makes room for another one.
const BLOCK_PASSES: u32 = 4;

/// Blocks that are resident at the beginning of a schedule that decides: enough of them to meet in any order, and few enough for
/// what they need to stay in the processor's caches. No program may count on more, but for cooperative launches (CUDA C++ Programming
/// Guide, "Scalable Programming Model").
const RESIDENT: usize = 128;
/// Turns, for each warp that is resident, in which no block ends, after which twice as many blocks may be resident: those that are may be
/// waiting for others.
const WARP_TURNS: u64 = 512;

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
}

/// Shared memory that a block can have, bytes, with the opt-in for more than 48 KiB
/// (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
pub fn shared_limit(target: u32) -> u32 {
    let kib = match target {
        0..=69 => 48,
        70..=74 => 96,
        75..=79 => 64,
        80 | 87 => 163,
        86 | 89 | 120.. => 99,
        _ => 227,
    };
    kib << 10
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
    validate(program, launch)?;
    let geometry = prepare(device, program, launch)?;
    let shape = LaunchShape {
        grid: launch.grid,
        block: launch.block,
        shared_bytes: geometry.shared_bytes,
        global_bytes: device.arena_bytes(),
        shared_granule: program.facts.shared_granule,
        global_granule: program.facts.global_granule,
        strong_shared: program.facts.strong_shared,
        strong_global: program.facts.strong_global,
        non_coherent: program.facts.non_coherent,
        launch: launch.number,
        fine_sync: program.facts.fine_sync,
        control_only: program.facts.control_only.clone(),
        hands_on: program.facts.hands_on.clone(),
        effects: program.facts.effects.clone(),
    };
    let mut const_d = program.const_d.clone();
    for r in &program.relocations {
        let address = device
            .variable_of(program.module, &program.globals[r.symbol].name)
            .unwrap_or(0);
        const_d[r.row] = [address.wrapping_add_signed(r.addend); LANES];
    }
    let ranges: Vec<Range> = device
        .allocations()
        .iter()
        // Nobody's memory: what only keeps others apart has never been anything to free.
        .filter(|a| !(a.freed && a.name == crate::memory::GAP_NAME))
        .map(|a| Range {
            start: a.offset,
            end: a.offset + a.bytes,
            freed: a.freed,
        })
        .collect();
    let output = Mutex::new(String::new());
    let grid = Grid {
        program,
        geometry: &geometry,
        const_d: &const_d,
        ranges: &ranges,
        output: &output,
        limits,
        started: Instant::now(),
        steps: AtomicU64::new(0),
        ended: AtomicU32::new(0),
        ended_at: AtomicU64::new(0),
        apart: schedule.is_apart(),
        weak: schedule.is_weak() && program.facts.stale_values,
        state_bytes: state_bytes(program, &geometry),
    };
    let blocks = launch.grid.count() as u32;
    observer.launch_begins(&shape);
    let mut stats = Stats {
        blocks: u64::from(blocks),
        ..Stats::default()
    };
    let ended = match schedule.strategy() {
        Some(mut strategy) => {
            let core = grid.core(device, observer, false);
            grid.decide(core, blocks, launch.cooperative, &mut *strategy, &mut stats)
        }
        None => {
            let several = jobs > 1
                && blocks > 1
                && program.facts.blocks_commute
                && !launch.cooperative
                && !grid.weak;
            if several && grid.in_parallel(device, blocks, jobs, observer) {
                stats.parallel = true;
                Ok(())
            } else {
                grid.steps.store(0, Relaxed);
                grid.ended.store(0, Relaxed);
                grid.ended_at.store(0, Relaxed);
                if let Ok(mut text) = output.lock() {
                    text.clear();
                }
                let core = grid.core(device, observer, false);
                grid.sweep(core, blocks, launch.cooperative)
            }
        }
    };
    observer.launch_ends();
    stats.steps = grid.steps.load(Relaxed);
    stats.output = output.into_inner().unwrap_or_default();
    ended.map(|()| stats)
}

fn validate(program: &Program, launch: &Launch) -> Result<(), Stop> {
    let no = |text: String| Err(Stop::InvalidLaunch(text));
    let (grid, block) = (launch.grid, launch.block);
    if block.count() == 0 || grid.count() == 0 {
        return no(format!(
            "a launch needs at least one block of one thread (grid {grid}, block {block})"
        ));
    }
    if block.count() > BLOCK_THREADS {
        return no(format!(
            "the block has {} threads{}, more than the maximum of {BLOCK_THREADS}",
            block.count(),
            match u64::from(block.x) == block.count() {
                true => String::new(),
                false => format!(" ({block})"),
            }
        ));
    }
    for (size, limit) in [block.x, block.y, block.z].into_iter().zip(BLOCK_DIM) {
        if size > limit {
            return no(format!(
                "block {block} exceeds the maximum of {},{},{} threads",
                BLOCK_DIM[0], BLOCK_DIM[1], BLOCK_DIM[2]
            ));
        }
    }
    for (size, limit) in [grid.x, grid.y, grid.z].into_iter().zip(GRID_DIM) {
        if u64::from(size) > limit {
            return no(format!(
                "grid {grid} exceeds the maximum of {},{},{} blocks",
                GRID_DIM[0], GRID_DIM[1], GRID_DIM[2]
            ));
        }
    }
    if grid.count() > u64::from(u32::MAX) {
        return no(format!(
            "grid {grid} exceeds racetrap's maximum of {} blocks",
            u32::MAX
        ));
    }
    let shared = u64::from(program.shared_bytes) + u64::from(launch.dynamic_shared);
    let limit = shared_limit(program.target);
    if shared > u64::from(limit) {
        return no(format!(
            "the block needs {shared} bytes of shared memory, but sm_{} has at most {limit}",
            program.target
        ));
    }
    if let Some([x, y, z]) = program.required_block
        && [x, y, z] != [block.x, block.y, block.z]
    {
        return no(format!(
            "the block is {block}, but the kernel is compiled for blocks of {}",
            Dim3 { x, y, z }
        ));
    }
    if let Some(max) = program.max_threads
        && block.count() > max
    {
        return no(format!(
            "the block has {} threads, but the kernel is compiled for at most {max}",
            block.count()
        ));
    }
    if launch.params.len() != program.param_bytes as usize {
        return no(format!(
            "the launch passes {} bytes of parameters, but the kernel takes {}",
            launch.params.len(),
            program.param_bytes
        ));
    }
    Ok(())
}

fn prepare(device: &mut Device, program: &Program, launch: &Launch) -> Result<Geometry, Stop> {
    let full = |e: MemoryError| Stop::OutOfMemory(e.to_string());
    device.load(program).map_err(full)?;
    let mallocs = program
        .code
        .iter()
        .any(|i| matches!(&i.op, super::op::Op::System(c) if c.which.uses_heap()));
    if mallocs {
        device.reserve_heap().map_err(full)?;
    }
    let workspace = if launch.cooperative {
        // The grid's barrier lives in memory that the driver provides, zeroed.
        const NAME: &str = "cooperative launch workspace";
        let known = device
            .allocations()
            .iter()
            .find(|a| a.name == NAME)
            .map(Allocation::address);
        let address = match known {
            Some(address) => address,
            None => device.alloc(256, NAME).map_err(full)?,
        };
        device.write(address, &[0; 256]).map_err(full)?;
        Some(address - GLOBAL_BASE)
    } else {
        None
    };
    let block = launch.block;
    let warps = block.count().div_ceil(LANES as u64) as u32;
    let tids = (0..warps)
        .map(|w| {
            let coordinate = |axis: usize| {
                std::array::from_fn(|l| block.coordinates(w * LANES as u32 + l as u32)[axis])
            };
            [coordinate(0), coordinate(1), coordinate(2)]
        })
        .collect();
    Ok(Geometry {
        grid: launch.grid,
        block,
        dynamic_shared: launch.dynamic_shared,
        shared_bytes: program.shared_bytes + launch.dynamic_shared,
        params: Params::new(&launch.params),
        tids,
        workspace,
    })
}

/// Bytes of state that a resident block takes.
fn state_bytes(program: &Program, geometry: &Geometry) -> u64 {
    let rows = program.rows_w * size_of::<Row32>()
        + program.rows_d * size_of::<Row64>()
        + program.preds * 4;
    let local = program.functions[0].frame as usize * LANES * 5 / 4;
    (rows + local + 512) as u64 * geometry.tids.len() as u64
        + u64::from(geometry.shared_bytes) * 2
        + 1024
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
    /// Blocks that have ended.
    ended: AtomicU32,
    /// Steps taken when the last of them did.
    ended_at: AtomicU64,
    apart: bool,
    /// Whether strong loads may return older values.
    weak: bool,
    state_bytes: u64,
}

/// An observer that is only lent.
struct ByRef<'o, O> {
    observer: &'o mut O,
    /// Where the schedule wants to know what has been done.
    performed: Option<Vec<Performed>>,
}

impl<O> ByRef<'_, O> {
    #[cold]
    fn note(&mut self, who: WarpRef, lanes: Mask, ends: bool) {
        if let Some(performed) = &mut self.performed {
            performed.push(Performed { who, lanes, ends });
        }
    }
}

impl<O: Observer> Observer for ByRef<'_, O> {
    const WATCHES: bool = O::WATCHES;
    fn fork(&self) -> Self {
        unreachable!("a lent observer stays where it is")
    }
    fn join(&mut self, _: Vec<Self>) -> Joined {
        Joined::Conflict
    }
    fn in_vain(&self) -> bool {
        self.observer.in_vain()
    }
    fn block_begins(&mut self, block: BlockId) {
        self.observer.block_begins(block);
    }
    fn block_ends(&mut self, block: BlockId) {
        self.observer.block_ends(block);
    }
    #[inline(always)]
    fn access(&mut self, access: &Access<'_>) {
        if self.performed.is_some() && matches!(access.space, Space::Global | Space::Shared) {
            self.note(access.who, access.mask, false);
        }
        self.observer.access(access);
    }
    #[inline(always)]
    fn row_access(&mut self, access: &RowAccess<'_>) {
        if self.performed.is_some() {
            self.note(access.who, Mask::MAX, false);
        }
        self.observer.row_access(access);
    }
    fn stale_value(&mut self, site: Site) {
        self.observer.stale_value(site);
    }
    fn fence(&mut self, site: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope) {
        self.observer.fence(site, who, mask, order, scope);
    }
    fn block_arrives(&mut self, block: BlockId, id: u32, who: Party) {
        self.observer.block_arrives(block, id, who);
    }
    fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        self.observer.block_barrier(barrier);
    }
    fn warp_sync(&mut self, sync: &WarpSync) {
        self.observer.warp_sync(sync);
    }
    fn misuse(&mut self, block: BlockId, misuse: Misuse) {
        self.observer.misuse(block, misuse);
    }
    fn fault(&mut self, fault: &MemoryFault<'_>) {
        self.observer.fault(fault);
    }
    fn undefined(&mut self, used: &UndefinedUse<'_>) {
        self.observer.undefined(used);
    }
    #[inline(always)]
    fn uniform_branch(&mut self, site: Site) {
        self.observer.uniform_branch(site);
    }
    fn diverges(&mut self, divergence: &Divergence) {
        self.observer.diverges(divergence);
    }
    fn driver_call(&mut self, site: Site, who: WarpRef, mask: Mask, what: DriverCall) {
        self.observer.driver_call(site, who, mask, what);
    }
    fn exits(&mut self, who: WarpRef, mask: Mask, site: Site) {
        self.note(who, mask, true);
        self.observer.exits(who, mask, site);
    }
}

impl<'a> Grid<'a> {
    fn core<'c, O: Observer>(
        &'c self,
        device: &'c Device,
        observer: &'c mut O,
        parallel: bool,
    ) -> Core<'c, ByRef<'c, O>> {
        let lent = ByRef {
            observer,
            performed: None,
        };
        self.core_of(device, lent, parallel)
    }

    fn core_of<'c, O: Observer>(
        &'c self,
        device: &'c Device,
        observer: O,
        parallel: bool,
    ) -> Core<'c, O> {
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
        // A sweep reads the oldest values everywhere; schedules that decide say where.
        core.history = self.weak.then(|| Box::new(StoreHistory::new()));
        core
    }

    fn block<O: Observer>(&self, core: &mut Core<'_, O>, id: u32) -> Block {
        let threads = self.geometry.block.count() as u32;
        let warps = (0..self.geometry.tids.len() as u32).map(|w| {
            let lanes = (threads - w * LANES as u32).min(LANES as u32);
            Warp::new(
                WarpId(w),
                Mask::MAX >> (LANES as u32 - lanes),
                self.program,
                self.apart,
            )
        });
        if O::WATCHES {
            core.observer.block_begins(BlockId(id));
        }
        Block {
            id: BlockId(id),
            coordinates: self.geometry.grid.coordinates(id),
            warps: warps.collect(),
            shared: Shared::new(self.geometry.shared_bytes),
            barriers: Default::default(),
            live: threads,
            missed: 0,
            out_of_step: false,
            steps: 0,
            poison: None,
        }
    }

    /// Notes that a block has ended.
    fn block_ends<O: Observer>(&self, core: &mut Core<'_, O>, block: BlockId) {
        self.ended.fetch_add(1, Relaxed);
        let steps = self.steps.load(Relaxed) + core.steps;
        self.ended_at.fetch_max(steps, Relaxed);
        core.block_ends(block);
    }

    /// Takes the core's steps into the common count and checks the budgets.
    fn spend<'b, O: Observer>(
        &self,
        core: &mut Core<'_, O>,
        blocks: impl IntoIterator<Item = &'b Block> + Clone,
    ) -> Result<(), Stop> {
        let steps = self.steps.fetch_add(core.take_steps(), Relaxed);
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
                block,
                running,
                waiting,
            });
        }
        match self.limits.wall {
            Some(wall) if self.started.elapsed() > wall => Err(Stop::WallClock(wall)),
            _ => Ok(()),
        }
    }

    /// Deals blocks out to several cores. False if the result does not count.
    fn in_parallel<O: Observer>(
        &self,
        device: &mut Device,
        blocks: u32,
        jobs: usize,
        observer: &mut O,
    ) -> bool {
        let snapshot = device.snapshot();
        let next = AtomicU32::new(0);
        let vain = AtomicBool::new(false);
        let share = (blocks / (jobs as u32 * 8)).max(1);
        let shared: &Device = device;
        let work = |observer: O| -> (O, Result<(), Stop>) {
            let mut core = self.core_of(shared, observer, true);
            loop {
                let first = next.fetch_add(share, Relaxed);
                if first >= blocks {
                    return (core.observer, Ok(()));
                }
                for id in first..blocks.min(first.saturating_add(share)) {
                    if core.observer.in_vain() {
                        vain.store(true, Relaxed);
                    }
                    if vain.load(Relaxed) {
                        return (core.observer, Ok(()));
                    }
                    let mut block = self.block(&mut core, id);
                    let mut passes = 0;
                    loop {
                        passes += 1;
                        if passes > BLOCK_PASSES && self.program.facts.order_sources {
                            // One core would give others a turn now, which the block could notice.
                            vain.store(true, Relaxed);
                        }
                        if vain.load(Relaxed) {
                            return (core.observer, Ok(()));
                        }
                        let ran = self.pass(&mut core, &mut block, WARP_QUANTUM);
                        if let Err(stop) =
                            ran.and_then(|()| self.spend(&mut core, std::slice::from_ref(&block)))
                        {
                            next.store(blocks, Relaxed);
                            return (core.observer, Err(stop));
                        }
                        if block.live == 0 {
                            break;
                        }
                    }
                    self.block_ends(&mut core, block.id);
                }
            }
        };
        let forks: Vec<O> = (0..jobs.min(blocks as usize))
            .map(|_| observer.fork())
            .collect();
        let results: Vec<(O, Result<(), Stop>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = forks
                .into_iter()
                .map(|fork| scope.spawn(|| work(fork)))
                .collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
                .collect()
        });
        let mut forks = Vec::new();
        let mut ended = !vain.load(Relaxed);
        for (fork, result) in results {
            ended &= result.is_ok();
            forks.push(fork);
        }
        let good = ended && observer.join(forks) == Joined::Clean;
        if !good {
            device.restore(snapshot);
        }
        good
    }

    /// Runs every warp of a block as far as it can, or for its turn.
    fn pass<O: Observer>(
        &self,
        core: &mut Core<'_, O>,
        block: &mut Block,
        quantum: u32,
    ) -> Result<(), Stop> {
        for w in 0..block.warps.len() {
            self.warp(core, block, w, quantum)?;
        }
        if block.live > 0 && !block.runnable() && !core.unblock(block) {
            let (_, waiting) = standing(self.program, block);
            return Err(Stop::Deadlock {
                block: block.id,
                waiting,
            });
        }
        Ok(())
    }

    fn warp<O: Observer>(
        &self,
        core: &mut Core<'_, O>,
        block: &mut Block,
        w: usize,
        quantum: u32,
    ) -> Result<(), Stop> {
        let mut left = quantum;
        while left > 0 {
            let warp = &mut block.warps[w];
            if warp.splits.len() > 1 {
                warp.reconverge();
            }
            let ready = warp
                .splits
                .iter()
                .enumerate()
                .filter(|(_, s)| s.state == State::Ready);
            // Lanes apart: the lowest lane first. Together: who is furthest behind, so that the others are met.
            let first = if warp.apart {
                ready.min_by_key(|(_, s)| (s.rounds, s.mask.trailing_zeros()))
            } else {
                ready.min_by_key(|(_, s)| (s.rounds, s.pc))
            };
            let Some((s, split)) = first else {
                return Ok(());
            };
            let alone = warp.splits.len() == 1;
            let limit = if alone || warp.apart {
                u32::MAX
            } else {
                let pc = split.pc;
                let others = warp
                    .splits
                    .iter()
                    .filter(|o| o.state == State::Ready && o.pc > pc);
                others.map(|o| o.pc).min().unwrap_or(u32::MAX)
            };
            let fuel = if alone { left } else { SPLIT_QUANTUM.min(left) };
            let before = core.steps;
            let ran = core.run(
                block,
                w,
                s,
                Quantum {
                    fuel,
                    visible: u32::MAX,
                    accesses: false,
                    limit,
                },
            )?;
            let taken = core.steps - before;
            block.steps += taken;
            if ran == Yield::QuantumExpired {
                block.warps[w].splits[s].rounds += 1;
                if alone {
                    return Ok(());
                }
            }
            left = left.saturating_sub(taken.max(1) as u32);
        }
        Ok(())
    }

    /// Number of blocks that may be resident at the same time.
    fn room(&self, blocks: u32, cooperative: bool) -> Result<usize, Stop> {
        let room =
            (self.limits.memory / self.state_bytes.max(1)).clamp(1, u64::from(blocks)) as u32;
        if cooperative && room < blocks {
            return Err(Stop::OutOfMemory(format!(
                "a cooperative launch of {blocks} blocks needs {} bytes of state, the budget is {}",
                self.state_bytes * u64::from(blocks),
                self.limits.memory
            )));
        }
        Ok(room as usize)
    }

    /// The sweeping schedules on one core.
    fn sweep<O: Observer>(
        &self,
        mut core: Core<'_, O>,
        blocks: u32,
        cooperative: bool,
    ) -> Result<(), Stop> {
        let room = self.room(blocks, cooperative)?;
        let mut resident: Vec<Block> = Vec::new();
        let mut next = 0;
        let mut passes = 0;
        loop {
            resident.retain(|b| b.live > 0);
            let crowded = cooperative || passes >= BLOCK_PASSES;
            if next < blocks && resident.len() < room && (resident.is_empty() || crowded) {
                let block = self.block(&mut core, next);
                resident.push(block);
                next += 1;
                passes = 0;
                if cooperative {
                    continue;
                }
            }
            if resident.is_empty() {
                return self.spend(&mut core, &resident);
            }
            passes += 1;
            let mut stuck = None;
            let mut moved = false;
            let quantum = if resident.len() > 1 {
                SHORT_QUANTUM
            } else {
                WARP_QUANTUM
            };
            for block in &mut resident {
                match self.pass(&mut core, block, quantum) {
                    Err(stop @ Stop::Deadlock { .. }) => stuck = Some(stop),
                    Err(stop) => {
                        let _ = self.spend(&mut core, &[]);
                        return Err(stop);
                    }
                    Ok(()) => moved = true,
                }
                if block.live == 0 {
                    self.block_ends(&mut core, block.id);
                }
            }
            self.spend(&mut core, &resident)?;
            if let Some(stop) = stuck {
                let _ = moved;
                return Err(stop);
            }
        }
    }

    /// The deciding schedules, on one core.
    fn decide<O: Observer>(
        &self,
        mut core: Core<'_, ByRef<'_, O>>,
        blocks: u32,
        cooperative: bool,
        strategy: &mut dyn Schedule,
        stats: &mut Stats,
    ) -> Result<(), Stop> {
        let accesses = strategy.counts_accesses();
        core.observer.performed = accesses.then(Vec::new);
        let trace = &mut stats.trace;
        let room = self.room(blocks, cooperative)?;
        let mut resident: BTreeMap<u32, Block> = BTreeMap::new();
        let mut listing = Listing::default();
        let mut window = if cooperative {
            room
        } else {
            room.min(RESIDENT)
        };
        let mut next = 0;
        let mut turns = 0u64;
        let mut latest_end = 0;
        loop {
            let warps = (resident.len() * self.geometry.tids.len()) as u64;
            if window < room && turns - latest_end > WARP_TURNS * warps {
                window = room.min(window * 2);
                latest_end = turns;
            }
            while next < blocks && resident.len() < window {
                let block = self.block(&mut core, next);
                listing.update(&block, strategy);
                resident.insert(next, block);
                next += 1;
            }
            if listing.ready.len() == 0 {
                if resident.is_empty() {
                    return self.spend(&mut core, resident.values());
                }
                for block in resident.values_mut() {
                    if !core.unblock(block) {
                        let (_, waiting) = standing(self.program, block);
                        let _ = self.spend(&mut core, &[]);
                        return Err(Stop::Deadlock {
                            block: block.id,
                            waiting,
                        });
                    }
                    listing.update(block, strategy);
                }
                continue;
            }
            let decision = strategy.decide(&listing.ready);
            if trace.decisions.len() < TRACE && !accesses {
                let chosen = listing.ready.get(decision.index as usize);
                let all = chosen.lanes & !decision.lanes == 0;
                let lanes = if all { Mask::MAX } else { decision.lanes };
                trace.decisions.push(Decision { lanes, ..decision });
            }
            let (b, w, s) = listing.ready.place(decision.index as usize);
            let Some(block) = resident.get_mut(&b) else {
                continue;
            };
            let warp = &mut block.warps[w];
            let stay = warp.splits[s].mask & !decision.lanes;
            if stay != 0 && stay != warp.splits[s].mask {
                let (pc, run) = (warp.splits[s].pc, warp.splits[s].mask & decision.lanes);
                warp.fork(s, pc, run, pc, stay);
            }
            let quantum = Quantum {
                fuel: SPLIT_QUANTUM,
                visible: decision.visible,
                accesses,
                limit: u32::MAX,
            };
            let before = core.steps;
            if let Some(history) = &mut core.history {
                history.wanted = decision.stale;
            }
            let ran = core.run(block, w, s, quantum)?;
            if let Some(performed) = &mut core.observer.performed {
                performed.drain(..).for_each(|p| strategy.performed(&p));
                stats.gave_up = strategy.gave_up();
            }
            let taken = core.steps - before;
            block.steps += taken;
            let long = taken >= u64::from(SPLIT_QUANTUM)
                || decision.visible == u32::MAX
                || core.idle >= IDLE;
            let tired = (ran == Yield::QuantumExpired && long).then_some((
                block.id,
                WarpId(w as u32),
                s as u32,
            ));
            block.warps[w].reconverge();
            listing.update(block, strategy);
            listing.ready.set_tired(tired);
            if block.live == 0 {
                self.block_ends(&mut core, block.id);
                resident.remove(&b);
                latest_end = turns;
                listing.ready.set_tired(None);
            }
            turns += 1;
            if turns.is_multiple_of(64) || core.steps > 4096 {
                self.spend(&mut core, resident.values())?;
            }
        }
    }
}

/// What can run, and room for what could before.
#[derive(Default)]
struct Listing {
    ready: Ready,
    runnable: Vec<Runnable>,
    splits: Vec<u32>,
}

impl Listing {
    /// Looks again at what can run of a block, and tells the strategy what has changed.
    fn update(&mut self, block: &Block, strategy: &mut dyn Schedule) {
        self.runnable.clear();
        self.splits.clear();
        for warp in &block.warps {
            for (s, split) in warp.splits.iter().enumerate() {
                if split.state == State::Ready {
                    self.splits.push(s as u32);
                    self.runnable.push(Runnable {
                        block: block.id,
                        warp: warp.id,
                        lanes: split.mask,
                    });
                }
            }
        }
        self.ready
            .update(block.id, &mut self.runnable, &mut self.splits);
        strategy.changed(&self.runnable, self.ready.of(block.id));
    }
}

/// Decisions that are written down at most.
const TRACE: usize = 1 << 16;

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
