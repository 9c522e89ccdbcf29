//! The plain detector: full vector clocks, the whole history of every byte, nothing
//! clever. It exists to be compared with [`super::race`], and was written from the PTX
//! memory consistency model alone, section by section. Time and memory grow with the
//! square of the program; use it for small ones.

mod events;

use crate::finding::{Action, Detail, End, Finding, Findings, Place};
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// A thread: block, thread in block.
type Thread = (u32, u32);

/// How much of each thread's past is known: events up to this number. And the `fence.sc`s that must
/// precede the next one.
#[derive(Clone, Debug, Default, PartialEq)]
struct VectorClock(HashMap<Thread, u64>, BTreeSet<usize>);

impl VectorClock {
    fn join(&mut self, other: &VectorClock) {
        for (thread, time) in &other.0 {
            let known = self.0.entry(*thread).or_default();
            *known = (*known).max(*time);
        }
        self.1.extend(&other.1);
    }
    fn knows(&self, thread: Thread, time: u64) -> bool {
        self.0.get(&thread).is_some_and(|known| *known >= time)
    }
}

/// A clock as the scopes have it, and one as if all scopes were wide enough.
#[derive(Clone, Debug, Default)]
struct Clocks {
    real: VectorClock,
    ideal: VectorClock,
}

impl Clocks {
    fn join(&mut self, other: &Clocks) {
        self.real.join(&other.real);
        self.ideal.join(&other.ideal);
    }
}

/// A release pattern ("Release and Acquire Patterns"), or the accesses after a `fence.sc`:
/// what was known at its first operation, and that operation's thread and scope.
#[derive(Clone, Debug)]
struct Pattern {
    clocks: Clocks,
    thread: Thread,
    scope: Scope,
    /// It came along a path that some scope was too narrow for.
    cut: bool,
}

/// A byte range in global memory or in the shared memory of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Location {
    /// The block whose shared memory it is.
    shared: Option<u32>,
    address: u64,
    bytes: u64,
}

impl Location {
    fn overlaps(&self, other: &Location) -> bool {
        self.shared == other.shared
            && self.address < other.address + other.bytes
            && other.address < self.address + self.bytes
    }
    /// The bytes of both.
    fn common(&self, other: &Location) -> std::ops::Range<u64> {
        let end = (self.address + self.bytes).min(other.address + other.bytes);
        self.address.max(other.address)..end
    }
}

/// One thread's access to one location.
#[derive(Clone, Debug)]
struct Operation {
    thread: Thread,
    time: u64,
    site: Site,
    location: Location,
    kind: AccessKind,
    non_coherent: bool,
    order: Order,
    scope: Scope,
    writes: bool,
    /// For a strong write: what precedes it in observation order, and itself.
    before: Vec<usize>,
    /// The reads that are ordered after it because of what they observed, and where.
    seen: Vec<(Thread, u64, Location)>,
}

impl Operation {
    fn reads(&self) -> bool {
        self.kind != AccessKind::Write
    }
    fn is_strong(&self) -> bool {
        self.order != Order::Weak
    }
    fn is_atomic(&self) -> bool {
        matches!(self.kind, AccessKind::Atomic | AccessKind::Reduction)
    }
}

#[derive(Clone, Debug, Default)]
struct State {
    time: u64,
    clocks: Clocks,
    /// Release fences.
    fences: Vec<Pattern>,
    /// Release operations.
    releases: Vec<(Location, Pattern)>,
    /// What strong reads brought.
    brought: Vec<(Location, Pattern)>,
}

/// What the value of a location carries.
#[derive(Clone, Debug, Default)]
struct Value {
    patterns: Vec<Pattern>,
    /// `fence.sc`s before the writes, and before the reads that later writes followed; as the scopes have it, and as if
    /// all were wide enough.
    sc_writes: [BTreeSet<usize>; 2],
    /// `fence.sc`s before the reads since the last write.
    sc_reads: [BTreeSet<usize>; 2],
}

/// A race, as the comparison needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// The rule.
    pub rule: Rule,
    /// The later access.
    pub later: Site,
    /// The earlier one.
    pub earlier: Site,
}

/// The plain detector.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    launch: u32,
    control_only: Arc<[bool]>,
    threads: HashMap<Thread, State>,
    /// All accesses so far.
    operations: Vec<Operation>,
    values: HashMap<Location, Value>,
    /// All `fence.sc`s so far, each with its time.
    sc: Vec<(Pattern, u64)>,
    arrivals: HashMap<(u32, u32), Clocks>,
    /// Of groups of products of a warpgroup, by block, warpgroup and number: what those knew that closed it, and what the first one knew that had
    /// waited for it, and that all had been read.
    products: HashMap<(u32, u32, u32), (Clocks, Option<Clocks>)>,
    findings: Findings,
    /// For each byte that was raced on (`None`: global memory, else the block whose
    /// shared memory it is): the races of the first access that raced.
    pub first: HashMap<(Option<u32>, u64), HashSet<Pair>>,
}

fn is_wide(scope: Scope) -> bool {
    matches!(scope, Scope::Gpu | Scope::Sys)
}

/// Whether each scope includes the other's thread ("Scope").
fn include(a: Thread, a_scope: Scope, b: Thread, b_scope: Scope) -> bool {
    a.0 == b.0 || is_wide(a_scope) && is_wide(b_scope)
}

/// "Morally strong operations", for two memory operations.
fn morally_strong(a: &Operation, b: &Operation) -> bool {
    a.location == b.location
        && (a.thread == b.thread
            || a.is_strong() && b.is_strong() && include(a.thread, a.scope, b.thread, b.scope))
}

/// "Memory synchronization": the first operation of the release pattern and the last of
/// the acquire pattern must be morally strong.
fn synchronise(pattern: &Pattern, thread: Thread, scope: Scope, clocks: &mut Clocks) {
    if !pattern.cut && include(pattern.thread, pattern.scope, thread, scope) {
        clocks.real.join(&pattern.clocks.real);
    }
    clocks.ideal.join(&pattern.clocks.ideal);
}

impl Reference {
    /// A new session.
    pub fn new() -> Reference {
        Reference::default()
    }

    /// What was found, leaving nothing.
    pub fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.findings)
    }

    fn state(&mut self, thread: Thread) -> &mut State {
        self.threads.entry(thread).or_default()
    }

    /// The next event of a thread: it knows its own past.
    fn tick(&mut self, thread: Thread) -> u64 {
        let state = self.state(thread);
        state.time += 1;
        let time = state.time;
        state.clocks.real.0.insert(thread, time);
        state.clocks.ideal.0.insert(thread, time);
        time
    }

    /// "Causality Order": base causality order, or observation order and then base causality
    /// order. It is not transitive.
    fn is_ordered(&self, old: &Operation, new: &Operation) -> bool {
        let known = &self.threads[&new.thread].clocks.real;
        let observed = |byte: u64| {
            old.seen.iter().any(|(thread, time, place)| {
                place.address <= byte
                    && byte < place.address + place.bytes
                    && known.knows(*thread, *time)
            })
        };
        known.knows(old.thread, old.time) || old.location.common(&new.location).all(observed)
    }

    /// What is wrong between an earlier and a new operation, if they conflict.
    fn judge(&self, old: &Operation, new: &Operation) -> Option<Rule> {
        if old.thread == new.thread || !(old.writes || new.writes) {
            return None;
        }
        if self.is_ordered(old, new) {
            return None;
        }
        let ideal = &self.threads[&new.thread].clocks.ideal;
        let by_scope = if ideal.knows(old.thread, old.time) {
            Rule::InsufficientScope
        } else {
            Rule::DataRace
        };
        if !old.is_strong() || !new.is_strong() || old.location != new.location {
            return Some(by_scope);
        }
        if !morally_strong(old, new) {
            return Some(Rule::InsufficientScope);
        }
        let same_warp = old.thread.0 == new.thread.0 && old.thread.1 / 32 == new.thread.1 / 32;
        let plain = !old.is_atomic() && !new.is_atomic();
        let read = if old.writes { new } else { old };
        let steers = self.control_only.get(read.site.0 as usize) == Some(&true);
        let communicate = old.writes != new.writes;
        (same_warp && plain && communicate && !steers).then_some(Rule::LockstepAssumption)
    }

    fn operate(&mut self, new: Operation) {
        let mut new = new;
        let observed = self.observed(&new);
        if new.is_strong() {
            // What it acquires is ordered before it ("Base Causality Order").
            self.communicate(&new);
            if new.reads() {
                self.read(&new, observed.is_some());
            }
        }
        for old in &self.operations {
            if !old.location.overlaps(&new.location) {
                continue;
            }
            if let Some(rule) = self.judge(old, &new) {
                let pair = Pair {
                    rule,
                    later: new.site,
                    earlier: old.site,
                };
                for byte in old.location.common(&new.location) {
                    let races = self.first.entry((new.location.shared, byte)).or_default();
                    if races.iter().all(|p| p.later == new.site) {
                        races.insert(pair);
                    }
                }
                self.findings.add(self.finding(rule, &new, old));
            }
        }
        if new.non_coherent {
            self.read_stale(&new);
        }
        if new.reads() && new.is_strong() {
            let before = observed.map_or(Vec::new(), |w| self.operations[w].before.clone());
            for i in before {
                let seen = (new.thread, new.time, new.location);
                self.operations[i].seen.push(seen);
            }
        }
        if new.writes {
            if new.is_strong() {
                if let Some(w) = observed.filter(|_| new.is_atomic()) {
                    new.before = self.operations[w].before.clone();
                }
                new.before.push(self.operations.len());
            }
            self.values
                .retain(|l, _| !l.overlaps(&new.location) || *l == new.location && new.is_strong());
            if new.is_strong() {
                self.write(&new, observed.is_some());
            }
        }
        self.operations.push(new);
    }

    /// `ld.global.nc` is not coherent (PTX ISA, "ld.global.nc"). A byte that this launch has
    /// written may have its old value there, however the two are ordered.
    fn read_stale(&mut self, new: &Operation) {
        let place = new.location;
        let mut last = HashSet::new();
        for byte in place.address..place.address + place.bytes {
            let covers = |old: &&Operation| {
                let at = old.location;
                let range = at.address..at.address + at.bytes;
                old.writes && at.shared == place.shared && range.contains(&byte)
            };
            let writer = self.operations.iter().rev().find(covers).cloned();
            if let Some(old) = writer.filter(|old| last.insert(old.site)) {
                let finding = self.finding(Rule::NonCoherentRead, new, &old);
                self.findings.add(finding);
            }
        }
    }

    /// The write whose value a strong read observes, if the two are morally strong
    /// ("Observation Order").
    fn observed(&self, new: &Operation) -> Option<usize> {
        let last = self
            .operations
            .iter()
            .rposition(|old| old.writes && old.location.overlaps(&new.location))?;
        let old = &self.operations[last];
        (old.is_strong() && new.is_strong() && morally_strong(old, new)).then_some(last)
    }

    /// Communication order, as far as it forces the order of `fence.sc`s: those that precede an access in base causality order
    /// come before those that follow what comes after the access in communication order ("Fence-SC Order", "Axioms").
    fn communicate(&mut self, new: &Operation) {
        let clocks = &self.state(new.thread).clocks;
        let clocks = [clocks.real.clone(), clocks.ideal.clone()];
        let value = self.values.entry(new.location).or_default();
        let mut due: [BTreeSet<usize>; 2] = Default::default();
        for (i, known) in clocks.iter().enumerate() {
            let own: BTreeSet<usize> = (0..self.sc.len())
                .filter(|f| known.knows(self.sc[*f].0.thread, self.sc[*f].1))
                .collect();
            due[i] = value.sc_writes[i].clone();
            if new.writes {
                due[i].append(&mut value.sc_reads[i]);
                value.sc_writes[i] = due[i].clone();
                value.sc_writes[i].extend(own);
            } else {
                value.sc_reads[i].extend(own);
            }
        }
        let [real, ideal] = due;
        let clocks = &mut self.state(new.thread).clocks;
        clocks.real.1.extend(real);
        clocks.ideal.1.extend(ideal);
    }

    fn read(&mut self, new: &Operation, link: bool) {
        let Some(value) = self.values.get(&new.location) else {
            return;
        };
        if new.kind == AccessKind::Reduction {
            return;
        }
        let mut brought = value.patterns.clone();
        for pattern in &mut brought {
            pattern.cut |= !link;
        }
        let state = self.state(new.thread);
        for pattern in brought {
            state.brought.push((new.location, pattern));
        }
        if new.order.acquires() {
            let clocks = &mut state.clocks;
            for (location, pattern) in &state.brought {
                if *location == new.location {
                    synchronise(pattern, new.thread, new.scope, clocks);
                }
            }
        }
    }

    fn write(&mut self, new: &Operation, link: bool) {
        let state = self.state(new.thread);
        let mut patterns = state.fences.clone();
        if new.order.releases() {
            let pattern = Pattern {
                clocks: state.clocks.clone(),
                thread: new.thread,
                scope: new.scope,
                cut: false,
            };
            state.releases.push((new.location, pattern));
        }
        for (location, pattern) in &state.releases {
            if *location == new.location {
                patterns.push(pattern.clone());
            }
        }
        let value = self.values.entry(new.location).or_default();
        if new.is_atomic() {
            for mut pattern in std::mem::take(&mut value.patterns) {
                pattern.cut |= !link;
                patterns.push(pattern);
            }
        }
        value.patterns = patterns;
    }

    fn finding(&self, rule: Rule, new: &Operation, old: &Operation) -> Finding {
        let end = |op: &Operation| End {
            site: op.site,
            launch: self.launch,
            block: BlockId(op.thread.0),
            thread: ThreadId(op.thread.1),
            threads: 1,
            action: match op.kind {
                AccessKind::Read => Action::Read,
                AccessKind::Write => Action::Write,
                _ => Action::Atomic,
            },
            order: Some((op.order, op.scope)),
        };
        Finding {
            rule,
            ends: vec![end(new), end(old)],
            place: Some(Place {
                space: match new.location.shared {
                    Some(_) => Space::Shared,
                    None => Space::Global,
                },
                address: new.location.address,
                bytes: new.location.bytes as u32,
                mapped: true,
            }),
            detail: Detail::None,
            count: 1,
            stale_loads: Vec::new(),
        }
    }

    /// What the threads of some parties know together.
    fn union(&mut self, block: BlockId, parties: &[Party]) -> Clocks {
        let mut all = Clocks::default();
        for thread in members(block, parties) {
            self.tick(thread);
            let clocks = self.state(thread).clocks.clone();
            all.join(&clocks);
        }
        all
    }
}

fn members(block: BlockId, parties: &[Party]) -> Vec<Thread> {
    let lanes = |p: &Party| {
        let (warp, mask) = (p.warp.0, p.mask);
        (0..32)
            .filter(move |l| mask >> l & 1 == 1)
            .map(move |l| (block.0, warp * 32 + l))
    };
    parties.iter().flat_map(lanes).collect()
}

/// Lanes of a warp.
fn whole(who: WarpRef, mask: Mask) -> Party {
    Party {
        warp: who.warp,
        mask,
        site: Site(0),
    }
}
