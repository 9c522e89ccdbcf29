//! Weak accesses of a warp, cut into runs of lanes whose memory is adjacent or the same.

use super::block::{View, lanes};
use super::cells::{Cells, lane_tables};
use super::entry;
use super::known::Partners;
use super::pages::Shadow;
use super::report::{Current, Reporter};
use super::span::{LINE, Part};
use simt::ids::Mask;
use simt::observer::*;
use std::ops::Range;

/// Weak accesses of a warp: cut into runs of lanes whose memory is adjacent or the same.
pub(super) trait WeakAccesses: Shadow {
    fn weak(&mut self, access: &Access<'_>, v: &View<'_>, shift: u32, reporter: &mut Reporter) {
        let bytes = u64::from(access.bytes());
        let cells = (bytes >> shift) as usize;
        let Neighbours { next, same } = access
            .neighbours
            .unwrap_or_else(|| Neighbours::of(access.mask, access.address, bytes));
        let both = access.mask & access.mask << 1;
        let (next, same) = (next & both, same & both);
        let mut left = access.mask;
        let mut known = None;
        let apart = next | same == 0;
        loop {
            if apart {
                left = self.apart(access, left, cells, v, shift);
            }
            if left == 0 {
                return;
            }
            let first = left.trailing_zeros();
            // How many lanes after the first go on as it began.
            let length = |steps: Mask| 1 + (u64::from(steps) >> (first + 1)).trailing_ones();
            let lanes = |n: u32| (((1u64 << n) - 1) << first) as u32;
            let (run, repeats) = (length(next), length(same));
            if repeats > 1 && access.kind == AccessKind::Read {
                self.broadcast(access, lanes(repeats), cells, shift, v, reporter);
                left &= !lanes(repeats);
            } else {
                self.run(access, first, run, cells, shift, v, reporter, &mut known);
                left &= !lanes(run);
            }
        }
    }

    /// Lanes of which none accesses memory next to another one's, as far as [`Cells::take_own`] can do that. Those that are left, from the first
    /// one on for which it can't.
    #[inline(always)]
    fn apart(
        &mut self,
        access: &Access<'_>,
        mut left: Mask,
        cells: usize,
        v: &View<'_>,
        shift: u32,
    ) -> Mask {
        let read = access.kind == AccessKind::Read;
        while left != 0 {
            let cell = access.address[left.trailing_zeros() as usize] >> shift;
            let Some((page, at)) = self.piece(cell, cells) else {
                break;
            };
            let before = left;
            // As long as they are in the same place.
            let first = cell - at as u64;
            let granules = page.granules() as u64;
            while left != 0 {
                let lane = left.trailing_zeros();
                let at = (access.address[lane as usize] >> shift).wrapping_sub(first);
                if at.saturating_add(cells as u64) > granules {
                    break;
                }
                let mut own = at as usize..at as usize + cells;
                // To take one again that has been taken changes nothing.
                if own.any(|at| page.take_own(at, lane, read, v, access.site).is_err()) {
                    break;
                }
                left &= left - 1;
            }
            if left == before {
                break;
            }
        }
        left
    }

    #[allow(clippy::too_many_arguments)]
    fn run(
        &mut self,
        access: &Access<'_>,
        first: u32,
        run: u32,
        cells: usize,
        shift: u32,
        v: &View<'_>,
        reporter: &mut Reporter,
        known: &mut Option<Partners>,
    ) {
        let start = access.address[first as usize];
        let (lane, bit) = lane_tables(cells);
        let offset = first as usize * cells;
        let read = access.kind == AccessKind::Read;
        self.pieces(start >> shift, run as usize * cells, |page, at, from, n| {
            let mut done = 0;
            while done < n {
                let (at, number) = (at + done, offset + from + done);
                let part = Part {
                    line: at / LINE,
                    from: at % LINE,
                    count: (LINE - at % LINE).min(n - done),
                    number,
                    width: cells,
                };
                done += part.count;
                let packed = if read {
                    page.read_packed(&part, v, access.site)
                } else {
                    page.write_packed(&part, v, access.site)
                };
                if packed.is_ok() {
                    continue;
                }
                page.open(at, false, v);
                let lane = &lane[number..][..part.count];
                let bit = &bit[number..][..part.count];
                let site = access.site;
                let known = *known.get_or_insert_with(|| reporter.partners(access, v));
                let fast = match (read, v.global) {
                    _ if part.count < 4 => Err(entry::Race),
                    (true, true) => page.read_run::<true>(at, lane, bit, v, site, known),
                    (true, false) => page.read_run::<false>(at, lane, bit, v, site, known),
                    (false, true) => page.write_run::<true>(at, lane, bit, v, site, known),
                    (false, false) => page.write_run::<false>(at, lane, bit, v, site, known),
                };
                if fast.is_ok() {
                    continue;
                }
                for (i, &lane) in lane.iter().enumerate() {
                    let byte = start + (((number - offset + i) as u64) << shift);
                    let bytes = byte..byte + (1 << shift);
                    weak_cell(page, at + i, 1 << lane, bytes, access, v, reporter);
                }
            }
        });
    }

    /// Several lanes read the same memory.
    fn broadcast(
        &mut self,
        access: &Access<'_>,
        mask: Mask,
        cells: usize,
        shift: u32,
        v: &View<'_>,
        reporter: &mut Reporter,
    ) {
        let start = access.address[mask.trailing_zeros() as usize];
        self.pieces(start >> shift, cells, |page, at, from, n| {
            let part = Part {
                line: at / LINE,
                from: at % LINE,
                count: n,
                number: 0,
                width: cells,
            };
            // What one lane accesses is aligned to its size, and of a line at most.
            let fits = part.from + n <= LINE;
            if fits && page.read_alike(&part, mask, v, access.site).is_ok() {
                return;
            }
            for i in 0..n {
                page.open(at + i, false, v);
                let byte = start + (((from + i) as u64) << shift);
                let bytes = byte..byte + (1 << shift);
                weak_cell(page, at + i, mask, bytes, access, v, reporter);
            }
        });
    }
}

impl<S: Shadow> WeakAccesses for S {}

/// One cell, some lanes (one, if they write).
fn weak_cell(
    page: &mut Cells,
    at: usize,
    mask: Mask,
    bytes: Range<u64>,
    access: &Access<'_>,
    v: &View<'_>,
    reporter: &mut Reporter,
) {
    let read = access.kind == AccessKind::Read;
    if !(read && page.is_quiet(at, v)) {
        for lane in lanes(mask) {
            let check = if read {
                page.check_read(at, lane, v)
            } else {
                page.check_overwrite(at, lane, v)
            };
            if check.is_err() {
                let first = access.address[lane as usize];
                let into = (bytes.start - first) % u64::from(access.element);
                let current = Current {
                    access,
                    lane,
                    address: bytes.start - into,
                    bytes: bytes.clone(),
                };
                if !reporter.knows(page, at, &current, v) {
                    reporter.weak(page, at, &current, v);
                }
            }
        }
    }
    if read {
        page.add_reader(at, mask, v, access.site);
    } else {
        for lane in lanes(mask) {
            page.add_write(at, lane, v, access.site);
        }
    }
}
