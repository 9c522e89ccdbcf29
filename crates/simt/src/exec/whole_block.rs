//! The commonest barrier: `__syncthreads()` to which the warps of a block come whole, all at one place, while no thread has exited.
//!
//! There is nothing to judge then, so that warps are only counted. As soon as anything else happens at the barrier (a part of a warp, another
//! place, a thread that has gone around it or exits), the warps that have come are written down as arrivals like any other, and
//! [`super::barrier`] goes on.

use super::Core;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::observer::*;
use crate::op::*;
use crate::state::*;

impl<O: Hooks> Core<'_, O> {
    /// Whether split `s` of warp `w` has come to its barrier in this way, and waits, or goes on if it is the last one.
    #[inline]
    pub(super) fn arrive_whole(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        op: &BarrierOp,
        site: Site,
    ) -> bool {
        let plain =
            op.kind == BarrierKind::Sync && op.threads == Slot::NONE && op.id.0 & Slot::CONST != 0;
        if !plain {
            return false;
        }
        let number = row(&[], self.const_w, op.id)[0];
        let threads = self.geometry.block.count() as u32;
        let Some(barrier) = block.barriers.get_mut(number as usize) else {
            return false;
        };
        let warp = &mut block.warps[w];
        let (mask, pc) = (warp.splits[s].mask, warp.splits[s].pc);
        let together = barrier.whole.is_empty() || barrier.pc == pc;
        let passed = warp.passed.get(op.point as usize);
        let counts = warp.splits.len() == 1
            && block.live == threads
            && barrier.arrivals.is_empty()
            && together
            && passed.is_none_or(|passed| passed & mask == 0);
        if !counts {
            return false;
        }
        if let Some(arrived) = warp.arrived.get_mut(op.point as usize) {
            *arrived |= mask;
        }
        let split = &mut warp.splits[s];
        split.pc = pc + 1;
        split.rounds = 0;
        split.state = State::Barrier(number);
        barrier.pc = pc;
        barrier.whole.push(Party {
            warp: warp.id,
            mask,
            site,
        });
        if barrier.whole.len() == block.warps.len() {
            self.release_whole(block, number, op);
        }
        true
    }

    /// All warps are there.
    fn release_whole(&mut self, block: &mut Block, number: u32, op: &BarrierOp) {
        let mut all = std::mem::take(&mut block.barriers[number as usize].whole);
        if let Some(history) = &mut self.history {
            history.tick();
            history.block_barrier(block.id);
        }
        if O::WATCHES {
            self.observer.block_barrier(&BlockBarrier {
                block: block.id,
                id: number,
                arrived: &all,
                waited: &all,
                whole_block: true,
                full: true,
                aligned: op.aligned,
                exited: &[],
            });
        }
        for warp in &mut block.warps {
            warp.splits[0].state = State::Ready;
        }
        // Its memory serves the next time.
        all.clear();
        block.barriers[number as usize].whole = all;
    }

    /// Writes down as arrivals the warps that have come to a barrier whole.
    pub(super) fn write_down(&self, block: &mut Block, number: usize) {
        let threads = self.geometry.block.count() as u32;
        let barrier = &mut block.barriers[number];
        if barrier.whole.is_empty() {
            return;
        }
        let pc = barrier.pc;
        let Op::Barrier(op) = &self.program.code[pc as usize].op else {
            return;
        };
        let arrivals = barrier.whole.drain(..).map(|party| Arrival {
            warp: party.warp,
            mask: party.mask,
            site: party.site,
            pc,
            waits: true,
            count: threads.next_multiple_of(LANES as u32),
            aligned: op.aligned,
            point: op.point,
            skipped: 0,
            holds: 0,
        });
        barrier.arrivals.extend(arrivals);
    }
}

#[cfg(test)]
mod tests;
