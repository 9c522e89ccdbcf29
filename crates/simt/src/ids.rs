//! Who and where, inside a launch: one type for each thing that is counted.

use std::fmt;

/// Lanes of a warp (PTX ISA, "SIMT architecture": `WARP_SZ`).
pub const LANES: usize = 32;

/// A set of lanes of one warp, lane 0 in bit 0.
pub type Mask = u32;

/// The lanes of a mask, lowest first.
pub(crate) fn lanes_of(mask: Mask) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        (left != 0).then(|| {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            lane
        })
    })
}

/// A linear index of a block (CTA) in its grid: `x + y·nx + z·nx·ny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct BlockId(pub u32);

/// A warp's index in its block: linear thread index / 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct WarpId(pub u32);

/// A lane's index in its warp, 0 to 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LaneId(pub u8);

/// A thread's linear index in its block: `x + y·nx + z·nx·ny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The thread that is `lane` of `warp`.
    pub fn of(warp: WarpId, lane: LaneId) -> ThreadId {
        ThreadId(warp.0 * LANES as u32 + u32::from(lane.0))
    }
    /// Its warp.
    pub fn warp(self) -> WarpId {
        WarpId(self.0 / LANES as u32)
    }
    /// Its lane.
    pub fn lane(self) -> LaneId {
        LaneId((self.0 % LANES as u32) as u8)
    }
}

/// An instruction of a lowered program that findings can point at: an index
/// into [`super::Program::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Site(pub u32);

/// Sizes of a grid or a block in threads or blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// Fastest-moving.
    pub x: u32,
    /// Middle.
    pub y: u32,
    /// Slowest-moving.
    pub z: u32,
}

impl Dim3 {
    /// One in every direction.
    pub const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };

    /// A one-dimensional size.
    pub fn linear(x: u32) -> Dim3 {
        Dim3 { x, y: 1, z: 1 }
    }
    /// The number of elements, or the largest number where that is more.
    pub fn count(self) -> u64 {
        (u64::from(self.x) * u64::from(self.y)).saturating_mul(self.z.into())
    }
    /// Coordinates of the element with this linear index.
    pub fn coordinates(self, linear: u32) -> [u32; 3] {
        let (x, y) = (self.x.max(1), self.y.max(1));
        [linear % x, linear / x % y, linear / x / y]
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.y, self.z) {
            (1, 1) => write!(f, "{}", self.x),
            (y, 1) => write!(f, "{},{}", self.x, y),
            (y, z) => write!(f, "{},{},{}", self.x, y, z),
        }
    }
}
