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
use super::clock::Knowledge;
use super::fences::FenceSet;
use super::message::{Message, Reach};
use super::thread::{Collected, LastSc, Met, Pending};
use simt::ids::Mask;
use simt::observer::{FenceOrder, Scope};
use std::sync::Arc;

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
            let of = (id, &block.members[..]);
            (thread.release).publish(of, (op.warp, op.lane), &mut message);
        }
        if op.releases {
            let known = block
                .snapshot(op.warp, op.lane)
                .knowledge(id, op.warp, op.lane);
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
            let at = Arc::new(block.snapshot(warp, lane));
            block.thread_mut(warp, lane).sc = Some(LastSc { wide, at });
            if let Some(before) = &mut before {
                before.publish_all(block, warp, lane);
            }
        }
        let snapshot = block.snapshot(warp, lane);
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
