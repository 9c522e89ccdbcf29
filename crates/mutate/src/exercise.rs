//! Whether a run could have shown at all that a barrier, a fence or an atomic is needed.
//!
//! A mutant without which nothing fails says something only where the changed instruction had something to order. This observer watches
//! the unchanged kernel and keeps its accesses to global and shared memory, by location, with the part of the run that they are in: the
//! number of barriers that the block (and the warp) had completed. From that:
//!
//! - a *barrier* is exercised if threads that it holds together accessed one location, at least one of them to write, the one in the
//!   last part before it in which anything was accessed, the other in the first one after it; or if such a part has a weak access to
//!   a location that another block accesses too, since what a block publishes behind a barrier is ordered by it;
//! - a *fence* is exercised if its thread accessed locations that it has in common with other threads before it and behind it;
//! - an *access* is exercised if another thread accesses its location, and one of the two writes; if its scope is narrowed, a
//!   thread of another block.
//!
//! A fence, or an order of an access, between strong accesses to different locations is a case of its own ([`Exercised::Untold`]): the
//! detectors judge weak accesses, and schedules reorder strong ones only in part.
//!
//! What orders asynchronous operations counts as exercised.
//!
//! The answer errs on the side of "exercised". A run with more than `EVENTS` accesses is cut there, and whatever was reached in it counts
//! as exercised.

mod cross;
mod watch;

use super::operator::{Change, Kind};
use cross::{Busy, Crossed, Touched};
use simt::Program;
use simt::ids::Site;
use std::collections::{HashMap, HashSet};
use watch::Event;

pub use watch::Watcher;

/// What a run had for an instruction to order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exercised {
    /// No thread came to it.
    NotReached,
    /// Threads came to it, and nothing that several of them touched lay on its two sides.
    NothingToOrder,
    /// It had something to order.
    Yes,
    /// A fence orders strong accesses to different locations. No detector tells of their order, and the simulator tries older values
    /// of loads, but no other reordering.
    Untold,
}

/// What a run of the unchanged kernel exercised.
#[derive(Clone, Debug, Default)]
pub struct Exercise {
    reached: HashSet<Site>,
    /// Barriers that had something to order.
    barriers: HashSet<Site>,
    fences: HashSet<Site>,
    /// Fences with strong accesses to different locations on their two sides.
    strong_fences: HashSet<Site>,
    /// Strong accesses next to which their thread makes a strong access to another location.
    strong_accesses: HashSet<Site>,
    /// Accesses that another thread's conflict with; the same with another block's.
    accesses: HashSet<Site>,
    between_blocks: HashSet<Site>,
    /// The run was longer than what is remembered.
    cut: bool,
}

impl Exercise {
    /// What follows from a run.
    pub fn of(run: Watcher) -> Exercise {
        let mut exercise = Exercise {
            cut: run.cut,
            ..Exercise::default()
        };
        let mut crossed = Crossed::default();
        // For each event, whether another thread's access conflicts with it.
        let mut contended = vec![false; run.events.len()];
        let busy = Busy::of(&run.events);
        for (_, indices) in run.locations.values() {
            let events: Vec<&Event> = indices.iter().map(|i| &run.events[*i as usize]).collect();
            let Some(touched) = Touched::of(&events) else {
                continue;
            };
            for (index, event) in indices.iter().zip(&events) {
                if touched.conflicts(event) {
                    contended[*index as usize] = true;
                    exercise.accesses.insert(event.site);
                }
                if touched.conflicts_between_blocks(event) {
                    exercise.between_blocks.insert(event.site);
                    if touched.weakly {
                        crossed.publishes(event);
                    }
                }
            }
            crossed.location(&events, &busy);
        }
        for meeting in run.meetings.iter().filter(|meeting| crossed.has(meeting)) {
            exercise.barriers.extend(&meeting.sites);
        }
        exercise.strong_accesses(&run, &contended);
        exercise.fences(&run, &contended);
        exercise.reached = run.reached;
        exercise
    }

    /// Notes strong accesses next to which their thread makes a strong access to another location.
    fn strong_accesses(&mut self, run: &Watcher, contended: &[bool]) {
        for own in by_thread(run, contended).values() {
            for pair in own.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|index| &run.events[index as usize]);
                if a.location != b.location && !a.weak && !b.weak {
                    self.strong_accesses.extend([a.site, b.site]);
                }
            }
        }
    }

    /// Notes fences that have something on their two sides.
    fn fences(&mut self, run: &Watcher, contended: &[bool]) {
        let of_thread = by_thread(run, contended);
        let event = |index: &u32| &run.events[*index as usize];
        for (site, thread, at) in &run.fences {
            let Some(own) = of_thread.get(thread) else {
                continue;
            };
            let (before, behind) = own.split_at(own.partition_point(|i| i < at));
            if !before.is_empty() && !behind.is_empty() {
                self.fences.insert(*site);
            }
            // Only the nearest strong accesses: loops would put every location on both sides.
            let strong = |index: &&u32| !event(index).weak;
            if let Some(before) = before.iter().rfind(strong)
                && let Some(behind) = behind.iter().find(strong)
                && event(before).location != event(behind).location
            {
                self.strong_fences.insert(*site);
            }
        }
    }

    /// What it had for a change of the instructions in these lines of the PTX to show.
    pub fn around(&self, program: &Program, ptx_lines: &[u32], change: &Change) -> Exercised {
        // Nothing that is watched here says what an asynchronous operation had to be ordered with.
        let asynchronous = matches!(
            change.kind,
            Kind::DropWait | Kind::RaiseCount | Kind::DropArrival | Kind::FlipParity
        ) || change.what.contains("cluster")
            || matches!(
                change.what,
                "proxy fence" | "mbarrier fence" | "wgmma fence"
            );
        if asynchronous {
            return Exercised::Yes;
        }
        let here = |site: &&Site| {
            let info = program.sites.get(site.0 as usize);
            info.is_some_and(|info| ptx_lines.contains(&info.ptx_line))
        };
        let reached: Vec<Site> = self.reached.iter().filter(here).copied().collect();
        if reached.is_empty() {
            return match self.cut {
                true => Exercised::Yes,
                false => Exercised::NotReached,
            };
        }
        let ordered = match change.kind {
            // What such a barrier exchanges is its predicate.
            Kind::RemoveBarrier if change.to.is_some() => return Exercised::Yes,
            Kind::RemoveBarrier => &self.barriers,
            Kind::RemoveFence => &self.fences,
            Kind::NarrowScope if change.what == "fence" => &self.fences,
            Kind::NarrowScope => &self.between_blocks,
            _ => &self.accesses,
        };
        let untold = match change.kind {
            Kind::WeakenOrder => Some(&self.strong_accesses),
            Kind::RemoveFence => Some(&self.strong_fences),
            Kind::NarrowScope if change.what == "fence" => Some(&self.strong_fences),
            _ => None,
        };
        let among = |sites: &HashSet<Site>| reached.iter().any(|site| sites.contains(site));
        if untold.is_some_and(among) {
            return Exercised::Untold;
        }
        match self.cut || among(ordered) {
            true => Exercised::Yes,
            false => Exercised::NothingToOrder,
        }
    }
}

/// The events of each thread that another thread's conflict with, in their order.
fn by_thread(run: &Watcher, contended: &[bool]) -> HashMap<(u32, u32, u8), Vec<u32>> {
    let mut of_thread: HashMap<(u32, u32, u8), Vec<u32>> = HashMap::new();
    for (index, event) in run.events.iter().enumerate() {
        if contended[index] {
            let own = of_thread.entry(event.thread()).or_default();
            own.push(index as u32);
        }
    }
    of_thread
}
