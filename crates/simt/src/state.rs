//! The state of a running launch: blocks, warps, splits.

use super::alu::{Row32, Row64};
use super::call_stack::CallStack;
pub(crate) use super::ids::lanes_of;
use super::ids::*;
use super::memory::{Local, Params, Shared};
use super::observer::{Party, WarpRef};
use super::operations::Operations;
use super::program::Program;
use super::slot::Slot;
pub(crate) use super::slot::row;

/// Lanes of a warp that share a program counter.
#[derive(Debug)]
pub(crate) struct Split {
    pub pc: u32,
    pub mask: Mask,
    pub state: State,
    /// Calls it is in.
    pub frames: CallStack,
    /// Base of its frame in local memory, bytes.
    pub base: u32,
    /// End of its frame.
    pub top: u32,
    /// Turns that it used up without coming to an end: others go first.
    pub rounds: u32,
}

/// What a split is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// Can run.
    Ready,
    /// Waits at a block barrier.
    Barrier(u32),
    /// Waits at the warp operation that its program counter stands at.
    WarpSync,
    /// Waits for a phase of an mbarrier, at the test that its program counter stands at.
    Phase(Awaited),
    /// Waits for the barrier of its cluster, at the wait that its program counter stands at.
    Cluster,
    /// Waits until all warps of its warpgroup have closed so many groups of products, at the wait that its program counter stands at.
    Products(u32),
}

/// A phase of an mbarrier that lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Awaited {
    /// The object's offset in shared memory.
    pub object: u64,
    /// The parity of the phase.
    pub parity: bool,
}

impl Awaited {
    /// As [`super::op::AwaitPhase::asked`].
    pub fn asked(self) -> u64 {
        match self.parity {
            true => super::mbarrier::PHASE,
            false => 0,
        }
    }
}

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    pub id: WarpId,
    pub w: Vec<Row32>,
    pub d: Vec<Row64>,
    pub p: Vec<Mask>,
    /// Carry flags.
    pub carry: Mask,
    /// Lanes that are threads of the block.
    pub exists: Mask,
    /// Lanes that have exited.
    pub exited: Mask,
    pub exit_site: [Site; LANES],
    pub splits: Vec<Split>,
    pub local: Local,
    /// Asynchronous operations; none before the first.
    pub operations: Option<Box<Operations>>,
    /// By meeting point: lanes that went around it, lanes whose arrival is not consumed yet.
    pub passed: Vec<Mask>,
    pub arrived: Vec<Mask>,
    /// Where lanes passed, for the report.
    pub passed_site: Vec<Site>,
    /// Whether splits stay apart until a barrier (the lane-by-lane schedule).
    pub apart: bool,
    /// Lanes that have arrived at the cluster's barrier and not waited, and the parity of the phase in which they did.
    pub cluster_arrived: Mask,
    pub cluster_parity: Mask,
    /// Where its lanes have arrived there since all of them last did.
    pub cluster_sites: Vec<(Site, Mask)>,
}

impl Warp {
    pub fn new(id: WarpId, exists: Mask, program: &Program, apart: bool) -> Warp {
        let points = program.points as usize;
        let mut warp = Warp {
            id,
            w: vec![[0; LANES]; program.rows_w],
            d: vec![[0; LANES]; program.rows_d],
            p: vec![0; program.preds],
            carry: 0,
            exists,
            exited: 0,
            exit_site: [Site(0); LANES],
            splits: Vec::new(),
            local: Local::default(),
            operations: None,
            passed: vec![0; points],
            arrived: vec![0; points],
            passed_site: vec![Site(0); points],
            apart,
            cluster_arrived: 0,
            cluster_parity: 0,
            cluster_sites: Vec::new(),
        };
        warp.begin(program);
        warp
    }

    /// Makes a warp that has ended into the same one of another block.
    pub fn renew(&mut self, program: &Program) {
        self.w.fill([0; LANES]);
        self.d.fill([0; LANES]);
        self.p.fill(0);
        self.carry = 0;
        self.exited = 0;
        self.operations = None;
        (self.cluster_arrived, self.cluster_parity) = (0, 0);
        self.cluster_sites.clear();
        self.exit_site = [Site(0); LANES];
        self.passed.fill(0);
        self.arrived.fill(0);
        self.passed_site.fill(Site(0));
        self.begin(program);
    }

    /// Puts all lanes at the beginning of the kernel.
    fn begin(&mut self, program: &Program) {
        let split = |mask| Split {
            pc: program.functions[0].start,
            mask,
            state: State::Ready,
            frames: CallStack::default(),
            base: 0,
            top: program.functions[0].frame,
            rounds: 0,
        };
        self.splits.clear();
        match self.apart {
            true => {
                let lanes = (0..LANES as u32).map(|l| 1 << l);
                let exist = lanes.filter(|m| m & self.exists != 0);
                self.splits.extend(exist.map(split));
            }
            false => self.splits.push(split(self.exists)),
        }
        self.local.begin(program.functions[0].frame);
    }

    /// Lanes that have not exited.
    pub fn live(&self) -> Mask {
        self.exists & !self.exited
    }

    /// Joins splits that stand at the same place of the same calls.
    pub fn reconverge(&mut self) {
        if !self.apart {
            self.join();
        }
    }

    /// The same where they would stay apart: what follows is done by all lanes together.
    pub fn join(&mut self) {
        let mut i = 0;
        while i < self.splits.len() {
            let mut j = i + 1;
            while j < self.splits.len() {
                let (a, b) = (&self.splits[i], &self.splits[j]);
                let together = a.pc == b.pc && a.state == State::Ready && b.state == State::Ready;
                if together && a.base == b.base && a.top == b.top && a.frames.is_same(&b.frames) {
                    let b = self.splits.swap_remove(j);
                    let a = &mut self.splits[i];
                    a.mask |= b.mask;
                    a.rounds = a.rounds.max(b.rounds);
                    a.frames.take_lanes(b.frames, b.mask);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }
}

/// Threads that have arrived at a block barrier together.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Arrival {
    pub warp: WarpId,
    pub mask: Mask,
    pub site: Site,
    /// Instruction index, for the result of `bar.red`.
    pub pc: u32,
    /// Waits (all but `bar.arrive`).
    pub waits: bool,
    /// Threads it expects; all of the block, in whole warps, where it names none.
    pub count: u32,
    pub aligned: bool,
    /// Meeting point, or `u32::MAX`.
    pub point: u32,
    /// Of these, lanes that had gone around the barrier before.
    pub skipped: Mask,
    /// Of these, lanes whose `bar.red` predicate holds.
    pub holds: Mask,
}

/// A block barrier's resource.
#[derive(Debug, Default)]
pub(crate) struct Barrier {
    pub arrivals: Vec<Arrival>,
    /// Threads expected, where a count was given.
    pub expected: Option<u32>,
    /// Instead of arrivals: warps that have come as a whole to the barrier at `pc`, which is for all of the block.
    pub whole: Vec<Party>,
    pub pc: u32,
}

/// A resident block.
#[derive(Debug)]
pub(crate) struct Block {
    pub id: BlockId,
    pub coordinates: [u32; 3],
    /// Its cluster, and its rank in it.
    pub cluster: u32,
    pub rank: u32,
    pub warps: Vec<Warp>,
    pub shared: Shared,
    pub barriers: [Barrier; 16],
    /// Threads that have not exited.
    pub live: u32,
    /// Exited threads that a barrier has been reported to miss.
    pub missed: u32,
    /// Whether its threads have been reported to meet at different barriers. From there on they are out of
    /// step: that a later barrier misses some is the same fault.
    pub out_of_step: bool,
    /// Warp-instructions that its warps have executed.
    pub steps: u64,
    /// From the first shuffle on that read from a lane which had no value: see [`super::undefined`].
    pub poison: Option<Box<super::undefined::Undefined>>,
}

impl Block {
    pub fn who(&self, warp: usize) -> WarpRef {
        WarpRef {
            block: self.id,
            warp: WarpId(warp as u32),
        }
    }

    /// Whether anything in the block can run.
    pub fn runnable(&self) -> bool {
        self.warps
            .iter()
            .any(|w| w.splits.iter().any(|s| s.state == State::Ready))
    }

    /// Exited lanes of the whole block, grouped by where they exited.
    pub fn exited(&self) -> Vec<Party> {
        self.warps
            .iter()
            .flat_map(|w| grouped(w.id, w.exited, |l| w.exit_site[l]))
            .collect()
    }
}

/// Lanes of a warp grouped by a site each.
pub(crate) fn grouped(warp: WarpId, mask: Mask, site: impl Fn(usize) -> Site) -> Vec<Party> {
    let mut parties: Vec<Party> = Vec::new();
    for l in lanes_of(mask) {
        let at = site(l);
        match parties.iter_mut().find(|p| p.site == at) {
            Some(p) => p.mask |= 1 << l,
            None => parties.push(Party {
                warp,
                mask: 1 << l,
                site: at,
            }),
        }
    }
    parties
}

/// A predicate, inverted or constant as its slot says.
#[inline(always)]
pub(crate) fn predicate(predicates: &[Mask], slot: Slot) -> Mask {
    let value = if slot.0 & Slot::CONST != 0 {
        Mask::MAX
    } else {
        predicates[(slot.0 & !Slot::NEGATED) as usize]
    };
    if slot.0 & Slot::NEGATED != 0 {
        !value
    } else {
        value
    }
}

/// What is the same for all blocks of a launch.
#[derive(Debug)]
pub(crate) struct Geometry {
    pub grid: Dim3,
    pub block: Dim3,
    pub dynamic_shared: u32,
    pub shared_bytes: u32,
    pub params: Params,
    /// By warp: thread coordinates.
    pub tids: Vec<[Row32; 3]>,
    /// Arena offset of the cooperative launch's workspace.
    pub workspace: Option<u64>,
    /// Blocks of a cluster.
    pub cluster: Dim3,
    /// Whether clusters are of several blocks, or the program has what only blocks of clusters have: a barrier.
    pub clustered: bool,
    /// Whether the launch is one of clusters that somebody has asked for (PTX ISA, "%is_explicit_cluster").
    pub explicit_cluster: bool,
}

/// A lane of a row.
pub(crate) trait Lane: Copy {
    /// `new` where `bit` is 1, `old` where it is 0, without a branch.
    fn choose(bit: u32, new: Self, old: Self) -> Self;
}

impl Lane for u32 {
    #[inline(always)]
    fn choose(bit: u32, new: u32, old: u32) -> u32 {
        old ^ (old ^ new) & bit.wrapping_neg()
    }
}

impl Lane for u64 {
    #[inline(always)]
    fn choose(bit: u32, new: u64, old: u64) -> u64 {
        old ^ (old ^ new) & u64::from(bit).wrapping_neg()
    }
}

/// Writes the active lanes of a result row. Dead lanes may be overwritten: nobody reads them.
#[inline(always)]
pub(crate) fn blend<T: Lane>(to: &mut [T; LANES], from: &[T; LANES], active: Mask, dead: Mask) {
    if active | dead == Mask::MAX {
        *to = *from;
    } else {
        let (old, new) = (*to, *from);
        for l in 0..LANES {
            to[l] = T::choose(active >> l & 1, new[l], old[l]);
        }
    }
}

/// Writes the active lanes of a predicate.
#[inline(always)]
pub(crate) fn blend_mask(to: &mut Mask, from: Mask, active: Mask) {
    *to = *to & !active | from & active;
}
