//! What the shadow's halves share: who did something, when and where, in as few words as it takes.

use super::clock::Stamp;
use simt::ids::{Mask, Site};

/// A race was found, or in the fast loops: may have been. The slow path tells which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race;

/// `r_stamp` of a far pair.
pub const FAR: Stamp = u32::MAX;
/// `r_stamp` of a list.
pub const LIST: Stamp = u32::MAX - 1;
/// `class` of a granule whose strong accesses are in a [`StrongCell`](super::strong_cell::StrongCell).
pub const SLOW: u16 = u16::MAX;

/// Some lanes of a warp that did the same at one stamp and instruction.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The warp, in the shadow's numbering.
    pub warp: u32,
    /// When.
    pub stamp: Stamp,
    /// The lanes.
    pub mask: Mask,
    /// The instruction.
    pub site: u32,
}

/// The last strong read-modify-write of a granule, if nothing else strong has happened there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// When; the index of a strong cell if `class` is [`SLOW`].
    pub stamp: Stamp,
    /// The warp, in the shadow's numbering.
    pub warp: u32,
    /// Instruction and lane.
    pub tag: u32,
    /// Its [`super::access_shape::AccessShape`]; 0: none.
    pub class: u16,
}

/// Instruction and lane in one word.
pub fn tag(site: Site, lane: u32) -> u32 {
    site.0 << 5 | lane
}
/// The instruction of a tag.
pub fn site_of(tag: u32) -> u32 {
    tag >> 5
}
/// The lane of a tag.
pub fn lane_of(tag: u32) -> u32 {
    tag & 31
}
