//! Special registers (PTX ISA, "Special Registers"), and what their values depend on.

use super::Dependence;

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    Pm,
    ReservedShared(ReservedShared),
    DynamicSharedSize,
    TotalSharedSize,
    EnvReg(u8),
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaId(u8),
    ClusterNCtaId(u8),
    ClusterCtaRank,
    ClusterNCtaRank,
    IsExplicitCluster,
    CurrentGraphExec,
}

/// What is said of the shared memory that the system reserves (PTX ISA, "Special Registers: %reserved_smem_offset_begin, …").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReservedShared {
    /// Where it begins.
    Begin,
    /// Where it ends.
    End,
    /// Its size.
    Size,
    /// The place of so manyth use in it: cooperative groups' tiles of several warps meet in the second.
    Use(u8),
}

impl Special {
    /// The special register that a name with its vector component means, and whether it is 64 bits wide.
    pub fn named(name: &str, component: Option<&str>) -> Option<(Special, bool)> {
        let axis = match component {
            None => 3,
            Some("x") => 0,
            Some("y") => 1,
            Some("z") => 2,
            Some(_) => return None,
        };
        let vector = |f: fn(u8) -> Special| (axis < 3).then(|| (f(axis), false));
        Some(match name {
            "%tid" => return vector(Special::Tid),
            "%ntid" => return vector(Special::Ntid),
            "%ctaid" => return vector(Special::Ctaid),
            "%nctaid" => return vector(Special::Nctaid),
            "%clusterid" => return vector(Special::ClusterId),
            "%nclusterid" => return vector(Special::NClusterId),
            "%cluster_ctaid" => return vector(Special::ClusterCtaId),
            "%cluster_nctaid" => return vector(Special::ClusterNCtaId),
            "%cluster_ctarank" => (Special::ClusterCtaRank, false),
            "%cluster_nctarank" => (Special::ClusterNCtaRank, false),
            "%is_explicit_cluster" => (Special::IsExplicitCluster, false),
            "%laneid" => (Special::LaneId, false),
            "%warpid" => (Special::WarpId, false),
            "%nwarpid" => (Special::NWarpId, false),
            "%smid" => (Special::SmId, false),
            "%nsmid" => (Special::NSmId, false),
            "%gridid" => (Special::GridId, true),
            "%lanemask_eq" => (Special::LaneMaskEq, false),
            "%lanemask_le" => (Special::LaneMaskLe, false),
            "%lanemask_lt" => (Special::LaneMaskLt, false),
            "%lanemask_ge" => (Special::LaneMaskGe, false),
            "%lanemask_gt" => (Special::LaneMaskGt, false),
            "%clock" => (Special::Clock, false),
            "%clock_hi" => (Special::ClockHi, false),
            "%clock64" => (Special::Clock64, true),
            "%globaltimer" => (Special::GlobalTimer, true),
            "%globaltimer_lo" => (Special::GlobalTimerLo, false),
            "%globaltimer_hi" => (Special::GlobalTimerHi, false),
            "%reserved_smem_offset_begin" => {
                (Special::ReservedShared(ReservedShared::Begin), false)
            }
            "%reserved_smem_offset_end" => (Special::ReservedShared(ReservedShared::End), false),
            "%reserved_smem_offset_cap" => (Special::ReservedShared(ReservedShared::Size), false),
            "%reserved_smem_offset_0" => (Special::ReservedShared(ReservedShared::Use(0)), false),
            "%reserved_smem_offset_1" => (Special::ReservedShared(ReservedShared::Use(1)), false),
            "%aggr_smem_size" => (Special::TotalSharedSize, false),
            "%dynamic_smem_size" => (Special::DynamicSharedSize, false),
            "%total_smem_size" => (Special::TotalSharedSize, false),
            "%current_graph_exec" => (Special::CurrentGraphExec, true),
            _ => return numbered(name),
        })
    }

    /// What its value depends on, beyond which thread of which launch reads it.
    pub fn dependence(self) -> Option<Dependence> {
        match self {
            Special::Clock | Special::ClockHi | Special::Clock64 => Some(Dependence::Clock),
            Special::GlobalTimer | Special::GlobalTimerLo | Special::GlobalTimerHi => {
                Some(Dependence::Clock)
            }
            // Performance counters count what happened so far.
            Special::Pm => Some(Dependence::Clock),
            // Where a block and its warps run is up to the hardware ("%smid", "%warpid").
            Special::SmId | Special::WarpId => Some(Dependence::Placement),
            _ => None,
        }
    }
}

/// `%envreg3`, `%pm0`, `%pm0_64`.
fn numbered(name: &str) -> Option<(Special, bool)> {
    if let Some(n) = name.strip_prefix("%envreg") {
        return Some((Special::EnvReg(n.parse().ok().filter(|n| *n < 32)?), false));
    }
    let n = name.strip_prefix("%pm")?;
    let (n, wide) = match n.strip_suffix("_64") {
        Some(n) => (n, true),
        None => (n, false),
    };
    let n: Option<u8> = n.parse().ok().filter(|n| *n < 8);
    n.map(|_| (Special::Pm, wide))
}
