//! What a running kernel shows to whoever watches: the small vocabulary between
//! the simulator and the detectors.
//!
//! The simulator reports what happened, a warp-instruction at a time, and knows
//! no rule. Detectors judge it, and know neither the instruction set nor the
//! schedule. Every method has an empty default.
//!
//! # Order
//!
//! Events arrive in the order of the simulated interleaving, which is
//! sequentially consistent: when an [`Access`] arrives, everything reported
//! before has been performed. Within one warp-instruction the lanes' accesses
//! are *not* ordered with each other; they are performed in lane order, lowest
//! lane first.
//!
//! # Blocks in parallel
//!
//! When blocks run on several cores, each core drives its own observer, made by
//! [`Observer::fork`] and taken back by [`Observer::join`]. The simulator does
//! so only for launches in which no block can wait for another one (no global
//! memory operation whose result depends on the order of blocks), so two blocks
//! of different forks are never ordered by synchronisation. If `join` says that
//! the forks conflict, the launch is run again on one core from the same state,
//! and that run's events are the ones that count.

mod access;
mod fault;
mod run;

pub use access::*;
pub use fault::*;
pub use run::*;

use super::ids::*;
use std::ops::Range;
use std::sync::Arc;

/// A warp of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WarpRef {
    /// Its block.
    pub block: BlockId,
    /// Its index in the block.
    pub warp: WarpId,
}

impl WarpRef {
    /// A thread of this warp.
    pub fn thread(self, lane: LaneId) -> ThreadId {
        ThreadId::of(self.warp, lane)
    }
}

/// Semantics of a `fence` (PTX ISA, "membar/fence").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceOrder {
    /// `fence.acquire`
    Acquire,
    /// `fence.release`
    Release,
    /// `fence`, `fence.acq_rel`
    AcqRel,
    /// `fence.sc`, `membar`
    Sc,
}

/// Some lanes of one warp that take part in something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Party {
    /// The warp in its block.
    pub warp: WarpId,
    /// The lanes.
    pub mask: Mask,
    /// Where they stand (for exited lanes: the exit).
    pub site: Site,
}

/// A block barrier that has completed.
#[derive(Clone, Copy, Debug)]
pub struct BlockBarrier<'a> {
    /// The block.
    pub block: BlockId,
    /// The barrier's resource, 0 to 15.
    pub id: u32,
    /// Everybody who arrived, those who only arrived (`bar.arrive`) included.
    /// One entry for each warp and site.
    pub arrived: &'a [Party],
    /// Those who waited (`bar.sync`, `bar.red`): a subset of `arrived`.
    pub waited: &'a [Party],
    /// The barrier was for all threads of the block (no thread count given, or
    /// the count is the block's size).
    pub whole_block: bool,
    /// Every thread of the block that had not exited waited: what these threads did
    /// before is ordered before everything that comes after in the block.
    pub full: bool,
    /// `.aligned` forms, `__syncthreads` among them.
    pub aligned: bool,
    /// Threads that had exited when it completed.
    pub exited: &'a [Party],
}

/// Lanes of a warp at the barrier of their cluster (PTX ISA, "barrier.cluster").
#[derive(Clone, Copy, Debug)]
pub struct ClusterParty {
    /// The cluster, by its index in the grid.
    pub cluster: u32,
    /// The warp.
    pub who: WarpRef,
    /// The lanes.
    pub mask: Mask,
    /// The instruction.
    pub site: Site,
    /// Whether it orders memory: `.release` of an arrival, `.acquire` of a wait; `.relaxed` ones do not.
    pub ordered: bool,
}

/// A warp-level `.sync` operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpSyncKind {
    /// `bar.warp.sync`: orders memory among its participants.
    Barrier,
    /// `shfl`, `vote`, `match`, `redux`, `elect`: orders nothing.
    Exchange,
}

/// A warp-level `.sync` operation that has completed for some lanes.
#[derive(Clone, Copy, Debug)]
pub struct WarpSync {
    /// The instruction.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// The lanes that executed it together.
    pub lanes: Mask,
    /// The member mask that they named.
    pub members: Mask,
    /// What it is.
    pub kind: WarpSyncKind,
}

/// Something of the driver's that the order of calls shows in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverCall {
    /// `printf`: the order of lines.
    Print,
    /// `malloc`: which address, or none at all.
    Allocate,
    /// `free`: what later calls of `malloc` return.
    Free,
}

/// A branch that split a warp's active lanes.
#[derive(Clone, Copy, Debug)]
pub struct Divergence {
    /// The branch.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// Lanes that jumped.
    pub taken: Mask,
    /// Lanes that fell through.
    pub fallen: Mask,
}

/// The shape of a launch, for whoever sizes its shadow by it.
#[derive(Clone, Debug)]
pub struct LaunchShape {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Blocks of a cluster.
    pub cluster: Dim3,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared_bytes: u32,
    /// Bytes of the global arena.
    pub global_bytes: u64,
    /// The largest power of two (1, 2, 4, 8, 16) such that every access to shared memory
    /// that the program can make is a multiple of it, in size and alignment of its elements.
    pub shared_granule: u32,
    /// The same for global memory, over the whole session.
    pub global_granule: u32,
    /// Whether the program can make strong accesses to shared memory.
    pub strong_shared: bool,
    /// Whether the program can make strong accesses to global memory.
    pub strong_global: bool,
    /// Whether the program has non-coherent reads.
    pub non_coherent: bool,
    /// Whether the program has asynchronous copies.
    pub async_copies: bool,
    /// Whether it has operations of the async proxy.
    pub async_proxy: bool,
    /// Byte ranges of the arena that no instruction of the program can write, and that reads through textures go to.
    pub unwritten: Arc<[Range<u64>]>,
    /// Whether threads can be ordered by anything but whole-block barriers and
    /// warp-level synchronisation: the program has a fence, an acquire or release
    /// operation, a `bar.arrive`, or a barrier with a thread count. Where in doubt, `true`.
    pub fine_sync: bool,
    /// For each [`Site`]: what the instruction reads only decides branches (a
    /// spin loop's flag). Sites beyond its end are `false`.
    pub control_only: Arc<[bool]>,
    /// For each [`Site`]: a strong load whose value goes on to memory, an address or the output without being tested
    /// ([`super::lower::facts`]). Sites beyond its end are `false`.
    pub hands_on: Arc<[bool]>,
    /// For each [`Site`] that is an atomic: what it does. Others have [`Effect::default`], those beyond its end too.
    pub effects: Arc<[Effect]>,
    /// Whether the program has a strong load whose value is tested: threads that poll a word reckon with whatever comes to it.
    pub polls: bool,
    /// Whether loads may return old values, as under the `weak` schedules. The `fence.sc`s are then ordered as they are executed
    /// ([`super::weak_memory`]), in the one execution that is shown.
    pub stale_values: bool,
    /// Number of the launch in its session, from 0.
    pub launch: u32,
}

/// What [`Observer::join`] found when forks met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Joined {
    /// Nothing that two forks did conflicts, and no fork has a finding.
    Clean,
    /// The launch must be judged again on one core.
    Conflict,
}

/// What happens in a launch, as told to whoever watches it. All of it may be ignored.
pub trait Events {
    /// A launch starts. Everything before it on the same stream happens before.
    fn launch_begins(&mut self, shape: &LaunchShape) {
        let _ = shape;
    }
    /// The launch has ended.
    fn launch_ends(&mut self) {}
    /// A block becomes resident; its shared memory is fresh.
    fn block_begins(&mut self, block: BlockId) {
        let _ = block;
    }
    /// All its threads have exited.
    fn block_ends(&mut self, block: BlockId) {
        let _ = block;
    }
    /// Memory was accessed.
    fn access(&mut self, access: &Access<'_>) {
        let _ = access;
    }
    /// Memory was accessed in the commonest way.
    #[inline]
    fn row_access(&mut self, access: &RowAccess<'_>) {
        let address = access.addresses();
        self.access(&access.expanded(&address));
    }
    /// A warp has made these accesses, one after the other, and nothing has happened in between.
    #[inline]
    fn shared_reads(&mut self, who: WarpRef, reads: &[SharedRead]) {
        reads
            .iter()
            .for_each(|read| self.row_access(&read.row(who)));
    }
    /// A warp has loaded a run of words from shared memory. As [`Events::shared_reads`], for all of its loads.
    #[inline]
    fn shared_run(&mut self, run: &SharedRun<'_>) {
        let reads: Vec<SharedRead> = run.each().collect();
        self.shared_reads(run.who, &reads);
    }
    /// Words of shared memory were updated in the commonest way.
    #[inline]
    fn word_updates(&mut self, updates: &WordUpdates<'_>) {
        let address = updates.addresses();
        self.access(&updates.expanded(&address));
    }
    /// Lanes begin asynchronous copies. They are accesses of the time between here and [`Events::copy_ends`]; what they do to memory follows
    /// there, as accesses that are [`Access::asynchronous`].
    fn copy_begins(&mut self, copy: &AsyncCopy<'_>) {
        let _ = copy;
    }
    /// Lanes have waited for a copy of their warp, by its number.
    fn copy_ends(&mut self, who: WarpRef, number: u64, mask: Mask) {
        let _ = (who, number, mask);
    }
    /// Lanes have waited until a copy of their warp, by its number, has read its source (`cp.async.bulk.wait_group.read`).
    fn copy_reads_end(&mut self, who: WarpRef, number: u64, mask: Mask) {
        let _ = (who, number, mask);
    }
    /// A warp has closed this group of products, counted from 0: whoever waits for it comes after what the warp has done before
    /// (PTX ISA, "wgmma.commit_group": the group is one of the warpgroup).
    fn products_begun(&mut self, who: WarpRef, mask: Mask, group: u32) {
        let _ = (who, mask, group);
    }
    /// A warp has waited for the groups of products before this one, which all warps of its warpgroup have closed. What they have read and that
    /// nobody has waited for before follows, as accesses of this warp, and then [`Events::products_end`].
    fn products_awaited(&mut self, who: WarpRef, mask: Mask, groups: u32) {
        let _ = (who, mask, groups);
    }
    /// A product of another warp, by its number, has been waited for by this one of its warpgroup.
    fn product_ends(&mut self, owner: WarpRef, number: u64, mask: Mask, who: WarpRef) {
        let _ = (owner, number, mask, who);
    }
    /// All that the products in the groups before this one have read has been told.
    fn products_end(&mut self, who: WarpRef, mask: Mask, groups: u32) {
        let _ = (who, mask, groups);
    }
    /// Lanes have made what they, and those ordered before them, have done to memory visible to the async proxy (PTX ISA, "fence.proxy.async").
    fn proxy_fence(&mut self, site: Site, who: WarpRef, mask: Mask) {
        let _ = (site, who, mask);
    }
    /// Lanes let a copy of their warp, by its number, arrive at an mbarrier: whoever waits for that phase waits for the copy, and nobody else
    /// (PTX ISA, "cp.async.mbarrier.arrive"). What it does to memory follows here, as at [`Events::copy_ends`], which follows if the lanes wait
    /// for the copy as well.
    fn copy_arrives(&mut self, who: WarpRef, number: u64, mask: Mask) {
        let _ = (who, number, mask);
    }
    /// Where the copies of these lanes that have arrived before do so: an mbarrier's block, and its address in that one's shared memory.
    fn copies_arrive_at(&mut self, who: WarpRef, mask: Mask, block: BlockId, object: u64) {
        let _ = (who, mask, block, object);
    }
    /// A phase of an mbarrier is complete.
    fn phase_completes(&mut self, block: BlockId, object: u64) {
        let _ = (block, object);
    }
    /// Lanes have found a phase of an mbarrier, each at an address, complete.
    fn phase_awaited(&mut self, who: WarpRef, mask: Mask, objects: &[u64; LANES]) {
        let _ = (who, mask, objects);
    }
    /// Lanes have waited for the launch that theirs depends on (PTX ISA, "griddepcontrol": "causes the executing thread to wait until all
    /// prerequisite grids in flight have completed and all the memory operations from the prerequisite grids are performed and made visible").
    fn dependency_wait(&mut self, who: WarpRef, mask: Mask) {
        let _ = (who, mask);
    }
    /// A strong load returned an older value than the last one in some lanes, as the memory model lets it. Under
    /// schedules that are sequentially consistent none does. Where the value is from before all strong writes of the launch, no
    /// [`Events::access`] follows for the lane: the load orders nothing.
    fn stale_value(&mut self, site: Site) {
        let _ = site;
    }
    /// A fence was executed by the lanes of `mask`.
    fn fence(&mut self, site: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope) {
        let _ = (site, who, mask, order, scope);
    }
    /// Lanes executed a `bar.arrive` (not a `bar.sync` or `bar.red`) on barrier `id`
    /// and go on; [`Events::block_barrier`] will name them among
    /// [`BlockBarrier::arrived`] when the barrier completes.
    fn block_arrives(&mut self, block: BlockId, id: u32, who: Party) {
        let _ = (block, id, who);
    }
    /// A block barrier completed.
    fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let _ = barrier;
    }
    /// Lanes arrive at the barrier of their cluster, and go on.
    fn cluster_arrives(&mut self, party: &ClusterParty) {
        let _ = party;
    }
    /// All threads of a cluster that have not exited have arrived at its barrier.
    fn cluster_completes(&mut self, cluster: u32) {
        let _ = cluster;
    }
    /// Lanes have waited for the phase of their cluster's barrier in which they have arrived.
    fn cluster_waits(&mut self, party: &ClusterParty) {
        let _ = party;
    }
    /// A `.sync` warp operation completed.
    fn warp_sync(&mut self, sync: &WarpSync) {
        let _ = sync;
    }
    /// Threads met wrongly, or not at all.
    fn misuse(&mut self, block: BlockId, misuse: Misuse) {
        let _ = (block, misuse);
    }
    /// An access could not be performed, or read bytes that nothing wrote.
    fn fault(&mut self, fault: &MemoryFault<'_>) {
        let _ = fault;
    }
    /// A value that a shuffle got from no lane matters.
    fn undefined(&mut self, used: &UndefinedUse<'_>) {
        let _ = used;
    }
    /// A conditional branch was executed and kept its lanes together: all of them jumped, or none did.
    fn uniform_branch(&mut self, site: Site, who: WarpRef, taken: bool) {
        let _ = (site, who, taken);
    }
    /// A branch split a warp.
    fn diverges(&mut self, divergence: &Divergence) {
        let _ = divergence;
    }
    /// Lanes called what the driver provides to all threads of the device, lowest lane first.
    fn driver_call(&mut self, site: Site, who: WarpRef, mask: Mask, what: DriverCall) {
        let _ = (site, who, mask, what);
    }
    /// Lanes exited.
    fn exits(&mut self, who: WarpRef, mask: Mask, site: Site) {
        let _ = (who, mask, site);
    }
}

/// Who watches a launch whose blocks may be dealt out to several cores.
pub trait Observer: Events + Sized + Send {
    /// Whether to tell it of memory accesses at all: `false` removes the hooks
    /// from the execution loop when it is compiled.
    const WATCHES: bool = true;

    /// An observer for one core's share of the blocks.
    fn fork(&self) -> Self;
    /// Whether [`Observer::join`] will say [`Joined::Conflict`] for what this fork has seen, whatever comes: the cores may stop.
    fn in_vain(&self) -> bool {
        false
    }
    /// Takes the forks back at the end of a launch.
    fn join(&mut self, forks: Vec<Self>) -> Joined;
    /// Takes from the forks what is right by itself: the launch was ended, and will not be run again.
    fn salvage(&mut self, forks: Vec<Self>) {
        let _ = forks;
    }
    /// Another one that knows the same, to watch the launch again on the other engine; `None` if there can be none.
    fn twin(&self) -> Option<Self> {
        None
    }
    /// What it saw that its twin did not, or otherwise.
    fn difference(&mut self, twin: Self) -> Option<String> {
        let _ = twin;
        None
    }
}

/// Watches nothing: a run at full speed.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullObserver;

impl Events for NullObserver {}

impl Observer for NullObserver {
    const WATCHES: bool = false;
    fn fork(&self) -> NullObserver {
        NullObserver
    }
    fn join(&mut self, _: Vec<NullObserver>) -> Joined {
        Joined::Clean
    }
    fn twin(&self) -> Option<NullObserver> {
        Some(NullObserver)
    }
}
