//! Products of a warpgroup (PTX ISA, "wgmma.mma_async", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"), for both engines.
//!
//! Each of the four warps multiplies by itself ([`crate::matrix::warpgroup`]), at a moment that the schedule chooses between `wgmma.mma_async` and the
//! wait for its group ([`crate::operations`]), those that it has begun before first. What it reads in registers and in shared memory it reads then.
//! Which registers belong to products is in [`crate::operations::Registers`]; what is wrong with another use of them is told here.
//!
//! A group is one of the warpgroup ("wgmma.commit_group"), and complete when all four parts of its products are: so a warp that waits stays until the
//! others have closed the group, too, and whoever comes after one warp's wait comes after what all four have read. An H200 makes the warps meet earlier,
//! at `wgmma.mma_async`, and stops with an illegal instruction if one of them has exited; here that is a deadlock.
//!
//! Blind spots: nobody looks whether all four warps execute the same instructions with the same descriptors; a read of the first factor's registers
//! before the wait, which the manual forbids, changes nothing and is not told.

use super::Core;
use crate::alu::{Mask, Row64};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::matrix::Registers as Rows;
use crate::matrix::descriptor::{Descriptor, PIECE};
use crate::matrix::warpgroup::{First, GroupProduct, Piece, WARPS};
use crate::memory::Words;
use crate::observer::*;
use crate::op::*;
use crate::operations::*;
use crate::state::*;
use crate::stop::Stop;
use std::ops::Range;

/// An address at which nothing may be read: zeros.
const NOWHERE: u64 = u64::MAX;

/// Pieces that the lanes of a warp read, one each.
struct Read {
    mask: Mask,
    address: Row64,
}

impl<O: Hooks> Core<'_, O> {
    /// Any of them, by all lanes of a warp that has them. Whether the split goes on; if not, it waits, and stands again where its lanes meet, which is
    /// right in front: a schedule may take them apart while they wait.
    #[inline(never)]
    pub(crate) fn wgmma(
        &mut self,
        block: &mut Block,
        (w, s): (usize, usize),
        op: WgmmaOp,
        active: Mask,
        site: Site,
    ) -> Result<bool, Box<Stop>> {
        let operations = block.warps[w].operations.get_or_insert_default();
        match op {
            WgmmaOp::Fence => operations.registers.fence(),
            WgmmaOp::Begin(index) => self.begin_product(block, w, index, active, site)?,
            WgmmaOp::Commit => self.close_products(block, w, active),
            WgmmaOp::Wait(newest) => {
                return Ok(self.wait_for_products(block, (w, s), active, newest));
            }
            WgmmaOp::Use(index) => self.use_registers(block, w, index, active, site),
        }
        Ok(true)
    }

    /// `wgmma.commit_group`: other warps of the warpgroup may wait for it.
    fn close_products(&mut self, block: &mut Block, w: usize, active: Mask) {
        let lane = active.trailing_zeros() as usize % LANES;
        let operations = block.warps[w].operations.get_or_insert_default();
        let group = operations.closed(Group::Product, lane);
        operations.close_group(Group::Product, active);
        if O::WATCHES {
            self.observer.products_begun(block.who(w), active, group);
        }
        let mut woken = false;
        for other in warpgroup(block, w) {
            for s in 0..block.warps[other].splits.len() {
                let State::Products(groups) = block.warps[other].splits[s].state else {
                    continue;
                };
                if have_closed(block, w, groups) {
                    block.warps[other].splits[s].state = State::Ready;
                    woken = true;
                }
            }
        }
        if woken {
            self.released();
        }
    }

    /// `wgmma.wait_group`. Whether the products are complete; if not, the split waits.
    fn wait_for_products(
        &mut self,
        block: &mut Block,
        (w, s): (usize, usize),
        active: Mask,
        newest: u32,
    ) -> bool {
        let lane = active.trailing_zeros() as usize % LANES;
        let operations = block.warps[w].operations.get_or_insert_default();
        let groups = operations
            .closed(Group::Product, lane)
            .saturating_sub(newest);
        if operations.products_before(groups).next().is_none() {
            return true;
        }
        if !have_closed(block, w, groups) {
            let split = &mut block.warps[w].splits[s];
            (split.state, split.rounds) = (State::Products(groups), 0);
            return false;
        }
        let who = block.who(w);
        if O::WATCHES {
            self.observer.products_awaited(who, active, groups);
        }
        for other in warpgroup(block, w).filter(|other| *other != w) {
            self.end_parts(block, other, groups, who);
        }
        let operations = block.warps[w].operations.get_or_insert_default();
        for mut product in operations.wait(Group::Product, active, newest) {
            self.complete_product(block, w, &mut product);
        }
        if O::WATCHES {
            self.observer.products_end(who, active, groups);
        }
        true
    }

    /// What a warp has multiplied in the groups before this one is complete, as another warp of its warpgroup has waited for it.
    fn end_parts(&mut self, block: &mut Block, owner: usize, groups: u32, who: WarpRef) {
        let Some(mut operations) = block.warps[owner].operations.take() else {
            return;
        };
        for product in operations.products_before(groups) {
            self.multiply(block, owner, product);
            if O::WATCHES {
                let (number, mask) = (product.number, product.mask);
                let owner = block.who(owner);
                self.observer.product_ends(owner, number, mask, who);
                self.tell_reads(who, product);
            }
        }
        block.warps[owner].operations = Some(operations);
    }

    /// Tells what a product has read, as accesses of a warp that has waited for it, if nobody has before.
    fn tell_reads(&mut self, who: WarpRef, operation: &mut Operation) {
        let (mask, site) = (operation.mask, operation.site);
        let Work::Product(work) = &mut operation.work else {
            return;
        };
        if std::mem::replace(&mut work.told, true) {
            return;
        }
        for one in reads_of(&work.a, &work.b, mask) {
            self.observer.access(&read(&one, who, site));
        }
    }

    fn begin_product(
        &mut self,
        block: &mut Block,
        w: usize,
        index: u32,
        active: Mask,
        site: Site,
    ) -> Result<(), Box<Stop>> {
        let program = self.program;
        let product = &program.group_products[index as usize];
        let warp = &block.warps[w];
        // The same in all threads of the warpgroup ("Matrix descriptor format").
        let lane = active.trailing_zeros() as usize % LANES;
        let described = |slot: Slot| Descriptor::of(row(&warp.d, self.const_d, slot)[lane]);
        let a = match &product.a {
            First::Shared(slot) => described(*slot).map(Some),
            First::Registers(_) => Some(None),
        };
        let (Some(a), Some(b)) = (a, described(product.b)) else {
            let info = program.site(site);
            return Err(Box::new(Stop::Unsupported {
                site,
                text: format!("{} (a descriptor with a base offset)", info.text),
                line: info.ptx_line,
            }));
        };
        let adds = predicate(&warp.p, product.adds) >> lane & 1 == 1;
        let mut a = a.map_or_else(Vec::new, |a| product.first_pieces(&a, w % WARPS));
        let mut b = product.second_pieces(&b);
        for pieces in [&mut a, &mut b] {
            self.reachable(block, w, pieces, active, site);
        }
        let operations = block.warps[w].operations.get_or_insert_default();
        let number = operations.next();
        if O::WATCHES {
            let faults = operations.registers.begins(program, index, number, site);
            let who = block.who(w);
            for (fault, other) in faults {
                self.report_registers(block.id, who, active, (site, other), fault);
            }
            let reads = reads_of(&a, &b, active);
            let reads: Vec<Access<'_>> = reads.iter().map(|r| read(r, who, site)).collect();
            self.observer.copy_begins(&AsyncCopy {
                number,
                reads: &reads,
                writes: &[],
                proxy: true,
                product: true,
            });
        }
        let work = Work::Product(Box::new(Multiplication {
            op: index,
            a,
            b,
            adds,
            done: false,
            told: false,
        }));
        let operations = block.warps[w].operations.get_or_insert_default();
        let completes = operations.in_group(Group::Product);
        let oldest = operations.begin(Operation::new(site, active, work, completes));
        if let Some(oldest) = oldest {
            self.complete_any(block, w, oldest);
        }
        if self.moment.is_now(block.id, w, number) {
            self.multiply_all(block, w);
        }
        Ok(())
    }

    /// Tells of pieces that are not there, and leaves them out.
    fn reachable(&mut self, block: &Block, w: usize, pieces: &mut [u64], active: Mask, site: Site) {
        for pieces in pieces.chunks_mut(LANES) {
            let lanes = active & Mask::MAX >> (LANES - pieces.len());
            self.address = [0; LANES];
            self.address[..pieces.len()].copy_from_slice(pieces);
            let good = self.check(block, w, Space::Shared, lanes, PIECE as u32, false, site);
            for l in lanes_of(lanes & !good) {
                pieces[l] = NOWHERE;
            }
        }
    }

    /// Somebody has waited for a product.
    pub(crate) fn complete_product(
        &mut self,
        block: &mut Block,
        w: usize,
        operation: &mut Operation,
    ) {
        self.multiply(block, w, operation);
        if let Some(operations) = &mut block.warps[w].operations {
            operations.registers.ends(operation.number);
        }
        if O::WATCHES {
            let (who, number, mask) = (block.who(w), operation.number, operation.mask);
            self.observer.copy_ends(who, number, mask);
            self.tell_reads(who, operation);
        }
    }

    /// Performs all products of a warp that have not been, the oldest first: their order is the program's.
    fn multiply_all(&mut self, block: &mut Block, w: usize) {
        let Some(mut operations) = block.warps[w].operations.take() else {
            return;
        };
        for operation in operations.products() {
            self.multiply(block, w, operation);
        }
        block.warps[w].operations = Some(operations);
    }

    /// Performs a product, if that has not been done.
    fn multiply(&mut self, block: &mut Block, w: usize, operation: &mut Operation) {
        let (mask, site) = (operation.mask, operation.site);
        let Work::Product(work) = &mut operation.work else {
            return;
        };
        if std::mem::replace(&mut work.done, true) {
            return;
        }
        let product: &GroupProduct = &self.program.group_products[work.op as usize];
        let pieces = |core: &mut Self, from: &[u64]| -> Vec<Piece> {
            let mut pieces = Vec::with_capacity(from.len());
            for at in from {
                let (piece, written) = match *at {
                    NOWHERE => ([0; 4], 0xf),
                    at => block.shared.lane_words::<4>((at >> 2) as usize, 0),
                };
                if O::WATCHES && written != 0xf {
                    core.address = [*at; LANES];
                    let lane = mask & mask.wrapping_neg();
                    let bytes = PIECE as u32;
                    core.uninitialized(block, w, Space::Shared, lane, bytes, Some(4), site);
                }
                pieces.push(piece);
            }
            pieces
        };
        let (a, b) = (pieces(self, &work.a), pieces(self, &work.b));
        let warp = &mut block.warps[w];
        let rows = Rows {
            w: &warp.w,
            d: &warp.d,
            const_w: self.const_w,
            const_d: self.const_d,
        };
        let sums = product.compute(rows, (&a, &b), work.adds);
        for (slot, new) in product.d.iter().zip(&sums) {
            blend(&mut warp.w[slot.0 as usize], new, mask, 0);
        }
        self.moved();
    }

    /// An instruction is about to use registers that products use, too.
    fn use_registers(&mut self, block: &mut Block, w: usize, index: u32, active: Mask, site: Site) {
        let used = &self.program.register_uses[index as usize];
        let operations = block.warps[w].operations.get_or_insert_default();
        let copied = |slots: &(Slot, Slot)| {
            operations.registers.holds(slots.0) || operations.registers.holds(slots.1)
        };
        // A copy is a compiler's as a rule, which knows of registers that come later. What it copies is there.
        if used.copies.iter().any(copied) {
            self.multiply_all(block, w);
        }
        let operations = block.warps[w].operations.get_or_insert_default();
        let faults = operations.registers.uses(used, site);
        if O::WATCHES {
            let who = block.who(w);
            for (fault, product) in faults {
                self.report_registers(block.id, who, active, (site, Some(product)), fault);
            }
        }
    }

    #[cold]
    fn report_registers(
        &mut self,
        block: BlockId,
        who: WarpRef,
        mask: Mask,
        (site, other): (Site, Option<Site>),
        fault: RegisterFault,
    ) {
        let party = |site| Party {
            warp: who.warp,
            mask,
            site,
        };
        let misuse = Misuse::Registers {
            here: party(site),
            other: other.map(party),
            fault,
        };
        self.observer.misuse(block, misuse);
    }
}

/// The warps of a warp's warpgroup, by their places in the block.
fn warpgroup(block: &Block, w: usize) -> Range<usize> {
    let first = w / WARPS * WARPS;
    first..(first + WARPS).min(block.warps.len())
}

/// Whether all warps of a warpgroup have closed so many groups of products.
fn have_closed(block: &Block, w: usize, groups: u32) -> bool {
    warpgroup(block, w).all(|other| {
        let operations = block.warps[other].operations.as_ref();
        operations.is_some_and(|o| (0..LANES).any(|lane| o.closed(Group::Product, lane) >= groups))
    })
}

/// The pieces of both factors, a lane each.
fn reads_of(a: &[u64], b: &[u64], lanes: Mask) -> Vec<Read> {
    let there: Vec<u64> = a
        .iter()
        .chain(b)
        .copied()
        .filter(|at| *at != NOWHERE)
        .collect();
    let each = lanes.count_ones().max(1) as usize;
    let rows = there.chunks(each).map(|places| {
        let (mut mask, mut address) = (0, [0; LANES]);
        for (l, at) in lanes_of(lanes).zip(places) {
            mask |= 1 << l;
            address[l] = *at;
        }
        Read { mask, address }
    });
    rows.collect()
}

fn read(read: &Read, who: WarpRef, site: Site) -> Access<'_> {
    Access {
        elements: PIECE as u32 / 4,
        ..Access::of_copy(site, who, Space::Shared, read.mask, &read.address)
    }
}
