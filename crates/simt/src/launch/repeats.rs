//! Launches that never end, since their state repeats.
//!
//! What the threads of a launch do next is decided by their registers, by where they stand, and by memory. Where all of that is as it was
//! before, all that came in between comes again, and again. The states after two passes are compared by a hash of 64 bits, and memory is
//! not compared but watched: every write must leave what was there. The search is Brent's
//! ("An improved Monte Carlo factorization algorithm", BIT 20, 1980, section 2): it keeps one state, and finds a period of any length.
//!
//! The clock goes on, so a state never comes back for those who look at it, as libcu++'s waits do. For them the clock stands still from the first pass
//! without a change. If the state repeats then, nothing but time can end the launch, so time may as well pass at once: the clock is put
//! forward, several times, beyond what anybody waits ([`LEAP`]), and the state must repeat each time. Blind spot: a thread that goes on only
//! at certain times, and none of these.
//!
//! This needs an order of turns that depends on the state alone, so it is done where blocks [sweep](super::sweep).

use super::{Grid, standing};
use crate::exec::{Changes, Core};
use crate::hooks::Hooks;
use crate::ids::BlockId;
use crate::state::*;
use crate::stop::Stop;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::Ordering::Relaxed;

/// Warp-instructions in which no block begins or ends, after which the first search begins. The next one begins after twice as many, so
/// that a launch that works pays for few.
const FIRST: u64 = 1 << 18;
/// A search ends after this share of what was executed before it, one in so many: execution is slower meanwhile.
const SHARE: u64 = 4;
/// A search does not end for its share alone before so many passes: enough for a state that comes back after 16. With a sixteenth and
/// 4 passes, a lock that nobody gives back took four times as long to be found (code that is not optimised, 8 blocks of 128 threads).
const LEAST: u32 = 40;
/// Bytes of a thread's local memory up to which it is compared, after each pass; where there is more, it must not change.
const LOCAL: u64 = 1024;
/// Depth of calls up to which states are compared: recursion without an end would make each comparison longer than the last.
const CALLS: usize = 16;

/// Nanoseconds by which the clock is put forward: 18 seconds. Its low 32 bits, which `clock()` shows, come to one, two and three quarters of
/// their range, so that a difference to any earlier look is once large.
const LEAP: u64 = (1 << 34) + (1 << 30);
/// How many times.
const LEAPS: u32 = 3;

/// States of a launch, pass by pass.
#[derive(Debug, Default)]
pub(super) struct States {
    /// The one that is looked for.
    saved: Option<u64>,
    passes: u32,
    /// How often the clock was put forward.
    leaps: u32,
    /// The last one could not be told.
    unknown: bool,
    /// Whether lanes that waited for others of their warp went on in any of them.
    released: bool,
}

impl States {
    /// After a pass in which no memory between threads got another value: whether the state is one that was there before.
    pub fn repeat<O: Hooks>(&mut self, core: &mut Core<'_, O>, resident: &[Block]) -> bool {
        // Time is part of the state for those who look at it, even where no register keeps what they saw.
        if core
            .changes
            .as_ref()
            .is_none_or(|c| c.timed && c.clock.is_none())
        {
            self.stop_clock(core, 0);
            return false;
        }
        let changes = core.changes.as_ref();
        let local = changes.is_none_or(|c| c.local);
        let released = changes.is_none_or(|c| c.released);
        if released && !self.released {
            self.released = true;
            self.saved = None;
        }
        let still = changes.is_some_and(|c| c.clock.is_some());
        let state = state_of(resident, local, self.released);
        self.passes += 1;
        self.unknown = state.is_none();
        let repeats = state.is_some() && self.saved == state;
        if self.passes.is_power_of_two() || state.is_none() {
            self.saved = state;
        }
        if repeats && still && self.leaps < LEAPS {
            self.leaps += 1;
            self.stop_clock(core, LEAP);
            return false;
        }
        repeats
    }

    /// Begins again with a clock that stands still.
    fn stop_clock<O: Hooks>(&mut self, core: &mut Core<'_, O>, later: u64) {
        core.stop_clock(later);
        (self.saved, self.passes) = (None, 0);
    }
}

/// All that decides what the resident blocks do next, but for memory between threads; `None` where that is too much. `local`: whether
/// memory of one thread has changed in this pass; `released`: whether lanes that waited have gone on since the first one.
fn state_of(resident: &[Block], local: bool, released: bool) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    for block in resident {
        if block.poison.is_some() {
            return None;
        }
        for barrier in &block.barriers {
            (
                &barrier.arrivals,
                barrier.expected,
                &barrier.whole,
                barrier.pc,
            )
                .hash(&mut hasher);
        }
    }
    for warp in resident.iter().flat_map(|block| &block.warps) {
        if warp.live() == 0 {
            continue;
        }
        // Operations that are under way write to memory when they end.
        if warp.operations.is_some() {
            return None;
        }
        // Lanes that wait count their turns from zero again, while others go on: then turns decide who is next, not their differences.
        let apart = warp.splits.len() > 1;
        if apart && released {
            return None;
        }
        let ready = warp.splits.iter().filter(|s| s.state == State::Ready);
        let least = ready.map(|s| s.rounds).min().unwrap_or(0);
        for split in &warp.splits {
            if split.frames.is_deeper_than(CALLS) {
                return None;
            }
            split.frames.hash(&mut hasher);
            // Turns count among those that can run.
            let runs = apart && split.state == State::Ready;
            let rounds = if runs { split.rounds - least } else { 0 };
            (
                split.pc,
                split.mask,
                split.state,
                split.base,
                split.top,
                rounds,
            )
                .hash(&mut hasher);
        }
        (warp.exited, warp.carry, &warp.passed, &warp.arrived).hash(&mut hasher);
        (&warp.w, &warp.d, &warp.p).hash(&mut hasher);
        // Code that is not optimised keeps its variables there.
        match warp.local.bytes() <= LOCAL {
            true => warp.local.hash(&mut hasher),
            false if local => return None,
            false => {}
        }
    }
    Some(hasher.finish())
}

/// Searches for a state that repeats, now and then, in a launch to whose memory nobody else writes, or that does not read any that others may write.
#[derive(Debug)]
pub(super) struct Search {
    /// Steps of the launch when a block began or ended last.
    changed: u64,
    /// Steps after that until the next search begins.
    after: u64,
    /// The search that goes on: its states, and the step at which it has had its share.
    now: Option<(States, u64)>,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            changed: 0,
            after: FIRST,
            now: None,
        }
    }
}

impl Search {
    /// A block has begun or ended.
    pub fn block_changed<O: Hooks>(&mut self, core: &mut Core<'_, O>, steps: u64) {
        self.ends(core);
        (self.changed, self.after) = (steps, FIRST);
    }

    /// Before a pass, after so many steps of the launch: whether a search goes on. Turns have to be short then, so that passes are. Where
    /// `others` may write to global memory, it ends as soon as that is read.
    pub fn begins<O: Hooks>(&mut self, core: &mut Core<'_, O>, steps: u64, others: bool) -> bool {
        if let (Some(changes), Some(_)) = (&mut core.changes, &self.now) {
            changes.begin();
            return true;
        }
        let since = steps.saturating_sub(self.changed);
        if since < self.after {
            return false;
        }
        self.now = Some((States::default(), steps + since / SHARE));
        core.changes = Some(Box::new(Changes {
            polls: others,
            ..Changes::default()
        }));
        true
    }

    /// After the pass: whether the state was there before, and nothing has changed since.
    pub fn finds<O: Hooks>(
        &mut self,
        core: &mut Core<'_, O>,
        resident: &[Block],
        steps: u64,
    ) -> bool {
        let Some((states, until)) = &mut self.now else {
            return false;
        };
        let moved = core.changes.as_ref().is_none_or(|c| c.moved || c.reads);
        if !moved && states.repeat(core, resident) {
            return true;
        }
        if moved || states.unknown || steps >= *until && states.passes >= LEAST {
            self.ends(core);
            self.after = 2 * steps.saturating_sub(self.changed);
        }
        false
    }

    fn ends<O: Hooks>(&mut self, core: &mut Core<'_, O>) {
        if self.now.take().is_some() {
            core.changes = None;
        }
    }
}

impl Grid<'_> {
    /// The launch does not go on, or not within its budget; `for_ever` if not within any.
    pub(super) fn no_progress(&self, resident: &[Block], for_ever: bool) -> Stop {
        let (mut running, mut waiting) = (Vec::new(), Vec::new());
        let mut first = BlockId(0);
        if let Some(block) = resident.iter().find(|b| b.runnable()) {
            first = block.id;
            (running, waiting) = standing(self.program, block);
        }
        Stop::NoProgress {
            steps: self.steps.load(Relaxed),
            for_ever,
            block: first,
            running,
            waiting,
        }
    }
}
