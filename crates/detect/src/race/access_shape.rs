//! Size and scope of strong accesses, and which of them are morally strong (PTX ISA, "Morally strong operations").

use super::block::View;

/// Size, position and scope of a strong access, as far as moral strength needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessShape(pub u16);

const WIDE: u16 = 1 << 3;
const RMW: u16 = 1 << 4;
const CLUSTER: u16 = 1 << 14;
const PRESENT: u16 = 1 << 15;

impl AccessShape {
    /// Of the granule that is number `position` in an element of `bytes` bytes.
    pub fn new(bytes: u32, position: u32, wide: bool, rmw: bool) -> AccessShape {
        let flags = if wide { WIDE } else { 0 } | if rmw { RMW } else { 0 };
        AccessShape(bytes.trailing_zeros() as u16 | flags | (position as u16) << 5 | PRESENT)
    }
    /// Whether the scope reaches beyond the cluster.
    pub fn wide(self) -> bool {
        self.0 & WIDE != 0
    }
    /// The same, of an access whose scope is that of the cluster.
    pub fn of_cluster(self, is: bool) -> AccessShape {
        AccessShape(self.0 | if is { CLUSTER } else { 0 })
    }
    /// Whether the scope reaches the blocks of the cluster.
    pub fn reaches_cluster(self) -> bool {
        self.0 & (WIDE | CLUSTER) != 0
    }
    /// Whether it is a read-modify-write.
    pub fn rmw(self) -> bool {
        self.0 & RMW != 0
    }
    /// Whether two accesses overlap completely (PTX ISA, "Overlap").
    pub fn same_extent(self, other: AccessShape) -> bool {
        (self.0 ^ other.0) & !(WIDE | RMW | CLUSTER) == 0
    }
}

/// Whether an access of the viewing warp's block and an earlier one of `warp` are morally
/// strong, both being strong (PTX ISA, "Morally strong operations").
pub fn morally_strong(theirs: AccessShape, warp: u32, ours: AccessShape, v: &View<'_>) -> bool {
    ours.same_extent(theirs) && scopes_include(theirs, warp, ours, v)
}

/// Whether each one's scope includes the other's thread.
pub fn scopes_include(theirs: AccessShape, warp: u32, ours: AccessShape, v: &View<'_>) -> bool {
    ours.wide() && theirs.wide()
        || v.in_block(warp)
        || ours.reaches_cluster() && theirs.reaches_cluster() && v.in_cluster(warp)
}

/// One lane's strong access to a granule.
#[derive(Clone, Copy, Debug)]
pub struct StrongAccess {
    /// The lane.
    pub lane: u32,
    /// The instruction.
    pub site: u32,
    /// Size and scope.
    pub class: AccessShape,
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
    /// What it reads only steers branches.
    pub control_only: bool,
    /// What it reads goes on untested.
    pub hands_on: bool,
    /// It is `volatile`.
    pub volatile: bool,
    /// What a store stores, if that is known.
    pub value: Option<u64>,
    /// It is morally strong with the write whose value is there, the whole of it
    /// (PTX ISA, "Observation Order").
    pub link: bool,
}
