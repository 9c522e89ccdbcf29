//! Special registers (PTX ISA, "Special Registers").

use super::Turn;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::lanes_of;
use crate::ids::*;
use crate::memory::GLOBAL_BASE;
use crate::op::*;

impl<O: Hooks> Turn<'_, '_, O> {
    /// Reads one, in each lane.
    pub(super) fn special(
        &mut self,
        which: Special,
        d: Slot,
        wide: bool,
        active: Mask,
        site: Site,
    ) {
        use Special::*;
        let now = self.executed();
        let time = match which {
            Clock | Clock64 | GlobalTimer | GlobalTimerLo => {
                let waits = self.core.program.site(site).waits;
                self.core.clock(now, waits)
            }
            ClockHi | GlobalTimerHi => self.core.clock(now, false) >> 32,
            _ => 0,
        };
        let geometry = self.core.geometry;
        let along = |size: Dim3, axis: u8| u64::from([size.x, size.y, size.z][usize::from(axis)]);
        let workspace = geometry.workspace.map_or(0, |at| GLOBAL_BASE + at);
        for l in lanes_of(active) {
            let lane = l as u64;
            let thread = (self.w * LANES + l) as u32;
            let value = match which {
                Tid(axis) => u64::from(geometry.block.coordinates(thread)[usize::from(axis)]),
                Ntid(axis) => along(geometry.block, axis),
                Ctaid(axis) => u64::from(self.block.coordinates[usize::from(axis)]),
                Nctaid(axis) => along(geometry.grid, axis),
                // "The grid's blocks in clusters", along each axis.
                ClusterId(axis) => {
                    u64::from(self.block.coordinates[usize::from(axis)])
                        / along(geometry.cluster, axis)
                }
                ClusterCtaId(axis) => {
                    u64::from(self.block.coordinates[usize::from(axis)])
                        % along(geometry.cluster, axis)
                }
                NClusterId(axis) => along(geometry.grid, axis) / along(geometry.cluster, axis),
                ClusterNCtaId(axis) => along(geometry.cluster, axis),
                ClusterCtaRank => self.block.rank.into(),
                ClusterNCtaRank => geometry.cluster.count(),
                IsExplicitCluster => geometry.explicit_cluster.into(),
                LaneId => lane,
                LaneMaskEq => 1 << lane,
                LaneMaskLt => (1 << lane) - 1,
                LaneMaskLe => (2 << lane) - 1,
                LaneMaskGe => 0xffff_ffff & !((1 << lane) - 1),
                LaneMaskGt => 0xffff_ffff & !((2 << lane) - 1),
                WarpId => self.w as u64,
                NWarpId => geometry.block.count().div_ceil(LANES as u64),
                SmId => u64::from(self.block.id.0 % 132),
                NSmId => 132,
                GridId => 1,
                Clock | Clock64 | GlobalTimer | GlobalTimerLo | ClockHi | GlobalTimerHi => time,
                DynamicSharedSize => u64::from(geometry.dynamic_shared),
                TotalSharedSize => self.block.shared.bytes,
                // The driver hands the cooperative launch's workspace over in two of them.
                EnvReg(1) => workspace >> 32,
                EnvReg(2) => workspace & 0xffff_ffff,
                _ => 0,
            };
            match wide {
                true => self.set_d(d, l, value),
                false => self.set_w(d, l, value as u32),
            }
        }
    }
}
