//! Release and acquire: what threads publish at fences and release operations, what
//! locations carry, what acquiring threads learn.
//!
//! After the sections "Release and Acquire Patterns", "Observation Order", "Memory
//! synchronization" and "Fence-SC Order" of the PTX ISA's memory consistency model. Of
//! the four scopes three remain: that of the block, that of the cluster, which is the same where a cluster is one block, and *wide* (`.gpu`, `.sys`).
//! What is released for a cluster is kept for each of its blocks; an acquire of block scope takes that, too, which orders too much. A
//! `fence.sc` of cluster scope counts as wide where clusters have several blocks.
//!
//! Two `fence.sc` are ordered only where communication forces the order ([`super::fence_sc`]). That the first happened
//! to run earlier proves nothing about other executions. Where loads return old values, one execution is judged as it is: its
//! "Fence-SC Order" is the order in which the fences were executed, which no such load contradicts
//! ([`simt::observer::LaunchShape::stale_values`]). So a read of a value that was overwritten orders the fences before it and those
//! before later accesses, as communication does, although these ran first.

use super::block::{Block, lanes};
use super::clock::{BlockClock, Clock, Knowledge, Stamp};
use super::fence_sc::FenceSet;
use super::trie::Trie;
use simt::ids::Mask;
use simt::observer::{FenceOrder, Scope};
use std::collections::HashMap;
use std::sync::Arc;

/// Whether a scope reaches beyond the cluster.
pub fn is_wide(scope: Scope) -> bool {
    matches!(scope, Scope::Gpu | Scope::Sys)
}

/// How far a scope reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// To the block.
    Block,
    /// To the blocks of the cluster.
    Cluster,
    /// To all of the launch.
    Grid,
}

impl Reach {
    /// That of a scope.
    pub fn of(scope: Scope) -> Reach {
        match scope {
            Scope::Cta => Reach::Block,
            Scope::Cluster => Reach::Cluster,
            Scope::Gpu | Scope::Sys => Reach::Grid,
        }
    }

    const ALL: [Reach; 3] = [Reach::Block, Reach::Cluster, Reach::Grid];
}

/// What a location's value carries to those who acquire it.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// From release patterns whose first operation has a wide scope: for everybody who
    /// acquires at a wide scope.
    wide: Clock,
    /// From all release patterns, by block: for this block's threads. The releaser's own one, and those of its cluster if the scope reaches them.
    by_block: Trie<Clock>,
    /// From all, as if every scope were wide.
    ideal: Clock,
}

impl Message {
    /// Whether it carries nothing.
    pub fn is_empty(&self) -> bool {
        self.ideal.is_empty()
    }

    /// Adds another message.
    pub fn join(&mut self, other: &Message) {
        self.wide.join(&other.wide);
        self.by_block.join(&other.by_block);
        self.ideal.join(&other.ideal);
    }

    /// Adds what a thread of a block, of the cluster with these members, released at a scope.
    pub fn release(&mut self, block: u32, members: &[u32], reach: Reach, known: &Knowledge) {
        if reach == Reach::Grid {
            self.wide.join(&known.real);
        }
        self.by_block.raise(block, &known.real);
        if reach != Reach::Block {
            let others = members.iter().filter(|other| **other != block);
            others.for_each(|other| self.by_block.raise(*other, &known.real));
        }
        self.ideal.join(&known.ideal);
    }

    /// The part that passes where a scope is too narrow: none, but for the idea of it.
    pub fn beyond_scope(&self) -> Message {
        Message {
            ideal: self.ideal.clone(),
            ..Message::default()
        }
    }

    /// What a thread of `block` learns when it acquires at a scope (PTX ISA, "Memory
    /// synchronization": the first operation of the release pattern and the last of the
    /// acquire pattern must be morally strong).
    fn acquire(&self, block: u32, wide: bool, known: &mut Knowledge) {
        if wide {
            known.real.join(&self.wide);
        }
        if let Some(clock) = self.by_block.get(block) {
            known.real.join(clock);
        }
        known.ideal.join(&self.ideal);
    }
}

/// What a thread knew at some moment, put together only when it is needed.
#[derive(Clone, Debug)]
pub struct Snapshot {
    base: Knowledge,
    known: Knowledge,
    block_floor: Stamp,
    warp_floor: Stamp,
    /// Its own events below this are included.
    bound: Stamp,
    /// Its own last `fence.sc`.
    sc: Option<LastSc>,
}

/// A thread's last `fence.sc`: whether its scope is wide, and what was known then. Those before it are
/// part of what was known.
#[derive(Clone, Debug)]
pub struct LastSc {
    wide: bool,
    at: Arc<Snapshot>,
}

impl Snapshot {
    /// Of a thread, its current stamp included.
    pub fn of(block: &Block, warp: u32, lane: u32) -> Snapshot {
        let w = &block.warps[warp as usize];
        let thread = block.thread(warp, lane);
        Snapshot {
            base: block.base.clone(),
            known: thread.map(|t| t.known.clone()).unwrap_or_default(),
            block_floor: block.floor,
            warp_floor: w.floor,
            bound: w.now + 1,
            sc: thread.and_then(|t| t.sc.clone()),
        }
    }

    /// As one piece.
    pub fn knowledge(&self, block: u32, warp: u32, lane: u32) -> Knowledge {
        let mut all = self.base.clone();
        all.join(&self.known);
        let mut own = BlockClock::floor(self.block_floor);
        self.add_own(&mut own, warp, lane);
        all.raise(block, &own);
        if let Some(sc) = &self.sc {
            let known = sc.at.knowledge(block, warp, lane);
            all.fenced(block, sc.wide, &known);
        }
        all
    }

    fn add_own(&self, own: &mut BlockClock, warp: u32, lane: u32) {
        own.raise_warp(warp, self.warp_floor);
        own.raise_lanes(warp, 1 << lane, self.bound);
    }
}

/// The `fence.sc`s of several threads of a block, put together: what all of them knew counts as known by one, since whoever
/// collects them comes after all.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Those so far.
    all: Knowledge,
    /// A group that knows the same of others: the first of them, and what they did.
    group: Option<(LastSc, BlockClock)>,
}

impl Collected {
    /// Adds the last `fence.sc` of a thread.
    pub fn add(&mut self, block: u32, warp: u32, lane: u32, sc: &LastSc) {
        if let Some((first, own)) = &mut self.group {
            let same = first.wide == sc.wide
                && first.at.block_floor == sc.at.block_floor
                && first.at.base.same(&sc.at.base)
                && first.at.known.same(&sc.at.known);
            if same {
                sc.at.add_own(own, warp, lane);
                return;
            }
        }
        self.end_group(block);
        let mut own = BlockClock::floor(sc.at.block_floor);
        sc.at.add_own(&mut own, warp, lane);
        self.group = Some((sc.clone(), own));
    }

    fn end_group(&mut self, block: u32) {
        if let Some((sc, own)) = self.group.take() {
            let mut known = sc.at.base.clone();
            known.join(&sc.at.known);
            known.raise(block, &own);
            self.all.fenced(block, sc.wide, &known);
        }
    }

    /// What comes after all of them knows.
    pub fn finish(mut self, block: u32) -> Knowledge {
        self.end_group(block);
        self.all
    }
}

/// The last release fence of each width that a thread has executed.
#[derive(Clone, Debug, Default)]
pub struct ReleaseFences([Option<Snapshot>; 3]);

impl ReleaseFences {
    fn set(&mut self, reach: Reach, snapshot: Snapshot) {
        self.0[reach as usize] = Some(snapshot);
    }
    /// Whether none was executed.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
    /// What those that reach beyond the block published: for who meets the thread at a barrier of the cluster that orders nothing itself.
    pub fn for_cluster(&self, block: u32, warp: u32, lane: u32) -> Knowledge {
        let mut all = Knowledge::default();
        for reach in [Reach::Cluster, Reach::Grid] {
            if let Some(snapshot) = &self.0[reach as usize] {
                all.join(&snapshot.knowledge(block, warp, lane));
            }
        }
        all
    }

    /// Adds what they published to a message.
    fn publish(&self, block: &Block, warp: u32, lane: u32, message: &mut Message) {
        for (reach, snapshot) in Reach::ALL.into_iter().zip(&self.0) {
            if let Some(snapshot) = snapshot {
                let known = snapshot.knowledge(block.id, warp, lane);
                message.release(block.id, &block.members, reach, &known);
            }
        }
    }
}

/// The exact state of a thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// What it knows beyond the block's floors and base.
    pub known: Knowledge,
    /// Its release fences: a later strong write completes the pattern.
    pub release: ReleaseFences,
    /// Its last `fence.sc`, if no barrier came since.
    pub sc: Option<LastSc>,
    /// What it published by release operations, by location: its later strong writes there
    /// carry it on (PTX ISA, "Release and Acquire Patterns", second form).
    releases: HashMap<(u64, Reach), Knowledge>,
    /// What its strong reads have brought, by location: a later acquire fence (or acquire
    /// operation on the location) completes the pattern.
    pending: Vec<Pending>,
    /// The read of a location that it has last told of fences, and been told.
    met: Option<Met>,
}

impl Thread {
    /// Its strong reads that no acquire has followed, by instruction, each with what an acquire would bring.
    pub fn unacquired(&self, block: u32) -> impl Iterator<Item = (u32, Knowledge)> + '_ {
        self.pending.iter().map(move |pending| {
            let mut known = Knowledge::default();
            pending.message.acquire(block, true, &mut known);
            (pending.site, known)
        })
    }

    /// What an acquire fence would bring now, if anything.
    pub fn would_acquire(&self, block: u32) -> Option<Knowledge> {
        let mut known = Knowledge::default();
        for Pending { message, .. } in &self.pending {
            message.acquire(block, true, &mut known);
        }
        (!known.is_empty()).then_some(known)
    }
}

/// What strong reads of a location have brought.
#[derive(Clone, Debug)]
struct Pending {
    name: u64,
    message: Message,
    /// The last read, by instruction.
    site: u32,
    /// Of the last read, if it was morally strong with the write.
    epoch: Option<Arc<()>>,
}

/// A read that would find and leave nothing new if nothing has changed since.
#[derive(Clone, Debug)]
struct Met {
    name: u64,
    epoch: Arc<()>,
    base: Knowledge,
    known: Knowledge,
    sc: Option<LastSc>,
}

impl Met {
    fn again(&self, name: u64, epoch: &Arc<()>, base: &Knowledge, thread: &Thread) -> bool {
        let sc = match (&self.sc, &thread.sc) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(&a.at, &b.at),
            _ => false,
        };
        sc && self.name == name
            && Arc::ptr_eq(&self.epoch, epoch)
            && self.base.same(base)
            && self.known.same(&thread.known)
    }
}

/// Some `fence.sc`s, such as those before accesses to a location, as the scopes have it and as if all were wide.
#[derive(Clone, Debug, Default)]
pub struct LocationFences {
    real: FenceSet,
    ideal: FenceSet,
}

impl LocationFences {
    fn is_empty(&self) -> bool {
        self.ideal.is_empty()
    }
    fn join(&mut self, other: &LocationFences) {
        self.real.join(&other.real);
        self.ideal.join(&other.ideal);
    }
    /// Adds those that a thread knows of.
    fn publish(&mut self, known: &Knowledge) {
        if let Some(fences) = known.real.fences() {
            self.real.join(&fences.before);
        }
        if let Some(fences) = known.ideal.fences() {
            self.ideal.join(&fences.before);
        }
    }
    /// Adds those that a thread knows of, its own last one among them.
    fn publish_all(&mut self, block: &Block, warp: u32, lane: u32) {
        self.publish(&block.base);
        if let Some(thread) = block.thread(warp, lane) {
            self.publish(&thread.known);
            if let Some(sc) = &thread.sc {
                let mut own = Collected::default();
                own.add(block.id, warp, lane, sc);
                self.publish(&own.finish(block.id));
            }
        }
    }
    /// They must precede a thread's next one.
    fn fall_due(&self, known: &mut Knowledge) {
        if !self.is_empty() {
            known.real.fences_mut().due.join(&self.real);
            known.ideal.fences_mut().due.join(&self.ideal);
        }
    }
}

/// What a location carries. A location is a byte range that one strong operation covers.
#[derive(Clone, Debug, Default)]
pub struct Location {
    /// Its size in granules.
    pub cells: u32,
    /// What its current value carries.
    message: Message,
    /// The `fence.sc`s before its writes, and before the reads these overwrote.
    sc_writes: LocationFences,
    /// The `fence.sc`s before the reads since the last write.
    sc_reads: LocationFences,
    /// Another one for each write.
    epoch: Arc<()>,
}

/// One lane's strong operation on a location.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Warp in its block.
    pub warp: u32,
    /// Its lane.
    pub lane: u32,
    /// Address, size and space of the location in one.
    pub name: u64,
    /// Whether it reads.
    pub reads: bool,
    /// Whether its reading can be part of an acquire pattern.
    pub can_acquire: bool,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it reads what was there before all strong writes, so that these come after it, although they happened to run earlier.
    pub initial: bool,
    /// `.acquire` or `.acq_rel`
    pub acquires: bool,
    /// `.release` or `.acq_rel`
    pub releases: bool,
    /// Whether its scope is wide.
    pub wide: bool,
    /// How far its scope reaches.
    pub reach: Reach,
    /// The instruction.
    pub site: u32,
}

impl Location {
    /// A location of `cells` granules that carries nothing.
    pub fn of(cells: u32) -> Location {
        Location {
            cells,
            ..Location::default()
        }
    }

    /// Communication order at this location, between the `fence.sc`s before and after it:
    /// an operation comes after the writes before it, a write also after the reads. A read of the initial value comes after nothing.
    /// To be called first.
    pub fn communicate(&mut self, block: &mut Block, op: &Operation) {
        let own = block.thread(op.warp, op.lane);
        let knows =
            block.base.has_fences() || own.is_some_and(|t| t.sc.is_some() || t.known.has_fences());
        if self.sc_writes.is_empty() && self.sc_reads.is_empty() && !knows {
            return;
        }
        // Whoever waits reads again and again.
        let again = own.is_some_and(|t| {
            let met = t.met.as_ref();
            met.is_some_and(|m| m.again(op.name, &self.epoch, &block.base, t))
        });
        if again && !op.writes && !op.initial {
            return;
        }
        let mut published = LocationFences::default();
        if knows {
            published.publish_all(block, op.warp, op.lane);
        }
        let thread = block.thread_mut(op.warp, op.lane);
        if op.initial {
            self.sc_reads.join(&published);
            return;
        }
        self.sc_writes.fall_due(&mut thread.known);
        if op.writes {
            self.sc_reads.fall_due(&mut thread.known);
            self.sc_writes.join(&std::mem::take(&mut self.sc_reads));
            self.sc_writes.join(&published);
            self.epoch = Arc::default();
        } else {
            self.sc_reads.join(&published);
            let base = block.base.clone();
            let thread = block.thread_mut(op.warp, op.lane);
            thread.met = Some(Met {
                name: op.name,
                epoch: self.epoch.clone(),
                base,
                known: thread.known.clone(),
                sc: thread.sc.clone(),
            });
        }
        block.learnt();
    }

    /// The reading half of an operation; `link` tells whether it is morally strong with
    /// the write whose value it reads (PTX ISA, "Observation Order").
    pub fn read(&mut self, block: &mut Block, op: &Operation, link: bool) {
        let id = block.id;
        if !op.can_acquire {
            return;
        }
        let known = block.thread(op.warp, op.lane);
        let again = known.is_some_and(|t| {
            let same = |p: &Pending| {
                p.epoch
                    .as_ref()
                    .is_some_and(|e| Arc::ptr_eq(e, &self.epoch))
            };
            t.pending.iter().any(|p| p.name == op.name && same(p))
        });
        if again && link && !op.acquires {
            return;
        }
        let brings = if link {
            self.message.clone()
        } else {
            self.message.beyond_scope()
        };
        let thread = block.thread_mut(op.warp, op.lane);
        let mut learnt = !brings.is_empty();
        if op.acquires {
            brings.acquire(id, op.wide, &mut thread.known);
            for Pending { name, message, .. } in &thread.pending {
                if *name == op.name {
                    learnt |= !message.is_empty();
                    message.acquire(id, op.wide, &mut thread.known);
                }
            }
        }
        // A fence that follows may be wider.
        if !(op.acquires && op.wide || brings.is_empty()) {
            let epoch = link.then(|| self.epoch.clone());
            match thread.pending.iter_mut().find(|p| p.name == op.name) {
                Some(pending) => {
                    pending.message.join(&brings);
                    pending.site = op.site;
                    pending.epoch = epoch;
                }
                None => thread.pending.push(Pending {
                    name: op.name,
                    message: brings,
                    site: op.site,
                    epoch,
                }),
            }
        }
        if op.acquires {
            block.communicated |= learnt;
            block.learnt();
        }
    }

    /// The writing half of an operation.
    pub fn write(&mut self, block: &mut Block, op: &Operation, link: bool) {
        let id = block.id;
        let mut message = match (op.reads, link) {
            (false, _) => Message::default(),
            (true, true) => std::mem::take(&mut self.message),
            (true, false) => self.message.beyond_scope(),
        };
        if let Some(thread) = block.thread(op.warp, op.lane) {
            for reach in Reach::ALL {
                if let Some(known) = thread.releases.get(&(op.name, reach)) {
                    message.release(id, &block.members, reach, known);
                }
            }
            (thread.release).publish(block, op.warp, op.lane, &mut message);
        }
        if op.releases {
            let known = Snapshot::of(block, op.warp, op.lane).knowledge(id, op.warp, op.lane);
            message.release(id, &block.members, op.reach, &known);
            let thread = block.thread_mut(op.warp, op.lane);
            thread.releases.insert((op.name, op.reach), known);
        }
        self.message = message;
        self.epoch = Arc::default();
    }
}

/// Whether a thread's operation on a location that carries nothing leaves something there that others can learn, or completes an
/// acquire pattern that an earlier read of the thread began.
pub fn leaves_a_trace(block: &Block, op: &Operation) -> bool {
    op.writes && op.releases
        || block.base.has_fences()
        || block.thread(op.warp, op.lane).is_some_and(|t| {
            let pending = || t.pending.iter().any(|p| p.name == op.name);
            t.sc.is_some()
                || t.known.has_fences()
                || op.writes && !(t.release.is_empty() && t.releases.is_empty())
                || op.acquires && pending()
        })
}

/// A fence executed by some lanes of a warp. `before`: the `fence.sc`s of the launch so far, where they are ordered as they are executed.
pub fn fence(
    block: &mut Block,
    (warp, mask): (u32, Mask),
    (order, scope): (FenceOrder, Scope),
    mut before: Option<&mut LocationFences>,
) {
    let id = block.id;
    let reach = Reach::of(scope);
    let acquires_wide = reach == Reach::Grid;
    let wide = acquires_wide || reach == Reach::Cluster && block.members.len() > 1;
    let (mut learnt, mut learnt_before) = (false, false);
    for lane in lanes(mask) {
        let thread = block.thread_mut(warp, lane);
        if order != FenceOrder::Release && !thread.pending.is_empty() {
            let mut pending = std::mem::take(&mut thread.pending);
            for Pending { message, .. } in &pending {
                message.acquire(id, acquires_wide, &mut thread.known);
            }
            if !acquires_wide {
                // A wider fence may still follow.
                std::mem::swap(&mut pending, &mut thread.pending);
            }
            learnt = true;
        }
        if order == FenceOrder::Sc {
            if let Some(before) = &before {
                // That wider scopes would have ordered more is for communication to say: another execution has another order.
                let known = &mut block.thread_mut(warp, lane).known;
                known.real.fences_mut().due.join(&before.real);
            }
            let due = |known: &Knowledge| {
                let fences = known.ideal.fences();
                fences.is_some_and(|f| !f.due.is_empty())
            };
            if due(&block.base) {
                let base = block.base.clone();
                block.thread_mut(warp, lane).known.join(&base);
            }
            learnt |= block.thread_mut(warp, lane).known.fence_learns(id, wide);
        }
        if order == FenceOrder::Acquire {
            continue;
        }
        if learnt {
            block.learnt();
        }
        if order == FenceOrder::Sc {
            block.fenced = true;
            let thread = block.thread_mut(warp, lane);
            // A narrow one does not stand for a wide one before it.
            if let Some(sc) = thread.sc.take().filter(|sc| sc.wide && !wide) {
                let mut own = Collected::default();
                own.add(id, warp, lane, &sc);
                thread.known.join(&own.finish(id));
                learnt_before = true;
            }
            let at = Arc::new(Snapshot::of(block, warp, lane));
            block.thread_mut(warp, lane).sc = Some(LastSc { wide, at });
            if let Some(before) = &mut before {
                before.publish_all(block, warp, lane);
            }
        }
        let snapshot = Snapshot::of(block, warp, lane);
        block.thread_mut(warp, lane).release.set(reach, snapshot);
    }
    if learnt_before {
        block.learnt();
    }
    if learnt {
        block.communicated = true;
        block.learnt();
    }
    if order != FenceOrder::Acquire {
        block.warps[warp as usize].now += 1;
    }
}
