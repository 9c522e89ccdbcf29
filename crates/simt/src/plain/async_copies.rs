//! Asynchronous copies (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy", "cp.async", "cp.async.commit_group",
//! "cp.async.wait_group"), performed as late as the manual lets them be: see [`crate::operations`].

use super::Turn;
use super::memory::{LaneBytes, Stores};
use crate::alu::{Mask, Row64};
use crate::async_copies::{Piece, Rows};
use crate::hooks::Hooks;
use crate::ids::lanes_of;
use crate::ids::*;
use crate::memory::GLOBAL_BASE;
use crate::observer::*;
use crate::op::*;
use crate::operations::*;

impl<O: Hooks> Turn<'_, '_, O> {
    /// "cp.async": a copy begins. What cannot be read is a zero, and what cannot be written is left out; both are reported here.
    pub(super) fn begin_copy(&mut self, index: u32, active: Mask, site: Site) {
        let op = &self.core.program.copy_ops[index as usize];
        let (read, write) = op.accesses(self.core.program);
        let to = self.addresses(write.base, write.offset);
        let mask = self.check(Space::Shared, active, &to, op.bytes, true, site);
        if mask == 0 {
            return;
        }
        let from = self.addresses(read.base, read.offset);
        let from = from.map(|at| at.wrapping_sub(GLOBAL_BASE));
        let mut bytes = [0; LANES];
        for l in lanes_of(mask) {
            bytes[l] = match op.size {
                // A larger size than that of the copy has no meaning.
                size if size != Slot::NONE => self.w(size, l).min(op.bytes) as u8,
                _ => op.bytes as u8,
            };
            if op.ignore != Slot::NONE && self.p(op.ignore, l) {
                bytes[l] = 0;
            }
        }
        self.check_source(mask, &from, &mut bytes, site);
        let rows = Rows {
            op: index,
            from,
            to,
            bytes,
        };
        let operations = self.warp_mut().operations.get_or_insert_default();
        let (number, completes) = (operations.next(), operations.in_group(Group::Copy));
        if O::WATCHES {
            self.tell_of_copy(&rows, mask, site, number, write);
        }
        let copy = Operation::new(site, mask, Work::Rows(Box::new(rows)), completes);
        let operations = self.warp_mut().operations.get_or_insert_default();
        if let Some(oldest) = operations.begin(copy) {
            self.complete_operation(self.w, oldest);
        }
    }

    /// Lanes whose source is not there read nothing. A source is checked in pieces of powers of two, since it may end anywhere.
    fn check_source(&mut self, mask: Mask, from: &Row64, bytes: &mut [u8; LANES], site: Site) {
        for piece in [16, 8, 4, 2, 1] {
            let lanes = super::filter(mask, |l| bytes[l] & piece != 0);
            if lanes == 0 {
                continue;
            }
            let larger = !(2 * u64::from(piece) - 1);
            let starts =
                std::array::from_fn(|l| from[l].wrapping_add(u64::from(bytes[l]) & larger));
            let good = self.check(Space::Global, lanes, &starts, piece.into(), false, site);
            lanes_of(lanes & !good).for_each(|l| bytes[l] = 0);
        }
    }

    /// "cp.async.commit_group", "cp.async.bulk.commit_group"
    pub(super) fn close_group(&mut self, kind: Group, active: Mask) {
        let operations = self.warp_mut().operations.get_or_insert_default();
        operations.close_group(kind, active);
    }

    /// "cp.async.wait_group", or "cp.async.wait_all" with no number: performs what the lanes wait for.
    pub(super) fn wait_for_copies(&mut self, active: Mask, newest: Option<u32>) {
        let Some(operations) = &mut self.warp_mut().operations else {
            return;
        };
        if newest.is_none() {
            operations.close_group(Group::Copy, active);
        }
        let complete = operations.wait(Group::Copy, active, newest.unwrap_or(0));
        let arrived = match O::WATCHES {
            true => operations.wait_for_arrived(active, newest.unwrap_or(0)),
            false => Vec::new(),
        };
        for copy in complete {
            self.complete_operation(self.w, copy);
        }
        let who = self.who();
        for copy in arrived {
            self.core.observer.copy_ends(who, copy.number, copy.mask);
        }
    }

    /// The "cp.async" that lanes of the warp have begun before an arrival complete with it.
    pub(super) fn complete_copies(&mut self, lanes: Mask, before: u64) {
        let Some(operations) = &mut self.warp_mut().operations else {
            return;
        };
        for copy in operations.take_copies(lanes, before) {
            self.complete(&copy, true);
            if let (true, Some(operations)) = (O::WATCHES, &mut self.warp_mut().operations) {
                operations.keep_arrived(copy);
            }
        }
    }

    /// Performs a copy for lanes that have waited for it, or for which it arrives.
    pub(super) fn complete(&mut self, copy: &Operation, arrives: bool) {
        let Work::Rows(rows) = &copy.work else {
            return;
        };
        let op = &self.core.program.copy_ops[rows.op as usize];
        let (read, write) = op.accesses(self.core.program);
        let who = self.who();
        if O::WATCHES {
            match arrives {
                true => self.core.observer.copy_arrives(who, copy.number, copy.mask),
                false => self.core.observer.copy_ends(who, copy.number, copy.mask),
            }
            for piece in rows.pieces(copy.mask) {
                let starts = starts(rows, piece);
                let (size, word) = (4 * u32::from(piece.words), Some(u32::from(read.element)));
                self.report_unwritten(Space::Global, piece.lanes, &starts, size, word, copy.site);
                let access = Access {
                    elements: u32::from(piece.words),
                    ..Access::of_copy(copy.site, who, Space::Global, piece.lanes, &starts)
                };
                self.core.observer.access(&access);
            }
        }
        let bytes = self.source_of(rows, copy.mask);
        self.store(write, Space::Shared, copy.mask, &rows.to, &bytes, copy.site);
    }

    /// What a copy writes: the bytes of its source, with zeros where it reads none.
    fn source_of(&self, copy: &Rows, mask: Mask) -> LaneBytes {
        let mut bytes: LaneBytes = [[0; 32]; LANES];
        for l in lanes_of(mask) {
            for k in 0..copy.bytes[l] {
                let at = copy.from[l] + u64::from(k);
                bytes[l][usize::from(k)] = self.byte(Space::Global, l, at);
            }
        }
        bytes
    }

    /// Tells the observer of a copy that begins.
    fn tell_of_copy(&mut self, copy: &Rows, mask: Mask, site: Site, number: u64, write: &MemoryOp) {
        let who = self.who();
        let parts: Vec<(Piece, Row64)> = copy.pieces(mask).map(|p| (p, starts(copy, p))).collect();
        let read = |(piece, starts)| {
            let piece: &Piece = piece;
            Access {
                elements: u32::from(piece.words),
                ..Access::of_copy(site, who, Space::Global, piece.lanes, starts)
            }
        };
        let reads: Vec<Access<'_>> = parts.iter().map(|(p, s)| read((p, s))).collect();
        let bytes = self.source_of(copy, mask);
        let stores = Stores {
            device: self.core.device,
            shared: &self.block.shared,
            space: Space::Shared,
            address: &copy.to,
            bytes: &bytes,
        };
        let write = Access {
            elements: u32::from(write.count),
            kind: AccessKind::Write,
            wrote: mask,
            stores: Some(&stores),
            ..Access::of_copy(site, who, Space::Shared, mask, &copy.to)
        };
        self.core.observer.copy_begins(&AsyncCopy {
            number,
            reads: &reads,
            writes: &[write],
            proxy: false,
            product: false,
        });
    }
}

/// Where each lane's part of a piece begins.
fn starts(copy: &Rows, piece: Piece) -> Row64 {
    copy.from
        .map(|at| at.wrapping_add(4 * u64::from(piece.first)))
}
