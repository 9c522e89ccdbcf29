//! Who writes an element of global memory: the last write of a run, and those by other instructions before it.

use detect::finding::{Action, End};
use simt::ids::{LANES, LaneId};
use simt::observer::*;
use std::ops::Range;

/// Instructions that are told of.
const MOST: usize = 3;

/// Watches for writes to some bytes of global memory, by their offsets in the arena.
#[derive(Clone, Debug)]
pub struct Writers {
    bytes: Range<u64>,
    ends: Vec<End>,
}

impl Writers {
    /// Nothing seen yet.
    pub fn new(bytes: Range<u64>) -> Writers {
        Writers {
            bytes,
            ends: Vec::new(),
        }
    }

    /// The last write of each instruction, the latest first.
    pub fn latest(mut self) -> Vec<End> {
        self.ends.reverse();
        self.ends.truncate(MOST);
        self.ends
    }
}

impl Events for Writers {
    fn access(&mut self, access: &Access<'_>) {
        if access.space != Space::Global || access.kind == AccessKind::Read {
            return;
        }
        let bytes = u64::from(access.bytes());
        let hits = |lane: &usize| {
            let at = access.address[*lane];
            let inside = at < self.bytes.end && self.bytes.start < at.saturating_add(bytes);
            access.wrote >> *lane & 1 == 1 && inside
        };
        // The highest lane is the last.
        let Some(lane) = (0..LANES).rev().find(hits) else {
            return;
        };
        self.ends.retain(|end| end.site != access.site);
        self.ends.push(End {
            site: access.site,
            launch: 0,
            block: access.who.block,
            thread: access.who.thread(LaneId(lane as u8)),
            threads: 1,
            action: match access.kind {
                AccessKind::Write => Action::Write,
                _ => Action::Atomic,
            },
            order: Some((access.order, access.scope)),
        });
    }
}
