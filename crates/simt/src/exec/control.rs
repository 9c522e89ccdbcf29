//! Splits that part and end, and frames that grow.

use super::Core;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::observer::Divergence;
use crate::op::*;
use crate::state::*;

impl<O: Hooks> Core<'_, O> {
    #[cold]
    pub(super) fn diverged(
        &mut self,
        block: &Block,
        w: usize,
        _: usize,
        site: Site,
        taken: Mask,
        fallen: Mask,
    ) {
        if O::WATCHES {
            self.observer.diverges(&Divergence {
                site,
                who: block.who(w),
                taken,
                fallen,
            });
        }
    }

    /// The lanes of a split end.
    pub(super) fn exit(&mut self, block: &mut Block, w: usize, s: usize, site: Site) {
        self.moved();
        let warp = &mut block.warps[w];
        let mask = warp.splits[s].mask;
        warp.splits.swap_remove(s);
        warp.exited |= mask;
        lanes_of(mask).for_each(|l| warp.exit_site[l] = site);
        block.live -= mask.count_ones();
        if O::WATCHES {
            self.observer.exits(block.who(w), mask, site);
        }
        self.cluster_exit(block, w, mask);
        for id in 0..16 {
            self.complete_barrier(block, id);
        }
        self.complete_warp(block, w);
        if block.live == 0 {
            self.perform_rest(block);
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn alloca(
        &mut self,
        warp: &mut Warp,
        s: usize,
        d: Slot,
        wide: bool,
        size: Slot,
        wide_size: bool,
        align: u32,
    ) {
        let mask = warp.splits[s].mask;
        let lane = mask.trailing_zeros() as usize;
        // All lanes of a split share the frame: the largest request counts.
        let bytes = if wide_size {
            lanes_of(mask)
                .map(|l| row(&warp.d, self.const_d, size)[l])
                .max()
                .unwrap_or(0)
                .min(u64::from(u32::MAX)) as u32
        } else {
            lanes_of(mask)
                .map(|l| row(&warp.w, self.const_w, size)[l])
                .max()
                .unwrap_or(0)
        };
        let _ = lane;
        let split = &mut warp.splits[s];
        let at = split.top.next_multiple_of(align);
        split.top = at.saturating_add(bytes).min(512 << 10);
        let top = split.top;
        warp.local.reserve(top);
        self.splat(warp, d, wide, u64::from(at), mask);
    }

    /// Writes one value to the active lanes of a row.
    pub(super) fn splat(&self, warp: &mut Warp, d: Slot, wide: bool, value: u64, active: Mask) {
        if d == Slot::NONE {
            return;
        }
        if wide {
            lanes_of(active).for_each(|l| warp.d[d.0 as usize][l] = value);
        } else {
            lanes_of(active).for_each(|l| warp.w[d.0 as usize][l] = value as u32);
        }
    }
}

impl Warp {
    /// Splits `s`: it keeps the lanes `mask` at `pc`, a new split gets `other` at `to`.
    pub(crate) fn fork(&mut self, s: usize, pc: u32, mask: Mask, to: u32, other: Mask) {
        let split = &mut self.splits[s];
        split.pc = pc;
        split.mask = mask;
        let new = Split {
            pc: to,
            mask: other,
            state: State::Ready,
            frames: split.frames.clone(),
            base: split.base,
            top: split.top,
            rounds: split.rounds,
        };
        self.splits.push(new);
    }

    /// Splits `s` into several; returns where it stays itself.
    pub(super) fn scatter(&mut self, s: usize, ways: &[(u32, Mask)]) -> u32 {
        let (first, rest) = (ways[0], &ways[1..]);
        for (to, mask) in rest {
            self.fork(s, first.0, first.1, *to, *mask);
        }
        self.splits[s].pc = first.0;
        self.splits[s].mask = first.1;
        first.0
    }
}
