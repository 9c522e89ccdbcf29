//! What a launch changes, and what it reads again and again: whether it waits for memory that somebody else writes.
//!
//! Noted only for some passes over a launch's blocks ([`crate::launch`]), in which every access takes the way that knows all cases.

use super::Core;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::memory::*;
use crate::observer::Space;
use crate::state::*;
use std::collections::HashMap;

/// Words that a launch may poll; one that reads more computes.
const POLLED: usize = 4096;

/// What happened since somebody began to note.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Whether reads are noted; where nobody asks for them, they cost time for nothing.
    pub polls: bool,
    /// Something happened after which others, or the launch itself, may go on: memory between threads has another value, a thread has ended,
    /// the driver was called.
    pub moved: bool,
    /// Memory of one thread has another value.
    pub local: bool,
    /// Lanes that waited for others went on.
    pub released: bool,
    /// Somebody looked at the clock, which goes on.
    pub timed: bool,
    /// What the clock shows while it [stands still](Core::stop_clock).
    pub clock: Option<u64>,
    /// Words of global memory that were read, by their index, with what was read last.
    pub polled: HashMap<u64, u32>,
    /// Some were read for the first time, or had another value.
    pub fresh: bool,
    /// Whether any were read.
    pub reads: bool,
}

impl Changes {
    /// Begins a pass; what was read before is remembered.
    pub fn begin(&mut self) {
        self.moved = false;
        self.local = false;
        self.released = false;
        self.timed = false;
        self.fresh = false;
        self.reads = false;
    }

    /// Whether the pass did nothing but read what it had read before.
    pub fn only_polled(&self) -> bool {
        !self.moved && !self.fresh && self.reads
    }

    fn reads(&mut self, word: u64, value: u32) {
        self.reads = true;
        if self.polled.insert(word, value) != Some(value) {
            self.fresh = true;
            if self.polled.len() > POLLED {
                self.polled.clear();
                self.moved = true;
            }
        }
    }
}

impl<O: Hooks> Core<'_, O> {
    /// The clock stands still from now on, for as long as changes are noted: `later` than it showed.
    pub(crate) fn stop_clock(&mut self, later: u64) {
        self.put_forward(later);
        let now = self.clock(0, false);
        if let Some(changes) = &mut self.changes {
            changes.clock = Some(now);
        }
    }

    /// Something happened that no memory shows.
    #[inline]
    pub(crate) fn moved(&mut self) {
        if let Some(changes) = &mut self.changes {
            changes.moved = true;
        }
    }

    /// Lanes go on that waited for others.
    pub(crate) fn released(&mut self) {
        if let Some(changes) = &mut self.changes {
            changes.released = true;
        }
    }

    /// What lies at the addresses of an access, where that is of interest.
    #[inline]
    pub(crate) fn content(
        &self,
        block: &Block,
        w: usize,
        space: Space,
        mask: Mask,
        bytes: u32,
    ) -> Option<Vec<u64>> {
        let changes = self.changes.as_ref()?;
        if changes.moved && !changes.polls {
            return None;
        }
        let step = bytes.clamp(1, 8);
        let words = lanes_of(mask).flat_map(|l| (0..bytes / step).map(move |k| (l, k)));
        let values = words.map(|(l, k)| {
            let at = self.address[l] + u64::from(k * step);
            match space {
                Space::Global | Space::Const => self.device.arena.read(at, step, l),
                Space::Shared => block.shared.read(at, step, l),
                Space::Local => block.warps[w].local.read(at, step, l),
                Space::Param => 0,
            }
        });
        Some(values.collect())
    }

    /// A store is done, before which [`Core::content`] was this.
    #[cold]
    pub(crate) fn stored(
        &mut self,
        block: &Block,
        w: usize,
        space: Space,
        mask: Mask,
        bytes: u32,
        before: &[u64],
    ) {
        let same = self.content(block, w, space, mask, bytes).as_deref() == Some(before);
        if let Some(changes) = &mut self.changes
            && !same
        {
            match space {
                Space::Local => changes.local = true,
                _ => changes.moved = true,
            }
        }
    }

    /// Lanes read global memory.
    #[cold]
    pub(crate) fn looked(&mut self, mask: Mask, bytes: u32) {
        let Some(changes) = self.changes.as_mut().filter(|c| c.polls) else {
            return;
        };
        for l in lanes_of(mask) {
            let at = self.address[l];
            for word in at / 4..(at + u64::from(bytes)).div_ceil(4) {
                changes.reads(word, self.device.arena.get(word as usize, 0));
            }
        }
    }
}
