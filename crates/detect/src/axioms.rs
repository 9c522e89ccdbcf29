//! The race detector against the axioms: random programs of two to four threads, all their executions enumerated.
//!
//! An execution is a choice of which write each read observes, of a coherence order at each location and of an order of the
//! `fence.sc`s; the axioms of the PTX ISA's memory consistency model say whether it may happen, and its section "Data-races" whether two
//! of its accesses race. A program is racy if some execution that may happen has a race. The detector sees sequentially
//! consistent interleavings; over enough of them it must report a race of racy programs alone, and of all that are so in some
//! sequentially consistent execution. What others alone show is its blind spot: the order in which it saw two relaxed
//! operations on a location, which other relaxed operations seem to force and do not.
//!
//! Words and relations are those of the manual. Barriers of the block and of the warp are events of all their threads.

use super::Detectors;
use super::scene::*;
use crate::rules::Rule;
use proptest::prelude::*;
use simt::observer::*;

/// Where a thread is: block, warp, lane.
type Place = (u32, u32, u32);

/// Places of up to four threads. The lanes of a warp are adjacent.
const PLACES: [[Place; 4]; 5] = [
    [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)],
    [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)],
    [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)],
    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 0, 1)],
    [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)],
];

/// Locations: the first two are accessed weakly, the others as flags.
const DATA: usize = 2;
const LOCATIONS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// Kind, location, ordering, scope; whether it reads until there is a value.
    Access(AccessKind, usize, Order, Scope, bool),
    Fence(FenceOrder, Scope),
    /// `bar.sync` of the block.
    Block,
    /// `bar.warp.sync` of the warp's threads.
    Warp,
}
use Op::*;

#[derive(Clone, Debug)]
struct Program {
    places: Vec<Place>,
    threads: Vec<Vec<Op>>,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    thread: usize,
    op: Op,
}

/// Pairs of events, as rows of bits.
#[derive(Clone, Debug)]
struct Relation(Vec<u32>);

impl Relation {
    fn new(n: usize) -> Relation {
        Relation(vec![0; n])
    }
    fn add(&mut self, a: usize, b: usize) {
        self.0[a] |= 1 << b;
    }
    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }
    fn close(&mut self) {
        for k in 0..self.0.len() {
            let through = self.0[k];
            for row in &mut self.0 {
                if *row >> k & 1 == 1 {
                    *row |= through;
                }
            }
        }
    }
    fn is_cyclic(&self) -> bool {
        let mut closed = self.clone();
        closed.close();
        (0..self.0.len()).any(|a| closed.has(a, a))
    }
}

/// A program's events and what is the same in all its executions.
struct Events<'p> {
    program: &'p Program,
    all: Vec<Event>,
    /// Program order, and the order of barriers.
    fixed: Relation,
    program_order: Relation,
}

fn is_wide(scope: Scope) -> bool {
    matches!(scope, Scope::Gpu | Scope::Sys)
}

impl Events<'_> {
    fn of(program: &Program) -> Events<'_> {
        let mut all = Vec::new();
        // Of each thread and barrier, how many came before.
        let mut meetings: Vec<(usize, Op, usize, usize)> = Vec::new();
        for (thread, ops) in program.threads.iter().enumerate() {
            let (mut blocks, mut warps) = (0, 0);
            for op in ops {
                match op {
                    Block => {
                        meetings.push((thread, Block, blocks, all.len()));
                        blocks += 1;
                    }
                    Warp => {
                        meetings.push((thread, Warp, warps, all.len()));
                        warps += 1;
                    }
                    _ => {}
                }
                all.push(Event { thread, op: *op });
            }
        }
        let n = all.len();
        let mut program_order = Relation::new(n);
        for a in 0..n {
            for b in a + 1..n {
                if all[a].thread == all[b].thread {
                    program_order.add(a, b);
                }
            }
        }
        let mut fixed = program_order.clone();
        for (t, op, k, at) in &meetings {
            for (u, other, l, there) in &meetings {
                let (p, q) = (program.places[*t], program.places[*u]);
                let together = match op {
                    Block => p.0 == q.0,
                    _ => (p.0, p.1) == (q.0, q.1),
                };
                if t == u || op != other || k != l || !together {
                    continue;
                }
                // What is before the barrier in one thread is before what is after it in the other.
                for a in 0..n {
                    for b in 0..n {
                        if program_order.has(a, *at) && program_order.has(*there, b) {
                            fixed.add(a, b);
                        }
                    }
                }
            }
        }
        Events {
            program,
            all,
            fixed,
            program_order,
        }
    }

    fn location(&self, e: usize) -> Option<usize> {
        match self.all[e].op {
            Access(_, location, ..) => Some(location),
            _ => None,
        }
    }
    fn reads(&self, e: usize) -> bool {
        matches!(self.all[e].op, Access(kind, ..) if kind != AccessKind::Write)
    }
    fn writes(&self, e: usize) -> bool {
        matches!(self.all[e].op, Access(kind, ..) if kind != AccessKind::Read)
    }
    fn is_rmw(&self, e: usize) -> bool {
        self.reads(e) && self.writes(e)
    }
    fn spins(&self, e: usize) -> bool {
        matches!(self.all[e].op, Access(_, _, _, _, true))
    }
    fn is_sc(&self, e: usize) -> bool {
        matches!(self.all[e].op, Fence(FenceOrder::Sc, _))
    }
    /// Scope of a strong operation.
    fn scope(&self, e: usize) -> Option<Scope> {
        match self.all[e].op {
            Access(_, _, Order::Weak, ..) | Block | Warp => None,
            Access(_, _, _, scope, _) | Fence(_, scope) => Some(scope),
        }
    }
    /// "Morally strong operations": strong, each scope including the other's thread; memory operations overlap completely, as
    /// all at one location do here.
    fn morally_strong(&self, a: usize, b: usize) -> bool {
        let block = |e: usize| self.program.places[self.all[e].thread].0;
        match (self.scope(a), self.scope(b)) {
            (Some(s), Some(t)) => block(a) == block(b) || is_wide(s) && is_wide(t),
            _ => false,
        }
    }
    fn overlap(&self, a: usize, b: usize) -> bool {
        self.location(a).is_some() && self.location(a) == self.location(b)
    }
    /// "Release and Acquire Patterns": first operation, write.
    fn release_patterns(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for w in 0..self.all.len() {
            if !(self.writes(w) && self.scope(w).is_some()) {
                continue;
            }
            for first in 0..self.all.len() {
                let begins = match self.all[first].op {
                    Fence(order, _) => order != FenceOrder::Acquire,
                    Access(_, _, order, ..) => order.releases() && self.overlap(first, w),
                    _ => false,
                };
                if begins && (first == w || self.program_order.has(first, w)) {
                    all.push((first, w));
                }
            }
        }
        all
    }
    /// Read, last operation. The read of `red` is part of none.
    fn acquire_patterns(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for r in 0..self.all.len() {
            let reduction = matches!(self.all[r].op, Access(AccessKind::Reduction, ..));
            if !self.reads(r) || self.scope(r).is_none() || reduction {
                continue;
            }
            for last in 0..self.all.len() {
                let ends = match self.all[last].op {
                    Fence(order, _) => order != FenceOrder::Release,
                    Access(kind, _, order, ..) => {
                        order.acquires()
                            && self.overlap(r, last)
                            && kind != AccessKind::Reduction
                            && kind != AccessKind::Write
                    }
                    _ => false,
                };
                if ends && (last == r || self.program_order.has(r, last)) {
                    all.push((r, last));
                }
            }
        }
        all
    }
}

/// An execution in the making.
struct Execution<'e> {
    events: &'e Events<'e>,
    releases: Vec<(usize, usize)>,
    acquires: Vec<(usize, usize)>,
    /// For each read the write that it observes; itself for the initial value.
    from: Vec<usize>,
    /// For each location its writes in coherence order.
    coherence: Vec<Vec<usize>>,
    /// The `fence.sc`s in order.
    sc: Vec<usize>,
}

impl Execution<'_> {
    /// Place in coherence order; the initial value is 0.
    fn rank(&self, location: usize, write: usize) -> usize {
        let at = self.coherence[location].iter().position(|w| *w == write);
        at.map_or(0, |at| at + 1)
    }
    fn rank_read(&self, read: usize) -> usize {
        match self.from[read] {
            w if w == read => 0,
            w => self.rank(self.events.location(read).unwrap_or(0), w),
        }
    }

    /// Communication order.
    fn communicates(&self, a: usize, b: usize) -> bool {
        let e = self.events;
        if a == b || !e.overlap(a, b) {
            return false;
        }
        let location = e.location(a).unwrap_or(0);
        e.writes(a) && e.reads(b) && self.from[b] == a
            || e.writes(a) && e.writes(b) && self.rank(location, a) < self.rank(location, b)
            || e.reads(a) && e.writes(b) && self.rank_read(a) < self.rank(location, b)
    }

    /// Whether an interleaving has it: all that it orders can be put in a row.
    fn is_sequentially_consistent(&self) -> bool {
        let n = self.events.all.len();
        let flag = |e: usize| self.events.location(e).is_some_and(|l| l >= DATA);
        let mut order = self.events.fixed.clone();
        for a in 0..n {
            for b in 0..n {
                if flag(a) && self.communicates(a, b) {
                    order.add(a, b);
                }
            }
        }
        !order.is_cyclic()
    }

    /// Whether it has a race, if the axioms allow it.
    fn race(&self) -> Option<bool> {
        let e = self.events;
        let n = e.all.len();
        // "Atomicity" and "SC-per-location"
        for a in 0..n {
            for w in 0..n {
                if a == w || !e.overlap(a, w) || !e.writes(w) || !e.morally_strong(a, w) {
                    continue;
                }
                let location = e.location(a).unwrap_or(0);
                if e.is_rmw(a) {
                    let between = self.rank_read(a) < self.rank(location, w)
                        && self.rank(location, w) < self.rank(location, a);
                    if between {
                        return None;
                    }
                }
            }
            if e.is_rmw(a) && self.rank_read(a) >= self.rank(e.location(a).unwrap_or(0), a) {
                return None;
            }
        }
        let mut local = Relation::new(n);
        for a in 0..n {
            for b in 0..n {
                let strong = e.morally_strong(a, b);
                if e.overlap(a, b)
                    && (e.program_order.has(a, b) || strong && self.communicates(a, b))
                {
                    local.add(a, b);
                }
            }
        }
        if local.is_cyclic() {
            return None;
        }
        // "No-Thin-Air": what a wait decides comes after what ended it.
        let mut depends = Relation::new(n);
        for a in 0..n {
            for b in 0..n {
                let waits = e.spins(a) && e.program_order.has(a, b);
                let read = e.reads(b) && self.from[b] == a && a != b;
                if waits
                    || read
                    || (matches!(e.all[a].op, Block | Warp) && e.program_order.has(a, b))
                {
                    depends.add(a, b);
                }
            }
        }
        if depends.is_cyclic() {
            return None;
        }
        // "Observation Order"
        let mut observed = Relation::new(n);
        for r in (0..n).filter(|r| e.reads(*r)) {
            let w = self.from[r];
            if w != r && e.morally_strong(w, r) {
                observed.add(w, r);
            }
        }
        for z in (0..n).filter(|z| e.is_rmw(*z)) {
            for x in 0..n {
                if observed.has(x, z) {
                    observed.0[x] |= observed.0[z];
                }
            }
        }
        observed.close();
        // "Base Causality Order"
        let mut base = e.fixed.clone();
        for (first, w) in &self.releases {
            for (r, last) in &self.acquires {
                if observed.has(*w, *r) && e.morally_strong(*first, *last) {
                    base.add(*first, *last);
                }
            }
        }
        for (i, a) in self.sc.iter().enumerate() {
            for b in &self.sc[i + 1..] {
                if e.morally_strong(*a, *b) {
                    base.add(*a, *b);
                }
            }
        }
        base.close();
        let mut causality = base.clone();
        for x in 0..n {
            for z in 0..n {
                if observed.has(x, z) {
                    causality.0[x] |= base.0[z];
                }
            }
        }
        // "Fence-SC", "Coherence", "Causality"
        for a in 0..n {
            for b in 0..n {
                if !causality.has(a, b) {
                    continue;
                }
                if a == b || self.communicates(b, a) {
                    return None;
                }
                let place = |f: usize| self.sc.iter().position(|g| *g == f);
                if let (Some(i), Some(j)) = (place(a), place(b))
                    && e.morally_strong(a, b)
                    && i > j
                {
                    return None;
                }
            }
        }
        // "Data-races"
        for a in 0..n {
            for b in 0..a {
                if e.overlap(a, b)
                    && e.all[a].thread != e.all[b].thread
                    && (e.writes(a) || e.writes(b))
                    && !causality.has(a, b)
                    && !causality.has(b, a)
                    && !e.morally_strong(a, b)
                {
                    return Some(true);
                }
            }
        }
        Some(false)
    }
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for i in 0..items.len() {
        let mut rest = items.to_vec();
        let first = rest.remove(i);
        for mut tail in permutations(&rest) {
            tail.insert(0, first);
            all.push(tail);
        }
    }
    all
}

/// Calls `visit` with every combination of one choice a place, until it says stop.
fn combinations(choices: &[usize], visit: &mut dyn FnMut(&[usize]) -> bool) {
    let mut at = vec![0; choices.len()];
    loop {
        if visit(&at) {
            return;
        }
        let Some(next) = (0..at.len()).find(|i| at[*i] + 1 < choices[*i]) else {
            return;
        };
        at[next] += 1;
        at[..next].fill(0);
    }
}

/// Executions that are looked at, at most.
const EXECUTIONS: usize = 200_000;

/// Which executions of a program have a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Racy {
    None,
    /// Some, but none that is sequentially consistent.
    Weak,
    Sequential,
}

impl From<bool> for Racy {
    fn from(racy: bool) -> Racy {
        match racy {
            true => Racy::Sequential,
            false => Racy::None,
        }
    }
}

/// Which executions that the axioms allow have a race; `None` if there are too many to look at, or none at all.
fn is_racy(program: &Program) -> Option<Racy> {
    let events = Events::of(program);
    let n = events.all.len();
    // What weak reads of plain data return decides nothing here.
    let flag = |e: usize| events.location(e).is_some_and(|l| l >= DATA);
    let reads: Vec<usize> = (0..n).filter(|e| flag(*e) && events.reads(*e)).collect();
    let writes = |l: usize| -> Vec<usize> {
        (0..n)
            .filter(|e| events.location(*e) == Some(l) && events.writes(*e))
            .collect()
    };
    let sources: Vec<Vec<usize>> = reads
        .iter()
        .map(|r| {
            let mut from = writes(events.location(*r).unwrap_or(0));
            from.retain(|w| w != r);
            if !events.spins(*r) {
                from.push(*r);
            }
            from
        })
        .collect();
    if sources.iter().any(Vec::is_empty) {
        return None;
    }
    let orders: Vec<Vec<Vec<usize>>> = (DATA..LOCATIONS)
        .map(|l| permutations(&writes(l)))
        .collect();
    let fences: Vec<usize> = (0..n).filter(|e| events.is_sc(*e)).collect();
    let fences = permutations(&fences);
    let mut choices: Vec<usize> = sources.iter().map(Vec::len).collect();
    choices.extend(orders.iter().map(Vec::len));
    choices.push(fences.len());
    if choices.iter().product::<usize>() > EXECUTIONS {
        return None;
    }
    let mut execution = Execution {
        releases: events.release_patterns(),
        acquires: events.acquire_patterns(),
        events: &events,
        from: (0..n).collect(),
        coherence: vec![Vec::new(); LOCATIONS],
        sc: Vec::new(),
    };
    // Weak accesses to data race or are ordered; any of these orders will do.
    let (mut racy, mut possible) = (Racy::None, false);
    combinations(&choices, &mut |at| {
        for (i, r) in reads.iter().enumerate() {
            execution.from[*r] = sources[i][at[i]];
        }
        for (l, order) in orders.iter().enumerate() {
            execution.coherence[DATA + l] = order[at[reads.len() + l]].clone();
        }
        execution.sc = fences[at[choices.len() - 1]].clone();
        let race = execution.race();
        possible |= race.is_some();
        if race == Some(true) && racy != Racy::Sequential {
            racy = match execution.is_sequentially_consistent() {
                true => Racy::Sequential,
                false => Racy::Weak,
            };
        }
        racy == Racy::Sequential
    });
    possible.then_some(racy)
}

/// Marsaglia's xorshift.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// Acts out one interleaving; `None` where threads wait for ever.
fn interleave(program: &Program, choices: &mut Choices) -> Option<Vec<Rule>> {
    let mut scene = Scene::new(Detectors::new(false), 2, 64);
    let n = program.threads.len();
    let mut at = vec![0; n];
    let mut values = [0u32; LOCATIONS];
    scene.begin();
    loop {
        let op = |t: usize, at: &[usize]| program.threads[t].get(at[t]).copied();
        let waits_for = |t: usize, at: &[usize]| -> Option<Vec<usize>> {
            let here = program.places[t];
            let all: Vec<usize> = (0..n)
                .filter(|u| {
                    let there = program.places[*u];
                    match op(t, at) {
                        Some(Block) => there.0 == here.0,
                        _ => (there.0, there.1) == (here.0, here.1),
                    }
                })
                .collect();
            all.iter().all(|u| op(*u, at) == op(t, at)).then_some(all)
        };
        let ready: Vec<usize> = (0..n)
            .filter(|t| match op(*t, &at) {
                None => false,
                Some(Access(_, location, _, _, true)) => values[location] != 0,
                Some(Block | Warp) => waits_for(*t, &at).is_some(),
                Some(_) => true,
            })
            .collect();
        if ready.is_empty() {
            let ended = (0..n).all(|t| op(t, &at).is_none());
            let found = scene.observer.take_findings();
            return ended.then(|| found.iter().map(|f| f.rule).collect());
        }
        let t = ready[choices.below(ready.len())];
        let (block, w, lane) = program.places[t];
        let who = warp(block, w);
        match op(t, &at) {
            Some(Access(kind, location, order, scope, _)) => {
                let does = Does {
                    kind,
                    ..read(64 * location as u64).global()
                };
                scene.go(who, 1 << lane, does.order(order, scope));
                if kind != AccessKind::Read {
                    values[location] += 1;
                }
                at[t] += 1;
            }
            Some(Fence(order, scope)) => {
                scene.fence(who, 1 << lane, order, scope);
                at[t] += 1;
            }
            Some(meeting) => {
                let all = waits_for(t, &at).unwrap_or_default();
                if meeting == Block {
                    scene.barrier(block);
                } else {
                    let lanes = all.iter().fold(0, |m, u| m | 1 << program.places[*u].2);
                    scene.warp_sync(who, lanes);
                }
                all.iter().for_each(|u| at[*u] += 1);
            }
            None => {}
        }
    }
}

/// Interleavings that are tried of each program.
const INTERLEAVINGS: u32 = 300;

fn judge(program: &Program) -> Result<(), TestCaseError> {
    let Some(racy) = is_racy(program) else {
        return Ok(());
    };
    let mut choices = Choices(0x9e37_79b9_7f4a_7c15);
    let mut found = false;
    let mut ended = false;
    for _ in 0..INTERLEAVINGS {
        let Some(rules) = interleave(program, &mut choices) else {
            continue;
        };
        ended = true;
        found |= rules
            .iter()
            .any(|r| matches!(r, Rule::DataRace | Rule::InsufficientScope));
        if found {
            break;
        }
    }
    if ended && racy != Racy::Weak {
        let racy = racy == Racy::Sequential;
        prop_assert_eq!(found, racy, "detector, axioms: {:#?}", program);
    }
    Ok(())
}

fn scope() -> impl Strategy<Value = Scope> {
    prop_oneof![3 => Just(Scope::Gpu), 1 => Just(Scope::Cta), 1 => Just(Scope::Sys)]
}

fn op() -> impl Strategy<Value = Op> {
    use AccessKind::*;
    let data = (prop::sample::select(vec![Read, Write]), 0..DATA);
    let flag = || (DATA..LOCATIONS, scope());
    prop_oneof![
        5 => data.prop_map(|(kind, l)| Access(kind, l, Order::Weak, Scope::Sys, false)),
        1 => (prop::sample::select(vec![Read, Write]), DATA..LOCATIONS)
            .prop_map(|(kind, l)| Access(kind, l, Order::Weak, Scope::Sys, false)),
        2 => (flag(), prop::sample::select(vec![Order::Relaxed, Order::Release]))
            .prop_map(|((l, s), o)| Access(Write, l, o, s, false)),
        3 => (flag(), prop::sample::select(vec![Order::Relaxed, Order::Acquire]), any::<bool>())
            .prop_map(|((l, s), o, spin)| Access(Read, l, o, s, spin)),
        2 => (
            flag(),
            prop::sample::select(vec![Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel]),
        )
            .prop_map(|((l, s), o)| Access(Atomic, l, o, s, false)),
        2 => (flag(), prop::sample::select(vec![Order::Relaxed, Order::Release]))
            .prop_map(|((l, s), o)| Access(Reduction, l, o, s, false)),
        3 => scope().prop_map(|s| Fence(FenceOrder::Sc, s)),
        1 => scope().prop_map(|s| Fence(FenceOrder::AcqRel, s)),
        2 => Just(Block),
        1 => Just(Warp),
    ]
}

/// Programs: each thread's operations, with as many barriers as its block's (or warp's) other threads have.
fn program() -> impl Strategy<Value = Program> {
    let threads = prop_oneof![
        prop::collection::vec(prop::collection::vec(op(), 1..=6), 2),
        prop::collection::vec(prop::collection::vec(op(), 1..=4), 3),
        prop::collection::vec(prop::collection::vec(op(), 1..=4), 4),
    ];
    (0..PLACES.len(), threads).prop_map(|(p, mut threads)| {
        let places = PLACES[p][..threads.len()].to_vec();
        for meeting in [Block, Warp] {
            let group = |t: usize| match meeting {
                Block => (places[t].0, 0),
                _ => (places[t].0, places[t].1),
            };
            for t in 0..threads.len() {
                let count = |ops: &[Op]| ops.iter().filter(|o| **o == meeting).count();
                let most = (0..threads.len())
                    .filter(|u| group(*u) == group(t))
                    .map(|u| count(&threads[u]))
                    .max()
                    .unwrap_or(0);
                while count(&threads[t]) < most {
                    threads[t].push(meeting);
                }
            }
        }
        Program { places, threads }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(
            std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(600),
        )
    })]

    #[test]
    fn what_the_axioms_call_racy_is_reported_and_nothing_else(program in program()) {
        judge(&program)?;
    }
}

/// Data, a fence and a barrier in one block, a count; the count, a barrier and a fence in the other, and the data.
///
/// Where the fences are told by four flags: by the writer before the barrier, by the thread that counts after it, by the thread that
/// saw the count before the barrier, by the reader after it.
fn last_block(fences: [Option<(FenceOrder, Scope)>; 4]) -> Program {
    let relaxed = |kind, spin| Access(kind, DATA, Order::Relaxed, Scope::Gpu, spin);
    let weak = |kind| Access(kind, 0, Order::Weak, Scope::Sys, false);
    let fence = |i: usize| fences[i].map(|(order, scope)| Fence(order, scope));
    let thread = |ops: [Option<Op>; 3]| ops.into_iter().flatten().collect();
    Program {
        places: vec![(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)],
        threads: vec![
            thread([Some(weak(AccessKind::Write)), fence(0), Some(Block)]),
            thread([
                Some(Block),
                fence(1),
                Some(relaxed(AccessKind::Atomic, false)),
            ]),
            thread([Some(relaxed(AccessKind::Read, true)), fence(2), Some(Block)]),
            thread([Some(Block), fence(3), Some(weak(AccessKind::Read))]),
        ],
    }
}

/// "Last block" as production code mends it, with the fences wherever they may be.
#[test]
fn fences_order_the_last_block_through_barriers() {
    const SC: Option<(FenceOrder, Scope)> = Some((FenceOrder::Sc, Scope::Gpu));
    const NARROW: Option<(FenceOrder, Scope)> = Some((FenceOrder::Sc, Scope::Cta));
    const ACQ_REL: Option<(FenceOrder, Scope)> = Some((FenceOrder::AcqRel, Scope::Gpu));
    for (fences, racy) in [
        ([SC, None, SC, None], false),
        ([SC, None, None, SC], false),
        ([None, SC, SC, None], false),
        ([None, SC, None, SC], false),
        ([SC, None, None, None], true),
        ([None, None, None, SC], true),
        ([NARROW, None, None, SC], true),
        ([SC, None, None, NARROW], true),
        // A release pattern and an acquire pattern, next to the accesses; through the barrier they are none.
        ([None, ACQ_REL, ACQ_REL, None], false),
        ([ACQ_REL, None, ACQ_REL, None], true),
        ([None, ACQ_REL, None, ACQ_REL], true),
        ([ACQ_REL, None, None, ACQ_REL], true),
    ] {
        let program = last_block(fences);
        assert_eq!(is_racy(&program), Some(racy.into()), "{fences:?}");
        judge(&program).unwrap_or_else(|e| panic!("{fences:?}: {e}"));
    }
}

/// An atomic that acquires comes after what was released before the value that an earlier load of its thread got.
#[test]
fn what_an_atomic_acquires_is_ordered_before_it() {
    use AccessKind::*;
    let flag = |kind, order, spin| Access(kind, DATA, order, Scope::Gpu, spin);
    let program = |load| Program {
        places: vec![(0, 0, 0), (1, 0, 0)],
        threads: vec![
            vec![
                Access(Read, DATA, load, Scope::Sys, true),
                flag(Atomic, Order::Acquire, false),
            ],
            vec![
                Access(Read, DATA, Order::Weak, Scope::Sys, false),
                flag(Atomic, Order::Release, false),
                flag(Read, Order::Relaxed, false),
            ],
        ],
    };
    for (load, racy) in [(Order::Relaxed, false), (Order::Weak, true)] {
        let program = program(load);
        assert_eq!(is_racy(&program), Some(racy.into()), "{load:?}");
        judge(&program).unwrap_or_else(|e| panic!("{load:?}: {e}"));
    }
}

/// The named blind spot, asserted as it is: what relaxed operations seem to order, in the interleavings alone.
#[test]
fn what_no_interleaving_shows_is_not_found() {
    use AccessKind::*;
    let flag = |kind, l, spin| Access(kind, l, Order::Relaxed, Scope::Gpu, spin);
    let fence = Fence(FenceOrder::AcqRel, Scope::Gpu);
    let weak = Access(Read, DATA, Order::Weak, Scope::Sys, false);
    let program = |fences: bool| {
        let fence = || fences.then_some(fence).into_iter();
        let mut first = vec![flag(Atomic, DATA, false)];
        first.extend(fence());
        first.push(flag(Write, DATA + 1, false));
        let mut second = vec![flag(Read, DATA + 1, true)];
        second.extend(fence());
        second.extend([flag(Atomic, DATA, false), weak]);
        Program {
            places: vec![(0, 0, 0), (1, 0, 0)],
            threads: vec![first, second],
        }
    };
    assert_eq!(is_racy(&program(true)), Some(Racy::None));
    assert_eq!(is_racy(&program(false)), Some(Racy::Weak));
    assert!((0..20).all(|seed| {
        let found = interleave(&program(false), &mut Choices(seed + 1));
        found.is_none_or(|rules| rules.is_empty())
    }));
}
