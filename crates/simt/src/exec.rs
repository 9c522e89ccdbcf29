//! The execution loop.
//!
//! [`Core::run`] executes one split of one warp until it has to wait, ends,
//! meets another split, or its turn is over. An instruction is decoded already;
//! it is applied to all active lanes at once. The other files of this folder
//! hold what an instruction of each family does. This one is long because the loop
//! that picks among them has to be one function.

mod alu;
mod async_copy;
mod atomic;
mod barrier;
mod bounds;
mod bulk;
mod call;
mod changes;
pub(crate) mod cluster;
mod control;
mod load_run;
mod matrix;
pub(crate) mod mbarrier;
mod memory;
mod poison;
mod quantum;
mod special;
mod system;
pub(crate) mod tensor;
mod texture;
mod transfer;
mod warp;
mod warpgroup;
mod weak_memory;
mod whole_block;
mod whole_row;
mod word_update;

// For the plain engine, which shares these.
pub(crate) use barrier::faults as barrier_faults;
pub(crate) use bulk::is_awaited;
pub(crate) use changes::Changes;
pub(crate) use memory::Request;
pub(crate) use poison::Exchange;
pub(crate) use quantum::{Quantum, Yield};
pub(crate) use weak_memory::place;

use super::alu::{Row32, Row64};
use super::device::Device;
use super::hooks::Hooks;
use super::ids::*;
use super::inline::Inline;
use super::inline::perform::perform;
use super::op::*;
use super::operations::{Group, Moment};
use super::program::Program;
use super::simd::{Work, at_best};
use super::snapshot::Image;
use super::state::*;
use super::stop::{BadCall, Engine, Pause, Stop};
use super::weak_memory::StoreHistory;
use load_run::Loaded;
use std::collections::HashMap;
use std::sync::Mutex;

/// Atomics in a row after which a split that changes nothing by them is taken to wait for others, which get a turn then.
pub(crate) const IDLE: u32 = 8;

/// A range of the arena that may be accessed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub start: u64,
    pub end: u64,
    pub freed: bool,
}

/// One core that executes blocks.
pub(crate) struct Core<'a, O: Hooks> {
    pub program: &'a Program,
    pub device: &'a Device,
    pub geometry: &'a Geometry,
    pub const_w: &'a [Row32],
    pub const_d: &'a [Row64],
    pub ranges: &'a [Range],
    pub observer: O,
    /// Printed text, shared by all cores.
    pub output: &'a Mutex<String>,
    /// Other cores run at the same time.
    pub parallel: bool,
    pub engine: Engine,
    /// When asynchronous operations are performed.
    pub moment: Moment,
    /// Where its warps stop.
    pub pause: Pause,
    pub steps: u64,
    /// Bytes that its thread held when that was asked last.
    pub held: i64,
    /// Whether there is little memory left: then that is asked often.
    pub tight: bool,
    /// Steps that were taken into the common count, and looks at the clock: what the clock goes on from.
    spent: u64,
    looks: u64,
    /// What the next look at the clock adds to it: see [`Core::clock`].
    haste: u64,
    /// Where the launch may have to run again: what is to be told before global memory is written to.
    pub before: Option<&'a Image>,
    /// For each instruction, the allocation that its last global access hit; of those that write, it is kept in [`Core::before`].
    pub(super) recent: Vec<Range>,
    /// Where strong loads may return older values.
    pub history: Option<Box<StoreHistory>>,
    /// Where it is noted whether the launch waits.
    pub changes: Option<Box<Changes>>,
    /// The clusters of the resident blocks, where they have one.
    pub clusters: HashMap<u32, cluster::Cluster>,
    /// Something has happened in the turn that runs which other blocks of its cluster may wait for.
    pub cluster_moved: bool,
    pub(super) t32: Row32,
    pub(super) t64: Row64,
    pub(crate) address: Row64,
    /// Atomics in a row that have changed nothing, in the turn that runs.
    pub(crate) idle: u32,
    /// The run of loads that was performed last in this turn.
    loaded: Loaded,
}

impl<'a, O: Hooks> Core<'a, O> {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        program: &'a Program,
        device: &'a Device,
        geometry: &'a Geometry,
        pool: (&'a [Row32], &'a [Row64]),
        ranges: &'a [Range],
        observer: O,
        output: &'a Mutex<String>,
        parallel: bool,
    ) -> Core<'a, O> {
        Core {
            program,
            device,
            geometry,
            const_w: pool.0,
            const_d: pool.1,
            ranges,
            observer,
            output,
            parallel,
            engine: Engine::Fast,
            moment: Moment::Late,
            pause: Pause::Nowhere,
            steps: 0,
            held: meter::held(),
            tight: false,
            spent: 0,
            looks: 0,
            haste: 1,
            before: None,
            recent: vec![Range::default(); program.sites.len()],
            history: None,
            changes: None,
            clusters: HashMap::new(),
            cluster_moved: false,
            t32: [0; LANES],
            t64: [0; LANES],
            address: [0; LANES],
            idle: 0,
            loaded: Loaded::default(),
        }
    }

    /// Steps since they were taken last.
    pub fn take_steps(&mut self) -> u64 {
        let steps = std::mem::take(&mut self.steps);
        self.spent += steps;
        steps
    }

    /// All threads of a block have ended.
    pub fn block_ends(&mut self, block: BlockId) {
        if let Some(history) = &mut self.history {
            history.block_ends(block);
        }
        if O::WATCHES {
            self.observer.block_ends(block);
        }
    }

    /// Runs split `s` of warp `w` on the fast engine.
    #[inline(always)]
    pub(crate) fn run_turn(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        quantum: Quantum,
    ) -> Result<Yield, Box<Stop>> {
        let rest = match block.poison {
            None => match at_best(Run(self, block, w, s, quantum))? {
                Yield::Poisoned(rest) => rest,
                ran => return Ok(ran),
            },
            Some(_) => quantum,
        };
        self.run_as::<true, false>(block, w, s, rest)
    }

    /// The loop, with what follows undefined values compiled in or left out.
    #[inline(always)]
    fn run_as<const TRACK_POISON: bool, const FMA: bool>(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        quantum: Quantum,
    ) -> Result<Yield, Box<Stop>> {
        let program = self.program;
        let code = &program.code[..];
        let mut fuel = quantum.fuel;
        let mut visible = quantum.visible;
        let warp = &mut block.warps[w];
        let mut pc = warp.splits[s].pc;
        let mut mask = warp.splits[s].mask;
        let mut dead = !warp.live();
        self.idle = 0;
        self.loaded = Loaded::default();
        macro_rules! leave {
            ($why:expr) => {{
                block.warps[w].splits[s].pc = pc;
                self.steps += u64::from(quantum.fuel - fuel);
                return Ok($why);
            }};
        }
        loop {
            if pc >= quantum.limit {
                leave!(Yield::Reconverge);
            }
            if fuel == 0 {
                leave!(Yield::QuantumExpired);
            }
            fuel -= 1;
            let i = &code[pc as usize];
            let warp = &mut block.warps[w];
            let active = if i.guard == Slot::TRUE {
                mask
            } else {
                mask & predicate(&warp.p, i.guard)
            };
            if TRACK_POISON {
                self.follow(block, w, s, pc, mask, active);
            }
            let warp = &mut block.warps[w];
            if i.inline != Inline::No && (FMA || !i.inline.is_fused()) {
                if active != 0 {
                    let pools = (self.const_w, self.const_d);
                    perform::<FMA>(i.inline, warp, pools, &i.op, active, dead);
                }
                pc += 1;
                continue;
            }
            match &i.op {
                Op::Alu { f, d, s } => {
                    if active != 0 {
                        self.alu(warp, f, *d, s, active, dead);
                    }
                    pc += 1;
                }
                Op::Branch { target } => {
                    if O::WATCHES && i.guard != Slot::TRUE && (active == mask || active == 0) {
                        let who = block.who(w);
                        self.observer.uniform_branch(i.site, who, active != 0);
                    }
                    if active == mask {
                        pc = *target;
                    } else if active == 0 {
                        pc += 1;
                    } else {
                        self.diverged(block, w, s, i.site, active, mask & !active);
                        block.warps[w].fork(s, pc + 1, mask & !active, *target, active);
                        pc += 1;
                        leave!(Yield::Blocked);
                    }
                }
                Op::Memory(index) => {
                    if active != 0 {
                        let op = &program.memory_ops[*index as usize];
                        if !TRACK_POISON && op.run.run != 0 {
                            // Whoever counts its accesses, or lacks lanes, performs each in its place.
                            let whole = active == Mask::MAX && visible == u32::MAX;
                            let left = if whole { fuel } else { 0 };
                            // The next quantum has room for all of a run that this one has not.
                            let begun = fuel + 1 < quantum.fuel;
                            if quantum.goes_on && begun && whole && self.is_cut(op.run, pc, fuel) {
                                fuel += 1;
                                leave!(Yield::QuantumExpired);
                            }
                            let done = self.is_loaded(block, w, op.run, pc, left);
                            if done {
                                pc += 1;
                                continue;
                            }
                        }
                        if op.space.is_between_threads() {
                            if visible == 0 {
                                fuel += 1;
                                leave!(Yield::QuantumExpired);
                            }
                            visible -= u32::from(visible != u32::MAX);
                        }
                        if active != Mask::MAX || !self.whole_row(block, w, op, dead, i.site) {
                            self.memory(block, w, s, op, active, dead, i.site);
                        }
                    }
                    pc += 1;
                }
                Op::Setp { .. }
                | Op::Set { .. }
                | Op::Lop3Test { .. }
                | Op::Pack { .. }
                | Op::Cvta { .. }
                | Op::IsSpace { .. } => {
                    if active != 0 {
                        self.compound(warp, &i.op, active, dead);
                    }
                    pc += 1;
                }
                Op::Special { which, d, wide } => {
                    if active != 0 {
                        let waits = program.site(i.site).waits;
                        let now = (u64::from(quantum.fuel - fuel), waits);
                        self.special(block, w, *which, *d, *wide, active, dead, now);
                    }
                    pc += 1;
                }
                Op::FrameAddress { d, wide, offset } => {
                    let value = warp.splits[s].base + offset;
                    self.splat(warp, *d, *wide, u64::from(value), active);
                    pc += 1;
                }
                Op::BarrierBypass {
                    point,
                    consumes_arrival,
                } => {
                    let point = *point as usize;
                    let credited = if *consumes_arrival {
                        active & warp.arrived[point]
                    } else {
                        0
                    };
                    warp.arrived[point] &= !active;
                    warp.passed[point] |= active & !credited;
                    warp.passed_site[point] = i.site;
                    pc += 1;
                }
                Op::Nop => pc += 1,
                Op::Matrix(index) => {
                    if active != 0 {
                        let op = &program.matrix_ops[*index as usize];
                        self.matrix(warp, op, active, dead);
                    }
                    pc += 1;
                }
                Op::AsyncCopy(index) => {
                    if active != 0 {
                        self.copy(block, w, s, *index, active, i.site);
                    }
                    pc += 1;
                }
                Op::CommitGroup => {
                    self.close_group(warp, Group::Copy, active);
                    pc += 1;
                }
                Op::WaitGroup(newest) => {
                    self.wait_for_copies(block, w, active, *newest);
                    pc += 1;
                }
                Op::Bulk(_) | Op::CopiesArrive(_) => {
                    if active != 0 {
                        if visible == 0 {
                            fuel += 1;
                            leave!(Yield::QuantumExpired);
                        }
                        visible -= u32::from(visible != u32::MAX);
                        match i.op {
                            Op::Bulk(index) => self.bulk(block, w, s, index, active, i.site)?,
                            Op::CopiesArrive(index) => {
                                self.copies_arrive(block, w, s, index, active, i.site);
                            }
                            _ => {}
                        }
                    }
                    pc += 1;
                }
                Op::CommitBulk => {
                    self.close_group(warp, Group::Bulk, active);
                    pc += 1;
                }
                Op::WaitBulk { newest, read } => {
                    self.wait_for_bulk(block, w, active, *newest, *read);
                    pc += 1;
                }
                Op::Wgmma(op) => {
                    if active != 0 && !self.wgmma(block, (w, s), *op, active, i.site)? {
                        pc -= 1;
                        leave!(Yield::Blocked);
                    }
                    pc += 1;
                }
                Op::ProxyFence => {
                    if active != 0 && O::WATCHES {
                        self.observer.proxy_fence(i.site, block.who(w), active);
                    }
                    pc += 1;
                }
                Op::AwaitPhase(op) => {
                    // The look and the load that follows are one operation.
                    if active != 0 && visible == 0 {
                        fuel += 1;
                        leave!(Yield::QuantumExpired);
                    }
                    let stay = self.await_phase(block, w, s, op, active);
                    if stay != 0 {
                        self.stay(block, (w, s), pc, op, stay);
                        self.steps += u64::from(quantum.fuel - fuel);
                        return Ok(Yield::Blocked);
                    }
                    pc += 1;
                }
                Op::PhaseAwaited { p, base, offset } => {
                    if O::WATCHES {
                        let found = active & predicate(&warp.p, *p);
                        if found != 0 {
                            self.addresses(&block.warps[w], s, *base, *offset);
                            let who = block.who(w);
                            self.observer.phase_awaited(who, found, &self.address);
                        }
                    }
                    pc += 1;
                }
                Op::Video(video) => {
                    if active != 0 {
                        let row = |k: usize| row(&warp.w, self.const_w, video.s[k]);
                        video.form.row(row(0), row(1), row(2), &mut self.t32);
                        blend(&mut warp.w[video.d.0 as usize], &self.t32, active, dead);
                    }
                    pc += 1;
                }
                Op::Atomic(index) => {
                    if active != 0 {
                        if visible == 0 {
                            fuel += 1;
                            leave!(Yield::QuantumExpired);
                        }
                        visible -= u32::from(visible != u32::MAX);
                        let op = &program.atomic_ops[*index as usize];
                        self.atomic(block, w, s, op, active, i.site);
                        if self.idle >= IDLE {
                            pc += 1;
                            leave!(Yield::QuantumExpired);
                        }
                    }
                    pc += 1;
                }
                Op::Image(index) => {
                    if active != 0 {
                        if visible == 0 {
                            fuel += 1;
                            leave!(Yield::QuantumExpired);
                        }
                        visible -= u32::from(visible != u32::MAX);
                        let op = &program.image_ops[*index as usize];
                        // A kernel alone: nobody has said what its textures are.
                        if self.device.images.is_unknown()
                            || self.is_anisotropic(block, w, op, active)
                        {
                            let info = program.site(i.site);
                            return Err(Box::new(Stop::Unsupported {
                                site: i.site,
                                text: info.text.clone(),
                                line: info.ptx_line,
                            }));
                        }
                        self.moved();
                        self.image(block, w, op, active, i.site);
                    }
                    pc += 1;
                }
                Op::Fence(order, scope) => {
                    if self.history.is_some() {
                        self.on_fence(block.id, w, active, (*order, *scope));
                    }
                    if active != 0 && O::WATCHES {
                        self.observer
                            .fence(i.site, block.who(w), active, *order, *scope);
                    }
                    pc += 1;
                }
                Op::DependencyWait => {
                    // What ran before in its stream is complete here; who watches may say which accesses came too early.
                    if active != 0 && O::WATCHES {
                        self.observer.dependency_wait(block.who(w), active);
                    }
                    pc += 1;
                    if active != 0 && self.pause == Pause::AtWait {
                        block.warps[w].splits[s].state = State::Paused;
                        leave!(Yield::Blocked);
                    }
                }
                Op::DependencyTrigger => {
                    pc += 1;
                    if active != 0 && self.pause == Pause::AtTrigger {
                        block.warps[w].splits[s].state = State::Paused;
                        leave!(Yield::Blocked);
                    }
                }
                Op::ClusterArrive { releases, aligned } => {
                    if active != 0 {
                        let how = (*releases, *aligned);
                        self.cluster_arrive(block, w, active, how, i.site);
                    }
                    pc += 1;
                }
                Op::MapShared(op) => {
                    self.map_shared(block, w, op, active);
                    pc += 1;
                }
                Op::Yield => {
                    pc += 1;
                    leave!(Yield::QuantumExpired);
                }
                // From here on the split itself changes; a guard that holds in some lanes only splits it first.
                _ if active == 0 => pc += 1,
                Op::BranchIndexed { index, targets } => {
                    let row = *row(&warp.w, self.const_w, *index);
                    let goes = |l: usize| targets.get(row[l] as usize).copied().unwrap_or(pc + 1);
                    let beyond = |l: &usize| row[*l] as usize >= targets.len();
                    if let Some(l) = lanes_of(active).find(beyond) {
                        block.warps[w].splits[s].pc = pc;
                        let why = BadCall::NoLabel(row[l], targets.len());
                        return Err(self.bad_call(block, w, s, why).into());
                    }
                    let first = if mask == active {
                        goes(active.trailing_zeros() as usize)
                    } else {
                        pc + 1
                    };
                    if mask == active && lanes_of(active).all(|l| goes(l) == first) {
                        pc = first;
                    } else {
                        let mut ways: Vec<(u32, Mask)> = Vec::new();
                        for l in lanes_of(mask) {
                            let to = if active >> l & 1 != 0 {
                                goes(l)
                            } else {
                                pc + 1
                            };
                            match ways.iter_mut().find(|(t, _)| *t == to) {
                                Some((_, m)) => *m |= 1 << l,
                                None => ways.push((to, 1 << l)),
                            }
                        }
                        if let [(_, a), .., (_, b)] = ways[..] {
                            self.diverged(block, w, s, i.site, a, b);
                        }
                        pc = block.warps[w].scatter(s, &ways);
                        leave!(Yield::Blocked);
                    }
                }
                op => {
                    if active != mask {
                        block.warps[w].fork(s, pc, active, pc + 1, mask & !active);
                        mask = active;
                    }
                    if visible == 0
                        && !quantum.accesses
                        && !matches!(op, Op::Call(_) | Op::Return | Op::Exit)
                    {
                        fuel += 1;
                        leave!(Yield::QuantumExpired);
                    }
                    block.warps[w].splits[s].pc = pc;
                    match op {
                        Op::Barrier(b) => {
                            self.part(block, w, s, b);
                            self.arrive(block, w, s, b, i.site);
                            self.steps += u64::from(quantum.fuel - fuel);
                            return Ok(Yield::Blocked);
                        }
                        Op::ClusterWait { acquires } => {
                            if !self.cluster_wait(block, (w, s), *acquires, i.site) {
                                self.steps += u64::from(quantum.fuel - fuel);
                                return Ok(Yield::Blocked);
                            }
                            pc += 1;
                        }
                        Op::Warp(op) => {
                            let whole = block.warps[w].exists == Mask::MAX;
                            if matches!(op.kind, WarpKind::Together(_)) && !whole {
                                let info = program.site(i.site);
                                return Err(Box::new(Stop::Unsupported {
                                    site: i.site,
                                    text: format!(
                                        "{} (in a warp of fewer than 32 threads)",
                                        info.text
                                    ),
                                    line: info.ptx_line,
                                }));
                            }
                            if !self.warp_operation(block, w, s, op, i.site) {
                                self.steps += u64::from(quantum.fuel - fuel);
                                return Ok(Yield::Blocked);
                            }
                            pc += 1;
                            if !TRACK_POISON && block.poison.is_some() {
                                leave!(Yield::Poisoned(Quantum {
                                    fuel,
                                    visible,
                                    ..quantum
                                }));
                            }
                        }
                        Op::Call(call) => match self.call(block, w, s, call)? {
                            Some(to) => {
                                pc = to;
                                // Lanes that call another function were left behind.
                                mask = block.warps[w].splits[s].mask;
                            }
                            None => {
                                self.steps += u64::from(quantum.fuel - fuel);
                                return Ok(Yield::Blocked);
                            }
                        },
                        Op::Return if !block.warps[w].splits[s].frames.is_empty() => {
                            pc = self.ret(block, w, s);
                        }
                        Op::Return | Op::Exit => {
                            self.exit(block, w, s, i.site);
                            self.steps += u64::from(quantum.fuel - fuel);
                            return Ok(Yield::Blocked);
                        }
                        Op::System(call) => {
                            self.moved();
                            self.system(block, w, s, call, i.site)?;
                            pc += 1;
                        }
                        Op::Alloca {
                            d,
                            wide,
                            size,
                            wide_size,
                            align,
                        } => {
                            self.alloca(
                                &mut block.warps[w],
                                s,
                                *d,
                                *wide,
                                *size,
                                *wide_size,
                                *align,
                            );
                            pc += 1;
                        }
                        Op::Trap => {
                            let lane = LaneId(mask.trailing_zeros() as u8);
                            return Err(Box::new(Stop::Trap {
                                site: i.site,
                                block: block.id,
                                thread: block.who(w).thread(lane),
                            }));
                        }
                        _ => {
                            let info = program.site(i.site);
                            if let Some(name) = &info.no_body {
                                let why = BadCall::NoBody(name.clone());
                                return Err(self.bad_call(block, w, s, why).into());
                            }
                            return Err(Box::new(Stop::Unsupported {
                                site: i.site,
                                text: info.text.clone(),
                                line: info.ptx_line,
                            }));
                        }
                    }
                    dead = !block.warps[w].live();
                }
            }
        }
    }
}

/// The loop as work for [`at_best`].
struct Run<'r, 'a, O: Hooks>(&'r mut Core<'a, O>, &'r mut Block, usize, usize, Quantum);

impl<O: Hooks> Work for Run<'_, '_, O> {
    type Output = Result<Yield, Box<Stop>>;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Result<Yield, Box<Stop>> {
        let Run(core, block, w, s, quantum) = self;
        core.run_as::<false, FMA>(block, w, s, quantum)
    }
}
