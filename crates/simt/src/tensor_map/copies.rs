//! Which bytes a copy with a tensor map moves (PTX ISA, "Tensors": "Tiled Mode", "im2col mode", "Swizzling modes").
//!
//! Elements go to shared memory one after the other, the innermost dimension first: a box's rows, or a bounding box's pixels. Each row is a piece
//! that lies together in both memories; elements that the tensor has not are filled in by a load, and left out by a store. With a swizzle, pieces of
//! 16 bytes of shared memory change places by an exclusive or of their address's bits 4 to 6 with bits 7 to 9, as many of them as the span has.
//!
//! What the manual leaves open is as an H100 does it (`tests/programs/recorded/tensor.cu`): rows that are shorter than the swizzle's span begin a span
//! each; what NaN fills in; and what becomes of numbers of type `tf32`.
//!
//! The plain engine finds the same element after element (`plain/tensor.rs`).

use super::{Interleave, RANK, Shape, Swizzle, TensorMap};

/// Where a copy begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// The coordinates, the innermost first.
    pub at: [i32; RANK],
    /// What `im2col` adds to the pixels' coordinates, along W, H, D.
    pub offsets: [u32; 3],
    /// Offset in shared memory.
    pub shared: u64,
}

/// Adjacent bytes in both memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Their offset in shared memory.
    pub shared: u64,
    /// Their address; none where the tensor has no such elements.
    pub tensor: Option<u64>,
    pub bytes: u32,
}

impl Swizzle {
    /// Where a byte of shared memory goes.
    pub(crate) fn place(self, at: u64) -> u64 {
        match self.span() {
            None => at,
            Some(span) => at ^ (at >> 3 & (span - 16)),
        }
    }
}

impl TensorMap {
    /// Elements of a row, and rows, of what one copy moves.
    fn rows(&self) -> (u32, u32) {
        match self.shape {
            Shape::Tile { extent } => {
                let rows = (1..self.rank).map(|d| extent[d].div_ceil(self.steps[d]));
                (extent[0], rows.product())
            }
            Shape::Im2col {
                channels, pixels, ..
            } => (channels, pixels),
        }
    }

    /// Bytes that a copy moves, whether the tensor has all of them or not.
    pub(crate) fn copied_bytes(&self) -> u64 {
        let (elements, rows) = self.rows();
        u64::from(elements) * u64::from(rows) * u64::from(self.element.bytes())
    }

    /// Why copies with this map are not run.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        (self.interleave != Interleave::None).then_some("an interleaved layout")
    }

    /// What elements are that the tensor has not, as eight bytes of adjacent ones: the NaN is one of half precision, whatever their type.
    pub(crate) fn filling(&self) -> u64 {
        match self.fills_nan {
            false => 0,
            true => 0x7ff7_7ff7_7ff7_7ff7,
        }
    }

    /// Bytes from one row to the next in shared memory.
    pub(crate) fn pitch(&self) -> u64 {
        let (elements, _) = self.rows();
        let row = u64::from(elements) * u64::from(self.element.bytes());
        self.swizzle.span().map_or(row, |span| span.max(row))
    }

    /// Bytes of shared memory that a copy needs.
    pub(crate) fn room(&self) -> u64 {
        let (_, rows) = self.rows();
        self.pitch() * u64::from(rows)
    }

    /// The address of an element, if the tensor has it.
    pub(crate) fn element_at(&self, at: &[i64; RANK]) -> Option<u64> {
        let mut address = self.address;
        for (d, at) in at.iter().enumerate().take(self.rank) {
            let at = u64::try_from(*at).ok().filter(|at| *at < self.dims[d])?;
            let stride = match d {
                0 => self.element.bytes().into(),
                _ => self.strides[d - 1],
            };
            address = address.wrapping_add(at.wrapping_mul(stride));
        }
        Some(address)
    }

    /// What a copy moves, in the order in which it lies in shared memory before the swizzle.
    pub(crate) fn pieces(&self, start: &Start) -> Vec<Piece> {
        let (elements, rows) = self.rows();
        let size = self.element.bytes();
        let mut pieces = Vec::new();
        let mut row = Row::first(self, start);
        for number in 0..rows {
            let to = start.shared + u64::from(number) * self.pitch();
            // The elements of the row that the tensor has.
            let first = i64::from(start.at[0]);
            let most = i64::from(elements);
            let inside = |at: i64| (at - first).clamp(0, most);
            let end = i64::try_from(self.dims[0]).unwrap_or(i64::MAX);
            let (low, high) = (inside(0), inside(end));
            let mut at = row.coordinates(self, start);
            at[0] = first + low;
            let address = match low < high {
                true => self.element_at(&at),
                false => None,
            };
            let parts = match address {
                Some(address) => [
                    (0, low, None),
                    (low, high, Some(address)),
                    (high, most, None),
                ],
                None => [(0, most, None), (0, 0, None), (0, 0, None)],
            };
            for (from, until, tensor) in parts {
                let bytes = (until - from) as u32 * size;
                self.swizzled(
                    to + from as u64 * u64::from(size),
                    tensor,
                    bytes,
                    &mut pieces,
                );
            }
            row.next(self);
        }
        pieces
    }

    /// Adds adjacent bytes, in pieces that the swizzle keeps together.
    fn swizzled(&self, to: u64, tensor: Option<u64>, bytes: u32, pieces: &mut Vec<Piece>) {
        let mut done = 0;
        while done < bytes {
            let at = to + u64::from(done);
            let most = match self.swizzle {
                Swizzle::None => bytes,
                _ => 16 - (at % 16) as u32,
            };
            let bytes = most.min(bytes - done);
            pieces.push(Piece {
                shared: self.swizzle.place(at),
                tensor: tensor.map(|t| t.wrapping_add(done.into())),
                bytes,
            });
            done += bytes;
        }
    }
}

/// A row of a box, or a pixel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Of a box: its place along each dimension. Of a pixel: its coordinates, without offsets.
    at: [i64; RANK],
}

impl Row {
    /// The first.
    pub fn first(map: &TensorMap, start: &Start) -> Row {
        let at = match map.shape {
            Shape::Tile { .. } => [0; RANK],
            Shape::Im2col { .. } => start.at.map(i64::from),
        };
        Row { at }
    }

    /// The coordinates of its elements, but for the innermost.
    pub fn coordinates(&self, map: &TensorMap, start: &Start) -> [i64; RANK] {
        match map.shape {
            Shape::Tile { .. } => std::array::from_fn(|d| {
                i64::from(start.at[d]) + self.at[d] * i64::from(map.steps[d])
            }),
            Shape::Im2col { .. } => {
                let offset = |d: usize| match d {
                    _ if d == 0 || d + 1 >= map.rank => 0,
                    _ => i64::from(start.offsets[d - 1]),
                };
                std::array::from_fn(|d| self.at[d] + offset(d))
            }
        }
    }

    /// Goes to the next one.
    pub fn next(&mut self, map: &TensorMap) {
        match map.shape {
            Shape::Tile { extent } => {
                for (d, extent) in extent.iter().enumerate().take(map.rank).skip(1) {
                    self.at[d] += 1;
                    if self.at[d] < i64::from(extent.div_ceil(map.steps[d])) {
                        return;
                    }
                    self.at[d] = 0;
                }
            }
            Shape::Im2col { lower, upper, .. } => {
                for d in 1..map.rank - 1 {
                    self.at[d] += i64::from(map.steps[d]);
                    let end = map.dims[d] as i64 + i64::from(upper[d - 1]);
                    if self.at[d] < end {
                        return;
                    }
                    self.at[d] = lower[d - 1].into();
                }
                self.at[map.rank - 1] += 1;
            }
        }
    }
}
