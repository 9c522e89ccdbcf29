//! Older values: what a strong load may return though it has been overwritten.
//!
//! Memory holds, at each place, the value that was written last in the simulated interleaving. The memory model allows
//! a strong load more: any write that no later write *hides* from the reading thread (PTX ISA, "Memory Consistency
//! Model", axioms "Coherence", "Fence-SC", "Causality"). Store buffering, messages that overtake their data
//! and a lock that two threads hold at once come from that. This keeps, for each place that strong operations
//! write, the values that it had, and gives a load the oldest one that the model certainly allows.
//!
//! *Certainly*: knowledge is kept as points in time, one a thread, which says too much and never too little. A thread
//! whose horizon is `h` is taken to know everything that was written before `h`:
//!
//! - an acquire pattern (PTX ISA, "Release and Acquire Patterns") that reads a value which a release pattern
//!   wrote moves the horizon to the time of that release;
//! - `fence.sc` moves it to the time of the last `fence.sc` of anybody ("Fence-SC");
//! - a barrier of the block or of the warp moves it to now.
//!
//! So the executions shown are a subset of those that the model has; the order in which writes to one place are performed is always
//! their coherence order, and nothing is ever read before it is written. Left out, therefore: writes that come in another order at
//! a place than they were performed in, loads that see a store which comes later, and everything that narrower scopes would
//! allow (that is what the detector's scope rule is for).

use super::ids::{BlockId, LaneId};
use super::observer::{FenceOrder, Order};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Places of global memory that are remembered at most: those written later have no older values.
const PLACES: usize = 1 << 20;
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

/// A value that a place had.
#[derive(Clone, Copy, Debug)]
struct Version {
    value: u64,
    /// Its number at the place; 0 for the value that was there at the beginning.
    number: u32,
    /// When it was overwritten; [`Time::MAX`] if it was not.
    until: Time,
    /// When the release took place that it carries; 0 if it carries none.
    release: Time,
}

/// A place's history, oldest first. Never empty.
#[derive(Clone, Debug)]
struct History {
    at: u64,
    bytes: u32,
    versions: Vec<Version>,
}

/// What one thread has seen.
#[derive(Clone, Debug, Default)]
struct Thread {
    horizon: Time,
    /// The latest release that its strong reads brought: an acquire fence moves the horizon there.
    pending: Time,
    /// Its last release fence: its later strong writes carry it.
    released: Time,
    /// By place: the number of the version that it read or wrote last, and the number from which on it may read.
    seen: HashMap<Place, u32>,
}

/// The threads of a block, and what its shared memory held.
#[derive(Clone, Debug, Default)]
struct Resident {
    threads: HashMap<usize, Thread>,
    shared: HashMap<u64, Vec<History>>,
    /// The time of the last barrier, of all its threads.
    barrier: Time,
}

/// What a load got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Older {
    /// The value.
    pub value: u64,
    /// It is the one from before all strong writes: reading it orders nothing.
    pub initial: bool,
}

/// The histories of all places and the knowledge of all threads, of one launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct OlderValues {
    /// Whether loads get the oldest value they may, or the last one.
    pub wanted: bool,
    now: Time,
    last_sc: Time,
    global: HashMap<u64, Vec<History>>,
    residents: HashMap<BlockId, Resident>,
}

impl OlderValues {
    /// Nothing written yet; loads get the oldest values.
    pub fn new() -> OlderValues {
        OlderValues {
            wanted: true,
            ..OlderValues::default()
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

    fn horizon(&mut self, who: Who) -> Time {
        let resident = self.residents.entry(who.block).or_default();
        let own = resident.threads.entry(who.index()).or_default().horizon;
        own.max(resident.barrier)
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
    /// Weak stores begin no history: only strong loads are given older values, and those that may meet a weak store
    /// unordered race with it.
    pub fn write(&mut self, who: Who, place: Place, old: Option<u64>, new: u64, how: Write) {
        self.forget_pieces(place.block, place.at, place.bytes, Some(place));
        let now = self.now;
        let released = self.thread(who).released;
        // Its later strong writes carry on what a release operation publishes.
        let own = if how.order.releases() { now } else { released };
        self.thread(who).released = own;
        if self.history(place).is_none() {
            if !how.order.is_strong() || place.block.is_none() && self.global.len() >= PLACES {
                return;
            }
            let first = old.map(|value| Version {
                value,
                number: 0,
                until: Time::MAX,
                release: 0,
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
        let last = history.versions.last_mut();
        let number = last.as_ref().map_or(1, |v| v.number + 1);
        // A read-modify-write carries on what it read (PTX ISA, "Observation Order").
        let carried = last.as_ref().filter(|_| how.reads).map_or(0, |v| v.release);
        if let Some(last) = last {
            last.until = now;
        }
        if history.versions.len() == VALUES {
            history.versions.remove(0);
        }
        history.versions.push(Version {
            value: new,
            number,
            until: Time::MAX,
            release: own.max(carried),
        });
        self.thread(who).seen.insert(place, number);
    }

    /// The reading half of an atomic, before its write: it reads the last value ("Atomicity").
    pub fn read_last(&mut self, who: Who, place: Place, order: Order) {
        self.forget_pieces(place.block, place.at, place.bytes, Some(place));
        let last = self.history(place).and_then(|h| h.versions.last().copied());
        if let Some(last) = last {
            self.learn(who, place, last, order);
        }
    }

    /// A strong load. What it returns if not the last value.
    pub fn read(&mut self, who: Who, place: Place, order: Order) -> Option<Older> {
        self.forget_pieces(place.block, place.at, place.bytes, Some(place));
        let horizon = self.horizon(who);
        let seen = self.thread(who).seen.get(&place).copied().unwrap_or(0);
        let wanted = self.wanted;
        let versions = &self.history(place)?.versions;
        let last = *versions.last()?;
        let oldest = versions
            .iter()
            .find(|v| v.number >= seen && v.until > horizon);
        let chosen = *oldest.filter(|_| wanted).unwrap_or(&last);
        self.learn(who, place, chosen, order);
        if chosen.number == last.number {
            return None;
        }
        // Whoever waits for a value gets it in the end: nobody reads an overwritten value twice.
        self.thread(who).seen.insert(place, chosen.number + 1);
        Some(Older {
            value: chosen.value,
            initial: chosen.number == 0,
        })
    }

    fn learn(&mut self, who: Who, place: Place, version: Version, order: Order) {
        let thread = self.thread(who);
        let seen = thread.seen.entry(place).or_default();
        *seen = version.number.max(*seen);
        thread.pending = thread.pending.max(version.release);
        if order.acquires() {
            // An acquire operation also completes the pattern of the relaxed reads before it.
            thread.horizon = thread.horizon.max(thread.pending);
        }
    }

    /// A fence of one thread.
    pub fn fence(&mut self, who: Who, order: FenceOrder) {
        let (now, last_sc) = (self.now, self.last_sc);
        let thread = self.thread(who);
        if order != FenceOrder::Release {
            thread.horizon = thread.horizon.max(thread.pending);
        }
        if order != FenceOrder::Acquire {
            thread.released = now;
        }
        if order == FenceOrder::Sc {
            thread.horizon = thread.horizon.max(last_sc);
            self.last_sc = now;
        }
    }

    /// A barrier of the block has completed.
    pub fn block_barrier(&mut self, block: BlockId) {
        let now = self.now;
        self.residents.entry(block).or_default().barrier = now;
    }

    /// A thread has met others of its warp.
    pub fn warp_barrier(&mut self, who: Who) {
        let now = self.now;
        self.thread(who).horizon = now;
    }
}

/// How something is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    /// Its ordering.
    pub order: Order,
    /// By a read-modify-write.
    pub reads: bool,
}
