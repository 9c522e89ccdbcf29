//! The schedules that sweep: one block after another, each warp as far as it can.

use super::repeats::Search;
use super::wait::{Aside, Patience};
use super::{Grid, SPLIT_QUANTUM, deadlock};
use crate::exec::{Core, Quantum, Yield};
use crate::hooks::Hooks;
use crate::state::*;
use crate::stop::{Others, Pause, Stop};
use std::sync::atomic::Ordering::Relaxed;

/// Steps that a warp runs before the next one gets a turn.
pub(super) const WARP_QUANTUM: u32 = 1 << 16;
/// The same where several blocks are resident, which may wait for each other in loops.
const SHORT_QUANTUM: u32 = 1 << 10;
/// Steps after which the clock is looked at: what detectors do with a step can take a millisecond.
const PIECE: u32 = 1 << 8;
/// Passes in which warps use up their turns after which a launch that is to stop for another one is taken not to come there by itself.
const BUSY: u32 = 64;
/// The same where half of the memory is full: a step can take megabytes.
const TIGHT: u32 = 1 << 4;

/// How long a block runs before another one becomes resident, which may be what it waits for.
///
/// A block that waits polls: its warps use up their turns, or it comes to the same barriers again and again. The latter is also what most
/// blocks do that wait for nobody, and those run fastest one after the other: the registers of one fit in a processor's caches. So many
/// passes from barrier to barrier are needed until it counts, once in a launch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alone {
    /// Passes in which a warp used up its turn.
    polls: u32,
    /// Others.
    quiet: u32,
    /// A block has had so many of those that they count from now on.
    suspects: bool,
}

impl Alone {
    /// Passes in which a warp uses up its turn.
    const POLLS: u32 = 4;
    /// Passes from barrier to barrier.
    const QUIET: u32 = 4096;

    /// Another block runs now.
    pub(super) fn begins(&mut self) {
        (self.polls, self.quiet) = (0, 0);
    }

    /// A pass is over.
    pub(super) fn passed(&mut self, pass: Pass) {
        match self.suspects || pass == Pass::TurnUsedUp {
            true => self.polls += 1,
            false => self.quiet += 1,
        }
    }

    /// Whether others get a turn.
    pub(super) fn is_over(&mut self) -> bool {
        self.suspects |= self.quiet >= Self::QUIET;
        self.quiet >= Self::QUIET || self.polls >= Self::POLLS
    }
}

/// The split of a warp that runs next, if any can, and where it may meet another.
fn next_split(warp: &mut Warp) -> Option<(usize, u32)> {
    warp.reconverge();
    let ready = warp
        .splits
        .iter()
        .enumerate()
        .filter(|(_, s)| s.state == State::Ready);
    // Lanes apart: the lowest lane first. Together: who is furthest behind, so that the others are met.
    let (s, split) = if warp.apart {
        ready.min_by_key(|(_, s)| (s.rounds, s.mask.trailing_zeros()))
    } else {
        ready.min_by_key(|(_, s)| (s.rounds, s.pc))
    }?;
    if warp.splits.len() == 1 || warp.apart {
        return Some((s, u32::MAX));
    }
    let pc = split.pc;
    let others = warp
        .splits
        .iter()
        .filter(|o| o.state == State::Ready && o.pc > pc);
    Some((s, others.map(|o| o.pc).min().unwrap_or(u32::MAX)))
}

/// What a pass over a block came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Every warp waits, or has ended.
    Waits,
    /// A warp could have gone on.
    TurnUsedUp,
}

impl Grid<'_> {
    /// Runs every warp of a block as far as it can, or for its turn.
    pub(super) fn pass<O: Hooks>(
        &self,
        core: &mut Core<'_, O>,
        block: &mut Block,
        quantum: u32,
    ) -> Result<Pass, Stop> {
        let mut pass = Pass::Waits;
        for w in 0..block.warps.len() {
            if self.warp(core, block, w, quantum)? == 0 {
                pass = Pass::TurnUsedUp;
            }
        }
        // The blocks of a cluster may wait for each other.
        let alone = !self.geometry.clustered;
        let stuck = |core: &mut Core<'_, O>, block: &mut Block| {
            !block.runnable() && !core.unblock(block) && !block.is_paused()
        };
        if alone && block.live > 0 && stuck(core, block) {
            return Err(deadlock(self.program, block));
        }
        Ok(pass)
    }

    /// After a pass over blocks of clusters: those whose wait is over go on. Where nobody of a cluster can run, what hardware would resolve is
    /// resolved; where there is nothing, they wait for ever.
    fn clusters_go_on<O: Hooks>(
        &self,
        core: &mut Core<'_, O>,
        resident: &mut [Block],
    ) -> Result<(), Stop> {
        if std::mem::take(&mut core.cluster_moved) {
            let waiting = resident.iter_mut().filter(|b| b.live > 0);
            waiting.for_each(|block| core.look_again(block));
        }
        // They have begun together, and stand together; the blocks of a cluster that have ended are still there.
        for cluster in resident.chunk_by_mut(|a, b| a.cluster == b.cluster) {
            if cluster.iter().any(Block::runnable) {
                continue;
            }
            let mut waiting = cluster.iter_mut().filter(|b| b.live > 0);
            let resolved =
                waiting.any(|block| core.with_cluster(block, |core, block| core.unblock(block)));
            if let (false, Some(block)) = (resolved, cluster.iter_mut().find(|b| b.live > 0)) {
                let program = self.program;
                return Err(core.with_cluster(block, |_, block| deadlock(program, block)));
            }
        }
        Ok(())
    }

    /// Runs a warp: what is left of its turn.
    fn warp<O: Hooks>(
        &self,
        core: &mut Core<'_, O>,
        block: &mut Block,
        w: usize,
        quantum: u32,
    ) -> Result<u32, Stop> {
        let mut left = quantum;
        let mut since = 0;
        while left > 0 {
            let piece = if core.tight { TIGHT } else { PIECE };
            if since >= piece {
                since = 0;
                self.goes_on(core)?;
            }
            let warp = &mut block.warps[w];
            let next = match warp.splits[..] {
                [ref only] => (only.state == State::Ready).then_some((0, u32::MAX)),
                _ => next_split(warp),
            };
            let Some((s, limit)) = next else {
                return Ok(left);
            };
            let alone = warp.splits.len() == 1;
            let fuel = if alone { piece } else { SPLIT_QUANTUM }.min(left);
            let before = core.steps;
            let ran = core.run(
                block,
                w,
                s,
                Quantum {
                    fuel,
                    goes_on: alone && fuel < left,
                    visible: u32::MAX,
                    accesses: false,
                    limit,
                },
            )?;
            let taken = core.steps - before;
            block.steps += taken;
            let spent = taken.max(1) as u32;
            left = left.saturating_sub(spent);
            since += spent;
            // A warp whose lanes are together goes on to the end of its turn.
            if ran == Yield::QuantumExpired && !(alone && left > 0) {
                block.warps[w].splits[s].rounds += 1;
                if alone {
                    return Ok(left);
                }
            }
        }
        Ok(left)
    }

    /// The sweeping schedules on one core, from the beginning or from where the launch was put aside; `aside` takes it if it is again.
    pub(super) fn sweep<O: Hooks>(
        &self,
        mut core: Core<'_, O>,
        blocks: u32,
        cooperative: bool,
        begun: Option<Aside>,
        aside: &mut Option<Aside>,
    ) -> Result<(), Stop> {
        let room = self.room(blocks, cooperative)?;
        let mut patience = Patience::default();
        let (mut resident, mut next) = (Vec::new(), 0);
        if let Some(begun) = begun {
            core.set_clock(begun.clock);
            patience = Patience::again(begun.prove, begun.undecided);
            (resident, next) = (begun.resident, begun.next);
            core.clusters = begun.clusters;
            resident.iter_mut().for_each(Block::unpause);
        } else if !self.weak && !cooperative && !self.geometry.clustered {
            core.pause = self.limits.pause;
        }
        let mut busy = 0;
        let mut alone = Alone::default();
        let mut polls = false;
        let mut search = Search::default();
        let others = self.limits.others == Others::InTurn;
        let may_search = (self.limits.others == Others::Nobody || others) && !self.weak;
        loop {
            let mut ended = resident.extract_if(.., |b: &mut Block| b.live == 0).last();
            let wanted = match () {
                () if cooperative => room,
                // Whatever it is that they wait for, it may be another block.
                () if polls => resident.len().max(1),
                () if resident.is_empty() || alone.is_over() => 1,
                () if core.pause != Pause::Nowhere && resident.iter().any(Block::is_paused) => 1,
                () => 0,
            };
            let new = wanted
                .min(room.saturating_sub(resident.len()))
                .next_multiple_of(self.geometry.cluster.count() as usize)
                .min((blocks - next) as usize);
            for _ in 0..new {
                let block = self.block(&mut core, next, ended.take());
                resident.push(block);
                next += 1;
                alone.begins();
                patience.block_changed();
                search.block_changed(&mut core, self.steps.load(Relaxed));
            }
            if resident.is_empty() {
                return self.spend(&mut core, &resident);
            }
            let full = next == blocks || resident.len() >= room;
            let steps = self.steps.load(Relaxed);
            let searches = may_search
                && full
                && core.pause == Pause::Nowhere
                && search.begins(&mut core, steps, others);
            let patient = others && !self.weak && !searches;
            if patient {
                patience.begin(&mut core);
            }
            let mut stuck = None;
            let quantum = if resident.len() > 1 || patience.eager || searches {
                SHORT_QUANTUM
            } else {
                WARP_QUANTUM
            };
            let mut longest = Pass::Waits;
            for block in &mut resident {
                match self.pass(&mut core, block, quantum) {
                    Err(stop @ Stop::Deadlock { .. }) => stuck = Some(stop),
                    Err(stop) => {
                        self.count(&mut core);
                        return Err(stop);
                    }
                    Ok(pass) => {
                        if pass == Pass::TurnUsedUp {
                            longest = pass;
                        }
                    }
                }
                if block.live == 0 {
                    self.block_ends(&mut core, (block.id, block.cluster));
                    patience.block_changed();
                    search.block_changed(&mut core, self.steps.load(Relaxed));
                }
            }
            if self.geometry.clustered
                && let Err(stop) = self.clusters_go_on(&mut core, &mut resident)
            {
                stuck = Some(stop);
            }
            alone.passed(longest);
            self.spend(&mut core, &resident)?;
            if let Some(stop) = stuck {
                return Err(stop);
            }
            if full && core.pause != Pause::Nowhere {
                busy += u32::from(longest == Pass::TurnUsedUp);
                if busy > BUSY || !resident.iter().any(Block::runnable) {
                    let mut live = resident.iter().filter(|b| b.live > 0).peekable();
                    let there = live.peek().is_some()
                        && match core.pause {
                            Pause::AtTrigger => next == blocks && live.all(Block::is_paused),
                            _ => true,
                        };
                    if there {
                        let (left, stop) = self.put_aside(&mut core, resident, next, &patience);
                        *aside = Some(left);
                        return Err(stop);
                    }
                    // No moment comes at which the other launch could run.
                    core.pause = Pause::Nowhere;
                    resident.iter_mut().for_each(Block::unpause);
                }
            }
            if searches && search.finds(&mut core, &resident, self.steps.load(Relaxed)) {
                return Err(self.no_progress(&resident, true));
            }
            polls = patient && patience.only_polled(&mut core);
            let waits = polls && patience.gives_way(&mut core, &resident);
            if full && (waits || patience.is_over()) {
                let (left, stop) = self.put_aside(&mut core, resident, next, &patience);
                *aside = Some(left);
                return Err(stop);
            }
        }
    }
}
