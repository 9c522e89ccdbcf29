//! All candidate executions of a program, and which of them satisfy the axioms of the PTX ISA, "Memory Consistency Model".

use super::program::{FenceKind, Op, Op::*, Outcome, PLACES};
use std::collections::BTreeSet;

/// A relation between events.
#[derive(Clone)]
struct Relation(Vec<u32>);

impl Relation {
    fn new(events: usize) -> Relation {
        Relation(vec![0; events])
    }
    fn add(&mut self, a: usize, b: usize) {
        self.0[a] |= 1 << b;
    }
    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }
    fn close(&mut self) {
        for via in 0..self.0.len() {
            for a in 0..self.0.len() {
                if self.has(a, via) {
                    self.0[a] |= self.0[via];
                }
            }
        }
    }
    fn is_cyclic(&self) -> bool {
        let mut closed = self.clone();
        closed.close();
        (0..self.0.len()).any(|a| closed.has(a, a))
    }
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let n = self.0.len();
        (0..n).flat_map(move |a| (0..n).filter(move |b| self.has(a, *b)).map(move |b| (a, b)))
    }
}

/// Every order of some things.
fn orders(things: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = things.split_first() else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for order in orders(rest) {
        for at in 0..=order.len() {
            let mut longer = order.clone();
            longer.insert(at, *first);
            all.push(longer);
        }
    }
    all
}

/// A program's events: one for each place's first value, then the operations of the threads.
struct Events {
    ops: Vec<Op>,
    thread: Vec<Option<usize>>,
}

impl Events {
    fn of(threads: &[Vec<Op>]) -> Events {
        let mut events = Events {
            ops: (0..PLACES).map(|place| Store(place, 0, false)).collect(),
            thread: vec![None; PLACES],
        };
        for (t, ops) in threads.iter().enumerate() {
            events.ops.extend(ops);
            events.thread.extend(vec![Some(t); ops.len()]);
        }
        events
    }
    fn writes(&self, place: usize) -> Vec<usize> {
        let all = 0..self.ops.len();
        all.filter(|e| self.ops[*e].place() == Some(place) && self.ops[*e].writes().is_some())
            .collect()
    }
    fn before_in_program(&self, a: usize, b: usize) -> bool {
        a < b && self.thread[a].is_some() && self.thread[a] == self.thread[b]
    }
}

/// The outcomes that the axioms allow.
pub fn allowed(threads: &[Vec<Op>]) -> BTreeSet<Outcome> {
    let events = Events::of(threads);
    let n = events.ops.len();
    let reads: Vec<usize> = (0..n).filter(|e| events.ops[*e].reads()).collect();
    let fences: Vec<usize> = (0..n)
        .filter(|e| events.ops[*e] == Fence(FenceKind::Sc))
        .collect();
    let coherence: Vec<Vec<Vec<usize>>> = (0..PLACES)
        .map(|place| {
            let later: Vec<usize> = events
                .writes(place)
                .into_iter()
                .filter(|w| *w >= PLACES)
                .collect();
            let mut all = orders(&later);
            all.iter_mut().for_each(|order| order.insert(0, place));
            all
        })
        .collect();
    let sources: Vec<Vec<usize>> = reads
        .iter()
        .map(|r| {
            let place = events.ops[*r].place().expect("a place");
            events
                .writes(place)
                .into_iter()
                .filter(|w| w != r)
                .collect()
        })
        .collect();
    let mut outcomes = BTreeSet::new();
    let sc_orders = orders(&fences);
    let mut choice = vec![0; reads.len()];
    loop {
        let from: Vec<usize> = choice.iter().zip(&sources).map(|(c, s)| s[*c]).collect();
        for x in &coherence[0] {
            for y in &coherence[1] {
                let order = [x, y];
                let allowed = |sc| is_allowed(&events, &reads, &from, order, sc);
                if sc_orders.iter().any(|sc| allowed(sc)) {
                    let value = |w: &usize| events.ops[*w].writes().expect("a write");
                    let last = order
                        .iter()
                        .map(|o| value(o.last().expect("the first value")));
                    outcomes.insert(from.iter().map(value).chain(last).collect());
                }
            }
        }
        let Some(at) = (0..choice.len()).find(|i| choice[*i] + 1 < sources[*i].len()) else {
            return outcomes;
        };
        choice[at] += 1;
        choice[..at].fill(0);
    }
}

/// Whether a candidate execution satisfies the axioms.
fn is_allowed(
    events: &Events,
    reads: &[usize],
    from: &[usize],
    order: [&Vec<usize>; PLACES],
    sc: &[usize],
) -> bool {
    let n = events.ops.len();
    let ops = &events.ops;
    let same_place =
        |a: usize, b: usize| ops[a].place().is_some() && ops[a].place() == ops[b].place();
    let mut co = Relation::new(n);
    for order in order {
        for (i, a) in order.iter().enumerate() {
            order[i + 1..].iter().for_each(|b| co.add(*a, *b));
        }
    }
    let (mut rf, mut fr) = (Relation::new(n), Relation::new(n));
    for (r, w) in reads.iter().zip(from) {
        rf.add(*w, *r);
        (0..n)
            .filter(|later| co.has(*w, *later) && later != r)
            .for_each(|later| fr.add(*r, later));
    }
    // "Atomicity": nothing comes between what a read-modify-write reads and what it writes.
    for (r, w) in reads.iter().zip(from) {
        let between = |e: usize| co.has(*w, e) && co.has(e, *r);
        if ops[*r].writes().is_some() && (!co.has(*w, *r) || (0..n).any(between)) {
            return false;
        }
    }
    // "SC-per-location"
    let mut local = Relation::new(n);
    for (a, b) in rf.pairs().chain(co.pairs()).chain(fr.pairs()) {
        local.add(a, b);
    }
    for a in 0..n {
        for b in (0..n).filter(|b| events.before_in_program(a, *b) && same_place(a, *b)) {
            local.add(a, b);
        }
    }
    if local.is_cyclic() {
        return false;
    }
    // "Observation Order": of morally strong operations, and through read-modify-writes.
    let strong = |e: usize| !ops[e].is_weak();
    let mut strong_rf = Relation::new(n);
    rf.pairs()
        .filter(|(w, r)| strong(*w) && strong(*r))
        .for_each(|(w, r)| strong_rf.add(w, r));
    let rf_of_all = std::mem::replace(&mut rf, strong_rf);
    let mut observed = rf.clone();
    for _ in 0..n {
        for (w, z) in observed
            .clone()
            .pairs()
            .filter(|(_, z)| ops[*z].writes().is_some())
        {
            (0..n)
                .filter(|r| rf.has(z, *r))
                .for_each(|r| observed.add(w, r));
        }
    }
    let rf = rf_of_all;
    // "Release and Acquire Patterns": first operation and write, read and last operation.
    let fence = |e: usize| matches!(ops[e], Fence(FenceKind::AcqRel | FenceKind::Sc));
    let (mut releases, mut acquires) = (Vec::new(), Vec::new());
    for a in 0..n {
        if ops[a].releases() {
            releases.push((a, a));
        }
        if ops[a].acquires() {
            acquires.push((a, a));
        }
        for b in (0..n).filter(|b| events.before_in_program(a, *b)) {
            let carried = fence(a) || ops[a].releases() && same_place(a, b);
            if carried && ops[b].writes().is_some() && strong(b) {
                releases.push((a, b));
            }
            let completed = fence(b) || ops[b].acquires() && same_place(a, b);
            if completed && ops[a].reads() && strong(a) {
                acquires.push((a, b));
            }
        }
    }
    // "Base Causality Order": program order and what synchronizes.
    let mut base = Relation::new(n);
    for a in 0..n {
        (0..n)
            .filter(|b| events.before_in_program(a, *b))
            .for_each(|b| base.add(a, b));
    }
    for (first, w) in &releases {
        for (_, last) in acquires.iter().filter(|(r, _)| observed.has(*w, *r)) {
            base.add(*first, *last);
        }
    }
    for (i, a) in sc.iter().enumerate() {
        sc[i + 1..].iter().for_each(|b| base.add(*a, *b));
    }
    base.close();
    // "Causality Order"
    let mut causality = base.clone();
    for (x, z) in observed.pairs() {
        (0..n)
            .filter(|y| base.has(z, *y))
            .for_each(|y| causality.add(x, y));
    }
    let rank = |fence: usize| sc.iter().position(|f| *f == fence);
    causality.pairs().all(|(a, b)| {
        // "Coherence", "Fence-SC", "Causality"; the first values come before everything.
        let coherent = !same_place(a, b) || !co.has(b, a);
        let fenced = match (rank(a), rank(b)) {
            (Some(a), Some(b)) => a < b,
            _ => true,
        };
        coherent && fenced && a != b && !rf.has(b, a) && !fr.has(b, a)
    })
}
