//! `cp.async`: copies from global to shared memory that are complete when their thread has waited for them. See [`crate::operations`].

use super::Core;
use super::transfer::{Stored, load};
use crate::alu::{Mask, Row64};
use crate::async_copies::{Piece, Rows};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::GLOBAL_BASE;
use crate::observer::*;
use crate::op::*;
use crate::operations::*;
use crate::state::*;

impl<O: Hooks> Core<'_, O> {
    /// Begins a copy. What can't be read is a zero, and what can't be written is left out; both are reported here.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    pub(super) fn copy(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        index: u32,
        active: Mask,
        site: Site,
    ) {
        let op = &self.program.copy_ops[index as usize];
        let (read, write) = op.accesses(self.program);
        self.addresses(&block.warps[w], s, write.base, write.offset);
        let to = self.address;
        let mask = self.check(block, w, Space::Shared, active, op.bytes, true, site);
        if mask == 0 {
            return;
        }
        self.addresses(&block.warps[w], s, read.base, read.offset);
        let from = self.address.map(|a| a.wrapping_sub(GLOBAL_BASE));
        let bytes = self.readable(block, w, op, mask, &from, site);
        let rows = Rows {
            op: index,
            from,
            to,
            bytes,
        };
        let operations = block.warps[w].operations.get_or_insert_default();
        let number = operations.next();
        let completes = operations.in_group(Group::Copy);
        if O::WATCHES {
            self.tell(block, w, &rows, mask, site, number);
        }
        let copy = Operation::new(site, mask, Work::Rows(Box::new(rows)), completes);
        let operations = block.warps[w].operations.get_or_insert_default();
        if let Some(oldest) = operations.begin(copy) {
            self.complete_operation(block, w, oldest);
        }
    }

    /// `cp.async.commit_group`, `cp.async.bulk.commit_group`
    pub(super) fn close_group(&mut self, warp: &mut Warp, kind: Group, active: Mask) {
        if active != 0 {
            let operations = warp.operations.get_or_insert_default();
            operations.close_group(kind, active);
        }
    }

    /// `cp.async.wait_group` and `cp.async.wait_all`: performs what the lanes wait for.
    #[inline(never)]
    pub(super) fn wait_for_copies(
        &mut self,
        block: &mut Block,
        w: usize,
        active: Mask,
        newest: Option<u32>,
    ) {
        let Some(operations) = &mut block.warps[w].operations else {
            return;
        };
        // As if the group were closed, and waited for with all others (PTX ISA, "cp.async.wait_group / cp.async.wait_all").
        if newest.is_none() {
            operations.close_group(Group::Copy, active);
        }
        let complete = operations.wait(Group::Copy, active, newest.unwrap_or(0));
        let arrived = match O::WATCHES {
            true => operations.wait_for_arrived(active, newest.unwrap_or(0)),
            false => Vec::new(),
        };
        for copy in complete {
            self.complete_operation(block, w, copy);
        }
        for copy in arrived {
            self.observer
                .copy_ends(block.who(w), copy.number, copy.mask);
        }
    }

    /// The `cp.async` that lanes have begun before an arrival complete with it. Who else may know of that is for others to judge.
    pub(super) fn complete_copies(
        &mut self,
        block: &mut Block,
        w: usize,
        lanes: Mask,
        before: u64,
    ) {
        let Some(operations) = &mut block.warps[w].operations else {
            return;
        };
        for copy in operations.take_copies(lanes, before) {
            self.complete(block, w, &copy, true);
            if O::WATCHES
                && let Some(operations) = &mut block.warps[w].operations
            {
                operations.keep_arrived(copy);
            }
        }
    }

    /// For each lane, how many bytes it reads: as many as `src-size` says, none where `ignore-src` holds or the source is not there.
    fn readable(
        &mut self,
        block: &Block,
        w: usize,
        op: &CopyOp,
        mask: Mask,
        from: &Row64,
        site: Site,
    ) -> [u8; LANES] {
        let warp = &block.warps[w];
        let all = op.bytes as u8;
        let mut bytes = [all; LANES];
        if op.size != Slot::NONE {
            // A larger size than that of the copy has no meaning (PTX ISA, "cp.async").
            bytes = row(&warp.w, self.const_w, op.size).map(|size| size.min(op.bytes) as u8);
        }
        if op.ignore != Slot::NONE {
            let ignored = predicate(&warp.p, op.ignore);
            lanes_of(ignored).for_each(|l| bytes[l] = 0);
        }
        // Byte by byte at the end, as the source may end there.
        for piece in [16u8, 8, 4, 2, 1].into_iter().filter(|p| *p <= all) {
            let has = |l: usize| mask >> l & 1 == 1 && bytes[l] & piece != 0;
            let lanes = (0..LANES).fold(0, |m, l| m | Mask::from(has(l)) << l);
            if lanes == 0 {
                continue;
            }
            let before = |l: usize| u64::from(bytes[l]) & !(2 * u64::from(piece) - 1);
            self.address = std::array::from_fn(|l| from[l].wrapping_add(before(l)));
            let size = u32::from(piece);
            let good = self.check(block, w, Space::Global, lanes, size, false, site);
            lanes_of(lanes & !good).for_each(|l| bytes[l] = 0);
        }
        bytes
    }

    /// Tells the observer of a copy that begins.
    fn tell(
        &mut self,
        block: &mut Block,
        w: usize,
        copy: &Rows,
        mask: Mask,
        site: Site,
        number: u64,
    ) {
        let op = &self.program.copy_ops[copy.op as usize];
        let (read, write) = op.accesses(self.program);
        let who = block.who(w);
        let parts = self.source_of(&mut block.warps[w], read, copy, mask);
        let reads: Vec<Access<'_>> = parts.iter().map(|p| p.access(who, site)).collect();
        let stores = Stored {
            memory: &block.shared,
            warp: &block.warps[w],
            op: write,
            address: &copy.to,
            cw: self.const_w,
            cd: self.const_d,
        };
        let write = Access {
            elements: u32::from(write.count),
            kind: AccessKind::Write,
            wrote: mask,
            stores: Some(&stores),
            ..Access::of_copy(site, who, Space::Shared, mask, &copy.to)
        };
        self.observer.copy_begins(&AsyncCopy {
            number,
            reads: &reads,
            writes: &[write],
            proxy: false,
            product: false,
        });
    }

    /// Performs a copy, for the lanes that it is left for: they have waited for it, or it arrives.
    pub(super) fn complete(
        &mut self,
        block: &mut Block,
        w: usize,
        copy: &Operation,
        arrives: bool,
    ) {
        let Work::Rows(rows) = &copy.work else {
            return;
        };
        let op = &self.program.copy_ops[rows.op as usize];
        let (read, write) = op.accesses(self.program);
        let who = block.who(w);
        if O::WATCHES {
            match arrives {
                true => self.observer.copy_arrives(who, copy.number, copy.mask),
                false => self.observer.copy_ends(who, copy.number, copy.mask),
            }
        }
        for part in self.source_of(&mut block.warps[w], read, rows, copy.mask) {
            if O::WATCHES {
                let (lanes, bytes) = (part.piece.lanes, 4 * u32::from(part.piece.words));
                if !part.written {
                    self.address = part.starts;
                    let word = Some(u32::from(read.element));
                    self.uninitialized(block, w, Space::Global, lanes, bytes, word, copy.site);
                }
                self.observer.access(&part.access(who, copy.site));
            }
        }
        self.address = rows.to;
        self.access_at(block, w, write, Space::Shared, copy.mask, copy.site);
    }

    /// Reads the source into the registers of the copy, with zeros where it is not read.
    fn source_of(&self, warp: &mut Warp, read: &MemoryOp, copy: &Rows, mask: Mask) -> Vec<Part> {
        self.clear(warp, read, mask);
        let part = |piece: Piece| {
            let first = usize::from(piece.first);
            let mut op = MemoryOp {
                count: piece.words,
                ..read.clone()
            };
            op.regs.rotate_left(first);
            let starts = copy.from.map(|at| at.wrapping_add(4 * first as u64));
            let written = load(&self.device.arena, warp, &op, piece.lanes, 0, &starts);
            Part {
                piece,
                starts,
                written,
            }
        };
        let parts = copy.pieces(mask).map(part).collect();
        self.cut(warp, read, copy, mask);
        parts
    }

    /// Zeros in all registers of a copy.
    fn clear(&self, warp: &mut Warp, read: &MemoryOp, mask: Mask) {
        for slot in &read.regs[..usize::from(read.count)] {
            blend(&mut warp.w[slot.0 as usize], &[0; LANES], mask, 0);
        }
    }

    /// Zeros for the bytes of the last word that are not read.
    fn cut(&self, warp: &mut Warp, read: &MemoryOp, copy: &Rows, mask: Mask) {
        for l in lanes_of(mask).filter(|l| !copy.bytes[*l].is_multiple_of(4)) {
            let (words, bytes) = (copy.bytes[l] / 4, copy.bytes[l] % 4);
            let slot = read.regs[usize::from(words)];
            warp.w[slot.0 as usize][l] &= (1 << (8 * bytes)) - 1;
        }
    }
}

/// What some lanes have read.
struct Part {
    piece: Piece,
    starts: Row64,
    /// Whether all of it had been written.
    written: bool,
}

impl Part {
    fn access(&self, who: WarpRef, site: Site) -> Access<'_> {
        Access {
            elements: u32::from(self.piece.words),
            ..Access::of_copy(site, who, Space::Global, self.piece.lanes, &self.starts)
        }
    }
}
