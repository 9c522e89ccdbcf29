//! The race detector: exact happens-before over the observed interleaving, in constant
//! time per access in the common case.
//!
//! # What it decides
//!
//! Two accesses to the same byte of shared or global memory, at least one a write, that
//! are not related in causality order and are not morally strong are a data race (PTX ISA,
//! "Conflict and Data-races"). The order comes from program order; barriers; warp
//! barriers; release and acquire patterns with their scopes, observation order through
//! chains of read-modify-writes, and `fence.sc` ([`sync`]).
//!
//! # How
//!
//! *Stamps.* Every warp has a counter that grows when one of its threads publishes
//! something (a barrier, a release). An access is remembered as (thread, stamp, instruction).
//! A barrier of the whole block lifts all counters to one value, the block's *floor*:
//! everything in the block stamped below it is ordered, at once and without touching it.
//! A warp barrier lifts the warp's floor. That is FastTrack's epoch (Flanagan and Freund,
//! PLDI 2009) with the grid's hierarchy put to use, as BARRACUDA (Eizenberg et al., PLDI
//! 2017) compresses its per-thread clocks.
//!
//! *Exact clocks.* Partial warp barriers, named barriers for a part of the block,
//! `bar.arrive`, release and acquire: threads then know something of others that no floor
//! says. It is kept in sparse clocks by block, warp and lane ([`clock`]), persistent and
//! shared ([`trie`]), looked at only where the floors don't decide.
//!
//! *Shadow.* For each granule the last weak write, the weak readers, the strong accesses
//! ([`cells`], [`strong`]): the small per-word state of iGUARD (Kamath and Basu, SOSP 2021)
//! and HiRace (Jacobson et al., SC 2024), but lossless. As long as accesses are to adjacent
//! memory, one entry stands for a whole line of granules ([`lines`]). A granule is the largest unit that
//! all accesses of the program are multiples of, so the answer is exact to the byte. A
//! warp's access to adjacent memory is one branch-free loop over slices. Reads of shared memory by whole warps are set aside until
//! something depends on them, which mostly is never ([`rows`]).
//!
//! *Scopes.* Each clock exists twice, as the scopes have it and as it would be if all were
//! wide enough: what only the second one orders is `insufficient-scope`.
//!
//! # Deviations
//!
//! * FastTrack drops a reader that a later reader dominates. Here this holds only within
//!   a category: a weak access is not forgotten for a strong one, which would hide it from
//!   other strong ones.
//! * Two `fence.sc` are ordered where communication forces it, not where they happened to
//!   run in that order.
//! * Threads that exited take no part in a barrier: what they did stays unordered.
//!
//! # Blind spots
//!
//! * It judges one interleaving: a race that needs another path is found on that path.
//!   One that only executions have that are not sequentially consistent, such as an atomic that an earlier one of another thread
//!   seems to precede because that thread's later relaxed store was seen, is not found.
//!   After the first race on a granule, later ones there may be missed or named by another
//!   of their accesses.
//! * Where no fine synchronisation is possible, the readers of a granule by several warps
//!   are kept as two of them. A third one that then exits without a barrier can be
//!   missed, by a write after the next barrier.
//! * Causality order is not transitive where it goes through observation order: who observes a strong write comes after that
//!   write, not after what was ordered before it. From 64 strong writes (or failed compare-and-swaps) to one granule on that nothing
//!   orders or replaces, one that a later one of its block is ordered after counts as ordered with whoever observes that.
//! * Accesses through other proxies (asynchronous copies) are not seen; those through textures and surfaces are, as accesses to the memory behind.
//!
//! # Blocks on several cores
//!
//! Each fork has a shadow of its own for global memory; [`Detector::join`] compares the
//! pages that two forks have touched ([`merge`]). Its cost is linear in the pages.

pub mod block;
pub mod cells;
pub mod clock;
pub mod contention;
pub mod fence_sc;
pub mod lines;
mod merge;
pub mod pages;
pub mod report;
pub mod rows;
pub mod strong;
pub mod sync;
pub mod trie;

use crate::finding::Findings;
use block::{Block, View, lanes};
use cells::{Cells, LAST_STAMP, lane_tables};
use clock::Stamp;
use contention::{Contention, Map};
use lines::{LINE, Part};
use pages::{Pages, Shadow};
use report::{Current, Reporter};
use rows::ReadLog;
use simt::ids::{BlockId, Mask, Site, WarpId};
use simt::lower::dependence::OrderSources;
use simt::observer::*;
use std::ops::Range;
use std::sync::Arc;
use strong::{AccessShape, Loads, StrongAccess};
use sync::{Location, Operation, is_wide};

/// The race detector.
#[derive(Debug, Default)]
pub struct Detector {
    launch: Shape,
    residents: Vec<Resident>,
    /// Where each is, by its block.
    places: Map<u32>,
    /// The one that was looked up last.
    current: usize,
    /// Windows of blocks that have ended, with the latest stamp in each.
    spare: Vec<(Resident, Stamp)>,
    global: Pages,
    reporter: Reporter,
    /// What depends on the order of threads, where strong accesses or calls of the driver are possible.
    contention: Contention,
}

/// What it needs of [`LaunchShape`].
#[derive(Clone, Debug, Default)]
struct Shape {
    threads: u32,
    warps: u32,
    shared_cells: usize,
    shared_shift: u32,
    global_shift: u32,
    strong_shared: bool,
    strong_global: bool,
    fine_sync: bool,
    control_only: Arc<[bool]>,
    hands_on: Arc<[bool]>,
}

#[derive(Debug, Default)]
struct Resident {
    block: Block,
    shared: Cells,
    /// Reads of shared memory that its shadow does not know of yet.
    log: ReadLog,
}

impl Resident {
    /// Tells the shadow of the reads that were set aside.
    #[inline]
    fn tell(&mut self, launch: &Shape, reporter: &mut Reporter) {
        if !self.log.is_empty() {
            self.tell_all(launch, reporter);
        }
    }

    #[inline(never)]
    fn tell_all(&mut self, launch: &Shape, reporter: &mut Reporter) {
        let view = launch.view(&self.block, 0, false);
        let who = WarpRef {
            block: BlockId(self.block.id),
            warp: WarpId(0),
        };
        let (log, shared) = (&mut self.log, &mut self.shared);
        log.tell(&view, who, |access, v| {
            let address = access.addresses();
            shared.weak(&access.expanded(&address), v, launch.shared_shift, reporter);
        });
    }
}

impl Shape {
    fn of(shape: &LaunchShape) -> Shape {
        let threads = shape.block.count() as u32;
        let shared_shift = shape.shared_granule.max(1).trailing_zeros();
        Shape {
            threads,
            warps: threads.div_ceil(32),
            shared_cells: (shape.shared_bytes as usize).div_ceil(1 << shared_shift),
            shared_shift,
            global_shift: shape.global_granule.max(1).trailing_zeros(),
            strong_shared: shape.strong_shared,
            strong_global: shape.strong_global,
            fine_sync: shape.fine_sync,
            control_only: shape.control_only.clone(),
            hands_on: shape.hands_on.clone(),
        }
    }

    fn view<'a>(&self, block: &'a Block, warp: u32, global: bool) -> View<'a> {
        let w = &block.warps[warp as usize];
        let first = if global {
            block.id.wrapping_mul(self.warps)
        } else {
            0
        };
        View {
            block,
            warp,
            first,
            width: self.warps,
            me: first.wrapping_add(warp),
            now: w.now,
            block_floor: block.floor,
            warp_floor: w.floor,
            global,
            // Once threads have exited that a barrier did not order, floors don't tell the whole.
            fine_sync: self.fine_sync || !block.base.is_empty(),
        }
    }
}

impl Detector {
    /// A new session.
    pub fn new() -> Detector {
        Detector::default()
    }

    /// What was found, leaving nothing.
    pub fn take_findings(&mut self) -> Findings {
        let mut findings = std::mem::take(&mut self.reporter.findings);
        findings.settle_values();
        findings.settle_warps();
        findings
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.reporter.findings.is_empty()
    }

    /// See [`Events::launch_begins`].
    pub fn launch_begins(&mut self, shape: &LaunchShape) {
        self.launch = Shape::of(shape);
        self.residents.clear();
        self.places.clear();
        self.spare.clear();
        self.global = Pages::new(shape.strong_global);
        self.reporter.launch = shape.launch;
        self.contention = Contention::new(shape);
    }

    /// What depended on the order of threads in the last launch.
    pub fn order_sources(&self) -> &OrderSources {
        self.contention.sources()
    }

    /// See [`Events::launch_ends`].
    pub fn launch_ends(&mut self) {
        self.residents.clear();
        self.places.clear();
        self.spare.clear();
        self.global = Pages::default();
    }

    /// See [`Observer::fork`].
    pub fn fork(&self) -> Detector {
        Detector {
            launch: self.launch.clone(),
            global: Pages::new(self.launch.strong_global),
            reporter: Reporter::new(self.reporter.launch),
            contention: self.contention.fork(),
            ..Detector::default()
        }
    }

    /// See [`Observer::join`].
    pub fn join(&mut self, forks: Vec<Detector>) -> Joined {
        if forks.iter().any(|f| !f.is_clean()) || merge::conflicts(&forks) {
            return Joined::Conflict;
        }
        let contention = forks.into_iter().map(|f| f.contention).collect();
        match self.contention.join(contention) {
            true => Joined::Clean,
            false => Joined::Conflict,
        }
    }

    /// See [`Events::block_begins`].
    pub fn block_begins(&mut self, id: BlockId) {
        let (mut resident, stamp) = match self.spare.pop() {
            Some((resident, stamp)) if stamp < LAST_STAMP / 2 => (resident, stamp),
            _ => {
                let cells = Cells::new(self.launch.shared_cells, self.launch.strong_shared);
                let fresh = Resident {
                    block: Block::default(),
                    shared: cells,
                    log: ReadLog::default(),
                };
                (fresh, 0)
            }
        };
        if self.launch.fine_sync && self.launch.strong_shared {
            resident.shared.forget_all_strong();
        }
        resident.block.begin(id.0, self.launch.threads, stamp);
        let place = self.residents.len() as u32;
        self.places.insert(u64::from(id.0), place);
        self.residents.push(resident);
    }

    /// See [`Events::block_ends`].
    pub fn block_ends(&mut self, id: BlockId) {
        if let Some(at) = self.places.remove(&u64::from(id.0)) {
            let mut resident = self.residents.swap_remove(at as usize);
            if let Some(moved) = self.residents.get(at as usize) {
                self.places.insert(u64::from(moved.block.id), at);
            }
            resident.log.clear();
            self.contention.block_ends(id);
            let latest = resident.block.latest();
            self.spare.push((resident, latest));
        }
    }

    #[inline(always)]
    fn find(&mut self, id: BlockId) -> usize {
        match self.residents.get(self.current) {
            Some(resident) if resident.block.id == id.0 => self.current,
            _ => self.look_up(id),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, id: BlockId) -> usize {
        let place = self.places.get(&u64::from(id.0));
        self.current = *place.expect("a block that has begun") as usize;
        self.current
    }

    fn block(&mut self, id: BlockId) -> &mut Block {
        let at = self.find(id);
        &mut self.residents[at].block
    }

    /// See [`Events::fence`].
    pub fn fence(&mut self, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope) {
        if self.launch.fine_sync {
            let block = self.block(who.block);
            sync::fence(block, who.warp.0, mask, order, scope);
            if block.communicated {
                self.contention.communicated();
            }
        }
    }

    /// See [`Events::block_barrier`].
    pub fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let at = self.find(barrier.block);
        let resident = &mut self.residents[at];
        if resident.block.only_raises_floor(barrier) {
            resident.log.clear();
            self.contention.settles(barrier.block);
        } else {
            resident.tell(&self.launch, &mut self.reporter);
        }
        resident.block.barrier(barrier);
    }

    /// See [`Events::block_arrives`].
    pub fn block_arrives(&mut self, block: BlockId, id: u32, who: Party) {
        let at = self.find(block);
        let resident = &mut self.residents[at];
        resident.tell(&self.launch, &mut self.reporter);
        resident.block.arrives(id, who);
    }

    /// See [`Events::warp_sync`].
    pub fn warp_sync(&mut self, sync: &WarpSync) {
        if sync.kind == WarpSyncKind::Barrier {
            let at = self.find(sync.who.block);
            let resident = &mut self.residents[at];
            let party = Party {
                warp: sync.who.warp,
                mask: sync.lanes,
                site: sync.site,
            };
            if !resident.block.only_raises_warp_floor(&party) {
                resident.tell(&self.launch, &mut self.reporter);
            }
            resident.block.warp_sync(party);
        }
    }

    /// See [`Events::stale_value`].
    pub fn stale_value(&mut self, site: Site) {
        self.contention.read_stale(site);
    }

    /// See [`Events::driver_call`].
    pub fn driver_call(&mut self, site: Site, who: WarpRef, mask: Mask, what: DriverCall) {
        let at = self.find(who.block);
        let v = self
            .launch
            .view(&self.residents[at].block, who.warp.0, true);
        self.contention.driver_call(site, mask, what, &v);
    }

    /// See [`Events::exits`].
    pub fn exits(&mut self, who: WarpRef, mask: Mask) {
        self.block(who.block).exits(who.warp.0, mask);
    }

    /// See [`Events::row_access`]. False if it has to be told as an [`Access`].
    #[inline]
    pub fn row_access(&mut self, access: &RowAccess<'_>) -> bool {
        let global = access.space == Space::Global;
        let launch = &self.launch;
        let strong = match global {
            true => launch.strong_global,
            false => launch.strong_shared || launch.fine_sync || launch.shared_shift != 2,
        };
        if strong || access.order != Order::Weak {
            return false;
        }
        let at = self.find(access.who.block);
        let (launch, resident) = (&self.launch, &mut self.residents[at]);
        let warp = access.who.warp.0;
        resident.block.warps[warp as usize].touched = Mask::MAX;
        let v = launch.view(&resident.block, warp, global);
        if global {
            return rows::packed(&mut self.global, access, &v, launch.global_shift);
        }
        if v.fine_sync {
            return false;
        }
        if !access.write {
            return rows::set_aside(&mut resident.shared, &mut resident.log, access, &v);
        }
        let log = &resident.log;
        (log.is_empty() || !rows::meets_reads(&resident.shared, access, &v))
            && rows::packed(&mut resident.shared, access, &v, 2)
    }

    /// See [`Events::access`].
    #[inline]
    pub fn access(&mut self, access: &Access<'_>) {
        let global = match access.space {
            Space::Global => true,
            Space::Shared => false,
            Space::Local | Space::Const | Space::Param => return,
        };
        let at = self.find(access.who.block);
        let resident = &mut self.residents[at];
        resident.block.warps[access.who.warp.0 as usize].touched |= access.mask;
        let may_be_strong = if global {
            self.launch.strong_global
        } else {
            self.launch.strong_shared
        };
        if may_be_strong {
            let v = self.launch.view(&resident.block, access.who.warp.0, global);
            self.contention.access(access, &v);
        }
        let weak = access.order == Order::Weak
            && matches!(access.kind, AccessKind::Read | AccessKind::Write);
        let (launch, reporter) = (&self.launch, &mut self.reporter);
        if !global {
            resident.tell(launch, reporter);
        }
        match (weak, global) {
            (true, true) => {
                let v = launch.view(&resident.block, access.who.warp.0, true);
                self.global.weak(access, &v, launch.global_shift, reporter);
            }
            (true, false) => {
                let v = launch.view(&resident.block, access.who.warp.0, false);
                resident
                    .shared
                    .weak(access, &v, launch.shared_shift, reporter);
            }
            (false, true) => {
                let strong = Strong { launch, access };
                strong.run(&mut self.global, &mut resident.block, reporter);
            }
            (false, false) => {
                let strong = Strong { launch, access };
                strong.run(&mut resident.shared, &mut resident.block, reporter);
            }
        }
        if !weak && resident.block.communicated {
            self.contention.communicated();
        }
    }
}

/// Weak accesses of a warp: cut into runs of lanes whose memory is adjacent or the same.
trait WeakAccesses: Shadow {
    fn weak(&mut self, access: &Access<'_>, v: &View<'_>, shift: u32, reporter: &mut Reporter) {
        let bytes = u64::from(access.bytes());
        let cells = (bytes >> shift) as usize;
        let Neighbours { next, same } = access
            .neighbours
            .unwrap_or_else(|| Neighbours::of(access.mask, access.address, bytes));
        let both = access.mask & access.mask << 1;
        let (next, same) = (next & both, same & both);
        let mut left = access.mask;
        while left != 0 {
            let first = left.trailing_zeros();
            // How many lanes after the first go on as it began.
            let length = |steps: Mask| 1 + (u64::from(steps) >> (first + 1)).trailing_ones();
            let lanes = |n: u32| (((1u64 << n) - 1) << first) as u32;
            let (run, repeats) = (length(next), length(same));
            if repeats > 1 && access.kind == AccessKind::Read {
                self.broadcast(access, lanes(repeats), cells, shift, v, reporter);
                left &= !lanes(repeats);
            } else {
                self.run(access, first, run, cells, shift, v, reporter);
                left &= !lanes(run);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn run(
        &mut self,
        access: &Access<'_>,
        first: u32,
        run: u32,
        cells: usize,
        shift: u32,
        v: &View<'_>,
        reporter: &mut Reporter,
    ) {
        let start = access.address[first as usize];
        let (lane, bit) = lane_tables(cells);
        let offset = first as usize * cells;
        let read = access.kind == AccessKind::Read;
        self.pieces(start >> shift, run as usize * cells, |page, at, from, n| {
            let mut done = 0;
            while done < n {
                let (at, number) = (at + done, offset + from + done);
                let part = Part {
                    line: at / LINE,
                    from: at % LINE,
                    count: (LINE - at % LINE).min(n - done),
                    number,
                    width: cells,
                };
                done += part.count;
                let packed = if read {
                    page.read_packed(&part, v, access.site)
                } else {
                    page.write_packed(&part, v, access.site)
                };
                if packed.is_ok() {
                    continue;
                }
                page.open(at, false, v);
                let lane = &lane[number..][..part.count];
                let bit = &bit[number..][..part.count];
                let fast = match (read, v.global) {
                    _ if part.count < 4 => Err(cells::Race),
                    (true, true) => page.read_run::<true>(at, lane, bit, v, access.site),
                    (true, false) => page.read_run::<false>(at, lane, bit, v, access.site),
                    (false, true) => page.write_run::<true>(at, lane, bit, v, access.site),
                    (false, false) => page.write_run::<false>(at, lane, bit, v, access.site),
                };
                if fast.is_ok() {
                    continue;
                }
                for (i, &lane) in lane.iter().enumerate() {
                    let byte = start + (((number - offset + i) as u64) << shift);
                    let bytes = byte..byte + (1 << shift);
                    weak_cell(page, at + i, 1 << lane, bytes, access, v, reporter);
                }
            }
        });
    }

    /// Several lanes read the same memory.
    fn broadcast(
        &mut self,
        access: &Access<'_>,
        mask: Mask,
        cells: usize,
        shift: u32,
        v: &View<'_>,
        reporter: &mut Reporter,
    ) {
        let start = access.address[mask.trailing_zeros() as usize];
        self.pieces(start >> shift, cells, |page, at, from, n| {
            let part = Part {
                line: at / LINE,
                from: at % LINE,
                count: n,
                number: 0,
                width: cells,
            };
            // What one lane accesses is aligned to its size, and of a line at most.
            let fits = part.from + n <= LINE;
            if fits && page.read_alike(&part, mask, v, access.site).is_ok() {
                return;
            }
            for i in 0..n {
                page.open(at + i, false, v);
                let byte = start + (((from + i) as u64) << shift);
                let bytes = byte..byte + (1 << shift);
                weak_cell(page, at + i, mask, bytes, access, v, reporter);
            }
        });
    }
}

impl<S: Shadow> WeakAccesses for S {}

/// One cell, some lanes (one, if they write).
fn weak_cell(
    page: &mut Cells,
    at: usize,
    mask: Mask,
    bytes: Range<u64>,
    access: &Access<'_>,
    v: &View<'_>,
    reporter: &mut Reporter,
) {
    let read = access.kind == AccessKind::Read;
    if !(read && page.is_quiet(at, v)) {
        for lane in lanes(mask) {
            let check = if read {
                page.check_read(at, lane, v)
            } else {
                page.check_overwrite(at, lane, v)
            };
            if check.is_err() {
                let first = access.address[lane as usize];
                let into = (bytes.start - first) % u64::from(access.element);
                let current = Current {
                    access,
                    lane,
                    address: bytes.start - into,
                    bytes: bytes.clone(),
                };
                reporter.weak(page, at, &current, v);
            }
        }
    }
    if read {
        page.add_reader(at, mask, v, access.site);
    } else {
        for lane in lanes(mask) {
            page.add_write(at, lane, v, access.site);
        }
    }
}

/// The strong accesses of a warp-instruction.
struct Strong<'a> {
    launch: &'a Shape,
    access: &'a Access<'a>,
}

impl Strong<'_> {
    fn run(&self, shadow: &mut impl Shadow, block: &mut Block, reporter: &mut Reporter) {
        let access = self.access;
        let global = access.space == Space::Global;
        let shift = if global {
            self.launch.global_shift
        } else {
            self.launch.shared_shift
        };
        reporter.learn(access);
        let Some(left) = self.plain_atomics(shadow, block, shift) else {
            return;
        };
        for lane in lanes(left) {
            for element in 0..access.elements {
                let address = access.address[lane as usize] + u64::from(element * access.element);
                // An element is aligned, so it does not cross a page.
                let n = (access.element >> shift) as usize;
                shadow.pieces(address >> shift, n, |page, at, _, n| {
                    self.element(page, at, n, lane, address, block, reporter);
                });
            }
        }
        if access.order.releases() && access.wrote & access.mask != 0 && self.launch.fine_sync {
            // What comes later is not part of what was released.
            block.warps[access.who.warp.0 as usize].now += 1;
        }
    }

    /// Atomics on one granule each that neither publish nor can race: the lanes that are
    /// left, from the first one on that is not such.
    fn plain_atomics(&self, shadow: &mut impl Shadow, block: &Block, shift: u32) -> Option<Mask> {
        let access = self.access;
        let rmw = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let silent = !self.launch.fine_sync || !access.order.releases() && block.threads.is_empty();
        if !rmw || !silent || access.element >> shift != 1 || access.wrote != access.mask {
            return Some(access.mask);
        }
        let v = self
            .launch
            .view(block, access.who.warp.0, access.space == Space::Global);
        let class = AccessShape::new(access.element, 0, is_wide(access.scope), true);
        let mut left = access.mask;
        while left != 0 {
            let lane = left.trailing_zeros();
            let mut done = false;
            let cell = access.address[lane as usize] >> shift;
            shadow.pieces(cell, 1, |page, at, _, _| {
                page.open(at, true, &v);
                done = page.chain(at, lane, class, access.site, &v).is_ok();
            });
            if !done {
                return Some(left);
            }
            left &= left - 1;
        }
        None
    }

    #[allow(clippy::too_many_arguments)]
    fn element(
        &self,
        page: &mut Cells,
        at: usize,
        n: usize,
        lane: u32,
        address: u64,
        block: &mut Block,
        reporter: &mut Reporter,
    ) {
        let access = self.access;
        let warp = access.who.warp.0;
        let wide = is_wide(access.scope);
        let rmw = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let (reads, writes) = match access.kind {
            AccessKind::Read => (true, false),
            AccessKind::Write => (false, true),
            _ => (true, access.wrote >> lane & 1 == 1),
        };
        let loads = Loads {
            control_only: &self.launch.control_only,
            hands_on: &self.launch.hands_on,
        };
        let v = self.launch.view(block, warp, access.space == Space::Global);
        let class = |i: usize| AccessShape::new(access.element, i as u32, wide, rmw);
        for i in 0..n {
            page.open(at + i, true, &v);
        }
        let initial = access.initial >> lane & 1 == 1;
        let link = reads && !initial && (0..n).all(|i| page.links(at + i, class(i), &v));
        let op = Operation {
            warp,
            lane,
            name: address << 4
                | u64::from(access.element.trailing_zeros()) << 1
                | u64::from(access.space == Space::Global),
            reads,
            can_acquire: matches!(access.kind, AccessKind::Read | AccessKind::Atomic),
            writes,
            initial,
            acquires: access.order.acquires(),
            releases: access.order.releases(),
            wide,
            site: access.site.0,
        };
        // What it acquires is ordered before it, not only before what follows: the last operation of an acquire pattern is
        // what the release synchronises with (PTX ISA, "Base Causality Order").
        let mut location = None;
        if self.launch.fine_sync {
            location = page.take_location(at, n as u32);
            if location.is_none() && sync::leaves_a_trace(block, &op) {
                location = Some(Location::of(n as u32));
            }
            if let Some(location) = &mut location {
                location.communicate(block, &op);
                if reads && !initial {
                    location.read(block, &op, link);
                }
            }
        }
        let v = self.launch.view(block, warp, access.space == Space::Global);
        for i in 0..n {
            let class = class(i);
            let a = StrongAccess {
                lane,
                site: access.site.0,
                class,
                reads,
                writes,
                control_only: loads.steers(access.site.0),
                hands_on: loads.hands_on(access.site.0),
                volatile: access.order == Order::Volatile,
                link,
            };
            if page.check_strong(at + i, &a, &v, &loads).is_err() {
                let current = Current {
                    access,
                    lane,
                    address,
                    bytes: address..address + u64::from(access.element),
                };
                reporter.strong(page, at + i, &a, &current, &v, &loads);
            }
            page.add_strong(at + i, &a, &v);
        }
        if writes && self.launch.fine_sync {
            page.break_locations(at, n, true);
        }
        if let Some(mut location) = location {
            if writes {
                location.write(block, &op, link);
            }
            page.put_location(at, location);
        }
    }
}
