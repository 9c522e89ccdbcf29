//! Block barriers (PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier"): threads arrive, and whoever waits goes on
//! when all have come that the barrier expects. What is wrong with a meeting is told by `exec::barrier`, for both engines.

use super::Turn;
use crate::alu::Mask;
use crate::exec::barrier_faults;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::observer::*;
use crate::op::*;
use crate::state::*;

/// Barriers of a block: "sixteen barriers numbered 0..15".
const BARRIERS: u32 = 16;
/// "The barrier counts in multiples of the warp size."
const WARP: u32 = LANES as u32;

impl<O: Hooks> Turn<'_, '_, O> {
    /// The lanes of a split meet at one barrier, for one number of threads: those of the lowest lane. The others come on their own.
    pub(super) fn part_by_barrier(&mut self, b: &BarrierOp) {
        let (s, pc, mask) = (self.s, self.split().pc, self.split().mask);
        let first = mask.trailing_zeros() as usize;
        let same =
            |slot: Slot, l: usize| slot == Slot::NONE || self.w(slot, l) == self.w(slot, first);
        let together = super::filter(mask, |l| same(b.id, l) && same(b.threads, l));
        if together != mask {
            (self.warp_mut()).fork(s, pc, together, pc, mask & !together);
        }
    }

    /// The lanes of the split arrive.
    pub(super) fn arrive(&mut self, b: &BarrierOp, site: Site) {
        let (pc, mask) = (self.split().pc, self.split().mask);
        let first = mask.trailing_zeros() as usize;
        let number = self.w(b.id, first);
        let id = number % BARRIERS;
        // A count of zero is none, as `ptxas` takes it.
        let named = (b.threads != Slot::NONE)
            .then(|| self.w(b.threads, first))
            .filter(|count| *count != 0);
        let waits = b.kind != BarrierKind::Arrive;
        let holds = match b.kind {
            BarrierKind::Popc { p, .. }
            | BarrierKind::And { p, .. }
            | BarrierKind::Or { p, .. } => super::filter(mask, |l| self.p(p, l)),
            BarrierKind::Sync | BarrierKind::Arrive => 0,
        };
        let skipped = self.comes_to(b.point, mask);
        let split = self.split_mut();
        split.pc = pc + 1;
        split.rounds = 0;
        if waits {
            split.state = State::Barrier(id);
        }
        let threads = self.core.geometry.block.count() as u32;
        if O::WATCHES {
            let here = self.party(mask, site);
            for fault in barrier_faults(number, named, threads, waits)
                .into_iter()
                .flatten()
            {
                let misuse = Misuse::InvalidBarrier { here, fault };
                self.core.observer.misuse(self.block.id, misuse);
            }
            if !waits {
                (self.core.observer).block_arrives(self.block.id, id, here);
            }
        }
        let barrier = &mut self.block.barriers[id as usize];
        if let Some(count) = named {
            barrier.expected = Some(count.div_ceil(WARP).saturating_mul(WARP));
        }
        barrier.arrivals.push(Arrival {
            warp: WarpId(self.w as u32),
            mask,
            site,
            pc,
            waits,
            count: named.unwrap_or(threads.next_multiple_of(WARP)),
            aligned: b.aligned,
            point: b.point,
            skipped,
            holds,
        });
        self.complete_barrier(id as usize);
    }

    /// Lanes come to a meeting point: those of them that had gone around it before.
    pub(super) fn comes_to(&mut self, point: u32, mask: Mask) -> Mask {
        if point == u32::MAX {
            return 0;
        }
        let (warp, point) = (self.warp_mut(), point as usize);
        let skipped = warp.passed[point] & mask;
        warp.passed[point] &= !mask;
        warp.arrived[point] |= mask;
        skipped
    }

    /// Lets threads go if all are there: all of the block that have not exited, or as many as the barrier expects.
    pub(super) fn complete_barrier(&mut self, id: usize) {
        let barrier = &self.block.barriers[id];
        let complete = match barrier.expected {
            None => threads_at(barrier) >= self.block.live,
            Some(expected) => counted_at(self.block, id) >= expected,
        };
        if complete && !barrier.arrivals.is_empty() {
            self.release(id, false);
        }
    }

    /// Threads go on; with `torn`, also those of warps that never come as a whole.
    fn release(&mut self, id: usize, torn: bool) {
        let barrier = std::mem::take(&mut self.block.barriers[id]);
        let whole = barrier.expected.is_none();
        let all = &barrier.arrivals;
        let (arrivals, later): (Vec<Arrival>, Vec<Arrival>) = (all.iter().copied())
            .partition(|a| whole || torn || counts(self.block, all, a.warp) != 0);
        if !later.is_empty() {
            self.block.barriers[id].expected = barrier.expected;
            self.block.barriers[id].arrivals = later;
        }
        if let Some(history) = &mut self.core.history {
            history.tick();
            history.block_barrier(self.block.id);
        }
        if O::WATCHES {
            (self.core).tell_barrier(self.block, id as u32, &arrivals, whole);
        }
        self.core.released();
        self.reduce(&arrivals);
        for a in arrivals.iter().filter(|a| a.waits) {
            for split in &mut self.block.warps[a.warp.0 as usize].splits {
                if split.state == State::Barrier(id as u32) && split.mask & a.mask != 0 {
                    split.state = State::Ready;
                }
            }
        }
        for a in &arrivals {
            self.block.warps[a.warp.0 as usize].reconverge();
        }
    }

    /// "barrier.red": over the predicates of all threads, for all of them.
    fn reduce(&mut self, arrivals: &[Arrival]) {
        let holding: u32 = arrivals.iter().map(|a| a.holds.count_ones()).sum();
        let waiting = arrivals.iter().filter(|a| a.waits);
        let threads: u32 = waiting.map(|a| a.mask.count_ones()).sum();
        let w = self.w;
        for a in arrivals {
            let Op::Barrier(b) = &self.core.program.code[a.pc as usize].op else {
                continue;
            };
            self.w = a.warp.0 as usize;
            for l in lanes_of(a.mask) {
                match b.kind {
                    BarrierKind::Popc { d, .. } => self.set_w(d, l, holding),
                    BarrierKind::And { d, .. } => self.set_p(d, l, holding == threads),
                    BarrierKind::Or { d, .. } => self.set_p(d, l, holding > 0),
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                }
            }
        }
        self.w = w;
    }

    /// Where nothing can run: a barrier to which enough threads have come, if not whole warps. Whether there was one.
    pub(super) fn let_torn_barriers_go(&mut self) -> bool {
        let torn = self.block.barriers.iter().position(|barrier| {
            (barrier.expected).is_some_and(|expected| threads_at(barrier) >= expected)
        });
        if let Some(id) = torn {
            self.release(id, true);
        }
        torn.is_some()
    }
}

/// Threads that have arrived.
fn threads_at(barrier: &Barrier) -> u32 {
    barrier.arrivals.iter().map(|a| a.mask.count_ones()).sum()
}

/// As what a warp counts: as a whole one once all of it that has not exited is there. Pieces at an `.aligned` barrier count for nothing
/// before, others for their threads.
fn counts(block: &Block, arrivals: &[Arrival], warp: WarpId) -> u32 {
    let own = || arrivals.iter().filter(|a| a.warp == warp);
    let here = own().fold(0, |mask, a| mask | a.mask);
    match block.warps[warp.0 as usize].live() & !here {
        0 if here != 0 => WARP,
        _ if own().all(|a| a.aligned) => 0,
        _ => here.count_ones(),
    }
}

/// Threads that have arrived as a barrier for a number of them counts.
fn counted_at(block: &Block, id: usize) -> u32 {
    let arrivals = &block.barriers[id].arrivals;
    let warps = (0..block.warps.len() as u32).map(WarpId);
    warps.map(|warp| counts(block, arrivals, warp)).sum()
}
