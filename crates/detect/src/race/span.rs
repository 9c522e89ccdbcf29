//! What an access leaves in a line of the shadow: [`Span`].

use super::block::View;
use super::clock::Stamp;
use super::entry::Entry;
use simt::ids::{Mask, Site};

/// Granules of a line.
pub const LINE: usize = 32;

/// Part of an access: the granules of one line.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The line.
    pub line: usize,
    /// The first granule in it.
    pub from: usize,
    /// Granules.
    pub count: usize,
    /// The number of the first one, counted from lane 0's first granule.
    pub number: usize,
    /// Granules of a lane, a power of two.
    pub width: usize,
}

/// In [`Span::map`]: all its lanes accessed all its granules.
const ALIKE: u16 = 1 << 15;

/// What a warp's access to adjacent memory left in one line.
///
/// Two words, so that it is made and passed on in registers: what is written in smaller pieces and then copied as a whole makes the
/// processor wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// When (0: there is none), and above it the warp, in the shadow's numbering.
    who: u64,
    /// The instruction; above it, in 16, 8 and 8 bits, which lane accessed which granule, the first granule in the line, and one past the
    /// last.
    what: u64,
}

const _: () = assert!(size_of::<Span>() == 16);

impl Span {
    #[inline(always)]
    fn of(part: &Part, map: u16, v: &View<'_>, site: Site) -> Span {
        let (from, to) = (part.from as u64, (part.from + part.count) as u64);
        Span {
            who: u64::from(v.now) | u64::from(v.me) << 32,
            what: u64::from(site.0) | u64::from(map) << 32 | from << 48 | to << 56,
        }
    }

    /// Lanes next to each other, granule after granule.
    #[inline(always)]
    pub fn new(part: &Part, v: &View<'_>, site: Site) -> Span {
        // From -31, where the access begins at the line's last granule, to 1023.
        let skew = part.number + LINE - part.from;
        let map = (skew << 3) as u16 | part.width.trailing_zeros() as u16;
        Span::of(part, map, v, site)
    }

    /// Lanes next to each other that read the same granules.
    #[inline(always)]
    pub fn alike(part: &Part, lanes: Mask, v: &View<'_>, site: Site) -> Span {
        let (first, count) = (lanes.trailing_zeros(), lanes.count_ones());
        Span::of(part, ALIKE | (first << 5 | (count - 1)) as u16, v, site)
    }

    /// When; 0: there is none.
    #[inline(always)]
    pub fn stamp(self) -> Stamp {
        self.who as u32
    }

    /// The warp, in the shadow's numbering.
    #[inline(always)]
    pub fn warp(self) -> u32 {
        (self.who >> 32) as u32
    }

    /// The instruction.
    #[inline(always)]
    pub fn site(self) -> u32 {
        self.what as u32
    }

    /// Which lane accessed which granule: see [`Span::lanes`].
    #[inline(always)]
    pub fn map(self) -> u16 {
        (self.what >> 32) as u16
    }

    /// The first granule in the line.
    #[inline(always)]
    pub fn from(self) -> u8 {
        (self.what >> 48) as u8
    }

    /// One past the last.
    #[inline(always)]
    pub fn to(self) -> u8 {
        (self.what >> 56) as u8
    }

    /// The lanes that accessed a granule of the line.
    pub fn lanes(self, granule: u8) -> Mask {
        let map = self.map();
        if map & ALIKE != 0 {
            let count = u32::from(map & 31) + 1;
            return Mask::MAX >> (32 - count) << (map >> 5 & 31);
        }
        let number = u32::from(map >> 3) + u32::from(granule) - LINE as u32;
        1 << (number >> (map & 7))
    }

    /// A number that differs by who accesses what; its upper bits do most.
    pub fn mixed(self) -> u32 {
        u32::from(self.from()).wrapping_mul(0x9e37_79b1)
            ^ self.warp().wrapping_mul(0x85eb_ca6b)
            ^ u32::from(self.map()).wrapping_mul(0xc2b2_ae35)
    }

    fn overlaps(self, other: Span) -> bool {
        self.from() < other.to() && other.from() < self.to()
    }

    /// A bit for each granule.
    #[inline(always)]
    pub fn granules(self) -> u32 {
        u32::MAX >> (LINE as u32 - u32::from(self.to() - self.from())) << self.from()
    }

    /// Whether it covers all granules of another one.
    #[inline(always)]
    pub fn contains(self, other: Span) -> bool {
        self.from() <= other.from() && other.to() <= self.to()
    }

    /// Whether the two are parts of one access, and have no gap between them.
    #[inline(always)]
    pub fn continues(self, other: Span) -> bool {
        self.who == other.who
            && (self.what ^ other.what) << 16 == 0
            && self.from() <= other.to()
            && other.from() <= self.to()
    }

    /// Takes another part of the same access in.
    pub fn extend(&mut self, other: Span) {
        let from = u64::from(self.from().min(other.from()));
        let to = u64::from(self.to().max(other.to()));
        self.what = self.what << 16 >> 16 | from << 48 | to << 56;
    }

    /// Whether the block's floor covers it, or there is nothing.
    #[inline(always)]
    pub fn is_settled(self, v: &View<'_>) -> bool {
        self.stamp() == 0 || v.in_block(self.warp()) && self.stamp() < v.block_floor
    }

    /// Whether `new`, an access of the viewing warp, leaves nothing of it to remember: all of it is
    /// ordered before `new`. Other blocks know nothing of this block's barriers, so in
    /// global memory `new` has to stand in for it, granule by granule.
    #[inline(always)]
    pub fn is_replaced(self, new: Span, v: &View<'_>) -> bool {
        self.is_settled(v) && (!v.global || self.stamp() == 0 || new.contains(self))
    }

    /// Whether the floors and program order put it before `new`, an access of the viewing warp.
    #[inline(always)]
    pub fn is_before(self, new: Span, v: &View<'_>) -> bool {
        self.is_settled(v)
            || !self.overlaps(new)
            || self.warp() == v.me && (self.stamp() < v.warp_floor || self.map() == new.map())
    }

    /// What it says of a granule.
    pub fn entry(self, granule: u8) -> Entry {
        Entry {
            warp: self.warp(),
            stamp: self.stamp(),
            mask: self.lanes(granule),
            site: self.site(),
        }
    }
}
