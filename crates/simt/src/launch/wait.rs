//! Launches that wait for memory which somebody else writes: the host, or a kernel that runs at the same time.
//!
//! A launch in which all blocks that can be resident do nothing for a whole pass but read the same words again, with the same values, is put aside
//! with all of its state, and the caller may do something else first. It goes on when it is [resumed](Waiting::resume). Putting it aside is
//! never wrong, since nothing says how fast a kernel runs; so whether it really waits need not be known. That it waits for ever is known where its state
//! repeats: then nothing but another value of what it polls can change what it does.

use super::Grid;
use super::prepare::Prepared;
use super::repeats::States;
use crate::device::Device;
use crate::exec::cluster::Cluster;
use crate::exec::{Changes, Core};
use crate::hooks::Hooks;
use crate::memory::Words;
use crate::schedule::ScheduleSpec;
use crate::state::*;
use crate::stop::Stop;
use std::collections::HashMap;
use std::time::Duration;

/// Passes in which a state is looked for that was there before.
const PROOF: u32 = 512;
/// Passes that a launch of which that was not known runs before others get a turn.
const TURN: u32 = 1 << 14;

/// A launch that was put aside.
#[derive(Debug)]
pub struct Waiting {
    pub(super) prepared: Prepared,
    pub(super) aside: Aside,
    /// Steps, blocks that have ended, and when the last of them did.
    pub(super) counts: [u64; 3],
    pub(super) output: String,
    /// Time that it has run.
    pub(super) used: Duration,
    /// Who runs when: a schedule that sweeps.
    pub(super) schedule: ScheduleSpec,
}

impl Waiting {
    /// Bytes that it polls: offsets into the arena of words.
    pub fn polled(&self) -> impl Iterator<Item = u64> + '_ {
        self.aside.polled.keys().map(|word| word * 4)
    }

    /// Whether something that it polls has another value now.
    pub fn may_go_on(&self, device: &Device) -> bool {
        let mut all = self.aside.polled.iter();
        all.any(|(word, value)| device.arena.get(*word as usize, 0) != *value)
    }

    /// Whether it waits for ever unless something that it polls gets another value.
    pub fn is_for_ever(&self) -> bool {
        self.aside.for_ever
    }
}

/// How a launch that may wait is watched while it runs.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// Passes since a block began or ended.
    turn: u32,
    /// Whether it has waited before: then it is watched in every pass.
    pub eager: bool,
    prove: bool,
    /// Passes that are left of its turn, where others are to get one.
    left: u32,
    states: States,
    for_ever: bool,
}

impl Patience {
    /// Of a launch that was put aside.
    pub fn again(prove: bool, undecided: bool) -> Patience {
        Patience {
            eager: !(prove && undecided),
            prove,
            left: match undecided {
                true => TURN,
                false => PROOF,
            },
            ..Patience::default()
        }
    }

    /// A block has begun or ended.
    pub fn block_changed(&mut self) {
        self.turn = 0;
    }

    /// Before a pass: notes what it does, now and then. Two passes in a row tell something.
    pub fn begin<O: Hooks>(&mut self, core: &mut Core<'_, O>) {
        self.turn += 1;
        self.left = self.left.saturating_sub(1);
        let power = 1 << (31 - self.turn.leading_zeros());
        let now = self.eager
            || self.turn > 1 && (self.turn - power) < 2 && power.trailing_zeros() % 2 == 1;
        match (&mut core.changes, now) {
            (Some(changes), true) => changes.begin(),
            (None, true) => {
                // What is read for the first time is fresh.
                core.changes = Some(Box::new(Changes {
                    polls: true,
                    ..Changes::default()
                }));
            }
            (_, false) => core.changes = None,
        }
    }

    /// After a pass: whether it only polled.
    pub fn only_polled<O: Hooks>(&mut self, core: &mut Core<'_, O>) -> bool {
        let only = core.changes.as_ref().is_some_and(|c| c.only_polled());
        if !only {
            self.states = States::default();
            if let Some(changes) = &mut core.changes {
                changes.clock = None;
            }
        }
        only
    }

    /// Whether its turn is over, and nothing is known.
    pub fn is_over(&self) -> bool {
        self.prove && self.left == 0
    }

    /// After a pass that only polled, and in which nothing more could be resident: whether the launch is put aside.
    pub fn gives_way<O: Hooks>(&mut self, core: &mut Core<'_, O>, resident: &[Block]) -> bool {
        if !self.prove {
            return true;
        }
        self.for_ever = self.states.repeat(core, resident);
        self.for_ever
    }
}

impl Grid<'_> {
    /// Puts the launch aside: what is kept of it, but for what the caller has, and why it stopped if it never goes on.
    pub(super) fn put_aside<O: Hooks>(
        &self,
        core: &mut Core<'_, O>,
        resident: Vec<Block>,
        next: u32,
        patience: &Patience,
    ) -> (Aside, Stop) {
        let stop = self.no_progress(&resident, patience.for_ever);
        let changes = core.changes.take().unwrap_or_default();
        let aside = Aside {
            resident,
            next,
            clock: core.clock_state(),
            clusters: std::mem::take(&mut core.clusters),
            polled: changes.polled,
            prove: patience.prove,
            undecided: false,
            for_ever: patience.for_ever,
        };
        (aside, stop)
    }
}

/// What a sweep keeps of a launch.
#[derive(Debug)]
pub(super) struct Aside {
    pub resident: Vec<Block>,
    /// The first block that has not begun.
    pub next: u32,
    /// Their clusters.
    pub clusters: HashMap<u32, Cluster>,
    /// What its clock goes on from.
    pub clock: [u64; 3],
    polled: HashMap<u64, u32>,
    /// Whether a state is to be looked for that was there before.
    pub prove: bool,
    /// Whether one was looked for the last time, and none was there.
    pub undecided: bool,
    pub(super) for_ever: bool,
}
