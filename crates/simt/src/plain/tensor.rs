//! Tensor copies, element after element (PTX ISA, "Tensors": "Tiled Mode", "im2col mode", "Swizzling modes", "cp.async.bulk.tensor").

use super::Turn;
use crate::exec::tensor::Copied;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::op::*;
use crate::operations::Run;
use crate::stop::Stop;
use crate::tensor_map::copies::{Piece, Start};
use crate::tensor_map::{RANK, Shape, Swizzle, TensorMap};

impl<O: Hooks> Turn<'_, '_, O> {
    /// What a lane copies.
    pub(super) fn copied(
        &self,
        l: usize,
        op: &BulkOp,
        tensor: &TensorOp,
        shared: u64,
        site: Site,
    ) -> Result<Copied, Box<Stop>> {
        let at = self.addresses(tensor.map, tensor.offset)[l];
        let coordinate = |d: usize| {
            let slot = tensor.coordinates.get(d);
            slot.map_or(0, |slot| self.w(*slot, l) as i32)
        };
        let offset = |d: usize| {
            let slot = tensor.offsets.get(d);
            slot.map_or(0, |slot| self.w(*slot, l) & 0xffff)
        };
        let start = Start {
            at: std::array::from_fn(coordinate),
            offsets: std::array::from_fn(offset),
            shared,
        };
        self.core.copied_from(op, tensor, at, start, site)
    }

    /// What it moves; what is wrong is reported.
    pub(super) fn tensor_runs(&mut self, l: usize, copied: &Copied, site: Site) -> Vec<Run> {
        let who = self.who();
        if !self.core.may_hold(self.block, who, l, copied, site) {
            return Vec::new();
        }
        let mut runs = copied.runs(elements(&copied.map, &copied.start));
        match self
            .core
            .may_reach(self.block, who, l, copied, &mut runs, site)
        {
            true => runs,
            false => Vec::new(),
        }
    }
}

/// Each element by itself.
fn elements(map: &TensorMap, start: &Start) -> Vec<Piece> {
    let size = u64::from(map.element.bytes());
    let count = map.copied_bytes() / size;
    let row = match map.shape {
        Shape::Tile { extent } => extent[0].into(),
        Shape::Im2col { channels, .. } => u64::from(channels),
    };
    let element = |number: u64| Piece {
        shared: place(
            map.swizzle,
            start.shared + number / row * map.pitch() + number % row * size,
        ),
        tensor: map.element_at(&coordinates(map, start, number)),
        bytes: size as u32,
    };
    (0..count).map(element).collect()
}

/// The coordinates of an element, by its number.
fn coordinates(map: &TensorMap, start: &Start, number: u64) -> [i64; RANK] {
    let mut at = start.at.map(i64::from);
    match map.shape {
        // "Tiled Mode": along each dimension every so many elements, as many as cover the box.
        Shape::Tile { extent } => {
            let mut left = number;
            for d in 0..map.rank {
                let step = map.steps[d];
                let here = u64::from(extent[d].div_ceil(step));
                at[d] += (left % here) as i64 * i64::from(step);
                left /= here;
            }
        }
        // "im2col mode": pixels of the bounding box, from the first one on, row by row and image by image.
        Shape::Im2col {
            lower,
            upper,
            channels,
            ..
        } => {
            at[0] += (number % u64::from(channels)) as i64;
            let mut carry = (number / u64::from(channels)) as i64;
            for d in 1..map.rank - 1 {
                let step = i64::from(map.steps[d]);
                let low = i64::from(lower[d - 1]);
                let end = map.dims[d] as i64 + i64::from(upper[d - 1]);
                // From the coordinate to the end of the first row, and then in whole rows.
                let steps = |from: i64| ((end - from + step - 1) / step).max(1);
                let first = steps(at[d]);
                if carry < first {
                    at[d] += carry * step;
                    carry = 0;
                } else {
                    let rest = carry - first;
                    let whole = steps(low);
                    at[d] = low + rest % whole * step;
                    carry = 1 + rest / whole;
                }
            }
            at[map.rank - 1] += carry;
            for d in 1..map.rank - 1 {
                at[d] += i64::from(start.offsets[d - 1]);
            }
        }
    }
    at
}

/// Where a byte goes ("Swizzling modes"): its number among the pieces of 16 bytes changes by that of its row.
fn place(swizzle: Swizzle, at: u64) -> u64 {
    let pieces = match swizzle {
        Swizzle::None => return at,
        Swizzle::Bytes32 => 2,
        Swizzle::Bytes64 => 4,
        Swizzle::Bytes128 => 8,
    };
    let row = at / 128 % pieces;
    let piece = at / 16 % pieces;
    at - piece * 16 + (piece ^ row) * 16
}
