//! Tensor copies (PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor"): from a tensor map and coordinates to what a bulk operation moves.
//! See [`crate::tensor_map`], and [`super::bulk`] for the rest.
//!
//! Both engines find maps, and check what is moved, in one way; which bytes those are, each finds in its own.

use super::Core;
use super::memory::{Request, belongs};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::lower::tensor::{tensor_conversion, tensor_reduction};
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::operations::*;
use crate::state::*;
use crate::stop::Stop;
use crate::tensor_map::TensorMap;
use crate::tensor_map::copies::{Piece, Start};
use crate::tensor_map::{ALIGNMENT, BYTES, Shape};

/// What shared memory's address is a multiple of ("cp.async.bulk.tensor").
const SHARED_UNIT: u64 = 128;
/// What the innermost coordinate is a multiple of, in bytes. The manual does not say so; on an H100 any other one is an illegal instruction.
const COORDINATE_UNIT: u64 = 16;
/// In multiples of how many bytes a row is stored.
const ROW_UNIT: u64 = 16;

/// What a tensor copy does.
pub(crate) struct Copied {
    pub map: TensorMap,
    pub start: Start,
    /// How elements are combined with what is there, or converted.
    pub reduce: Option<Reduction>,
    /// Whether the tensor is read.
    pub loads: bool,
    /// Bytes that a store may write behind the end of a row.
    behind: u64,
}

impl Copied {
    /// As a bulk operation moves it: what a load finds nowhere is filled in, and what a store finds nowhere is left out.
    pub fn runs(&self, pieces: impl IntoIterator<Item = Piece>) -> Vec<Run> {
        let fill = self.map.filling();
        let run = |piece: Piece| {
            let tensor = piece.tensor.map(|at| at.wrapping_sub(GLOBAL_BASE));
            let (from, to) = match (self.loads, tensor) {
                (true, Some(at)) => (Source::At(at), piece.shared),
                (true, None) => (Source::Fill(fill), piece.shared),
                (false, Some(at)) => (Source::At(piece.shared), at),
                (false, None) => return None,
            };
            (piece.bytes > 0).then_some(Run {
                from,
                to,
                bytes: piece.bytes,
            })
        };
        pieces.into_iter().filter_map(run).collect()
    }
}

impl<O: Hooks> Core<'_, O> {
    /// What lane `l` copies. Where it can't be told, why.
    pub(super) fn copied(
        &mut self,
        block: &Block,
        (w, s, l): (usize, usize, usize),
        op: &BulkOp,
        tensor: &TensorOp,
        shared: u64,
        site: Site,
    ) -> Result<Copied, Box<Stop>> {
        let warp = &block.warps[w];
        self.addresses(warp, s, tensor.map, tensor.offset);
        let value = |slot: &Slot| row(&warp.w, self.const_w, *slot)[l];
        let mut start = Start {
            shared,
            ..Start::default()
        };
        for (at, slot) in start.at.iter_mut().zip(&tensor.coordinates) {
            *at = value(slot) as i32;
        }
        for (offset, slot) in start.offsets.iter_mut().zip(&tensor.offsets) {
            *offset = value(slot) & 0xffff;
        }
        self.copied_from(op, tensor, self.address[l], start, site)
    }

    /// The same, where the tensor map's address and the start are known.
    pub(crate) fn copied_from(
        &self,
        op: &BulkOp,
        tensor: &TensorOp,
        at: u64,
        start: Start,
        site: Site,
    ) -> Result<Copied, Box<Stop>> {
        let refuse = |why: String| {
            let info = self.program.site(site);
            Box::new(Stop::Unsupported {
                site,
                text: format!("{} ({why})", info.text),
                line: info.ptx_line,
            })
        };
        let map = self.tensor_map(at).ok_or_else(|| {
            refuse(format!(
                "there is no tensor map at {at:#x} that `cuTensorMapEncode…` or an argument has made"
            ))
        })?;
        let rank = tensor.coordinates.len();
        if map.rank != rank {
            return Err(refuse(format!(
                "with a tensor map of {} dimensions",
                map.rank
            )));
        }
        if matches!(map.shape, Shape::Im2col { .. }) != tensor.im2col {
            let mode = if tensor.im2col { "tiles" } else { "im2col" };
            return Err(refuse(format!("with a tensor map for {mode}")));
        }
        if let Some(what) = map.missing() {
            return Err(refuse(format!("with {what}")));
        }
        let write = &self.program.memory_ops[op.write as usize];
        let loads = write.space == AddressSpace::Shared;
        // A store writes rows to the end of their last 16 bytes. The manual does not say so; an H100 does it.
        let (mut map, mut behind) = (map, 0);
        if !loads {
            let size = u64::from(map.element.bytes());
            let end = map.dims[0].next_multiple_of(ROW_UNIT / size);
            behind = (end - map.dims[0]) * size;
            map.dims[0] = end;
        }
        let reduce = match tensor.reduces {
            Some(operation) => Some(
                tensor_reduction(operation, map.element)
                    .ok_or_else(|| refuse(format!("with elements of type {:?}", map.element)))?,
            ),
            None if loads => tensor_conversion(map.element),
            None => None,
        };
        Ok(Copied {
            map,
            start,
            reduce,
            loads,
            behind,
        })
    }

    /// The tensor map at a generic address.
    fn tensor_map(&self, at: u64) -> Option<TensorMap> {
        if !at.is_multiple_of(ALIGNMENT) {
            return None;
        }
        let mut bytes = [0; BYTES];
        let words = bytes.chunks_exact_mut(8);
        if belongs(at, AddressSpace::Global) {
            let from = at - GLOBAL_BASE;
            self.find_range(from, BYTES as u64)
                .filter(|range| !range.freed)?;
            for (k, word) in words.enumerate() {
                let number = self.device.arena.read(from + 8 * k as u64, 8, 0);
                word.copy_from_slice(&number.to_le_bytes());
            }
        } else if belongs(at, AddressSpace::Param) {
            let from = at - PARAM_BASE;
            if from + BYTES as u64 > self.geometry.params.bytes() {
                return None;
            }
            for (k, word) in words.enumerate() {
                let number = self.geometry.params.read(from + 8 * k as u64, 8, 0);
                word.copy_from_slice(&number.to_le_bytes());
            }
        }
        TensorMap::from_bytes(&bytes)
    }

    /// Whether the copy may begin there, and its part of shared memory is there; what is wrong is reported.
    pub(crate) fn may_hold(
        &mut self,
        block: &Block,
        who: WarpRef,
        l: usize,
        copied: &Copied,
        site: Site,
    ) -> bool {
        let map = &copied.map;
        let first = i64::from(copied.start.at[0]) * i64::from(map.element.bytes());
        if first % COORDINATE_UNIT as i64 != 0 {
            let at = map.address.wrapping_sub(GLOBAL_BASE);
            let fault = (
                at.wrapping_add_signed(first),
                COORDINATE_UNIT,
                FaultKind::Misaligned,
            );
            self.report_place(who, l, Space::Global, fault, !copied.loads, site);
            return false;
        }
        // Nor does it say that a store begins at no negative coordinate: on an H100, that is an illegal instruction, too.
        let rank = map.rank;
        if !copied.loads && copied.start.at[..rank].iter().any(|at| *at < 0) {
            let at = map.address.wrapping_sub(GLOBAL_BASE);
            let mut before = at;
            for (d, coordinate) in copied.start.at[..rank].iter().enumerate() {
                let stride = match d {
                    0 => map.element.bytes().into(),
                    _ => map.strides[d - 1],
                };
                let back = u64::from(coordinate.min(&0).unsigned_abs());
                before = before.wrapping_sub(back.wrapping_mul(stride));
            }
            let unit = map.element.bytes().into();
            let fault = (before, unit, FaultKind::OutOfBounds);
            self.report_place(who, l, Space::Global, fault, true, site);
            return false;
        }
        let at = copied.start.shared;
        let fault = match () {
            () if !at.is_multiple_of(SHARED_UNIT) => (at, SHARED_UNIT, FaultKind::Misaligned),
            () if block.shared.holds(at, map.room()) => return true,
            // The first piece that is not there.
            _ => (
                at.max(block.shared.bytes.next_multiple_of(16)),
                16,
                FaultKind::OutOfBounds,
            ),
        };
        self.report_place(who, l, Space::Shared, fault, copied.loads, site);
        false
    }

    /// Whether what is moved of the tensor is there; what is wrong is reported.
    pub(crate) fn may_reach(
        &mut self,
        block: &Block,
        who: WarpRef,
        l: usize,
        copied: &Copied,
        runs: &mut Vec<Run>,
        site: Site,
    ) -> bool {
        if copied.behind > 0 {
            runs.iter_mut()
                .for_each(|run| self.cut_behind(run, copied.behind));
            runs.retain(|run| run.bytes > 0);
        }
        let places = match copied.loads {
            true => sources(runs),
            false => destinations(runs),
        };
        let unit = u64::from(copied.map.element.bytes());
        for (at, bytes) in places {
            if let Some((at, kind)) = self.outside(block, Space::Global, at, bytes, unit) {
                self.report_place(who, l, Space::Global, (at, unit, kind), !copied.loads, site);
                return false;
            }
        }
        true
    }

    /// What a store writes behind a row counts as far as it lies in the row's allocation.
    fn cut_behind(&self, run: &mut Run, behind: u64) {
        let end = run.to + u64::from(run.bytes);
        let row = end.saturating_sub(1 + behind);
        if let Some(range) = self.find_range(row, 1)
            && end > range.end
            && end - range.end <= behind
        {
            run.bytes = range.end.saturating_sub(run.to) as u32;
        }
    }

    fn report_place(
        &mut self,
        who: WarpRef,
        l: usize,
        space: Space,
        (at, unit, kind): (u64, u64, FaultKind),
        write: bool,
        site: Site,
    ) {
        let request = Request {
            site,
            who,
            element: unit as u32,
            count: 1,
            write,
            address: &[at; LANES],
        };
        self.report(&request, space, 1 << l, kind);
    }
}
