//! Whether an access lies inside what is allocated, and what is reported where it does not.

use super::memory::{Request, belongs};
use super::{Core, Range};
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::*;
use crate::observer::*;
use crate::op::AddressSpace;
use crate::program::Pointer;
use crate::state::*;

impl<O: Hooks> Core<'_, O> {
    /// Reports a store to the kernel's parameters.
    #[cold]
    pub(super) fn read_only(
        &mut self,
        block: &Block,
        w: usize,
        mask: Mask,
        bytes: u32,
        site: Site,
    ) {
        let request = Request {
            site,
            who: block.who(w),
            element: bytes,
            count: 1,
            write: true,
            address: &self.address.clone(),
        };
        self.report(&request, Space::Param, mask, FaultKind::OutOfBounds);
    }

    /// The lanes whose access can be performed; the others are reported.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    pub(super) fn check(
        &mut self,
        block: &Block,
        w: usize,
        space: Space,
        active: Mask,
        bytes: u32,
        write: bool,
        site: Site,
    ) -> Mask {
        let size = u64::from(bytes);
        let (start, end) = match space {
            Space::Global | Space::Const => {
                let recent = &self.recent[site.0 as usize];
                (recent.start, recent.end)
            }
            Space::Shared => (0, block.shared.bytes),
            Space::Local => (0, block.warps[w].local.bytes()),
            Space::Param => (0, self.geometry.params.bytes()),
        };
        let last = end.wrapping_sub(size);
        let mut bad = 0u32;
        for (l, a) in self.address.iter().enumerate() {
            let wrong = (*a < start) | (*a > last) | (*a & (size - 1) != 0);
            bad |= u32::from(wrong) << l;
        }
        if end - start < size {
            bad = active;
        }
        if bad & active == 0 {
            active
        } else {
            self.check_slowly(block, w, space, active, bytes, write, site)
        }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn check_slowly(
        &mut self,
        block: &Block,
        w: usize,
        space: Space,
        active: Mask,
        bytes: u32,
        write: bool,
        site: Site,
    ) -> Mask {
        let size = u64::from(bytes);
        let (mut outside, mut misaligned, mut freed) = (0, 0, 0);
        for l in lanes_of(active) {
            let at = self.address[l];
            let inside = match space {
                Space::Global | Space::Const => match self.find_range(at, size) {
                    Some(range) => {
                        if write {
                            self.keep(&range);
                        }
                        freed |= u32::from(range.freed) << l;
                        // What is on the heap may be freed by anybody, at any time.
                        if !range.freed && !self.device.in_heap(at) {
                            self.recent[site.0 as usize] = range;
                        }
                        true
                    }
                    None => false,
                },
                Space::Shared => block.shared.holds(at, size),
                Space::Local => at
                    .checked_add(size)
                    .is_some_and(|e| e <= block.warps[w].local.bytes()),
                Space::Param => at
                    .checked_add(size)
                    .is_some_and(|e| e <= self.geometry.params.bytes()),
            };
            outside |= u32::from(!inside) << l;
            misaligned |= u32::from(!at.is_multiple_of(size)) << l;
        }
        let request = Request {
            site,
            who: block.who(w),
            element: bytes,
            count: 1,
            write,
            address: &self.address.clone(),
        };
        for (mask, kind) in [
            (outside, FaultKind::OutOfBounds),
            (misaligned, FaultKind::Misaligned),
            (freed & !misaligned, FaultKind::Freed),
        ] {
            if mask != 0 {
                self.report(&request, space, mask, kind);
            }
        }
        active & !outside & !misaligned & !freed
    }

    /// Something is about to be written to an allocation.
    pub(crate) fn keep(&self, range: &Range) {
        if let Some(before) = self.before.filter(|_| !range.freed) {
            before.keep(self.device, range.start..range.end);
        }
    }

    /// The allocation that bytes of the arena lie in. Before something is written there, [`Core::keep`] has to be called.
    pub(crate) fn find_range(&self, at: u64, size: u64) -> Option<Range> {
        let end = at.checked_add(size)?;
        if self.device.in_heap(at) {
            let heap = self
                .device
                .heap
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let found = heap
                .blocks
                .iter()
                .find(|b| at >= b.offset && end <= b.offset + b.bytes)?;
            return Some(Range {
                start: found.offset,
                end: found.offset + found.bytes,
                freed: found.freed,
            });
        }
        let after = self.ranges.partition_point(|r| r.start <= at);
        let range = *self.ranges.get(after.checked_sub(1)?)?;
        (end <= range.end).then_some(range)
    }

    pub(crate) fn report(
        &mut self,
        request: &Request<'_>,
        space: Space,
        mask: Mask,
        kind: FaultKind,
    ) {
        if !O::WATCHES {
            return;
        }
        let mut address = *request.address;
        if space == Space::Global || space == Space::Const {
            address
                .iter_mut()
                .for_each(|a| *a = a.wrapping_add(GLOBAL_BASE));
        }
        self.observer.fault(&MemoryFault {
            site: request.site,
            who: request.who,
            mask,
            space: Some(space),
            address: &address,
            bytes: request.element * request.count,
            write: request.write,
            kind,
            pointer: match kind {
                FaultKind::OutOfBounds => self.pointer(request.site, space),
                _ => None,
            },
        });
    }

    /// Where the pointer of an instruction's address points, if one of its candidates alone points to memory.
    fn pointer(&self, site: Site, space: Space) -> Option<u64> {
        let address = |pointer: &Pointer| match *pointer {
            Pointer::Parameter(at) => {
                let params = &self.geometry.params;
                let inside = u64::from(at) + 8 <= params.bytes();
                inside.then(|| params.read(u64::from(at), 8, 0))
            }
            Pointer::Variable(row) => Some(self.const_d.get(row)?[0]),
            Pointer::Shared(offset) => Some(SHARED_BASE + offset),
        };
        let in_space = |at: &u64| match space {
            Space::Global | Space::Const => {
                let of = |r: &Range| (r.start..=r.end).contains(&at.wrapping_sub(GLOBAL_BASE));
                self.ranges.iter().any(|r| !r.freed && of(r))
            }
            Space::Shared => belongs(*at, AddressSpace::Shared),
            Space::Local | Space::Param => false,
        };
        let pointers = self.program.site(site).pointers.iter();
        let mut all = pointers.filter_map(address).filter(in_space);
        let only = all.next()?;
        let only = all.all(|other| other == only).then_some(only)?;
        Some(match space {
            Space::Shared => only - SHARED_BASE,
            _ => only,
        })
    }
}
