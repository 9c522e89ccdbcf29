//! Stale values: what a load may return though it has been overwritten.
//!
//! Memory holds, at each place, the value that was written last in the simulated interleaving. The memory model allows
//! a load more: any write that no later write *hides* from the reading thread (PTX ISA, "Memory Consistency
//! Model", axioms "Coherence", "Fence-SC", "Causality"). Store buffering, messages that overtake their data
//! and a lock that two threads hold at once come from that. This keeps, for each place that strong operations
//! write and for the first [`WEAK_PLACES`] that only weak ones do, the values that it had, and gives a load the oldest one that the
//! model certainly allows.
//!
//! *Certainly*: knowledge is kept as points in time, two a thread, which say too much and never too little. A thread is taken to know
//! everything that its own block wrote before one time, and everything that other blocks wrote before the other ([`Horizon`]):
//!
//! - an acquire pattern (PTX ISA, "Release and Acquire Patterns") that reads a value which a release pattern
//!   wrote moves both to the time of that release, if the scopes of both reach the other thread;
//! - `fence.sc` moves both to the time of the last `fence.sc` with which it is morally strong ("Fence-SC");
//! - a barrier of the block or of the warp moves the time for its own block to now. Of other blocks, each thread then knows what any
//!   thread of the barrier knew, no more: a barrier orders its own threads alone ("Base Causality Order"). What was released and read
//!   counts as known there, although no acquire followed the read: the programming guide's example of a last block ("Memory Fence
//!   Functions") has a fence on the writer's side alone. Strong reads before the
//!   barrier bind those behind it: nobody reads an older value than one that was observed before the barrier ("Causality").
//!
//! So the executions shown are a subset of those that the model has; the order in which writes to one place are performed is always
//! their coherence order, and nothing is ever read before it is written. Left out, therefore: writes that come in another order at
//! a place than they were performed in, and loads that see a store which comes later. Of scopes, only those of what
//! releases, acquires and fences count here, and of them whether they reach beyond the block; strong accesses that leave each other out by
//! their scopes are the detector's business. Read-modify-writes are atomic towards those whose scopes include each other, and towards
//! others not: two blocks that count with `atom.cta` lose counts. Exchanges and compare-and-swaps stay whole; what two threads with one
//! lock do to each other is the detector's business as well.

use super::ids::{BlockId, LaneId};
use super::observer::{FenceOrder, Order};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Places of global memory that are remembered at most: those written later have no older values.
const PLACES: usize = 1 << 20;
/// Places that weak stores alone write of which older values are remembered at most. Whoever reads such a value races with the store, and
/// that is told under every schedule; its consequences show in the first places as in all.
const WEAK_PLACES: usize = 1 << 12;
/// Values that are remembered of a place at most.
const VALUES: usize = 16;

/// A point in time: operations are counted.
type Time = u64;

/// A thread: its block, and its index in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    /// Its block.
    pub block: BlockId,
    /// Its warp's index in the block.
    pub warp: usize,
    /// Its lane.
    pub lane: LaneId,
}

impl Who {
    fn index(self) -> usize {
        self.warp * super::ids::LANES + usize::from(self.lane.0)
    }
}

/// Some bytes of global or shared memory: at most eight, aligned to their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The block whose shared memory it is, or `None` for global memory.
    pub block: Option<BlockId>,
    /// Byte offset in the space.
    pub at: u64,
    /// Size, bytes.
    pub bytes: u32,
}

impl Place {
    fn granule(self) -> u64 {
        self.at >> 3
    }
    fn overlaps(self, at: u64, bytes: u32) -> bool {
        at < self.at + u64::from(self.bytes) && self.at < at + u64::from(bytes)
    }
}

/// Times up to which something is known to others.
#[derive(Clone, Copy, Debug, Default)]
struct Reach {
    /// To threads of the same block.
    near: Time,
    /// To all threads; no later than `near`.
    far: Time,
}

impl Reach {
    fn raise(&mut self, time: Time, wide: bool) {
        self.near = self.near.max(time);
        if wide {
            self.far = self.far.max(time);
        }
    }
    fn join(self, other: Reach) -> Reach {
        Reach {
            near: self.near.max(other.near),
            far: self.far.max(other.far),
        }
    }
    fn of(self, wide: bool) -> Time {
        if wide { self.far } else { self.near }
    }
}

/// The times up to which a thread knows what was written.
#[derive(Clone, Copy, Debug, Default)]
struct Horizon {
    /// By its own block.
    own: Time,
    /// By other blocks.
    others: Time,
}

impl Horizon {
    fn join(self, other: Horizon) -> Horizon {
        Horizon {
            own: self.own.max(other.own),
            others: self.others.max(other.others),
        }
    }
    /// It also covers everything before `time`.
    fn raise(&mut self, time: Time) {
        *self = self.join(Horizon {
            own: time,
            others: time,
        });
    }
}

/// A value that a place had.
#[derive(Clone, Copy, Debug)]
struct Version {
    value: u64,
    /// Its number at the place; 0 for the value that was there at the beginning.
    number: u32,
    /// When it was written; 0 if it was there at the beginning.
    since: Time,
    /// When the releases took place that it carries; 0 if it carries none.
    release: Reach,
    /// The block that wrote it.
    block: BlockId,
    /// Whether the scope of that write reaches beyond the block.
    wide: bool,
}

impl Version {
    /// Whether a thread of `block` knows of it.
    fn is_known(&self, block: BlockId, horizon: Horizon) -> bool {
        let known = if self.block == block {
            horizon.own
        } else {
            horizon.others
        };
        self.since <= known
    }
}

/// A place's history, oldest first. Never empty.
#[derive(Clone, Debug)]
struct History {
    at: u64,
    bytes: u32,
    versions: Vec<Version>,
}

impl History {
    /// The oldest version from `from` on that a thread may read: neither overwritten by one that it knows of ("Coherence"), nor
    /// older than `seen`.
    fn oldest(&self, from: usize, who: Who, horizon: Horizon, seen: u32) -> Option<Version> {
        let readable = &self.versions[from..];
        let known = readable
            .iter()
            .rposition(|v| v.is_known(who.block, horizon));
        let mut readable = readable[known.unwrap_or(0)..].iter();
        readable.find(|v| v.number >= seen).copied()
    }
}

/// Releases that reads have brought, and no acquire has taken yet.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    /// From the same block.
    own: Time,
    /// From anywhere.
    all: Time,
}

/// What one thread has seen.
#[derive(Clone, Debug, Default)]
struct Thread {
    horizon: Horizon,
    /// The latest releases that its strong reads brought: an acquire moves the horizon there. One that reaches its
    /// block alone takes what came from there.
    pending: Pending,
    /// Its last releases: its later strong writes carry them.
    released: Reach,
    /// By place: the number of the version that it read or wrote last, and the number from which on it may read.
    seen: Seen,
}

/// By place: the number of a version.
type Seen = HashMap<Place, u32>;

fn move_seen(from: &mut Seen, to: &mut Seen) {
    for (place, number) in from.drain() {
        let known = to.entry(place).or_default();
        *known = number.max(*known);
    }
}

impl Thread {
    /// An acquire operation or fence: the pattern of the reads before it is complete.
    fn acquire(&mut self, wide: bool) {
        let Pending { own, all } = self.pending;
        self.horizon.raise(if wide { all } else { own });
    }
}

/// The threads of a block, and what its shared memory held.
#[derive(Clone, Debug, Default)]
struct Resident {
    threads: HashMap<usize, Thread>,
    shared: HashMap<u64, Vec<History>>,
    /// What all of its threads have known since its last barrier.
    barrier: Horizon,
    /// What its threads had read before that barrier.
    seen: Seen,
    /// By warp: what its lanes had read before they last met. Lanes that took no part are bound by it, too, which says too much.
    seen_by_warp: HashMap<usize, Seen>,
    /// The time of the last `fence.sc` of one of its threads.
    last_sc: Time,
}

/// What a load got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StaleValue {
    /// The value.
    pub value: u64,
    /// It is the one from before all strong writes: reading it orders nothing.
    pub initial: bool,
}

/// The histories of all places and the knowledge of all threads, of one launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreHistory {
    /// Whether loads get the oldest value they may, or the last one.
    pub wanted: bool,
    now: Time,
    /// Histories that weak stores have begun.
    weak_places: usize,
    /// The time of the last `fence.sc` that reaches beyond its block.
    last_sc: Time,
    global: HashMap<u64, Vec<History>>,
    residents: HashMap<BlockId, Resident>,
}

impl StoreHistory {
    /// Nothing written yet; loads get the oldest values.
    pub fn new() -> StoreHistory {
        StoreHistory {
            wanted: true,
            ..StoreHistory::default()
        }
    }

    /// A warp instruction begins.
    pub fn tick(&mut self) {
        self.now += 1;
    }

    /// A block has ended.
    pub fn block_ends(&mut self, block: BlockId) {
        self.residents.remove(&block);
    }

    fn thread(&mut self, who: Who) -> &mut Thread {
        let resident = self.residents.entry(who.block).or_default();
        resident.threads.entry(who.index()).or_default()
    }

    /// What a thread knows, and the number of the oldest version of a place that it may still read.
    fn knowledge(&mut self, who: Who, place: Place) -> (Horizon, u32) {
        let resident = self.residents.entry(who.block).or_default();
        let thread = resident.threads.entry(who.index()).or_default();
        let all = [
            Some(&thread.seen),
            Some(&resident.seen),
            resident.seen_by_warp.get(&who.warp),
        ];
        let seen = all
            .into_iter()
            .flatten()
            .filter_map(|seen| seen.get(&place));
        (
            thread.horizon.join(resident.barrier),
            seen.copied().max().unwrap_or(0),
        )
    }

    fn histories(&mut self, block: Option<BlockId>) -> &mut HashMap<u64, Vec<History>> {
        match block {
            Some(block) => &mut self.residents.entry(block).or_default().shared,
            None => &mut self.global,
        }
    }

    /// Forgets what the bytes of an access held, where it was looked at in other pieces than `keep`.
    fn forget_pieces(&mut self, block: Option<BlockId>, at: u64, bytes: u32, keep: Option<Place>) {
        let histories = self.histories(block);
        for granule in at >> 3..=(at + u64::from(bytes) - 1) >> 3 {
            if let Entry::Occupied(mut all) = histories.entry(granule) {
                all.get_mut().retain(|h| {
                    let place = Place {
                        block,
                        at: h.at,
                        bytes: h.bytes,
                    };
                    keep == Some(place) || !place.overlaps(at, bytes)
                });
                if all.get().is_empty() {
                    all.remove();
                }
            }
        }
    }

    /// An access that no history is kept for: of more than eight bytes.
    pub fn wide_access(&mut self, block: Option<BlockId>, at: u64, bytes: u32) {
        self.forget_pieces(block, at, bytes, None);
    }

    fn history(&mut self, place: Place) -> Option<&mut History> {
        let all = self.histories(place.block).get_mut(&place.granule())?;
        all.iter_mut()
            .find(|h| (h.at, h.bytes) == (place.at, place.bytes))
    }

    /// A store, or the writing half of an atomic. `old` is what the place held until now, `None` if nothing had written it.
    pub fn write(&mut self, who: Who, place: Place, old: Option<u64>, new: u64, how: How) {
        self.forget_pieces(place.block, place.at, place.bytes, Some(place));
        let now = self.now;
        let released = &mut self.thread(who).released;
        if how.order.releases() {
            // Its later strong writes carry on what a release operation publishes.
            released.raise(now, how.wide);
        }
        let own = *released;
        if self.history(place).is_none() {
            let weak = !how.order.is_strong();
            if weak && self.weak_places >= WEAK_PLACES
                || place.block.is_none() && self.global.len() >= PLACES
            {
                return;
            }
            self.weak_places += usize::from(weak);
            let first = old.map(|value| Version {
                value,
                number: 0,
                since: 0,
                release: Reach::default(),
                block: who.block,
                wide: true,
            });
            let history = History {
                at: place.at,
                bytes: place.bytes,
                versions: first.into_iter().collect(),
            };
            self.histories(place.block)
                .entry(place.granule())
                .or_default()
                .push(history);
        }
        let Some(history) = self.history(place) else {
            return;
        };
        let last = history.versions.last();
        let number = last.map_or(1, |v| v.number + 1);
        // A read-modify-write carries on what it read (PTX ISA, "Observation Order").
        let carried = last.filter(|_| how.reads).map(|v| match v.release {
            release if v.block == who.block => release,
            // Handed on by another block: it may come back to the first.
            Reach { near, .. } => Reach { near, far: near },
        });
        if history.versions.len() == VALUES {
            history.versions.remove(0);
        }
        history.versions.push(Version {
            value: new,
            number,
            since: now,
            release: own.join(carried.unwrap_or_default()),
            block: who.block,
            wide: how.wide,
        });
        self.thread(who).seen.insert(place, number);
    }

    /// The reading half of an atomic, before its write: it reads the last value ("Atomicity").
    pub fn read_last(&mut self, who: Who, place: Place, how: How) {
        self.forget_pieces(place.block, place.at, place.bytes, Some(place));
        let last = self.history(place).and_then(|h| h.versions.last().copied());
        if let Some(last) = last {
            self.learn(who, place, last, how);
        }
    }

    /// The reading half of an atomic that other blocks' writes may come in between, because a scope leaves them out: "Atomicity" holds
    /// among morally strong operations alone. What it reads if not the last value.
    pub fn read_apart(&mut self, who: Who, place: Place, how: How) -> Option<u64> {
        self.forget_pieces(place.block, place.at, place.bytes, Some(place));
        let (horizon, seen) = self.knowledge(who, place);
        if !self.wanted {
            return None;
        }
        let history = self.history(place)?;
        let versions = &history.versions;
        let apart = |v: &Version| v.block != who.block && !(how.wide && v.wide);
        // Those from here on are the last one and what only such writes come after.
        let from = versions.iter().rposition(|v| !apart(v)).unwrap_or(0);
        let oldest = history.oldest(from, who, horizon, seen)?;
        (oldest.number != versions.last()?.number).then_some(oldest.value)
    }

    /// A load. What it returns if not the last value.
    pub fn read(&mut self, who: Who, place: Place, how: How) -> Option<StaleValue> {
        self.forget_pieces(place.block, place.at, place.bytes, Some(place));
        let (horizon, seen) = self.knowledge(who, place);
        let wanted = self.wanted;
        let history = self.history(place)?;
        let last = *history.versions.last()?;
        let oldest = history.oldest(0, who, horizon, seen);
        let chosen = oldest.filter(|_| wanted).unwrap_or(last);
        self.learn(who, place, chosen, how);
        if chosen.number == last.number {
            return None;
        }
        // Whoever waits for a value gets it in the end: nobody reads an overwritten value twice.
        self.thread(who).seen.insert(place, chosen.number + 1);
        Some(StaleValue {
            value: chosen.value,
            initial: chosen.number == 0,
        })
    }

    fn learn(&mut self, who: Who, place: Place, version: Version, how: How) {
        let thread = self.thread(who);
        let seen = thread.seen.entry(place).or_default();
        *seen = version.number.max(*seen);
        let pending = &mut thread.pending;
        if version.block == who.block {
            pending.own = pending.own.max(version.release.near);
        }
        let far = version.block != who.block;
        pending.all = pending.all.max(version.release.of(far));
        if how.order.acquires() {
            // An acquire operation also completes the pattern of the relaxed reads before it.
            thread.acquire(how.wide);
        }
    }

    /// A fence of one thread; `wide` if it reaches beyond the block.
    pub fn fence(&mut self, who: Who, order: FenceOrder, wide: bool) {
        let (now, last_sc) = (self.now, self.last_sc);
        let resident = self.residents.entry(who.block).or_default();
        let known = resident.last_sc.max(if wide { last_sc } else { 0 });
        if order == FenceOrder::Sc {
            resident.last_sc = now;
            self.last_sc = if wide { now } else { last_sc };
        }
        let thread = self.thread(who);
        if order != FenceOrder::Release {
            thread.acquire(wide);
        }
        if order != FenceOrder::Acquire {
            thread.released.raise(now, wide);
        }
        if order == FenceOrder::Sc {
            thread.horizon.raise(known);
        }
    }

    /// A barrier of the block has completed.
    pub fn block_barrier(&mut self, block: BlockId) {
        let now = self.now;
        let resident = self.residents.entry(block).or_default();
        for thread in resident.threads.values_mut() {
            resident.barrier = resident.barrier.join(thread.horizon);
            resident.barrier.raise(thread.pending.all);
            move_seen(&mut thread.seen, &mut resident.seen);
        }
        resident.barrier.own = now;
    }

    /// The barrier of a block's cluster has completed. To be called for each of its blocks. That they know all that anybody has written says too much.
    pub fn cluster_barrier(&mut self, block: BlockId) {
        self.block_barrier(block);
        let now = self.now;
        let resident = self.residents.entry(block).or_default();
        resident.barrier.raise(now);
    }

    /// Lanes of a warp have met.
    pub fn warp_barrier(&mut self, block: BlockId, warp: usize, lanes: &[LaneId]) {
        let now = self.now;
        let resident = self.residents.entry(block).or_default();
        let seen = resident.seen_by_warp.entry(warp).or_default();
        let mut known = Horizon {
            own: now,
            others: 0,
        };
        for pass in 0..2 {
            for lane in lanes {
                let who = Who {
                    block,
                    warp,
                    lane: *lane,
                };
                let thread = resident.threads.entry(who.index()).or_default();
                match pass {
                    0 => {
                        known = known.join(thread.horizon);
                        move_seen(&mut thread.seen, seen);
                    }
                    _ => thread.horizon = known,
                }
            }
        }
    }
}

/// How something is accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    /// Its ordering.
    pub order: Order,
    /// Whether its scope reaches beyond the block.
    pub wide: bool,
    /// By a read-modify-write.
    pub reads: bool,
}
