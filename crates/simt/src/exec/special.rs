//! Special registers (PTX ISA, "Special Registers").

use super::Core;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::GLOBAL_BASE;
use crate::op::*;
use crate::state::*;

impl<O: Hooks> Core<'_, O> {
    /// What the clock goes on from.
    pub fn clock_state(&self) -> [u64; 3] {
        [self.spent, self.looks, self.haste]
    }

    /// Goes on from where another core's clock was.
    pub fn set_clock(&mut self, [spent, looks, haste]: [u64; 3]) {
        (self.spent, self.looks, self.haste) = (spent, looks, haste);
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn special(
        &mut self,
        block: &mut Block,
        w: usize,
        which: Special,
        d: Slot,
        wide: bool,
        active: Mask,
        dead: Mask,
        (now, waits): (u64, bool),
    ) {
        let geometry = self.geometry;
        if let Special::Tid(axis) = which {
            let from = &geometry.tids[w][usize::from(axis)];
            let to = &mut block.warps[w].w[d.0 as usize];
            if active | dead == Mask::MAX {
                *to = *from;
            } else {
                lanes_of(active).for_each(|l| to[l] = from[l]);
            }
            return;
        }
        let axis_of = |size: Dim3, axis: u8| [size.x, size.y, size.z][usize::from(axis)];
        let lanewise = |f: fn(u32) -> u32| (0..LANES as u32).map(f).collect::<Vec<_>>();
        let rows = match which {
            Special::LaneId => Some(lanewise(|l| l)),
            Special::LaneMaskEq => Some(lanewise(|l| 1 << l)),
            Special::LaneMaskLt => Some(lanewise(|l| (1 << l) - 1)),
            Special::LaneMaskLe => Some(lanewise(|l| u32::MAX >> (31 - l))),
            Special::LaneMaskGe => Some(lanewise(|l| u32::MAX << l)),
            Special::LaneMaskGt => Some(lanewise(|l| !(u32::MAX >> (31 - l)))),
            _ => None,
        };
        let warp = &mut block.warps[w];
        if let Some(rows) = rows {
            lanes_of(active).for_each(|l| warp.w[d.0 as usize][l] = rows[l]);
            return;
        }
        let value = match which {
            Special::Ntid(axis) => u64::from(axis_of(geometry.block, axis)),
            Special::Ctaid(axis) => u64::from(block.coordinates[usize::from(axis)]),
            Special::ClusterId(axis) => {
                let size = axis_of(geometry.cluster, axis);
                u64::from(block.coordinates[usize::from(axis)] / size)
            }
            Special::ClusterCtaId(axis) => {
                let size = axis_of(geometry.cluster, axis);
                u64::from(block.coordinates[usize::from(axis)] % size)
            }
            Special::Nctaid(axis) => u64::from(axis_of(geometry.grid, axis)),
            Special::NClusterId(axis) => u64::from(axis_of(geometry.clusters(), axis)),
            Special::WarpId => w as u64,
            Special::NWarpId => geometry.block.count().div_ceil(LANES as u64),
            Special::SmId => u64::from(block.id.0 % 132),
            Special::NSmId => 132,
            Special::GridId => 1,
            Special::Clock | Special::Clock64 | Special::GlobalTimer | Special::GlobalTimerLo => {
                self.clock(now, waits)
            }
            Special::ClockHi | Special::GlobalTimerHi => self.clock(now, false) >> 32,
            Special::DynamicSharedSize => u64::from(geometry.dynamic_shared),
            Special::TotalSharedSize => block.shared.bytes,
            // The driver hands the cooperative launch's workspace over in two of them.
            Special::EnvReg(1) => geometry.workspace.map_or(0, |at| (GLOBAL_BASE + at) >> 32),
            Special::EnvReg(2) => geometry
                .workspace
                .map_or(0, |at| (GLOBAL_BASE + at) & 0xffff_ffff),
            Special::ClusterNCtaId(axis) => u64::from(axis_of(geometry.cluster, axis)),
            Special::ClusterCtaRank => u64::from(block.rank),
            Special::ClusterNCtaRank => geometry.cluster.count(),
            Special::IsExplicitCluster => u64::from(geometry.explicit_cluster),
            _ => 0,
        };
        self.splat(warp, d, wide, value, active);
    }

    /// A clock that every instruction moves on, and every look at it: `now` is how many the turn that runs has executed. For those who
    /// `wait` for time alone, each look in a row takes twice as long as the one before.
    pub(crate) fn clock(&mut self, now: u64, waits: bool) -> u64 {
        const LONGEST: u64 = 1 << 40;
        if let Some(changes) = &mut self.changes {
            changes.timed = true;
            if let Some(still) = changes.clock {
                return still;
            }
        }
        self.haste = match waits {
            true => (self.haste * 2).min(LONGEST),
            false => 1,
        };
        self.looks = self.looks.wrapping_add(self.haste);
        (self.spent + self.steps + now)
            .wrapping_add(self.looks)
            .wrapping_mul(8)
    }

    /// Time passes in which nothing happens.
    pub(super) fn put_forward(&mut self, nanoseconds: u64) {
        self.looks = self.looks.wrapping_add(nanoseconds / 8);
        if let Some(changes) = &mut self.changes {
            changes.clock = None;
        }
    }
}
