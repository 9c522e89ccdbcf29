//! What is kept of a run of the unchanged kernel: accesses by location, the barriers that divide it, and its fences.

use simt::ids::{BlockId, LANES, Mask, Site};
use simt::observer::{
    Access, AccessKind, BlockBarrier, Events, FenceOrder, LaunchShape, Scope, Space, WarpRef,
    WarpSync,
};
use std::collections::{HashMap, HashSet};

/// Accesses by single threads that are remembered.
const EVENTS: usize = 4_000_000;

/// An access of one thread to one unit of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub block: u32,
    pub warp: u32,
    pub lane: u8,
    pub writes: bool,
    pub weak: bool,
    /// The location, as a number.
    pub location: u32,
    pub site: Site,
    /// Barriers of its block, and of its warp, that had been completed.
    pub part: u32,
    pub warp_part: u32,
}

impl Event {
    pub fn thread(&self) -> (u32, u32, u8) {
        (self.block, self.warp, self.lane)
    }
}

/// A place where threads meet: who, at which instructions, and what is the number of the part that it ends.
#[derive(Clone, Debug)]
pub(super) struct Meeting {
    pub block: u32,
    /// The warp, of a warp's barrier.
    pub warp: Option<u32>,
    pub part: u32,
    pub sites: Vec<Site>,
}

/// Watches a run.
#[derive(Clone, Debug, Default)]
pub struct Watcher {
    pub(super) events: Vec<Event>,
    /// The number of a location and the events there, in their order. Shared memory is one per block.
    pub(super) locations: HashMap<(Option<u32>, u64), (u32, Vec<u32>)>,
    pub(super) meetings: Vec<Meeting>,
    /// Fences: where, by whom, and how many events there were.
    pub(super) fences: Vec<(Site, (u32, u32, u8), u32)>,
    pub(super) reached: HashSet<Site>,
    parts: HashMap<u32, u32>,
    warp_parts: HashMap<(u32, u32), u32>,
    granules: (u64, u64),
    pub(super) cut: bool,
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
