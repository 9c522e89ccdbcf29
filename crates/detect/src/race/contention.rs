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
//! Blind spot: a weak access before a strong one is not looked at. Nothing but an acquire pattern orders the two where firm order does
//! not, and that counts already.

use super::block::View;
use super::clock::Stamp;
use simt::ids::{BlockId, Mask, Site};
use simt::lower::dependence::OrderSources;
use simt::observer::*;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Locations that are remembered at most.
const LOCATIONS: usize = 1 << 22;
/// Granules of a page, as a power of two: weak accesses to pages without strong ones are of no interest.
const PAGE: u32 = 8;

/// Multiplies; the keys are addresses.
#[derive(Clone, Copy, Debug, Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u64(u64::from(*b));
        }
    }
    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

type Map<V> = HashMap<u64, V, BuildHasherDefault<AddressHasher>>;

/// What an instruction does to a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Role {
    site: Site,
    /// Whether what it reads is used.
    reads: bool,
    writes: bool,
    update: Update,
}

impl Role {
    fn commutes(self, other: Role) -> bool {
        self.update == other.update && self.update != Update::Ordered
    }
}

/// Some lanes of a warp that executed an instruction.
#[derive(Clone, Copy, Debug)]
struct Entry {
    warp: u32,
    stamp: Stamp,
    mask: Mask,
    role: u32,
}

/// What happened to a granule.
#[derive(Clone, Debug, Default)]
struct Record {
    /// The block that uses it, or [`MANY`].
    block: u32,
    /// Index of its [`Roles`].
    roles: u32,
    /// Who; as long as it is one block, and no barrier of it came since.
    entries: Vec<Entry>,
}

const MANY: u32 = u32::MAX;

/// The instructions that use a location.
#[derive(Clone, Debug, Default)]
struct Roles {
    /// Indices of roles.
    all: Vec<u32>,
    /// They are updates of this kind, and nothing uses what they return.
    calm: Option<Update>,
}

/// Where locations are: their records, and the pages that have some.
#[derive(Debug, Default)]
struct Locations {
    records: Map<Record>,
    pages: HashSet<u64, BuildHasherDefault<AddressHasher>>,
}

impl Locations {
    fn has_page(&self, cell: u64) -> bool {
        self.pages.contains(&(cell >> PAGE))
    }
}

/// What a location's trace shows in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Shared,
    Global,
    Output,
    Heap,
}

/// Judges locations.
#[derive(Debug, Default)]
pub struct Contention {
    effects: Arc<[Effect]>,
    shifts: [u32; 2],
    roles: Vec<Role>,
    by_site: HashMap<(Site, bool), u32>,
    sets: Vec<Roles>,
    grown: HashMap<(u32, u32), u32>,
    global: Locations,
    /// Shared memory of the block that accessed it last, and of the others.
    here: Locations,
    here_of: Option<BlockId>,
    shared: HashMap<BlockId, Locations>,
    driver: Locations,
    found: OrderSources,
}

impl Contention {
    /// For a launch.
    pub fn new(shape: &LaunchShape) -> Contention {
        Contention {
            effects: shape.effects.clone(),
            shifts: [shape.shared_granule, shape.global_granule]
                .map(|granule| granule.max(1).trailing_zeros()),
            sets: vec![Roles::default()],
            ..Contention::default()
        }
    }

    /// For one core's share of the same launch.
    pub fn fork(&self) -> Contention {
        Contention {
            effects: self.effects.clone(),
            shifts: self.shifts,
            sets: vec![Roles::default()],
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

    /// A block has ended, and its shared memory with it.
    pub fn block_ends(&mut self, block: BlockId) {
        if self.here_of == Some(block) {
            self.here_of = None;
            self.here = Locations::default();
        }
        self.shared.remove(&block);
    }

    /// Makes a block's shared memory [`Contention::here`].
    fn enter(&mut self, block: BlockId) {
        if self.here_of == Some(block) {
            return;
        }
        let next = self.shared.remove(&block).unwrap_or_default();
        let last = std::mem::replace(&mut self.here, next);
        if let Some(last_of) = self.here_of.replace(block) {
            self.shared.insert(last_of, last);
        }
    }

    /// Takes forks back. False if what they did to one location depends on which of them came first.
    pub fn join(&mut self, forks: Vec<Contention>) -> bool {
        let mut seen: Map<Option<Update>> = Map::default();
        for fork in &forks {
            for (cell, record) in &fork.global.records {
                let calm = fork.sets[record.roles as usize].calm;
                match seen.get(cell) {
                    None => drop(seen.insert(*cell, calm)),
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
        let role = self.role(Role {
            site,
            reads,
            writes: true,
            update: Update::Ordered,
        });
        for lane in super::block::lanes(lanes) {
            let mut driver = std::mem::take(&mut self.driver);
            self.strong(&mut driver, cell, role, lane, place, v);
            self.driver = driver;
        }
    }

    /// Memory was accessed.
    pub fn access(&mut self, access: &Access<'_>, v: &View<'_>) {
        if self.found.communication {
            return;
        }
        let weak = access.order == Order::Weak
            && matches!(access.kind, AccessKind::Read | AccessKind::Write);
        let (place, shift) = match access.space {
            Space::Shared => (Place::Shared, self.shifts[0]),
            _ => (Place::Global, self.shifts[1]),
        };
        let mut locations = match place {
            Place::Shared => {
                self.enter(access.who.block);
                std::mem::take(&mut self.here)
            }
            _ => std::mem::take(&mut self.global),
        };
        if weak {
            self.weak(&locations, access, shift, v);
        } else {
            let role = self.role_of(access);
            let cells = u64::from(access.bytes() >> shift).max(1);
            for lane in super::block::lanes(access.mask) {
                let first = access.address[lane as usize] >> shift;
                for cell in first..first + cells {
                    self.strong(&mut locations, cell, role, lane, place, v);
                }
            }
        }
        match place {
            Place::Shared => self.here = locations,
            _ => self.global = locations,
        }
    }

    fn role_of(&mut self, access: &Access<'_>) -> u32 {
        let effect = self
            .effects
            .get(access.site.0 as usize)
            .copied()
            .unwrap_or_default();
        self.role(match access.kind {
            AccessKind::Read => Role {
                site: access.site,
                reads: true,
                writes: false,
                update: Update::Ordered,
            },
            AccessKind::Write => Role {
                site: access.site,
                reads: false,
                writes: true,
                update: Update::Ordered,
            },
            // A compare-and-swap that failed might not have.
            AccessKind::Atomic | AccessKind::Reduction => Role {
                site: access.site,
                reads: effect.used,
                writes: true,
                update: effect.update,
            },
        })
    }

    fn role(&mut self, role: Role) -> u32 {
        *self
            .by_site
            .entry((role.site, role.writes))
            .or_insert_with(|| {
                self.roles.push(role);
                self.roles.len() as u32 - 1
            })
    }

    /// The set of roles with one more.
    fn with(&mut self, set: u32, role: u32) -> u32 {
        if self.sets[set as usize].all.contains(&role) {
            return set;
        }
        if let Some(known) = self.grown.get(&(set, role)) {
            return *known;
        }
        let r = self.roles[role as usize];
        let old = &self.sets[set as usize];
        let calm = match (old.all.is_empty(), old.calm) {
            _ if r.reads || r.update == Update::Ordered => None,
            (true, _) => Some(r.update),
            (false, calm) => calm.filter(|u| *u == r.update),
        };
        let mut all = old.all.clone();
        all.push(role);
        self.sets.push(Roles { all, calm });
        let new = self.sets.len() as u32 - 1;
        self.grown.insert((set, role), new);
        new
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
        if locations.records.len() >= LOCATIONS {
            self.found.communication = true;
            return;
        }
        let me = v.block.id;
        let record = locations.records.entry(cell).or_insert_with(|| {
            locations.pages.insert(cell >> PAGE);
            Record {
                block: me,
                ..Record::default()
            }
        });
        let before = record.roles;
        record.roles = self.with(before, role);
        if record.block != MANY && record.block != me {
            // From here on nothing orders any two of them.
            record.block = MANY;
            record.entries = Vec::new();
            let all = self.sets[record.roles as usize].all.clone();
            for (i, a) in all.iter().enumerate() {
                for b in &all[..=i] {
                    self.clash(*a, *b, place);
                }
            }
            return;
        }
        if record.block == MANY {
            if record.roles != before {
                for other in self.sets[record.roles as usize].all.clone() {
                    self.clash(role, other, place);
                }
            }
            return;
        }
        if self.sets[record.roles as usize].calm.is_none() {
            for i in 0..record.entries.len() {
                let e = record.entries[i];
                if v.unordered(lane, e.warp, e.mask, e.stamp) != 0 {
                    self.clash(role, e.role, place);
                }
            }
        }
        record.add(role, lane, v);
    }

    /// Two accesses of different threads that nothing orders.
    fn clash(&mut self, a: u32, b: u32, place: Place) {
        let (a, b) = (self.roles[a as usize], self.roles[b as usize]);
        if a.writes && b.writes && !a.commutes(b) {
            match place {
                Place::Shared => self.found.shared = true,
                Place::Global => self.found.global = true,
                Place::Output => self.found.output = true,
                // It shows in the addresses alone.
                Place::Heap => {}
            }
        }
        for (reader, writer) in [(a, b), (b, a)] {
            if reader.reads && writer.writes {
                self.found.reads.insert(reader.site);
            }
        }
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
                    page = (cell >> PAGE, locations.has_page(cell));
                }
                if !page.1 {
                    continue;
                }
                let Some(record) = locations.records.get(&cell) else {
                    continue;
                };
                let conflicts = |role: u32| writes || self.roles[role as usize].writes;
                let infirm = if record.block == v.block.id {
                    record.entries.iter().any(|e| {
                        conflicts(e.role) && v.unordered(lane, e.warp, e.mask, e.stamp) != 0
                    })
                } else {
                    let all = &self.sets[record.roles as usize].all;
                    all.iter().any(|role| conflicts(*role))
                };
                if infirm {
                    self.found.communication = true;
                    return;
                }
            }
        }
    }
}

impl Record {
    /// Remembers a lane; forgets what is ordered before everything that the block does from now on.
    fn add(&mut self, role: u32, lane: u32, v: &View<'_>) {
        let bit = 1 << lane;
        let same = |e: &Entry| e.warp == v.me && e.role == role;
        let current = |e: &&mut Entry| same(e) && e.stamp == v.now;
        if let Some(entry) = self.entries.iter_mut().find(current) {
            if entry.mask & bit == 0 {
                entry.mask |= bit;
            } else {
                return;
            }
        } else {
            self.entries.retain(|e| e.stamp >= v.block_floor);
            self.entries.push(Entry {
                warp: v.me,
                stamp: v.now,
                mask: bit,
                role,
            });
        }
        for e in &mut self.entries {
            if same(e) && e.stamp != v.now {
                e.mask &= !bit;
            }
        }
        self.entries.retain(|e| e.mask != 0);
    }
}
