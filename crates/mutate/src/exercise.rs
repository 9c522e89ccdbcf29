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
//! The answer errs on the side of "exercised". A run with more than [`EVENTS`] accesses is cut there, and whatever was reached in it counts
//! as exercised.

use super::operator::{Change, Kind};
use simt::Program;
use simt::ids::Mask;
use simt::ids::{BlockId, LANES, Site};
use simt::observer::{
    Access, AccessKind, BlockBarrier, Events, FenceOrder, LaunchShape, Scope, Space, WarpRef,
    WarpSync,
};
use std::collections::{HashMap, HashSet};

/// Accesses by single threads that are remembered.
const EVENTS: usize = 4_000_000;

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

/// An access of one thread to one unit of memory.
#[derive(Clone, Copy, Debug)]
struct Event {
    block: u32,
    warp: u32,
    lane: u8,
    writes: bool,
    weak: bool,
    /// The location, as a number.
    location: u32,
    site: Site,
    /// Barriers of its block, and of its warp, that had been completed.
    part: u32,
    warp_part: u32,
}

impl Event {
    fn thread(&self) -> (u32, u32, u8) {
        (self.block, self.warp, self.lane)
    }
}

/// Of some values the first two that differ, which is enough to know whether there is another one than a given one.
#[derive(Clone, Copy, Debug)]
struct Distinct<T> {
    first: Option<T>,
    second: Option<T>,
}

impl<T: Copy + PartialEq> Distinct<T> {
    fn of(values: impl Iterator<Item = T>) -> Distinct<T> {
        let mut distinct = Distinct {
            first: None,
            second: None,
        };
        for value in values {
            match distinct.first {
                None => distinct.first = Some(value),
                Some(first) if first != value => {
                    distinct.second = Some(value);
                    break;
                }
                Some(_) => {}
            }
        }
        distinct
    }

    fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    fn has_other_than(&self, value: T) -> bool {
        [self.first, self.second]
            .into_iter()
            .flatten()
            .any(|v| v != value)
    }

    /// Whether one of these is another than one of those.
    fn differs_from(&self, other: &Distinct<T>) -> bool {
        let own = [self.first, self.second].into_iter().flatten();
        own.into_iter().any(|value| other.has_other_than(value))
    }
}

/// A place where threads meet: who, at which instructions, and what is the number of the part that it ends.
#[derive(Clone, Debug)]
struct Meeting {
    block: u32,
    /// The warp, of a warp's barrier.
    warp: Option<u32>,
    part: u32,
    sites: Vec<Site>,
}

/// Watches a run.
#[derive(Clone, Debug, Default)]
pub struct Watcher {
    events: Vec<Event>,
    /// The number of a location and the events there, in their order. Shared memory is one per block.
    locations: HashMap<(Option<u32>, u64), (u32, Vec<u32>)>,
    meetings: Vec<Meeting>,
    /// Fences: where, by whom, and how many events there were.
    fences: Vec<(Site, (u32, u32, u8), u32)>,
    reached: HashSet<Site>,
    parts: HashMap<u32, u32>,
    warp_parts: HashMap<(u32, u32), u32>,
    granules: (u64, u64),
    cut: bool,
}

impl Watcher {
    fn location(&self, block: u32, space: Space, unit: u64) -> (Option<u32>, u64) {
        match space {
            Space::Shared => (Some(block), unit),
            _ => (None, unit),
        }
    }
}

impl Events for Watcher {
    fn launch_begins(&mut self, shape: &LaunchShape) {
        let at_least_one = |granule: u32| u64::from(granule.max(1));
        self.granules = (
            at_least_one(shape.global_granule),
            at_least_one(shape.shared_granule),
        );
    }

    fn access(&mut self, access: &Access<'_>) {
        self.reached.insert(access.site);
        let granule = match access.space {
            Space::Global => self.granules.0,
            Space::Shared => self.granules.1,
            _ => return,
        };
        let (block, warp) = (access.who.block.0, access.who.warp.0);
        let part = self.parts.get(&block).copied().unwrap_or(0);
        let warp_part = self.warp_parts.get(&(block, warp)).copied().unwrap_or(0);
        let writes = |lane: usize| match access.kind {
            AccessKind::Read => false,
            AccessKind::Write => true,
            AccessKind::Atomic | AccessKind::Reduction => access.wrote >> lane & 1 == 1,
        };
        let mask = access.performed();
        for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
            let address = access.address[lane];
            let last = address.saturating_add(u64::from(access.bytes().max(1)) - 1);
            for unit in address / granule..=last / granule {
                if self.events.len() >= EVENTS {
                    self.cut = true;
                    return;
                }
                let index = self.events.len() as u32;
                self.events.push(Event {
                    block,
                    warp,
                    lane: lane as u8,
                    writes: writes(lane),
                    weak: !access.order.is_strong()
                        && matches!(access.kind, AccessKind::Read | AccessKind::Write),
                    location: 0,
                    site: access.site,
                    part,
                    warp_part,
                });
                let location = self.location(block, access.space, unit);
                let count = self.locations.len() as u32;
                let known = self
                    .locations
                    .entry(location)
                    .or_insert((count, Vec::new()));
                known.1.push(index);
                self.events[index as usize].location = known.0;
            }
        }
    }

    fn fence(&mut self, site: Site, who: WarpRef, mask: Mask, _: FenceOrder, _: Scope) {
        self.reached.insert(site);
        let events = self.events.len() as u32;
        for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
            if self.fences.len() >= EVENTS {
                self.cut = true;
                return;
            }
            let thread = (who.block.0, who.warp.0, lane as u8);
            self.fences.push((site, thread, events));
        }
    }

    fn block_arrives(&mut self, _: BlockId, _: u32, who: simt::observer::Party) {
        self.reached.insert(who.site);
    }

    fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let all = barrier.arrived.iter().chain(barrier.waited);
        let mut sites: Vec<Site> = all.map(|party| party.site).collect();
        sites.sort();
        sites.dedup();
        self.reached.extend(&sites);
        let part = self.parts.entry(barrier.block.0).or_default();
        if self.meetings.len() < EVENTS {
            self.meetings.push(Meeting {
                block: barrier.block.0,
                warp: None,
                part: *part,
                sites,
            });
        } else {
            self.cut = true;
        }
        *part += 1;
    }

    fn warp_sync(&mut self, sync: &WarpSync) {
        self.reached.insert(sync.site);
        let (block, warp) = (sync.who.block.0, sync.who.warp.0);
        let part = self.warp_parts.entry((block, warp)).or_default();
        if self.meetings.len() < EVENTS {
            self.meetings.push(Meeting {
                block,
                warp: Some(warp),
                part: *part,
                sites: vec![sync.site],
            });
        } else {
            self.cut = true;
        }
        *part += 1;
    }
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
        // For each event, whether another thread's access conflicts with it; another block's.
        let mut contended = vec![false; run.events.len()];
        // Parts on whose two sides something conflicts, of blocks and of warps.
        let mut crossed: HashSet<(u32, u32)> = HashSet::new();
        let mut warp_crossed: HashSet<(u32, u32, u32)> = HashSet::new();
        let busy = Busy::of(&run.events);
        for (_, indices) in run.locations.values() {
            let events: Vec<&Event> = indices.iter().map(|i| &run.events[*i as usize]).collect();
            let writers = Distinct::of(events.iter().filter(|e| e.writes).map(|e| e.thread()));
            if writers.is_empty() {
                continue;
            }
            let all = Distinct::of(events.iter().map(|e| e.thread()));
            let blocks = |only_writers: bool| {
                let of = events.iter().filter(|e| e.writes || !only_writers);
                Distinct::of(of.map(|e| e.block))
            };
            let (all_blocks, writing_blocks) = (blocks(false), blocks(true));
            let several = |of: &Event| match of.writes {
                true => all.has_other_than(of.thread()),
                false => writers.has_other_than(of.thread()),
            };
            let other_block = |of: &Event| match of.writes {
                true => all_blocks.has_other_than(of.block),
                false => writing_blocks.has_other_than(of.block),
            };
            let any_weak = events.iter().any(|e| e.weak);
            for (index, event) in indices.iter().zip(&events) {
                if several(event) {
                    contended[*index as usize] = true;
                    exercise.accesses.insert(event.site);
                }
                if other_block(event) {
                    exercise.between_blocks.insert(event.site);
                    if any_weak {
                        crossed.insert((event.block, event.part));
                        crossed.extend(event.part.checked_sub(1).map(|part| (event.block, part)));
                    }
                }
            }
            cross(&events, &busy, &mut crossed, &mut warp_crossed);
        }
        for meeting in &run.meetings {
            let ordered = match meeting.warp {
                None => crossed.contains(&(meeting.block, meeting.part)),
                Some(warp) => warp_crossed.contains(&(meeting.block, warp, meeting.part)),
            };
            if ordered {
                exercise.barriers.extend(&meeting.sites);
            }
        }
        let mut of_thread: HashMap<(u32, u32, u8), Vec<u32>> = HashMap::new();
        for (index, event) in run.events.iter().enumerate() {
            if contended[index] {
                of_thread
                    .entry(event.thread())
                    .or_default()
                    .push(index as u32);
            }
        }
        for own in of_thread.values() {
            for pair in own.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|index| &run.events[index as usize]);
                if a.location != b.location && !a.weak && !b.weak {
                    exercise.strong_accesses.extend([a.site, b.site]);
                }
            }
        }
        for (site, thread, at) in &run.fences {
            let around = of_thread.get(thread).is_some_and(|own| {
                own.first().is_some_and(|first| first < at)
                    && own.last().is_some_and(|last| last >= at)
            });
            if around {
                exercise.fences.insert(*site);
            }
            // Only the nearest strong accesses: loops would put every location on both sides.
            let strong = |index: &&u32| !run.events[**index as usize].weak;
            let around = of_thread
                .get(thread)
                .map(|own| own.split_at(own.partition_point(|i| i < at)));
            if let Some((before, behind)) = around
                && let Some(before) = before.iter().rfind(strong)
                && let Some(behind) = behind.iter().find(strong)
                && run.events[*before as usize].location != run.events[*behind as usize].location
            {
                exercise.strong_fences.insert(*site);
            }
        }
        exercise.reached = run.reached;
        exercise
    }

    /// What it had for a change of the instructions in these lines of the PTX to show.
    pub fn around(&self, program: &Program, ptx_lines: &[u32], change: &Change) -> Exercised {
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

/// The parts of a run, by block and by warp, in which anything was accessed.
struct Busy {
    blocks: HashMap<u32, Vec<u32>>,
    warps: HashMap<(u32, u32), Vec<u32>>,
}

impl Busy {
    fn of(events: &[Event]) -> Busy {
        let mut busy = Busy {
            blocks: HashMap::new(),
            warps: HashMap::new(),
        };
        for event in events {
            let parts = busy.blocks.entry(event.block).or_default();
            push(parts, event.part);
            let parts = busy.warps.entry((event.block, event.warp)).or_default();
            push(parts, event.warp_part);
        }
        busy
    }
}

/// Adds a part: they come in rising order, as the events of a block and of a warp do.
fn push(parts: &mut Vec<u32>, part: u32) {
    if parts.last() != Some(&part) {
        parts.push(part);
    }
}

/// Marks the barriers that lie between conflicting accesses to one location, where nothing else lies between these.
fn cross(
    events: &[&Event],
    busy: &Busy,
    crossed: &mut HashSet<(u32, u32)>,
    warp_crossed: &mut HashSet<(u32, u32, u32)>,
) {
    let mut by_block: HashMap<u32, Vec<&Event>> = HashMap::new();
    let mut by_warp: HashMap<(u32, u32), Vec<&Event>> = HashMap::new();
    for event in events {
        by_block.entry(event.block).or_default().push(event);
        by_warp
            .entry((event.block, event.warp))
            .or_default()
            .push(event);
    }
    for (block, events) in &by_block {
        neighbours(
            events,
            &busy.blocks[block],
            |e| e.part,
            |part| {
                crossed.insert((*block, part));
            },
        );
    }
    for ((block, warp), events) in &by_warp {
        neighbours(
            events,
            &busy.warps[&(*block, *warp)],
            |e| e.warp_part,
            |part| {
                warp_crossed.insert((*block, *warp, part));
            },
        );
    }
}

/// Calls `mark` with each part that ends between two neighbouring busy parts whose accesses to the location conflict.
fn neighbours(
    events: &[&Event],
    busy: &[u32],
    part: impl Fn(&Event) -> u32,
    mut mark: impl FnMut(u32),
) {
    let mut groups: Vec<(u32, Vec<&Event>)> = Vec::new();
    for event in events {
        match groups.last_mut() {
            Some((of, group)) if *of == part(event) => group.push(event),
            _ => groups.push((part(event), vec![event])),
        }
    }
    for pair in groups.windows(2) {
        let [(before, first), (after, second)] = pair else {
            continue;
        };
        let at = busy.partition_point(|p| p <= before);
        if busy.get(at) != Some(after) {
            continue;
        }
        let threads = |group: &[&Event], only_writers: bool| {
            let of = group.iter().filter(|e| e.writes || !only_writers);
            Distinct::of(of.map(|e| e.thread()))
        };
        let conflict = threads(first, true).differs_from(&threads(second, false))
            || threads(second, true).differs_from(&threads(first, false));
        if conflict {
            (*before..*after).for_each(&mut mark);
        }
    }
}
