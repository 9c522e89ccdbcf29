//! Operations on matrices that a warp holds together: see [`crate::matrix`].

use super::Core;
use crate::alu::{Mask, Row32, Row64};
use crate::hooks::Hooks;
use crate::ids::LANES;
use crate::matrix::{Element, Gather, MatrixOp, Place, Product, Registers};
use crate::op::Slot;
use crate::state::*;

impl<O: Hooks> Core<'_, O> {
    /// Executes one; only active lanes are written.
    #[inline(never)]
    pub(crate) fn matrix(&mut self, warp: &mut Warp, op: &MatrixOp, active: Mask, dead: Mask) {
        match op {
            MatrixOp::Product(product) => self.product(warp, product, active),
            MatrixOp::Place(place) => self.place(warp, place, active, dead),
            MatrixOp::Gather(gather) => self.gather(warp, gather, active, dead),
            MatrixOp::Transpose { d, s } => {
                let from = *row(&warp.w, self.const_w, *s);
                // Lane `l` gets two elements of column l / 4, of rows l % 4 · 2 and the one below; a lane holds two of a row.
                let element = |row: usize, column: usize| {
                    from[row * 4 + column / 2] >> (16 * (column % 2)) & 0xffff
                };
                let turned: Row32 = std::array::from_fn(|l| {
                    let (row, column) = (l % 4 * 2, l / 4);
                    element(row, column) | element(row + 1, column) << 16
                });
                blend(&mut warp.w[d.0 as usize], &turned, active, dead);
            }
        }
    }

    fn product(&mut self, warp: &mut Warp, product: &Product, active: Mask) {
        let sums = product.compute(Registers {
            w: &warp.w,
            d: &warp.d,
            const_w: self.const_w,
            const_d: self.const_d,
        });
        let d = &product.d;
        let parts = d.element.parts();
        for (r, slot) in d.slots.iter().enumerate() {
            let at = |part: usize, l: usize| {
                // Places are within the matrix: the remainder changes nothing and needs no check.
                usize::from(d.places[(r * parts + part) * LANES + l]) % sums.len()
            };
            if d.element == Element::F64 {
                let mut new: Row64 = [0; LANES];
                for l in 0..LANES {
                    new[l] = sums[at(0, l)];
                }
                blend(&mut warp.d[slot.0 as usize], &new, active, 0);
                continue;
            }
            let mut new: Row32 = [0; LANES];
            for l in 0..LANES {
                new[l] = sums[at(0, l)] as u32;
                if parts == 2 {
                    new[l] |= (sums[at(1, l)] as u32) << 16;
                }
            }
            blend(&mut warp.w[slot.0 as usize], &new, active, 0);
        }
    }

    fn place(&mut self, warp: &mut Warp, place: &Place, active: Mask, dead: Mask) {
        let strides = *row(&warp.w, self.const_w, place.stride);
        let bytes = |l: usize| {
            let (line, element) = place.at[l];
            let elements = u64::from(line)
                .wrapping_mul(u64::from(strides[l]))
                .wrapping_add(u64::from(element));
            elements.wrapping_mul(u64::from(place.bits)) / 8
        };
        let mut to = self.addresses_of(warp, place.base, place.wide);
        for l in 0..LANES {
            to[l] = to[l].wrapping_add(bytes(l));
        }
        write_addresses(warp, place.d, place.wide, &to, active, dead);
    }

    fn gather(&mut self, warp: &mut Warp, gather: &Gather, active: Mask, dead: Mask) {
        let from = self.addresses_of(warp, gather.s, gather.wide);
        let to = std::array::from_fn(|l| {
            let (lane, bytes) = gather.at[l];
            from[usize::from(lane)].wrapping_add(u64::from(bytes))
        });
        write_addresses(warp, gather.d, gather.wide, &to, active, dead);
    }

    fn addresses_of(&self, warp: &Warp, slot: Slot, wide: bool) -> Row64 {
        if wide {
            return *row(&warp.d, self.const_d, slot);
        }
        let (from, mut to) = (row(&warp.w, self.const_w, slot), [0; LANES]);
        for l in 0..LANES {
            to[l] = u64::from(from[l]);
        }
        to
    }
}

fn write_addresses(
    warp: &mut Warp,
    slot: Slot,
    wide: bool,
    addresses: &Row64,
    active: Mask,
    dead: Mask,
) {
    let at = slot.0 as usize;
    match wide {
        true => blend(&mut warp.d[at], addresses, active, dead),
        false => blend(&mut warp.w[at], &addresses.map(|a| a as u32), active, dead),
    }
}
