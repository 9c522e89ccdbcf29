//! The plain engine: the second opinion on everything that the fast engine ([`crate::exec`]) computes.
//!
//! It executes the same decoded [`Program`](crate::Program) over the same memory, one instruction after the other, lane after lane, and memory byte after
//! byte. There is nothing here for speed: no operation is compiled into the loop, no loads are performed together, no address or allocation
//! is remembered, no warp is taken as a whole. Observers are told of plain accesses only. Each file follows the sections of the PTX ISA
//! manual that its header names, so that it can be read beside them:
//!
//! | file | PTX ISA, "Instruction Set" |
//! |---|---|
//! | `plain.rs` | the order of execution, guards, "Control Flow Instructions: bra, brx.idx" |
//! | `arithmetic.rs` | everything from registers to registers |
//! | `memory.rs` | "ld", "st", state spaces, generic addresses |
//! | `atomic.rs` | "atom", "red" |
//! | `async_copies.rs` | "cp.async" |
//! | `bulk.rs` | "cp.async.bulk", "cp.reduce.async.bulk", "st.async", "red.async", "cp.async.mbarrier.arrive" |
//! | `phases.rs` | "mbarrier.test_wait", "mbarrier.try_wait" |
//! | `barrier.rs` | "bar, barrier" |
//! | `warp.rs` | "bar.warp.sync", "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync", "activemask" |
//! | `calls.rs` | "call", "ret", "exit", "alloca" |
//! | `registers.rs` | "State Spaces": `.reg` |
//! | `special.rs` | "Special Registers" |
//!
//! # What both engines share
//!
//! * The tables of arithmetic ([`crate::alu`], [`crate::video`], products of [`crate::matrix`], those of warpgroups
//!   with when they begin and end): pure functions of a lane's operands, compared with an H200 by
//!   `racetrap dev conform`. They are called for a row of operands in which inactive lanes are zero; results are taken lane by lane.
//! * The state of warps and blocks ([`crate::state`]) and the loops that give turns ([`crate::launch`]), so that a schedule interleaves both
//!   engines alike and their runs can be compared to the byte.
//! * The list of asynchronous operations and when they are performed ([`crate::operations`]), and what observers are told of bulk ones.
//! * What is no execution: the wording of faults and misuse, values that weak schedules may return ([`crate::weak_memory`]), undefined
//!   values that are followed ([`crate::undefined`]), whether a launch waits (`exec::Changes`).
//! * What the driver provides (`printf`, `malloc`, `assert`), and texture fetches, whose short way is not taken here.
//!
//! Neither `Instr::inline`, `MemoryOp::word`, `MemoryOp::run` nor `Program::load_runs` is looked at. Blocks run on one core. An operation
//! that has no code here stops the run by name ([`Turn::not_here`]); nothing falls back to the fast engine.
//!
//! Blind spots: a wrong table of arithmetic, wrong lowering and a wrong schedule are wrong in both engines. Conformance programs, cases with
//! oracles and the tests of schedules look at those.

mod arithmetic;
mod async_copies;
mod atomic;
mod barrier;
mod bulk;
mod calls;
mod memory;
mod phases;
mod registers;
mod special;
mod tensor;
mod warp;

use crate::alu::Mask;
use crate::exec::{Core, IDLE, Quantum, Yield};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::observer::*;
use crate::op::*;
use crate::operations::{Group, Operation};
use crate::state::*;
use crate::stop::{BadCall, Pause, Stop};

/// What is added to the text of an instruction that only the fast engine executes.
pub(crate) const ONLY_FAST: &str = " (with --plain)";

/// Runs split `s` of warp `w` until it has to wait, ends, meets another split, or its turn is over.
pub(crate) fn run<O: Hooks>(
    core: &mut Core<'_, O>,
    block: &mut Block,
    w: usize,
    s: usize,
    quantum: Quantum,
) -> Result<Yield, Box<Stop>> {
    core.idle = 0;
    let turn = Turn {
        core,
        block,
        w,
        s,
        quantum,
        fuel: quantum.fuel,
        visible: quantum.visible,
    };
    turn.run()
}

/// Nothing in a block can run: resolves what hardware would resolve, and reports it. Whether anything can run now.
pub(crate) fn unblock<O: Hooks>(core: &mut Core<'_, O>, block: &mut Block) -> bool {
    if core.wake(block) {
        return true;
    }
    let quantum = Quantum::NONE;
    let mut turn = Turn {
        core,
        block,
        w: 0,
        s: 0,
        quantum,
        fuel: 0,
        visible: 0,
    };
    turn.let_torn_barriers_go() || turn.force_warp_operation()
}

/// Performs an operation of a warp.
pub(crate) fn complete<O: Hooks>(
    core: &mut Core<'_, O>,
    block: &mut Block,
    w: usize,
    operation: Operation,
) {
    let quantum = Quantum::NONE;
    let mut turn = Turn {
        core,
        block,
        w,
        s: 0,
        quantum,
        fuel: 0,
        visible: 0,
    };
    turn.complete_operation(w, operation);
}

/// A turn of one split.
pub(super) struct Turn<'r, 'a, O: Hooks> {
    core: &'r mut Core<'a, O>,
    block: &'r mut Block,
    /// The warp in its block.
    w: usize,
    /// The split in its warp.
    s: usize,
    quantum: Quantum,
    /// Instructions that are left of the turn.
    fuel: u32,
    /// Memory operations that are left of it, or `u32::MAX`.
    visible: u32,
}

/// What an instruction came to.
enum Step {
    /// The next one follows.
    Next,
    /// Another one follows.
    To(u32),
    /// It was not executed: the turn ends before it.
    NotYet,
    /// It was executed, and the turn ends.
    Yields,
    /// The split waits, has ended or has been split; where it stands is written down.
    Leaves,
}

/// The lanes of `mask` for which something holds.
fn filter(mask: Mask, holds: impl Fn(usize) -> bool) -> Mask {
    lanes_of(mask)
        .filter(|l| holds(*l))
        .fold(0, |m, l| m | 1 << l)
}

impl<O: Hooks> Turn<'_, '_, O> {
    fn run(mut self) -> Result<Yield, Box<Stop>> {
        let mut pc = self.split().pc;
        loop {
            if pc >= self.quantum.limit {
                return Ok(self.leave(pc, Yield::Reconverge));
            }
            if self.fuel == 0 {
                return Ok(self.leave(pc, Yield::QuantumExpired));
            }
            self.fuel -= 1;
            match self.step(pc)? {
                Step::Next => pc += 1,
                Step::To(target) => pc = target,
                Step::NotYet => {
                    self.fuel += 1;
                    return Ok(self.leave(pc, Yield::QuantumExpired));
                }
                Step::Yields => return Ok(self.leave(pc + 1, Yield::QuantumExpired)),
                Step::Leaves => {
                    self.core.steps += self.executed();
                    return Ok(Yield::Blocked);
                }
            }
        }
    }

    fn leave(&mut self, pc: u32, why: Yield) -> Yield {
        self.split_mut().pc = pc;
        self.core.steps += self.executed();
        why
    }

    /// Instructions that the turn has executed so far.
    fn executed(&self) -> u64 {
        u64::from(self.quantum.fuel - self.fuel)
    }

    fn warp(&self) -> &Warp {
        &self.block.warps[self.w]
    }

    fn warp_mut(&mut self) -> &mut Warp {
        &mut self.block.warps[self.w]
    }

    fn split(&self) -> &Split {
        &self.block.warps[self.w].splits[self.s]
    }

    fn split_mut(&mut self) -> &mut Split {
        &mut self.block.warps[self.w].splits[self.s]
    }

    fn who(&self) -> WarpRef {
        self.block.who(self.w)
    }

    /// These lanes of the warp, where they stand.
    fn party(&self, mask: Mask, site: Site) -> Party {
        Party {
            warp: WarpId(self.w as u32),
            mask,
            site,
        }
    }

    /// Executes the instruction at `pc` (PTX ISA, "Predicated Execution": only in the lanes whose guard holds).
    fn step(&mut self, pc: u32) -> Result<Step, Box<Stop>> {
        let program = self.core.program;
        let i = &program.code[pc as usize];
        let mask = self.split().mask;
        let active = filter(mask, |l| self.p(i.guard, l));
        if self.block.poison.is_some() {
            (self.core).follow(self.block, self.w, self.s, pc, mask, active);
        }
        match &i.op {
            Op::Nop => {}
            Op::Yield => return Ok(Step::Yields),
            Op::Branch { target } => return Ok(self.branch(pc, i, mask, active, *target)),
            Op::BarrierBypass {
                point,
                consumes_arrival,
            } => self.goes_around(*point as usize, *consumes_arrival, active, i.site),
            Op::AwaitPhase(op) => return Ok(self.await_phase(pc, op, active)),
            Op::Fence(order, scope) => self.fence(i.site, active, *order, *scope),
            _ if active == 0 => {}
            Op::Alu { f, d, s } => self.alu(f, *d, s, active),
            Op::Setp { .. }
            | Op::Set { .. }
            | Op::Lop3Test { .. }
            | Op::Pack { .. }
            | Op::Cvta { .. }
            | Op::IsSpace { .. }
            | Op::FrameAddress { .. }
            | Op::Video(_) => self.compute(&i.op, active),
            Op::Matrix(index) => {
                let op = &program.matrix_ops[*index as usize];
                (self.core).matrix(&mut self.block.warps[self.w], op, active, 0);
            }
            Op::Special { which, d, wide } => self.special(*which, *d, *wide, active, i.site),
            Op::Memory(index) => {
                let op = &program.memory_ops[*index as usize];
                if op.space.is_between_threads() && !self.sees() {
                    return Ok(Step::NotYet);
                }
                self.memory(op, active, i.site);
            }
            Op::Atomic(index) => {
                if !self.sees() {
                    return Ok(Step::NotYet);
                }
                self.atomic(&program.atomic_ops[*index as usize], active, i.site);
                if self.core.idle >= IDLE {
                    return Ok(Step::Yields);
                }
            }
            Op::Image(index) => {
                if !self.sees() {
                    return Ok(Step::NotYet);
                }
                self.image(&program.image_ops[*index as usize], active, i.site)?;
            }
            Op::AsyncCopy(index) => self.begin_copy(*index, active, i.site),
            Op::CommitGroup => self.close_group(Group::Copy, active),
            Op::WaitGroup(newest) => self.wait_for_copies(active, *newest),
            Op::Bulk(_) | Op::CopiesArrive(_) if !self.sees() => return Ok(Step::NotYet),
            Op::Bulk(index) => self.bulk(*index, active, i.site)?,
            Op::CopiesArrive(index) => self.copies_arrive(*index, active, i.site),
            Op::CommitBulk => self.close_group(Group::Bulk, active),
            Op::WaitBulk { newest, read } => self.wait_for_bulk(active, *newest, *read),
            Op::Wgmma(op) => {
                let at = (self.w, self.s);
                if !(self.core).wgmma(self.block, at, *op, active, i.site)? {
                    self.split_mut().pc = pc - 1;
                    return Ok(Step::Leaves);
                }
            }
            Op::ProxyFence => {
                if O::WATCHES {
                    let who = self.who();
                    self.core.observer.proxy_fence(i.site, who, active);
                }
            }
            Op::PhaseAwaited { p, base, offset } => {
                let found = filter(active, |l| self.p(*p, l));
                if O::WATCHES && found != 0 {
                    let objects = self.addresses(*base, *offset);
                    let who = self.who();
                    self.core.observer.phase_awaited(who, found, &objects);
                }
            }
            Op::ClusterArrive { releases, aligned } => {
                let how = (*releases, *aligned);
                (self.core).cluster_arrive(self.block, self.w, active, how, i.site);
            }
            Op::MapShared(op) => (self.core).map_shared(self.block, self.w, op, active),
            Op::DependencyWait => {
                if O::WATCHES {
                    let who = self.who();
                    self.core.observer.dependency_wait(who, active);
                }
                if self.core.pause == Pause::AtWait {
                    return Ok(self.pauses(pc));
                }
            }
            Op::DependencyTrigger => {
                if self.core.pause == Pause::AtTrigger {
                    return Ok(self.pauses(pc));
                }
            }
            Op::BranchIndexed { index, targets } => {
                return self.branch_indexed(pc, i.site, (mask, active), *index, targets);
            }
            op => return self.change_split(pc, op, mask, active, i.site),
        }
        Ok(Step::Next)
    }

    /// The split stops behind this instruction.
    fn pauses(&mut self, pc: u32) -> Step {
        let split = self.split_mut();
        (split.state, split.pc) = (State::Paused, pc + 1);
        Step::Leaves
    }

    /// Counts an operation on memory that others see; `false` if the turn has none left.
    fn sees(&mut self) -> bool {
        match self.visible {
            0 => return false,
            u32::MAX => {}
            _ => self.visible -= 1,
        }
        true
    }

    /// Operations that the lanes of a split execute together. Those whose guard fails go on as a split of their own.
    fn change_split(
        &mut self,
        pc: u32,
        op: &Op,
        mask: Mask,
        active: Mask,
        site: Site,
    ) -> Result<Step, Box<Stop>> {
        let s = self.s;
        if active != mask {
            (self.warp_mut()).fork(s, pc, active, pc + 1, mask & !active);
        }
        let synchronises = !matches!(op, Op::Call(_) | Op::Return | Op::Exit);
        if self.visible == 0 && !self.quantum.accesses && synchronises {
            return Ok(Step::NotYet);
        }
        self.split_mut().pc = pc;
        match op {
            Op::Barrier(b) => {
                self.part_by_barrier(b);
                self.arrive(b, site);
                Ok(Step::Leaves)
            }
            Op::ClusterWait { acquires } => {
                match (self.core).cluster_wait(self.block, (self.w, s), *acquires, site) {
                    true => Ok(Step::Next),
                    false => Ok(Step::Leaves),
                }
            }
            Op::Warp(op) => {
                if matches!(op.kind, WarpKind::Together(_)) && self.warp().exists != Mask::MAX {
                    return Err(self.unsupported(site, " (in a warp of fewer than 32 threads)"));
                }
                let undefined = self.block.poison.is_some();
                if !self.warp_operation(op, site) {
                    return Ok(Step::Leaves);
                }
                if !undefined && self.block.poison.is_some() {
                    self.core.idle = 0;
                }
                Ok(Step::Next)
            }
            Op::Call(call) => Ok(Step::To(self.call(call)?)),
            Op::Return if !self.split().frames.is_empty() => Ok(Step::To(self.ret())),
            Op::Return | Op::Exit => {
                self.exit(site);
                Ok(Step::Leaves)
            }
            Op::System(call) => {
                self.core.moved();
                (self.core).system(self.block, self.w, self.s, call, site)?;
                Ok(Step::Next)
            }
            Op::Alloca {
                d,
                wide,
                size,
                wide_size,
                align,
            } => {
                self.alloca((*d, *wide), (*size, *wide_size), *align);
                Ok(Step::Next)
            }
            Op::Trap => {
                let lane = LaneId(active.trailing_zeros() as u8);
                Err(Box::new(Stop::Trap {
                    site,
                    block: self.block.id,
                    thread: self.who().thread(lane),
                }))
            }
            Op::Unsupported => match &self.core.program.site(site).no_body {
                Some(name) => Err(self.bad_call(BadCall::NoBody(name.clone()))),
                None => Err(self.unsupported(site, "")),
            },
            _ => Err(self.not_here(site)),
        }
    }

    /// Stops the run at an instruction that racetrap does not implement.
    fn unsupported(&self, site: Site, why: &str) -> Box<Stop> {
        let info = self.core.program.site(site);
        Box::new(Stop::Unsupported {
            site,
            text: format!("{}{why}", info.text),
            line: info.ptx_line,
        })
    }

    /// Stops the run at an instruction that only the fast engine executes.
    fn not_here(&self, site: Site) -> Box<Stop> {
        self.unsupported(site, ONLY_FAST)
    }

    /// "bra": lanes whose guard holds jump.
    fn branch(&mut self, pc: u32, i: &Instr, mask: Mask, active: Mask, target: u32) -> Step {
        let who = self.who();
        if active != mask && active != 0 {
            if O::WATCHES {
                self.core.observer.diverges(&Divergence {
                    site: i.site,
                    who,
                    taken: active,
                    fallen: mask & !active,
                });
            }
            let s = self.s;
            (self.warp_mut()).fork(s, pc + 1, mask & !active, target, active);
            return Step::Leaves;
        }
        if O::WATCHES && i.guard != Slot::TRUE {
            (self.core.observer).uniform_branch(i.site, who, active != 0);
        }
        match active {
            0 => Step::Next,
            _ => Step::To(target),
        }
    }

    /// "brx.idx": each lane jumps where its index says; one that is too large is an error.
    fn branch_indexed(
        &mut self,
        pc: u32,
        site: Site,
        (mask, active): (Mask, Mask),
        index: Slot,
        targets: &[u32],
    ) -> Result<Step, Box<Stop>> {
        let mut ways: Vec<(u32, Mask)> = Vec::new();
        for l in lanes_of(mask) {
            let to = match active >> l & 1 {
                1 => {
                    let which = self.w(index, l);
                    let Some(to) = targets.get(which as usize) else {
                        self.split_mut().pc = pc;
                        return Err(self.bad_call(BadCall::NoLabel(which, targets.len())));
                    };
                    *to
                }
                _ => pc + 1,
            };
            match ways.iter_mut().find(|(t, _)| *t == to) {
                Some((_, lanes)) => *lanes |= 1 << l,
                None => ways.push((to, 1 << l)),
            }
        }
        if let [(to, _)] = ways[..] {
            return Ok(Step::To(to));
        }
        if let ([(_, taken), .., (_, fallen)], true) = (&ways[..], O::WATCHES) {
            let who = self.who();
            self.core.observer.diverges(&Divergence {
                site,
                who,
                taken: *taken,
                fallen: *fallen,
            });
        }
        self.scatter(&ways);
        Ok(Step::Leaves)
    }

    /// Splits the split: the first lanes stay it, the others become new ones, each where it goes on.
    fn scatter(&mut self, ways: &[(u32, Mask)]) {
        let s = self.s;
        let (pc, mask) = ways[0];
        for (to, other) in &ways[1..] {
            self.warp_mut().fork(s, pc, mask, *to, *other);
        }
        let split = self.split_mut();
        (split.pc, split.mask) = (pc, mask);
    }

    /// "membar, fence"
    fn fence(&mut self, site: Site, active: Mask, order: FenceOrder, scope: Scope) {
        let (block, who) = (self.block.id, self.who());
        self.core.on_fence(block, self.w, active, (order, scope));
        if active != 0 && O::WATCHES {
            self.core.observer.fence(site, who, active, order, scope);
        }
    }

    /// Lanes pass a point behind a barrier or a warp operation ([`crate::lower::barrier_postdominators`]): those that have not been there
    /// have gone around it.
    fn goes_around(&mut self, point: usize, consumes_arrival: bool, active: Mask, site: Site) {
        let warp = self.warp_mut();
        let been_there = match consumes_arrival {
            true => active & warp.arrived[point],
            false => 0,
        };
        warp.arrived[point] &= !active;
        warp.passed[point] |= active & !been_there;
        warp.passed_site[point] = site;
    }

    /// "tex", "tld4", "suld", "sust": see the module's page.
    fn image(&mut self, op: &ImageOp, active: Mask, site: Site) -> Result<(), Box<Stop>> {
        let unknown = self.core.device.images.is_unknown();
        if unknown || (self.core).is_anisotropic(self.block, self.w, op, active) {
            return Err(self.unsupported(site, ""));
        }
        self.core.moved();
        (self.core).image(self.block, self.w, op, active, site);
        Ok(())
    }
}
