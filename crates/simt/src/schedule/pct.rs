//! Probabilistic concurrency testing: the runnable warp of the highest priority
//! runs; at a few random points the running one falls behind all others.
//!
//! Source: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler
//! with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. Deviation: the unit
//! is a part of a warp, known by its lowest lane, and whoever seems to spin falls behind as
//! well, since with strict priorities it would spin for ever.

use super::{Decision, Ready, Runnable, Schedule};
use crate::ids::{BlockId, LaneId, WarpId};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeSet, HashMap};

/// Operations among which the changes are spread: the seed chooses one of these, since a change that
/// comes when the run is over changes nothing.
const LENGTHS: [u64; 4] = [8, 32, 128, 512];

/// Turns in a row after which somebody seems to spin.
const PATIENCE: u32 = 200;

/// A part of a warp: the one with this lowest lane.
type Part = (BlockId, WarpId, LaneId);

fn part(r: &Runnable) -> Part {
    (r.block, r.warp, LaneId(r.lanes.trailing_zeros() as u8))
}

/// See the module's page.
pub(crate) struct Pct {
    rng: Pcg64Mcg,
    changes: Vec<u64>,
    step: u64,
    priorities: HashMap<Part, i64>,
    /// Those that can run, the highest priority last.
    order: BTreeSet<(i64, Part)>,
    lowest: i64,
    /// Who ran last, and how many turns in a row.
    last: Option<Part>,
    turns: u32,
}

impl Pct {
    pub fn new(seed: u64, depth: u32) -> Pct {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let length = LENGTHS[rng.random_range(0..LENGTHS.len())];
        let mut changes: Vec<u64> = (0..depth).map(|_| rng.random_range(0..length)).collect();
        changes.sort_unstable();
        Pct {
            rng,
            changes,
            step: 0,
            priorities: HashMap::new(),
            order: BTreeSet::new(),
            lowest: 0,
            last: None,
            turns: 0,
        }
    }
}

impl Pct {
    /// Puts somebody behind all others.
    fn fall_behind(&mut self, part: Part) {
        self.lowest -= 1;
        if let Some(before) = self.priorities.insert(part, self.lowest)
            && self.order.remove(&(before, part))
        {
            self.order.insert((self.lowest, part));
        }
    }

    /// Who of those that can run has the highest priority.
    fn best(&self) -> Option<Part> {
        self.order.last().map(|(_, part)| *part)
    }
}

impl Schedule for Pct {
    fn changed(&mut self, before: &[Runnable], after: &[Runnable]) {
        let ends = |n: usize| (&before[n..], &after[n..]);
        let same = |(a, b): &(&Runnable, &Runnable)| part(a) == part(b);
        let alike = before.iter().zip(after).take_while(same);
        let (before, after) = ends(alike.count());
        for r in before {
            let part = part(r);
            if let Some(priority) = self.priorities.get(&part) {
                self.order.remove(&(*priority, part));
            }
        }
        for r in after {
            let part = part(r);
            let rng = &mut self.rng;
            let priority = self.priorities.entry(part);
            let priority = *priority.or_insert_with(|| i64::from(rng.next_u32()));
            self.order.insert((priority, part));
        }
    }

    fn decide(&mut self, ready: &Ready) -> Decision {
        if let Some(r) = ready.tired() {
            self.fall_behind(part(&r));
        }
        self.step += 1;
        while self.changes.first().is_some_and(|at| *at < self.step) {
            self.changes.remove(0);
            if let Some(best) = self.best() {
                self.fall_behind(best);
            }
        }
        let chosen = self.best();
        self.turns = if self.last == chosen {
            self.turns + 1
        } else {
            0
        };
        self.last = chosen;
        let index = chosen
            .and_then(|chosen| ready.index(chosen.0, |r| part(r) == chosen))
            .unwrap_or_default();
        if let (Some(chosen), PATIENCE..) = (chosen, self.turns) {
            self.turns = 0;
            self.fall_behind(chosen);
        }
        Decision {
            index: index as u32,
            lanes: ready.get(index).lanes,
            visible: 1,
            stale: false,
        }
    }
}
