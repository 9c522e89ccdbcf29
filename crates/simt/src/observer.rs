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

use super::alu::Row64;
use super::ids::*;
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

/// The state space that an access touched, generic addresses resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Global memory: addresses are byte offsets into the device's arena (see [`super::memory`]).
    Global,
    /// Shared memory: byte offsets into the window of the executing warp's block.
    Shared,
    /// Local memory: byte offsets into the lane's own local memory.
    Local,
    /// Constant memory: byte offsets into the device's arena, as for global memory. No kernel writes it; the host may.
    Const,
    /// Kernel parameters: byte offsets.
    Param,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `ld`
    Read,
    /// `st`
    Write,
    /// `atom`: reads, and writes in the lanes of [`Access::wrote`].
    Atomic,
    /// `red`: its read forms no acquire pattern (PTX ISA, "Release and Acquire Patterns").
    Reduction,
}

/// What a write does to a location, as far as the order of several writes shows in the end.
///
/// Updates of one kind commute exactly: whatever their order, the location ends with the same value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Update {
    /// The order shows: a store, an exchange, a compare-and-swap, a floating-point sum.
    #[default]
    Ordered,
    /// `add` on integers
    Add,
    /// `and`
    And,
    /// `or`
    Or,
    /// `xor`
    Xor,
    /// `min`, of signed integers or not
    Min(bool),
    /// `max`, of signed integers or not
    Max(bool),
    /// `inc` with this bound
    Inc(u32),
    /// `dec` with this bound
    Dec(u32),
}

/// What an instruction does to a location that other threads use, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The kind of its write, if it is one.
    pub update: Update,
    /// Whether anything uses what it returns.
    pub used: bool,
}

impl Default for Effect {
    /// That of a load or a store.
    fn default() -> Effect {
        Effect {
            update: Update::Ordered,
            used: true,
        }
    }
}

/// Memory-ordering semantics (PTX ISA, "Operation types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// No `.sem`, or `.weak`, or `.nc`.
    Weak,
    /// `.volatile`: as `.relaxed.sys` for ordering, never merged or elided.
    Volatile,
    /// `.relaxed` (also `.mmio`), and `atom`/`red` without `.sem`.
    Relaxed,
    /// `.acquire`
    Acquire,
    /// `.release`
    Release,
    /// `.acq_rel`
    AcqRel,
}

impl Order {
    /// Strong operations carry a scope (PTX ISA, "Operation types").
    pub fn is_strong(self) -> bool {
        self != Order::Weak
    }
    /// Whether it ends an acquire pattern by itself.
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel)
    }
    /// Whether it begins a release pattern by itself.
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel)
    }
}

/// PTX ISA, "Scope". Ordered from narrow to wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// `.cta`
    Cta,
    /// `.cluster` (clusters of one block unless the launch says otherwise)
    Cluster,
    /// `.gpu`
    Gpu,
    /// `.sys`
    Sys,
}

/// How the memory of a warp's lanes lies: what turns 32 accesses into few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The active lanes whose memory follows that of the active lane before them.
    pub next: Mask,
    /// The active lanes whose memory is the same as that of the active lane before them.
    pub same: Mask,
}

impl Neighbours {
    /// Of lanes that access so many bytes each from these addresses on.
    #[inline(always)]
    pub fn of(mask: Mask, address: &Row64, bytes: u64) -> Neighbours {
        let (mut next, mut same) = (0, 0);
        for lane in 1..LANES {
            let step = address[lane].wrapping_sub(address[lane - 1]);
            next |= Mask::from(step == bytes) << lane;
            same |= Mask::from(step == 0) << lane;
        }
        let both = mask & mask << 1;
        Neighbours {
            next: next & both,
            same: same & both,
        }
    }
}

/// What the lanes of a store are about to write, and what is there before: for whoever has to know whether a write changes anything.
pub trait StoredValues: std::fmt::Debug {
    /// The byte that a lane stores at an address, which its access covers.
    fn stored(&self, lane: usize, at: u64) -> u8;
    /// The byte that is at the address before the instruction.
    fn before(&self, at: u64) -> u8;
    /// Whether anything has written that byte before the instruction.
    fn is_written(&self, at: u64) -> bool;
}

/// How the words of half a warp lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Word after word, lane after lane.
    Adjacent,
    /// All lanes have one word.
    Same,
}

/// Lanes of half a warp.
pub const HALF: usize = LANES / 2;

/// The commonest access, described in few words: all lanes of a full warp load or store one 32-bit word each, and the words of each half
/// of the warp are adjacent or the same one. [`RowAccess::expanded`] says the same as any other access.
#[derive(Clone, Copy, Debug)]
pub struct RowAccess<'a> {
    /// See [`Access::site`].
    pub site: Site,
    /// See [`Access::who`].
    pub who: WarpRef,
    /// See [`Access::space`].
    pub space: Space,
    /// First byte of each half.
    pub first: [u64; 2],
    /// How each half lies.
    pub layout: [Layout; 2],
    /// A store; else a load.
    pub write: bool,
    /// See [`Access::non_coherent`].
    pub non_coherent: bool,
    /// See [`Access::order`].
    pub order: Order,
    /// See [`Access::scope`].
    pub scope: Scope,
    /// See [`Access::stores`].
    pub stores: Option<&'a dyn StoredValues>,
}

impl RowAccess<'_> {
    /// Bytes from the first byte of a half to that of its last lane.
    fn span(&self, half: usize) -> u64 {
        match self.layout[half] {
            Layout::Adjacent => 4 * (HALF as u64 - 1),
            Layout::Same => 0,
        }
    }

    /// Whether all 32 words are adjacent.
    #[inline(always)]
    pub fn is_adjacent(&self) -> bool {
        self.layout == [Layout::Adjacent; 2] && self.first[1] == self.first[0] + 4 * HALF as u64
    }

    /// The lanes' addresses, as in [`Access::address`].
    pub fn addresses(&self) -> Row64 {
        std::array::from_fn(|lane| {
            let (half, lane) = (lane / HALF, lane % HALF);
            match self.layout[half] {
                Layout::Adjacent => self.first[half] + 4 * lane as u64,
                Layout::Same => self.first[half],
            }
        })
    }

    /// What [`Neighbours::of`] makes of its addresses.
    pub fn neighbours(&self) -> Neighbours {
        let step = self.first[1].wrapping_sub(self.first[0] + self.span(0));
        let lanes = |of: Layout, between: u64| -> Mask {
            let low = if self.layout[0] == of { 0x0000_fffe } else { 0 };
            let high = if self.layout[1] == of { 0xfffe_0000 } else { 0 };
            low | high | Mask::from(step == between) << HALF
        };
        Neighbours {
            next: lanes(Layout::Adjacent, 4),
            same: lanes(Layout::Same, 0),
        }
    }

    /// The same as any access, with its [`RowAccess::addresses`].
    pub fn expanded<'b>(&'b self, address: &'b Row64) -> Access<'b> {
        Access {
            site: self.site,
            who: self.who,
            mask: Mask::MAX,
            space: self.space,
            address,
            neighbours: Some(self.neighbours()),
            element: 4,
            elements: 1,
            kind: match self.write {
                true => AccessKind::Write,
                false => AccessKind::Read,
            },
            non_coherent: self.non_coherent,
            order: self.order,
            scope: self.scope,
            wrote: if self.write { Mask::MAX } else { 0 },
            dropped: 0,
            initial: 0,
            stores: self.stores,
        }
    }
}

/// A memory access of one warp-instruction.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The instruction.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// The lanes that take part. Empty only where all are in [`Access::dropped`]. All addresses are in bounds and
    /// aligned: lanes for which they are not were reported by
    /// [`Events::fault`] and are not in here.
    pub mask: Mask,
    /// The space. A generic access whose lanes fall into different spaces is
    /// reported once for each space.
    pub space: Space,
    /// First byte for each lane; meaningless outside `mask` and `dropped`.
    pub address: &'a Row64,
    /// [`Neighbours::of`] the lanes that take part, and perhaps of others. `None` if nobody has looked.
    pub neighbours: Option<Neighbours>,
    /// Bytes of one element: 1, 2, 4, 8 or 16. A vector access is modelled as
    /// accesses to its elements in no particular order (PTX ISA, "Vector Data-types").
    pub element: u32,
    /// Elements for each lane: 1, 2, 4 or 8, adjacent in memory.
    pub elements: u32,
    /// Read, write, both.
    pub kind: AccessKind,
    /// A read through the non-coherent cache (`ld.global.nc`, `ldu.global`): what the launch has written it need
    /// not see, however the two are ordered (PTX ISA, "ld.global.nc").
    pub non_coherent: bool,
    /// Its ordering.
    pub order: Order,
    /// Its scope; [`Scope::Sys`] for volatile; meaningless for weak accesses.
    pub scope: Scope,
    /// For [`AccessKind::Atomic`] and [`AccessKind::Reduction`], the lanes that
    /// stored (a compare-and-swap that fails does not); all of `mask` for
    /// writes, none for reads.
    pub wrote: Mask,
    /// For reads, lanes that load a value which nothing uses, because the compiler speculated the load: the hardware
    /// performs it, the source does not. None of them is in `mask`; their addresses are good, too.
    pub dropped: Mask,
    /// For strong reads under a weak schedule, the lanes of `mask` that return what was there before all strong writes. They are accesses
    /// like any other, but they come before those writes in communication order, and learn nothing from them (PTX ISA, "Communication Order").
    pub initial: Mask,
    /// For writes: what they store. A write is reported before it is performed.
    pub stores: Option<&'a dyn StoredValues>,
}

impl Access<'_> {
    /// Bytes touched by one lane.
    pub fn bytes(&self) -> u32 {
        self.element * self.elements
    }
    /// The lanes for which the hardware performs it.
    pub fn performed(&self) -> Mask {
        self.mask | self.dropped
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Something is wrong with how threads meet at a barrier or a warp operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// Threads wait for a whole-block barrier at `waiting` while others wait at
    /// a different one or have passed a point after it.
    DivergentBarrier {
        /// Those who wait.
        waiting: Vec<Party>,
        /// Those who don't come: where they wait, or passed, or exited.
        elsewhere: Vec<Party>,
        /// How the others are elsewhere.
        how: Elsewhere,
    },
    /// A `.aligned` barrier was reached by part of a warp.
    UnconvergedBarrier {
        /// The part that reached it.
        reached: Party,
        /// Lanes of the same warp that stand elsewhere or left.
        elsewhere: Vec<Party>,
    },
    /// A barrier completed because the missing threads had exited.
    BarrierAfterExit {
        /// Those who waited.
        waiting: Vec<Party>,
        /// Those who had exited.
        exited: Vec<Party>,
    },
    /// Threads come to a barrier whose number or count PTX does not allow.
    InvalidBarrier {
        /// They.
        here: Party,
        /// What is wrong.
        fault: BarrierFault,
    },
    /// A lane executes a `.sync` warp operation whose mask leaves it out.
    MaskLeavesOut {
        /// The lanes left out, at the operation.
        lanes: Party,
        /// The mask they named.
        members: Mask,
    },
    /// A mask names lanes that never execute the operation (they exited, wait
    /// elsewhere for good, or went past it).
    MaskNamesAbsent {
        /// The lanes at the operation.
        lanes: Party,
        /// The mask they named.
        members: Mask,
        /// The named lanes that don't come, and where they are.
        absent: Vec<Party>,
        /// Whether they have left the kernel.
        exited: bool,
    },
    /// Lanes at the same operation name different masks.
    MasksDiffer {
        /// Some lanes at the operation.
        lanes: Party,
        /// Their mask.
        members: Mask,
        /// Others at it.
        others: Party,
        /// Theirs.
        other_members: Mask,
    },
}

/// Why a lane has no value for a shuffle that reads from it (PTX ISA, "shfl.sync").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// The member mask does not name it.
    LeftOut,
    /// The block ends before it.
    NoThread,
}

/// A shuffle that read from lanes which had no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShuffleSource {
    /// The shuffle.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// The lanes that got an undefined value.
    pub lanes: Mask,
    /// The first of them.
    pub lane: LaneId,
    /// Whom it read from.
    pub from: LaneId,
    /// The member mask.
    pub members: Mask,
    /// Why that lane has none.
    pub why: NoValue,
}

/// What an undefined value is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// To store it to global memory.
    Store,
    /// In an atomic operation.
    Update,
    /// To decide what is executed.
    Decision,
    /// As an address, or handed to the driver (`printf`).
    Other,
}

/// An undefined value came to where it matters.
#[derive(Clone, Copy, Debug)]
pub struct UndefinedUse<'a> {
    /// The instruction that uses it.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// The lanes.
    pub mask: Mask,
    /// What for.
    pub how: Usage,
    /// The memory that it is stored to: space, address as in [`Access`] and bytes, for the first lane.
    pub place: Option<(Space, u64, u32)>,
    /// A shuffle that it comes from.
    pub source: &'a ShuffleSource,
}

/// What a barrier's operands may not be (PTX ISA, "bar, barrier").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierFault {
    /// This barrier: a block has 16.
    Number(u32),
    /// This count of threads: it is no multiple of the warp size.
    Fraction(u32),
    /// This count of threads, of a block that has fewer.
    TooMany {
        /// The count.
        count: u32,
        /// Threads of the block.
        threads: u32,
    },
    /// An arrival without a count, or with a count of zero.
    NoCount,
}

/// Where the threads are that a barrier misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// At another barrier instruction.
    AtAnotherBarrier,
    /// At the same barrier, for another number of threads.
    AtAnotherCount,
    /// Past a point that every path from the barrier leads through.
    Past,
    /// Past such a point, and out of the kernel without another whole-block barrier.
    PastAndExited,
}

/// A memory access that could not be performed.
#[derive(Clone, Copy, Debug)]
pub struct MemoryFault<'a> {
    /// The instruction.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// The lanes concerned.
    pub mask: Mask,
    /// The space, or `None` for a generic address that lies in none.
    pub space: Option<Space>,
    /// The addresses: offsets as in [`Access`] for `Shared`, `Local`, `Param`, `Const`; full
    /// device addresses for `Global` and for addresses that lie nowhere.
    pub address: &'a Row64,
    /// Bytes for each lane.
    pub bytes: u32,
    /// Whether it would have written.
    pub write: bool,
    /// What is wrong.
    pub kind: FaultKind,
    /// For an access outside all memory, where the pointer points that the address was computed from, if that is known; in the
    /// addresses' own terms.
    pub pointer: Option<u64>,
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// No allocation there.
    OutOfBounds,
    /// Not a multiple of the access size.
    Misaligned,
    /// The allocation was freed.
    Freed,
    /// `free` of an allocation that was freed before.
    FreedTwice,
    /// `free` of what `malloc` has not returned.
    NotAllocated,
    /// Bytes that nothing has written. The access is performed all the same and
    /// reported by [`Events::access`] too.
    Uninitialized,
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
}
