//! Exploration by reversal: the communications that a run shows, tried the other way round.
//!
//! A *communication* is a pair of accesses of different threads to the same memory, at least one a write, that nothing
//! orders but their having happened so. Each of them makes another schedule, [`ScheduleSpec::Reverse`]: the same
//! pair, the other way round. After Flanagan and Godefroid, "Dynamic Partial-Order Reduction for Model Checking
//! Software", POPL 2005.
//!
//! *All of them.* Where a run is small, and memory is all that threads communicate by, the schedules form a tree. A run has kept an
//! order `C` of operations; of its communications `r1 … rn` that `C` does not imply, in the order in which they happened, child `i`
//! keeps `C`, `r1 … ri-1` as they were, and `ri` the other way round. Every interleaving agrees with the run in all
//! of them, and then has the same results, or differs first in one, and then belongs to that child. So when the tree comes to its
//! end, every order of communication was tried ([`Reversals::are_all`]). An operation is a thread's access number N. Where a run
//! could not keep a part of `C`, because its threads took other ways, an interleaving that keeps it differs from the run in
//! something before: all of the run's communications make children but the one that was not to be. Interleavings are those of the
//! sequentially consistent executions.
//!
//! *Some of them.* Otherwise what is tried is the first and the last pair of each kind: the same two instructions, of the same block
//! or not, of the same warp or not. Barriers of part of a block or warp are not seen there, which costs runs that can't be followed.
//!
//! What was not tried yet comes first: kinds of pairs that are new. A thread that polls communicates each time, so with polling the
//! tree has no end, and the number of runs decides.

use detect::communication::{Accessed, Event, Log, Thread};
use simt::ScheduleSpec;
use simt::ids::Site;
use simt::schedule::Reversal;
use simt::schedule::reverse::{Operation, Precedence};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Accesses times threads of a run up to which all reversals are tried.
const WHOLE: usize = 1 << 20;
/// Schedules that wait to be tried.
const WAITING: usize = 1 << 12;
/// Pairs of a kind that are tried out of a run that is too large to try all.
const OF_A_KIND: u32 = 2;
/// Reversals in one schedule, for such runs.
const DEPTH: usize = 3;
/// Earlier accesses to the same memory that an access is compared with, in such runs.
const EARLIER: usize = 16;

/// The instructions of a pair, and whether its threads are of one block, and of one warp.
type Kind = (Site, Site, bool, bool);

fn kind(f: &Accessed, g: &Accessed) -> Kind {
    let same_block = f.operation.block == g.operation.block;
    let same_warp = same_block && f.operation.thread / 32 == g.operation.thread / 32;
    (f.site, g.site, same_block, same_warp)
}

/// The schedules that runs so far suggest.
#[derive(Debug, Default)]
pub struct Reversals {
    tried: HashMap<Kind, u32>,
    new: VecDeque<Reversal>,
    more: VecDeque<Reversal>,
    /// Runs added.
    runs: usize,
    /// Something was left out.
    partly: bool,
}

impl Reversals {
    /// None yet.
    pub fn new() -> Reversals {
        Reversals::default()
    }

    /// Adds what a run under one of these schedules, or the first run under any other, has shown.
    pub fn add(&mut self, schedule: &ScheduleSpec, log: Option<&Log>) {
        let none = Reversal::default();
        let kept = match schedule {
            ScheduleSpec::Reverse(kept) => kept,
            _ => &none,
        };
        self.runs += 1;
        let Some(log) = log else {
            self.partly = true;
            return;
        };
        match communications(log, &kept.order) {
            Some(all) if !self.partly => self.branch(kept, &all),
            _ => {
                self.partly = true;
                self.some(kept, log);
            }
        }
    }

    /// Whether trying all that waits may show every order of communication.
    pub fn may_be_all(&self) -> bool {
        self.runs > 0 && !self.partly
    }

    /// Whether the runs that were added show every order of communication. Those that were given away have to be added.
    pub fn are_all(&self) -> bool {
        self.may_be_all() && self.new.is_empty() && self.more.is_empty()
    }

    fn push(&mut self, reversal: Reversal, new: bool) {
        if self.new.len() + self.more.len() >= WAITING {
            self.partly = true;
            return;
        }
        match new {
            true => self.new.push_back(reversal),
            false => self.more.push_back(reversal),
        }
    }

    /// The children of a run in the tree.
    fn branch(&mut self, kept: &Reversal, all: &[(Accessed, Accessed)]) {
        let mut order = kept.order.clone();
        for (f, g) in all {
            let (f_first, g_first) = (f.operation, g.operation);
            let mut child = order.clone();
            child.push(Precedence {
                first: g_first,
                then: f_first,
            });
            let tried = self.tried.entry(kind(f, g)).or_default();
            *tried += 1;
            let new = *tried == 1;
            self.push(Reversal { order: child }, new);
            order.push(Precedence {
                first: f_first,
                then: g_first,
            });
        }
    }

    /// Pairs of kinds that were not tried often yet.
    fn some(&mut self, kept: &Reversal, log: &Log) {
        if kept.order.len() >= DEPTH {
            return;
        }
        let mut found: Vec<(Kind, [(Accessed, Accessed); 2])> = Vec::new();
        for (f, g) in strong_pairs(log) {
            let kind = kind(&f, &g);
            match found.iter_mut().find(|(k, _)| *k == kind) {
                Some((_, [_, last])) => *last = (f, g),
                None => found.push((kind, [(f, g), (f, g)])),
            }
        }
        // What a thread reads that another wrote by another instruction decides most.
        found.sort_by_key(|((a, b, ..), [(f, g), _])| (a == b, f.reads == g.reads));
        for (kind, [first, last]) in found {
            let pairs = match first == last {
                true => vec![last],
                false => vec![last, first],
            };
            for (f, g) in pairs {
                let tried = self.tried.entry(kind).or_default();
                *tried += 1;
                if *tried > OF_A_KIND {
                    break;
                }
                let new = *tried == 1;
                let mut order = kept.order.clone();
                order.push(Precedence {
                    first: g.operation,
                    then: f.operation,
                });
                self.push(Reversal { order }, new);
            }
        }
    }
}

/// The next schedule to try.
impl Iterator for Reversals {
    type Item = ScheduleSpec;

    fn next(&mut self) -> Option<ScheduleSpec> {
        let next = self.new.pop_front().or_else(|| self.more.pop_front())?;
        Some(ScheduleSpec::Reverse(next))
    }
}

/// Where accesses may overlap: none is larger than 16 bytes, and each is aligned to its size; vectors of more are cut.
fn places(a: &Accessed) -> impl Iterator<Item = (Option<u32>, u64)> + use<> {
    let shared = a.shared;
    let last = a.address + u64::from(a.bytes.max(1)) - 1;
    (a.address >> 4..=last >> 4).map(move |at| (shared, at))
}

/// What a thread knows of the others: how many of their accesses come before.
type Clock = Arc<Vec<u32>>;

fn join(into: &mut Clock, other: &Clock) {
    if Arc::ptr_eq(into, other) || into.iter().zip(&**other).all(|(a, b)| a >= b) {
        return;
    }
    for (a, b) in Arc::make_mut(into).iter_mut().zip(&**other) {
        *a = (*a).max(*b);
    }
}

/// The communications of a run that neither barriers nor an order that was kept imply, nor those before them; in the order in which they happened.
/// `None` where the log does not have it all, or is too long.
fn communications(log: &Log, kept: &[Precedence]) -> Option<Vec<(Accessed, Accessed)>> {
    if !log.whole {
        return None;
    }
    let mut threads: HashMap<Thread, usize> = HashMap::new();
    for event in &log.events {
        if let Event::Accessed(a) = event {
            let next = threads.len();
            threads.entry(a.thread()).or_insert(next);
        }
    }
    if threads.len() * log.events.len() > WHOLE {
        return None;
    }
    let mut waits: HashMap<Operation, Vec<Operation>> = HashMap::new();
    for p in kept {
        waits.entry(p.then).or_default().push(p.first);
    }
    let nothing: Clock = Arc::new(vec![0; threads.len()]);
    let mut clocks = vec![nothing.clone(); threads.len()];
    let mut after: HashMap<Operation, Clock> = HashMap::new();
    // With the number of the thread: each access is compared with all earlier ones.
    let mut places_of: HashMap<(Option<u32>, u64), Vec<(usize, Accessed)>> = HashMap::new();
    let mut found = Vec::new();
    for event in &log.events {
        let g = match event {
            Event::Met(all) => {
                let here: Vec<usize> = all.iter().filter_map(|t| threads.get(t).copied()).collect();
                let mut joined = nothing.clone();
                here.iter().for_each(|t| join(&mut joined, &clocks[*t]));
                here.iter().for_each(|t| clocks[*t] = joined.clone());
                continue;
            }
            Event::Accessed(g) => g,
        };
        let me = threads[&g.thread()];
        let mut clock = clocks[me].clone();
        for first in waits.get(&g.operation).into_iter().flatten() {
            if let Some(known) = after.get(first) {
                join(&mut clock, known);
            }
        }
        for place in places(g) {
            for (thread, f) in places_of.entry(place).or_default().iter().rev() {
                let covered = clock[*thread] > f.operation.number;
                let given_up = || {
                    let firsts = waits.get(&f.operation).into_iter().flatten();
                    firsts.copied().any(|first| first == g.operation)
                };
                if covered || !f.conflicts(g) || given_up() {
                    continue;
                }
                found.push((*f, *g));
                join(&mut clock, &after[&f.operation]);
            }
        }
        places(g).for_each(|place| places_of.entry(place).or_default().push((me, *g)));
        Arc::make_mut(&mut clock)[me] = g.operation.number + 1;
        after.insert(g.operation, clock.clone());
        clocks[me] = clock;
    }
    Some(found)
}

/// Pairs of strong accesses that no barrier of the whole block or warp orders, each with the last few before it.
fn strong_pairs(log: &Log) -> impl Iterator<Item = (Accessed, Accessed)> + '_ {
    let mut places_of: HashMap<(Option<u32>, u64), VecDeque<Accessed>> = HashMap::new();
    let strong = log.events.iter().filter_map(|event| match event {
        Event::Accessed(a) if a.strong => Some(a),
        _ => None,
    });
    strong.flat_map(move |g| {
        let mut pairs = Vec::new();
        for place in places(g) {
            let earlier = places_of.entry(place).or_default();
            for f in earlier.iter().rev() {
                let (_, _, block, warp) = kind(f, g);
                let met =
                    block && (f.barriers.0 != g.barriers.0 || warp && f.barriers.1 != g.barriers.1);
                if !met && f.conflicts(g) {
                    pairs.push((*f, *g));
                }
            }
            if earlier.len() == EARLIER {
                earlier.pop_front();
            }
            earlier.push_back(*g);
        }
        pairs
    })
}
