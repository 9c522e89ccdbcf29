//! The schedules that decide who goes on, turn by turn.

use super::{Grid, SPLIT_QUANTUM, deadlock};
use crate::exec::{Core, IDLE, Quantum, Yield};
use crate::hooks::{Hooks, Lent};
use crate::ids::*;
use crate::schedule::{Decision, Ready, Runnable, Schedule};
use crate::state::*;
use crate::stop::*;
use std::collections::{BTreeMap, BTreeSet};

/// Blocks that are resident at the beginning of a schedule that decides: enough of them to meet in any order, and few enough for
/// what they need to stay in the processor's caches. No program may count on more, but for cooperative launches (CUDA C++ Programming
/// Guide, "Scalable Programming Model").
const RESIDENT: usize = 128;
/// Turns, for each warp that is resident, in which no block ends, after which twice as many blocks may be resident: those that are may be
/// waiting for others.
const WARP_TURNS: u64 = 512;

/// Decisions that are written down at most.
const TRACE: usize = 1 << 16;

impl Grid<'_> {
    /// The deciding schedules, on one core.
    pub(super) fn decide<O: Hooks>(
        &self,
        mut core: Core<'_, Lent<'_, O>>,
        blocks: u32,
        cooperative: bool,
        strategy: &mut dyn Schedule,
        stats: &mut Stats,
    ) -> Result<(), Stop> {
        let accesses = strategy.counts_accesses();
        core.observer.performed = accesses.then(Vec::new);
        let trace = &mut stats.trace;
        let room = self.room(blocks, cooperative)?;
        let mut resident: BTreeMap<u32, Block> = BTreeMap::new();
        let mut listing = Listing::default();
        let mut window = if cooperative {
            room
        } else {
            room.min(RESIDENT)
        };
        let mut next = 0;
        let mut ended = None;
        let mut turns = 0u64;
        let mut latest_end = 0;
        loop {
            let warps = (resident.len() * self.geometry.tids.len()) as u64;
            if window < room && turns - latest_end > WARP_TURNS * warps {
                window = room.min(window * 2);
                latest_end = turns;
            }
            let size = self.geometry.cluster.count() as u32;
            // The blocks of a cluster are resident together.
            while next < blocks && (resident.len() < window || !next.is_multiple_of(size)) {
                let block = self.block(&mut core, next, ended.take());
                listing.update(&block, strategy);
                resident.insert(block.id.0, block);
                next += 1;
            }
            if listing.ready.len() == 0 {
                if resident.is_empty() {
                    return self.spend(&mut core, resident.values());
                }
                // Clusters of which a block goes on, which others of it may wait for.
                let mut go_on = BTreeSet::new();
                for block in resident.values_mut() {
                    if go_on.contains(&block.cluster) {
                        continue;
                    }
                    if core.with_cluster(block, |core, block| core.unblock(block)) {
                        go_on.insert(block.cluster);
                        listing.update(block, strategy);
                    }
                }
                let mut all = resident.values_mut();
                if let Some(block) = all.find(|b| !go_on.contains(&b.cluster)) {
                    let _ = self.spend(&mut core, &[]);
                    let program = self.program;
                    return Err(core.with_cluster(block, |_, block| deadlock(program, block)));
                }
                continue;
            }
            let decision = strategy.decide(&listing.ready);
            if trace.decisions.len() < TRACE && !accesses {
                let chosen = listing.ready.get(decision.index as usize);
                let all = chosen.lanes & !decision.lanes == 0;
                let lanes = if all { Mask::MAX } else { decision.lanes };
                trace.decisions.push(Decision { lanes, ..decision });
            }
            let (b, w, s) = listing.ready.place(decision.index as usize);
            let Some(block) = resident.get_mut(&b) else {
                continue;
            };
            let warp = &mut block.warps[w];
            let stay = warp.splits[s].mask & !decision.lanes;
            let torn = stay != 0 && stay != warp.splits[s].mask;
            if torn && !self.program.is_joint(warp.splits[s].pc) {
                let (pc, run) = (warp.splits[s].pc, warp.splits[s].mask & decision.lanes);
                warp.fork(s, pc, run, pc, stay);
            }
            let quantum = Quantum {
                fuel: SPLIT_QUANTUM,
                goes_on: false,
                visible: decision.visible,
                accesses,
                limit: u32::MAX,
            };
            let before = core.steps;
            if let Some(history) = &mut core.history {
                history.wanted = decision.stale;
            }
            let ran = core.run(block, w, s, quantum);
            let ran = ran.inspect_err(|_| _ = self.count(&mut core))?;
            if let Some(performed) = &mut core.observer.performed {
                performed.drain(..).for_each(|p| strategy.performed(&p));
                stats.gave_up = strategy.gave_up();
            }
            let taken = core.steps - before;
            block.steps += taken;
            let long = taken >= u64::from(SPLIT_QUANTUM)
                || decision.visible == u32::MAX
                || core.idle >= IDLE;
            let tired = (ran == Yield::QuantumExpired && long).then_some((
                block.id,
                WarpId(w as u32),
                s as u32,
            ));
            block.warps[w].reconverge();
            listing.update(block, strategy);
            listing.ready.set_tired(tired);
            let cluster = block.cluster;
            if block.live == 0 {
                self.block_ends(&mut core, (block.id, cluster));
                ended = resident.remove(&b);
                latest_end = turns;
                listing.ready.set_tired(None);
            }
            if std::mem::take(&mut core.cluster_moved) {
                for member in self.geometry.members(cluster) {
                    if let Some(block) = resident.get_mut(&member) {
                        core.look_again(block);
                        listing.update(block, strategy);
                    }
                }
            }
            turns += 1;
            if turns.is_multiple_of(64) || core.steps > 4096 {
                self.spend(&mut core, resident.values())?;
            }
        }
    }
}

/// What can run, and room for what could before.
#[derive(Default)]
struct Listing {
    ready: Ready,
    runnable: Vec<Runnable>,
    splits: Vec<u32>,
}

impl Listing {
    /// Looks again at what can run of a block, and tells the strategy what has changed.
    fn update(&mut self, block: &Block, strategy: &mut dyn Schedule) {
        self.runnable.clear();
        self.splits.clear();
        for warp in &block.warps {
            for (s, split) in warp.splits.iter().enumerate() {
                if split.state == State::Ready {
                    self.splits.push(s as u32);
                    self.runnable.push(Runnable {
                        block: block.id,
                        warp: warp.id,
                        lanes: split.mask,
                        pc: split.pc,
                    });
                }
            }
        }
        self.ready
            .update(block.id, &mut self.runnable, &mut self.splits);
        strategy.changed(&self.runnable, self.ready.of(block.id));
    }
}
