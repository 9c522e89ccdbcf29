//! Which values depended on the order of threads, judged location by location by what a run did to them.
//!
//! The race detector lets morally strong accesses stand, in whichever order they come. This one asks what their
//! order shows in. It remembers the strong accesses to each granule, and two of them that nothing but their
//! having happened so orders, at least one a write, leave traces:
//!
//! * in what the reading one returns, if anything uses that;
//! * in memory, unless both are updates of one kind that commutes exactly ([`Update`]).
//!
//! Order here is program order, barriers and warp barriers, which are the same in every schedule: *firm* order. What
//! release and acquire, `fence.sc` and observation add could have gone the other way. So an acquire pattern that brought
//! something, and a weak access that meets a strong one without firm order, are a communication that counts by itself.
//! The calls that print or allocate are treated as exchanges at one location each.
//!
//! A location that several blocks use is remembered by the instructions that use it, for no firm order leads from one block of
//! a launch to another; one that a single block uses also by warps, stamps and lanes, as in [`super::strong`].
//!
//! What a location is used for is a set of roles, and sets are numbered: equal ones have one number. Two roles clash the
//! same way wherever they meet, so a role that can add nothing to what has been found by meeting a set
//! is *settled* with it, and no access of that role looks at who used a location with that set. An access therefore takes
//! constant time, except at locations whose users are all ordered.
//!
//! Updates of shared memory that commute and whose results nothing uses, the only strong accesses of a block since its last barrier, are set
//! aside ([`super::atomics`]): they concern nobody until another access of the block meets them, and the barrier that settles them forgets
//! them all.
//!
//! A strong store that is the first to write a location, and an access that looks at it which nothing orders with the store, are a
//! communication too: in the other order the latter reads what nothing has written.
//!
//! So are a strong load whose value goes on untested and a strong write of another warp that nothing orders with it: where the
//! reading thread's own update came last it hides the other one from the rule on unordered communication, and in another order it does not.
//!
//! Blind spot: a weak access before a strong one is not looked at. Nothing but an acquire pattern orders the two where firm order does
//! not, and that counts already.

mod locations;
mod roles;

pub use locations::Locations;
pub(super) use locations::Map;
use locations::{Entry, MANY, PAGE, Record};
use roles::{Role, RoleBook};

use super::atomics::AtomicLog;
use super::block::View;
use super::clock::Stamp;
use simt::ids::{Mask, Site};
use simt::lower::dependence::OrderSources;
use simt::observer::*;
use std::collections::HashSet;

/// Locations that are remembered at most.
const LOCATIONS: usize = 1 << 22;

/// Who accesses something, and when.
#[derive(Clone, Copy, Debug)]
struct Who {
    warp: u32,
    now: Stamp,
    block_floor: Stamp,
}

impl Who {
    fn of(v: &View<'_>) -> Who {
        Who {
            warp: v.me,
            now: v.now,
            block_floor: v.block_floor,
        }
    }
}

/// What a location's trace shows in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Shared,
    Global,
    Output,
    Heap,
}

/// What is left by two accesses that nothing orders.
struct Trace {
    /// Data passes from one to the other untested.
    hands_on: bool,
    /// What memory holds depends on which came first.
    memory: bool,
    /// So does what these return.
    reads: [Option<Site>; 2],
}

/// Whether a store is the first to write a byte.
fn is_fresh(access: &Access<'_>, at: u64) -> bool {
    access.kind == AccessKind::Write && access.stores.is_some_and(|stored| !stored.is_written(at))
}

/// Judges locations.
#[derive(Debug, Default)]
pub struct Contention {
    book: RoleBook,
    shifts: [u32; 2],
    /// A role that can add nothing by meeting a set somewhere: (role, set, place).
    settled: HashSet<(u32, u32, Place)>,
    /// The one of them that was needed last, and the last one that is none yet.
    last_settled: Option<(u32, u32, Place)>,
    last_open: Option<(u32, u32, Place)>,
    global: Locations,
    driver: Locations,
    found: OrderSources,
}

impl Contention {
    /// For a launch.
    pub fn new(shape: &LaunchShape) -> Contention {
        Contention {
            book: RoleBook::new(shape.effects.clone(), shape.hands_on.clone()),
            shifts: [shape.shared_granule, shape.global_granule]
                .map(|granule| granule.max(1).trailing_zeros()),
            ..Contention::default()
        }
    }

    /// For one core's share of the same launch.
    pub fn fork(&self) -> Contention {
        Contention {
            book: self.book.fork(),
            shifts: self.shifts,
            ..Contention::default()
        }
    }

    /// What depended on the order of threads.
    pub fn sources(&self) -> &OrderSources {
        &self.found
    }

    /// An acquire pattern, or two fences, ordered something that nothing else did.
    pub fn communicated(&mut self) {
        self.found.communication = true;
    }

    /// A read returned another value than the last, which nothing orders it after.
    pub fn read_stale(&mut self, site: Site) {
        self.found.reads.insert(site);
    }

    /// Whether what a block does to its shared memory by weak accesses is of no interest, with nothing strong known there.
    #[inline]
    pub fn is_quiet(&self, there: &Locations, log: &AtomicLog) -> bool {
        self.found.communication || !log.concerns_order() && there.is_empty()
    }

    /// The role of an instruction that updates one granule of a block's shared memory in each lane, if it can be set aside.
    #[inline]
    pub fn calm_role(
        &mut self,
        (site, kind): (Site, AccessKind),
        there: &Locations,
        log: &AtomicLog,
    ) -> Option<u32> {
        if self.found.communication {
            return None;
        }
        let role = self.book.role_of(site, kind);
        let r = &self.book.roles[role as usize];
        let calm = !r.reads && r.update != Update::Ordered;
        let alike = |other: u32| self.book.roles[other as usize].update == r.update;
        let fits = calm && there.is_empty() && log.last_role().is_none_or(alike);
        fits.then_some(role)
    }

    /// Notes what was set aside of a block's shared memory. All of it commutes, so that no two clash.
    #[inline]
    pub fn tell(&mut self, there: &mut Locations, log: &mut AtomicLog, v: &View<'_>) {
        if log.concerns_order() {
            self.tell_all(there, log, v);
        }
    }

    #[inline(never)]
    fn tell_all(&mut self, there: &mut Locations, log: &mut AtomicLog, v: &View<'_>) {
        for set in log.tell_folded() {
            let who = Who {
                warp: set.warp,
                now: set.stamp,
                block_floor: v.block_floor,
            };
            for (cell, mask) in set.lanes.into_iter().enumerate().filter(|(_, m)| *m != 0) {
                self.add_calm(there, cell as u64, set.role, mask, &who, v);
            }
        }
        for (a, cells) in log.tell_order() {
            let who = Who {
                warp: a.warp,
                now: a.stamp,
                block_floor: v.block_floor,
            };
            for lane in super::block::lanes(a.mask) {
                let cell = u64::from(cells[lane as usize]);
                self.add_calm(there, cell, a.role, 1 << lane, &who, v);
            }
        }
    }

    /// Notes updates of one granule that clash with none.
    fn add_calm(
        &mut self,
        there: &mut Locations,
        cell: u64,
        role: u32,
        lanes: Mask,
        who: &Who,
        v: &View<'_>,
    ) {
        let at = there.record(cell, v.block.id);
        let record = &mut there.records[at];
        record.roles = self.book.with(record.roles, role);
        for lane in super::block::lanes(lanes) {
            self.add(record, role, lane, who);
        }
    }

    /// Takes forks back. False if what they did to one location depends on which of them came first.
    pub fn join(&mut self, forks: Vec<Contention>) -> bool {
        let mut seen: Map<Option<Update>> = Map::default();
        for fork in &forks {
            for (cell, record) in fork.global.cells() {
                let calm = fork.book.sets[record.roles as usize].calm;
                match seen.get(&cell) {
                    None => drop(seen.insert(cell, calm)),
                    Some(other) if calm.is_some() && *other == calm => {}
                    Some(_) => return false,
                }
            }
        }
        for fork in forks {
            self.found.merge(fork.found);
        }
        true
    }

    /// A call of the driver's.
    pub fn driver_call(&mut self, site: Site, lanes: Mask, what: DriverCall, v: &View<'_>) {
        let (cell, place, reads) = match what {
            DriverCall::Print => (0, Place::Output, false),
            DriverCall::Allocate => (1, Place::Heap, true),
            DriverCall::Free => (1, Place::Heap, false),
        };
        let role = self.book.role(Role {
            site,
            reads,
            writes: true,
            update: Update::Ordered,
            stores: false,
            hands_on: false,
        });
        for lane in super::block::lanes(lanes) {
            let mut driver = std::mem::take(&mut self.driver);
            self.strong(&mut driver, cell, role, lane, place, v);
            self.driver = driver;
        }
    }

    /// A block's shared memory was accessed.
    pub fn access_shared(
        &mut self,
        access: &Access<'_>,
        there: &mut Locations,
        log: &mut AtomicLog,
        v: &View<'_>,
    ) {
        if self.found.communication {
            return;
        }
        self.tell(there, log, v);
        self.access(there, access, (Place::Shared, self.shifts[0]), v);
    }

    /// Global memory was accessed.
    pub fn access_global(&mut self, access: &Access<'_>, v: &View<'_>) {
        if self.found.communication {
            return;
        }
        let mut global = std::mem::take(&mut self.global);
        self.access(&mut global, access, (Place::Global, self.shifts[1]), v);
        self.global = global;
    }

    fn access(
        &mut self,
        there: &mut Locations,
        access: &Access<'_>,
        (place, shift): (Place, u32),
        v: &View<'_>,
    ) {
        if access.is_weak() {
            return self.weak(there, access, shift, v);
        }
        let role = self.book.role_of(access.site, access.kind);
        let cells = u64::from(access.bytes() >> shift).max(1);
        for lane in super::block::lanes(access.mask) {
            let first = access.address[lane as usize] >> shift;
            for cell in first..first + cells {
                self.looks_at_fresh(there, cell, role, lane, v);
                let fresh = is_fresh(access, cell << shift);
                self.strong(there, cell, role, lane, place, v);
                if fresh {
                    let at = there.record(cell, v.block.id);
                    there.records[at].fresh = true;
                    there.fresh = true;
                }
            }
        }
    }

    /// Notes an access that looks at what was there, where a store that nothing orders with it has been the first to write: had the
    /// access come first, it would have read what nothing has written, which is a finding.
    #[inline]
    fn looks_at_fresh(
        &mut self,
        locations: &Locations,
        cell: u64,
        role: u32,
        lane: u32,
        v: &View<'_>,
    ) {
        if !locations.fresh || self.book.roles[role as usize].stores {
            return;
        }
        let Some(record) = locations.get(cell).filter(|record| record.fresh) else {
            return;
        };
        let stores = |set: u32| {
            let all = &self.book.sets[set as usize].all;
            all.iter()
                .any(|role| self.book.roles[*role as usize].stores)
        };
        let unordered = if record.block == v.block.id {
            record
                .entries
                .iter()
                .any(|e| stores(e.roles) && v.unordered(lane, e.warp, e.mask, e.stamp) != 0)
        } else {
            stores(record.roles)
        };
        self.found.communication |= unordered;
    }

    /// A strong access of one lane to one granule.
    fn strong(
        &mut self,
        locations: &mut Locations,
        cell: u64,
        role: u32,
        lane: u32,
        place: Place,
        v: &View<'_>,
    ) {
        if locations.records.len() >= LOCATIONS || self.book.is_full() {
            self.found.communication = true;
            return;
        }
        let me = v.block.id;
        let at = locations.record(cell, me);
        let record = &mut locations.records[at];
        let before = record.roles;
        record.roles = self.book.with(before, role);
        if record.block != MANY && record.block != me {
            // From here on nothing orders any two of them.
            record.block = MANY;
            record.entries = Vec::new();
            for a in self.book.sets[record.roles as usize].all.clone() {
                self.meets(a, record.roles, place, true);
            }
            return;
        }
        if record.block == MANY {
            if record.roles != before {
                self.meets(role, record.roles, place, true);
            }
            return;
        }
        let alone = match record.entries[..] {
            [] => true,
            [e] => (e.warp, e.mask) == (v.me, 1 << lane),
            _ => false,
        };
        let calm = self.book.sets[record.roles as usize].calm.is_some();
        if !alone && !calm && !self.is_settled(role, record.roles, place) {
            for i in 0..record.entries.len() {
                let e = record.entries[i];
                if v.unordered(lane, e.warp, e.mask, e.stamp) != 0 {
                    self.meets(role, e.roles, place, e.warp != v.me);
                }
            }
        }
        self.add(record, role, lane, &Who::of(v));
    }

    /// Remembers a lane; forgets what is ordered before everything that the block does from now on, and
    /// what the same lane did before if it has done as much since.
    fn add(&mut self, record: &mut Record, role: u32, lane: u32, who: &Who) {
        let bit = 1 << lane;
        let entries = &mut record.entries;
        let is_current = |e: &Entry| (e.warp, e.stamp) == (who.warp, who.now);
        let known = |e: &Entry| is_current(e) && e.mask & bit != 0;
        let mut roles = self.book.with(0, role);
        if let Some(last) = entries.last_mut()
            && is_current(last)
            && last.only
            && last.roles == roles
        {
            last.mask |= bit;
            return;
        }
        if let Some(at) = entries.iter().rposition(known) {
            roles = self.book.with(entries[at].roles, role);
            if roles == entries[at].roles {
                let last = entries.len() - 1;
                return entries.swap(at, last);
            }
            entries[at].mask &= !bit;
        }
        for e in entries.iter_mut() {
            if e.warp == who.warp
                && e.mask & bit != 0
                && !is_current(e)
                && self.book.is_part(e.roles, roles)
            {
                e.mask &= !bit;
            }
        }
        entries.retain(|e| e.mask != 0 && e.stamp >= who.block_floor);
        let mut others = 0;
        for e in entries.iter_mut().filter(|e| e.warp == who.warp) {
            e.only = false;
            others += 1;
        }
        let home = entries
            .iter()
            .position(|e| is_current(e) && e.roles == roles);
        match home {
            Some(at) => {
                entries[at].mask |= bit;
                entries[at].only = others == 1;
                let last = entries.len() - 1;
                entries.swap(at, last);
            }
            None => entries.push(Entry {
                warp: who.warp,
                stamp: who.now,
                mask: bit,
                roles,
                only: others == 0,
            }),
        }
    }

    /// What is left by two accesses of different threads that nothing orders.
    fn trace(&self, a: u32, b: u32, place: Place) -> Trace {
        let (a, b) = (self.book.roles[a as usize], self.book.roles[b as usize]);
        let read =
            |reader: Role, writer: Role| (reader.reads && writer.writes).then_some(reader.site);
        Trace {
            hands_on: a.is_handed(b) || b.is_handed(a),
            // The heap's order shows in the addresses alone.
            memory: a.writes && b.writes && !a.commutes(b) && place != Place::Heap,
            reads: [read(a, b), read(b, a)],
        }
    }

    /// Whether what a place holds is known to depend on the order of threads.
    fn found_in(&mut self, place: Place) -> Option<&mut bool> {
        match place {
            Place::Shared => Some(&mut self.found.shared),
            Place::Global => Some(&mut self.found.global),
            Place::Output => Some(&mut self.found.output),
            Place::Heap => None,
        }
    }

    /// Whether a role can add nothing to what has been found by meeting a set.
    #[inline]
    fn is_settled(&mut self, role: u32, set: u32, place: Place) -> bool {
        let key = Some((role, set, place));
        if self.last_settled == key {
            return true;
        }
        if self.last_open == key {
            return false;
        }
        self.settle(role, set, place)
    }

    #[inline(never)]
    fn settle(&mut self, role: u32, set: u32, place: Place) -> bool {
        let key = (role, set, place);
        let settled = self.settled.contains(&key) || {
            let memory = self.found_in(place).is_some_and(|found| *found);
            let reads = &self.found.reads;
            let read = |site: &Option<Site>| site.is_none_or(|s| reads.contains(&s));
            self.book.sets[set as usize].all.iter().all(|other| {
                let trace = self.trace(role, *other, place);
                !trace.hands_on && (memory || !trace.memory) && trace.reads.iter().all(read)
            })
        };
        if settled {
            self.settled.insert(key);
            self.last_settled = Some(key);
        } else {
            self.last_open = Some(key);
        }
        settled
    }

    /// A role and each of a set: accesses of different threads that nothing orders; of different warps, where `across`.
    fn meets(&mut self, role: u32, set: u32, place: Place, across: bool) {
        for at in 0..self.book.sets[set as usize].all.len() {
            let other = self.book.sets[set as usize].all[at];
            let trace = self.trace(role, other, place);
            if let Some(found) = self.found_in(place) {
                *found |= trace.memory;
            }
            self.found.communication |= across && trace.hands_on;
            self.found.reads.extend(trace.reads.into_iter().flatten());
        }
        self.last_open = None;
    }

    /// Weak accesses: those that meet a strong one without firm order.
    fn weak(&mut self, locations: &Locations, access: &Access<'_>, shift: u32, v: &View<'_>) {
        if locations.records.is_empty() {
            return;
        }
        let writes = access.kind == AccessKind::Write;
        let cells = u64::from(access.bytes() >> shift).max(1);
        let mut page = (u64::MAX, false);
        for lane in super::block::lanes(access.mask) {
            let first = access.address[lane as usize] >> shift;
            for cell in first..first + cells {
                if cell >> PAGE != page.0 {
                    page = (cell >> PAGE, locations.page(cell).is_some());
                }
                if !page.1 {
                    continue;
                }
                let Some(record) = locations.get(cell) else {
                    continue;
                };
                let conflicts = |set: u32| {
                    let all = &self.book.sets[set as usize].all;
                    writes
                        || all
                            .iter()
                            .any(|role| self.book.roles[*role as usize].writes)
                };
                let infirm = if record.block == v.block.id {
                    record.entries.iter().any(|e| {
                        conflicts(e.roles) && v.unordered(lane, e.warp, e.mask, e.stamp) != 0
                    })
                } else {
                    conflicts(record.roles)
                };
                if infirm {
                    self.found.communication = true;
                    return;
                }
            }
        }
    }
}
