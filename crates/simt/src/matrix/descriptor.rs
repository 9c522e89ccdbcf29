//! Where `wgmma` finds a factor in shared memory (PTX ISA, "Matrix descriptor format", "Strides", "Canonical layouts").
//!
//! A factor is read in pieces of 16 bytes, which lie side by side along one of its two directions. Which piece lies where was recorded on an H200 for
//! elements of two bytes (`docs/design/asynchronous-operations.md`); elements of other sizes, which the manual has in one direction alone, are taken to
//! lie as the same bytes.

/// Bytes of a piece.
pub const PIECE: u64 = 16;

/// A factor in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Where it begins.
    start: u64,
    /// The leading dimension's offset.
    leading: u64,
    /// The stride dimension's offset.
    stride: u64,
    /// Bytes over which it is swizzled, or 0.
    width: u64,
}

impl Descriptor {
    /// What 64 bits describe; `None` with a base offset, whose effect nobody has recorded.
    pub fn of(bits: u64) -> Option<Descriptor> {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        let width = match bits >> 62 {
            0 => 0,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        (bits >> 49 & 7 == 0).then_some(Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            width,
        })
    }

    /// The address of a piece of a K-major factor: of row `line` of A, or of that column of B, the piece `number` along K.
    pub fn along_k(&self, line: u64, number: u64) -> u64 {
        let (group, within) = (line / 8, line % 8);
        self.swizzled(match self.width {
            0 => group * self.stride + number * self.leading + within * PIECE,
            width => group * self.stride + within * width + number * PIECE,
        })
    }

    /// The address of a piece of an MN-major factor: of row `k` of B, or of that column of A, the piece `number` across, eight elements of two bytes.
    pub fn across(&self, k: u64, number: u64) -> u64 {
        let (group, within) = (k / 8, k % 8);
        self.swizzled(match self.width {
            0 => number * self.stride + group * self.leading + within * PIECE,
            width => {
                let pieces = width / PIECE;
                let (far, near) = (number / pieces, number % pieces);
                far * self.leading + group * self.stride + within * width + near * PIECE
            }
        })
    }

    /// Bits 7 and up of an address are added without carry to bits 4 and up, as many as the width has.
    fn swizzled(&self, offset: u64) -> u64 {
        let at = self.start + offset;
        let pieces = (self.width / PIECE).max(1);
        at ^ (at >> 7 & (pieces - 1)) << 4
    }
}
