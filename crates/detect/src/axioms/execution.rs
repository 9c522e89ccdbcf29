//! One execution: what the axioms say of it, and whether it has a race.
//!
//! Names in quotation marks are headings of the PTX ISA, "Memory Consistency Model".

use super::event::{Events, Relation};
use super::program::DATA;
use super::program::Op::*;

/// An execution in the making.
pub(super) struct Execution<'e> {
    pub(super) events: &'e Events<'e>,
    pub(super) releases: Vec<(usize, usize)>,
    pub(super) acquires: Vec<(usize, usize)>,
    /// For each read the write that it observes; itself for the initial value.
    pub(super) from: Vec<usize>,
    /// For each location its writes in coherence order.
    pub(super) coherence: Vec<Vec<usize>>,
    /// The `fence.sc`s in order.
    pub(super) sc: Vec<usize>,
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
    pub(super) fn is_sequentially_consistent(&self) -> bool {
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
    pub(super) fn race(&self) -> Option<bool> {
        let allowed = self.is_atomic() && self.is_sequential_by_location() && !self.has_thin_air();
        if !allowed {
            return None;
        }
        let causality = self.causality(&self.observation());
        self.respects(&causality)
            .then(|| self.has_data_race(&causality))
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let n = self.events.all.len();
        (0..n).flat_map(move |a| (0..n).map(move |b| (a, b)))
    }

    /// The events that satisfy something of two of them, as a relation.
    fn relation(&self, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let mut relation = Relation::new(self.events.all.len());
        self.pairs()
            .filter(|(a, b)| holds(*a, *b))
            .for_each(|(a, b)| relation.add(a, b));
        relation
    }

    /// "Atomicity": no morally strong write comes between the two halves of a read-modify-write.
    fn is_atomic(&self) -> bool {
        let e = self.events;
        let broken = |a: usize| {
            let location = e.location(a).unwrap_or(0);
            let (read, own) = (self.rank_read(a), self.rank(location, a));
            let between = |w: usize| {
                let rank = self.rank(location, w);
                a != w
                    && e.overlap(a, w)
                    && e.writes(w)
                    && e.morally_strong(a, w)
                    && (read + 1..own).contains(&rank)
            };
            read >= own || (0..e.all.len()).any(between)
        };
        !(0..e.all.len()).any(|a| e.is_rmw(a) && broken(a))
    }

    /// "SC-per-location"
    fn is_sequential_by_location(&self) -> bool {
        let e = self.events;
        let local = self.relation(|a, b| {
            let communicates = e.morally_strong(a, b) && self.communicates(a, b);
            e.overlap(a, b) && (e.program_order.has(a, b) || communicates)
        });
        !local.is_cyclic()
    }

    /// "No-Thin-Air": what a wait decides comes after what ended it.
    fn has_thin_air(&self) -> bool {
        let e = self.events;
        let depends = self.relation(|a, b| {
            let waits = e.spins(a) || matches!(e.all[a].op, Block | Warp);
            let read = e.reads(b) && self.from[b] == a && a != b;
            waits && e.program_order.has(a, b) || read
        });
        depends.is_cyclic()
    }

    /// "Observation Order"
    fn observation(&self) -> Relation {
        let e = self.events;
        let n = e.all.len();
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
        observed
    }

    /// "Causality Order", from "Base Causality Order"
    fn causality(&self, observed: &Relation) -> Relation {
        let e = self.events;
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
        for (x, z) in self.pairs() {
            if observed.has(x, z) {
                causality.0[x] |= base.0[z];
            }
        }
        causality
    }

    /// "Fence-SC", "Coherence", "Causality"
    fn respects(&self, causality: &Relation) -> bool {
        let e = self.events;
        let place = |f: usize| self.sc.iter().position(|g| *g == f);
        let contradicts = |(a, b): (usize, usize)| {
            let fences = match (place(a), place(b)) {
                (Some(i), Some(j)) => e.morally_strong(a, b) && i > j,
                _ => false,
            };
            causality.has(a, b) && (a == b || self.communicates(b, a) || fences)
        };
        !self.pairs().any(contradicts)
    }

    /// "Data-races"
    fn has_data_race(&self, causality: &Relation) -> bool {
        let e = self.events;
        let races = |(a, b): (usize, usize)| {
            let ordered = causality.has(a, b) || causality.has(b, a);
            a < b
                && e.overlap(a, b)
                && e.all[a].thread != e.all[b].thread
                && (e.writes(a) || e.writes(b))
                && !ordered
                && !e.morally_strong(a, b)
        };
        self.pairs().any(races)
    }
}
