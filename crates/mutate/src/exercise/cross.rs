//! Which barriers lie between conflicting accesses, and who touches a location.

use super::watch::{Event, Meeting};
use std::collections::{HashMap, HashSet};

/// Of some values the first two that differ, which is enough to know whether there is another one than a given one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distinct<T> {
    first: Option<T>,
    second: Option<T>,
}

impl<T: Copy + PartialEq> Distinct<T> {
    pub fn of(values: impl Iterator<Item = T>) -> Distinct<T> {
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

    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub fn has_other_than(&self, value: T) -> bool {
        [self.first, self.second]
            .into_iter()
            .flatten()
            .any(|v| v != value)
    }

    /// Whether one of these is another than one of those.
    pub fn differs_from(&self, other: &Distinct<T>) -> bool {
        let own = [self.first, self.second].into_iter().flatten();
        own.into_iter().any(|value| other.has_other_than(value))
    }
}

/// Who touches one location that is written.
pub(super) struct Touched {
    threads: Distinct<(u32, u32, u8)>,
    writers: Distinct<(u32, u32, u8)>,
    blocks: Distinct<u32>,
    writing_blocks: Distinct<u32>,
    /// Whether any access is weak.
    pub weakly: bool,
}

impl Touched {
    /// Who touches the location of these events; nothing where nobody writes it.
    pub fn of(events: &[&Event]) -> Option<Touched> {
        let writing = || events.iter().filter(|e| e.writes);
        let writers = Distinct::of(writing().map(|e| e.thread()));
        (!writers.is_empty()).then(|| Touched {
            threads: Distinct::of(events.iter().map(|e| e.thread())),
            writers,
            blocks: Distinct::of(events.iter().map(|e| e.block)),
            writing_blocks: Distinct::of(writing().map(|e| e.block)),
            weakly: events.iter().any(|e| e.weak),
        })
    }

    /// Whether another thread's access conflicts with an event.
    pub fn conflicts(&self, event: &Event) -> bool {
        match event.writes {
            true => self.threads.has_other_than(event.thread()),
            false => self.writers.has_other_than(event.thread()),
        }
    }

    /// Whether another block's does.
    pub fn conflicts_between_blocks(&self, event: &Event) -> bool {
        match event.writes {
            true => self.blocks.has_other_than(event.block),
            false => self.writing_blocks.has_other_than(event.block),
        }
    }
}

/// The parts of a run, by block and by warp, in which anything was accessed.
pub(super) struct Busy {
    blocks: HashMap<u32, Vec<u32>>,
    warps: HashMap<(u32, u32), Vec<u32>>,
}

impl Busy {
    pub fn of(events: &[Event]) -> Busy {
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

/// Parts of a run on whose two sides something conflicts.
#[derive(Default)]
pub(super) struct Crossed {
    blocks: HashSet<(u32, u32)>,
    warps: HashSet<(u32, u32, u32)>,
}

impl Crossed {
    /// Whether something conflicts on the two sides of a barrier.
    pub fn has(&self, meeting: &Meeting) -> bool {
        match meeting.warp {
            None => self.blocks.contains(&(meeting.block, meeting.part)),
            Some(warp) => self.warps.contains(&(meeting.block, warp, meeting.part)),
        }
    }

    /// Marks the barriers around an access that another block's conflicts with: they order what its block publishes.
    pub fn publishes(&mut self, event: &Event) {
        let before = event.part.checked_sub(1);
        self.blocks.insert((event.block, event.part));
        self.blocks.extend(before.map(|part| (event.block, part)));
    }

    /// Marks the barriers that lie between conflicting accesses to one location, where nothing else lies between these.
    pub fn location(&mut self, events: &[&Event], busy: &Busy) {
        let mut by_block: HashMap<u32, Vec<&Event>> = HashMap::new();
        let mut by_warp: HashMap<(u32, u32), Vec<&Event>> = HashMap::new();
        for event in events {
            let own = (event.block, event.warp);
            by_block.entry(event.block).or_default().push(event);
            by_warp.entry(own).or_default().push(event);
        }
        for (block, events) in &by_block {
            let parts = &busy.blocks[block];
            let found = neighbours(events, parts, |e| e.part);
            self.blocks
                .extend(found.into_iter().map(|part| (*block, part)));
        }
        for (&(block, warp), events) in &by_warp {
            let parts = &busy.warps[&(block, warp)];
            let found = neighbours(events, parts, |e| e.warp_part);
            self.warps
                .extend(found.into_iter().map(|part| (block, warp, part)));
        }
    }
}

/// The parts that end between two neighbouring busy parts whose accesses to the location conflict.
fn neighbours(events: &[&Event], busy: &[u32], part: impl Fn(&Event) -> u32) -> Vec<u32> {
    let mut found = Vec::new();
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
            found.extend(*before..*after);
        }
    }
    found
}
