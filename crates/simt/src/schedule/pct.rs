//! Probabilistic concurrency testing: the runnable warp of the highest priority
//! runs; at a few random points the running one falls behind all others.
//!
//! Source: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler
//! with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. Deviation: the unit
//! is a part of a warp, known by its lowest lane, and whoever seems to spin falls behind as
//! well, since with strict priorities it would spin for ever.

use super::{Decision, Runnable, Schedule};
use crate::ids::{BlockId, LaneId, WarpId};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::HashMap;

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
            lowest: 0,
            last: None,
            turns: 0,
        }
    }
}

impl Schedule for Pct {
    fn decide(&mut self, runnable: &[Runnable]) -> Decision {
        for r in runnable {
            let rng = &mut self.rng;
            let priority = self
                .priorities
                .entry(part(r))
                .or_insert_with(|| i64::from(rng.next_u32()));
            if r.tired {
                self.lowest -= 1;
                *priority = self.lowest;
            }
        }
        let best = |p: &HashMap<Part, i64>| {
            (0..runnable.len())
                .max_by_key(|i| p[&part(&runnable[*i])])
                .unwrap_or(0)
        };
        let mut index = best(&self.priorities);
        self.step += 1;
        while self.changes.first().is_some_and(|at| *at < self.step) {
            self.changes.remove(0);
            self.lowest -= 1;
            self.priorities.insert(part(&runnable[index]), self.lowest);
            index = best(&self.priorities);
        }
        let chosen = part(&runnable[index]);
        self.turns = if self.last == Some(chosen) {
            self.turns + 1
        } else {
            0
        };
        self.last = Some(chosen);
        if self.turns >= PATIENCE {
            self.turns = 0;
            self.lowest -= 1;
            self.priorities.insert(chosen, self.lowest);
        }
        Decision {
            index: index as u32,
            lanes: runnable[index].lanes,
            visible: 1,
            stale: false,
        }
    }
}
