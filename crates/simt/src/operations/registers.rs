//! Registers of a warp that products of its warpgroup use (PTX ISA, "wgmma.fence", "wgmma.wait_group").
//!
//! From `wgmma.mma_async` until the wait for its group the sums are in nobody's hands, and the first factor may not be written. An instruction that
//! uses them is a mistake, whatever the schedule. Before a product uses registers that other instructions have used, there has to be a `wgmma.fence`,
//! and one before the first product of all; sums of the same shape go from product to product without one.
//!
//! In PTX a copy from register to register is mostly the compiler's own, which moves values into the registers of an `asm` statement right before it,
//! behind the fence of the source, and out of them. So a copy is no use: what it copies keeps its history. Overwriting sums that are nowhere else is one.
//! Nor is it a use to keep a register in local memory, or somewhere behind a generic address, as unoptimised code does all the time.

use crate::ids::*;
use crate::matrix::warpgroup::{First, GroupProduct};
use crate::observer::RegisterFault;
use crate::op::{RegisterUse, Slot};
use crate::program::Program;
use std::collections::HashMap;

/// A product that nobody has waited for.
#[derive(Clone, Debug)]
struct Product {
    op: u32,
    number: u64,
    site: Site,
    /// Which of its sums is or will be in which registers.
    sums: Vec<(u32, Slot)>,
    /// Registers of its first factor.
    first: Vec<Slot>,
    /// Whether a fence has followed.
    fenced: bool,
}

/// Those of a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registers {
    products: Vec<Product>,
    /// Registers that were used since the last fence, where, and whether they were written.
    used: HashMap<Slot, (Site, bool)>,
    /// Whether there was a fence at all.
    fenced: bool,
}

impl Registers {
    /// `wgmma.fence`
    pub fn fence(&mut self) {
        self.used.clear();
        self.fenced = true;
        self.products.iter_mut().for_each(|p| p.fenced = true);
    }

    /// Whether a product that nobody has waited for uses a register.
    pub fn holds(&self, slot: Slot) -> bool {
        let all = self.products.iter();
        slot != Slot::NONE
            && all
                .into_iter()
                .any(|p| p.sums.iter().any(|(_, s)| *s == slot) || p.first.contains(&slot))
    }

    /// A product begins. What is wrong with its registers, and where the other instruction is.
    pub fn begins(
        &mut self,
        program: &Program,
        op: u32,
        number: u64,
        site: Site,
    ) -> Vec<(RegisterFault, Option<Site>)> {
        let product = &program.group_products[op as usize];
        let first: Vec<Slot> = match &product.a {
            First::Registers(slots) => slots.to_vec(),
            First::Shared(_) => Vec::new(),
        };
        let mut faults = Vec::new();
        if !self.fenced {
            faults.push((RegisterFault::NeverFenced, None));
        } else {
            let own = product.d.iter().chain(&first);
            let unfenced = own.filter_map(|slot| self.used.get(slot));
            if let Some((other, writes)) = unfenced.min_by_key(|(site, _)| site.0) {
                let writes = *writes;
                faults.push((RegisterFault::Unfenced { writes }, Some(*other)));
            }
        }
        for other in self.products.iter().filter(|p| !p.fenced) {
            let theirs: &GroupProduct = &program.group_products[other.op as usize];
            let sum = |slot: &Slot| other.sums.iter().any(|(_, s)| s == slot);
            let shaped = product.is_shaped_as(theirs);
            let reads = first.iter().any(sum) || !shaped && product.d.iter().any(sum);
            let writes = product.d.iter().any(|slot| other.first.contains(slot));
            if reads || writes {
                let fault = RegisterFault::InFlight { writes: !reads };
                faults.push((fault, Some(other.site)));
            }
        }
        // Another product that follows needs no fence for these.
        for slot in product.d.iter().chain(&first) {
            self.used.remove(slot);
        }
        self.products.push(Product {
            op,
            number,
            site,
            sums: (0..).zip(product.d.iter().copied()).collect(),
            first,
            fenced: false,
        });
        faults
    }

    /// Somebody has waited for a product.
    pub fn ends(&mut self, number: u64) {
        self.products.retain(|p| p.number != number);
    }

    /// Another instruction uses registers. What is wrong, and the product.
    pub fn uses(&mut self, used: &RegisterUse, site: Site) -> Vec<(RegisterFault, Site)> {
        let mut faults = Vec::new();
        for product in &mut self.products {
            let sum = |slot: &Slot| product.sums.iter().any(|(_, s)| s == slot);
            let reads = used.reads.iter().any(sum);
            let writes = used.writes.iter();
            let writes = writes
                .into_iter()
                .any(|s| sum(s) || product.first.contains(s));
            let lost = product.copies(&used.copies);
            if reads || writes || lost {
                faults.push((RegisterFault::InFlight { writes: !reads }, product.site));
            }
        }
        for slot in &used.reads {
            self.used.entry(*slot).or_insert((site, false));
        }
        for slot in &used.writes {
            self.used.insert(*slot, (site, true));
        }
        let before: Vec<_> = used
            .copies
            .iter()
            .map(|(_, s)| self.used.get(s).copied())
            .collect();
        for ((d, _), before) in used.copies.iter().zip(before) {
            if *d == Slot::NONE {
                continue;
            }
            match before {
                Some(use_of_it) => self.used.insert(*d, use_of_it),
                None => self.used.remove(d),
            };
        }
        faults
    }
}

impl Product {
    /// Registers are copied. Whether a sum is nowhere else now.
    fn copies(&mut self, copies: &[(Slot, Slot)]) -> bool {
        if copies.is_empty() {
            return false;
        }
        let mut new = Vec::new();
        for (d, s) in copies {
            let from = self
                .sums
                .iter()
                .filter(|(_, slot)| slot == s && *s != Slot::NONE);
            new.extend(from.map(|(sum, _)| (*sum, *d)));
        }
        let overwritten =
            |slot: &Slot| *slot != Slot::NONE && copies.iter().any(|(d, _)| d == slot);
        let (gone, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.sums)
            .into_iter()
            .partition(|(_, slot)| overwritten(slot));
        self.sums = left;
        self.sums.extend(new);
        self.first.retain(|slot| !overwritten(slot));
        let is_left = |sum: u32| self.sums.iter().any(|(other, _)| *other == sum);
        gone.iter().any(|(sum, _)| !is_left(*sum))
    }
}
