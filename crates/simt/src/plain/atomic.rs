//! Atomic operations (PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red"): lane after lane, element after
//! element, each one read, computed and written before the next.

use super::Turn;
use super::arithmetic::lies_in;
use crate::alu::{Mask, Row64, float};
use crate::exec::place;
use crate::hooks::Hooks;
use crate::ids::lanes_of;
use crate::ids::*;
use crate::mbarrier::PHASE;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::weak_memory::Who;

/// What one lane's operation on one element did.
struct Updated {
    old: [u64; 2],
    new: [u64; 2],
    /// Whether it stored: a compare-and-swap that fails does not.
    wrote: bool,
}

impl<O: Hooks> Turn<'_, '_, O> {
    /// "atom", "red"
    pub(super) fn atomic(&mut self, op: &AtomicOp, active: Mask, site: Site) {
        let address = self.addresses(op.base, op.offset);
        let in_arena = address.map(|at| at.wrapping_sub(GLOBAL_BASE));
        match op.space {
            AddressSpace::Shared => self.atomic_in(op, Space::Shared, active, &address, site),
            AddressSpace::Global => self.atomic_in(op, Space::Global, active, &in_arena, site),
            // "Atomic operations ... are supported on global and shared memory": a generic address lies in one of them.
            _ => {
                let within = |space| super::filter(active, |l| lies_in(address[l], space));
                let (global, shared) = (within(AddressSpace::Global), within(AddressSpace::Shared));
                if global != 0 {
                    self.atomic_in(op, Space::Global, global, &in_arena, site);
                }
                if shared != 0 {
                    let offsets = address.map(|at| at.wrapping_sub(SHARED_BASE));
                    self.atomic_in(op, Space::Shared, shared, &offsets, site);
                }
                let nowhere = active & !global & !shared;
                if nowhere != 0 {
                    self.lies_nowhere(nowhere, &address, op.element.into(), true, site);
                }
            }
        }
    }

    pub(super) fn atomic_in(
        &mut self,
        op: &AtomicOp,
        space: Space,
        active: Mask,
        address: &Row64,
        site: Site,
    ) {
        let size = u32::from(op.element) * u32::from(op.count);
        let good = self.check(space, active, address, size, true, site);
        if good == 0 {
            return;
        }
        // An exchange whose result is not used reads nothing.
        if O::WATCHES && (op.used || !matches!(op.f, AtomFn::Exch)) {
            self.report_unwritten(space, good, address, size, None, site);
        }
        if let Some(history) = &mut self.core.history {
            history.tick();
        }
        let mut faults = Vec::new();
        let (mut wrote, mut completes, mut changed): (Mask, Mask, bool) = (0, 0, false);
        for l in lanes_of(good) {
            for k in 0..usize::from(op.count) {
                let at = address[l] + k as u64 * u64::from(op.element);
                let update = self.update(op, space, k, l, at);
                if let (true, Some(MbarrierUse { update: use_of, .. })) = (O::WATCHES, op.arrives) {
                    let fault = use_of.fault(update.old[0], self.d(op.b[0], l));
                    faults.extend(fault.map(|fault| (l, at, fault)));
                }
                wrote |= Mask::from(update.wrote) << l;
                completes |= Mask::from((update.old[0] ^ update.new[0]) & PHASE != 0) << l;
                changed |= update.wrote && update.old[0] != update.new[0];
                self.set_result(op, k, l, update.old);
            }
        }
        // One that changes nothing, again and again, waits for somebody: others get a turn.
        self.core.idle = if changed { 0 } else { self.core.idle + 1 };
        self.core.address = *address;
        match (changed, space) {
            (true, _) => self.core.moved(),
            (false, Space::Global) => self.core.looked(good, size),
            (false, _) => {}
        }
        if O::WATCHES {
            let who = self.who();
            self.tell(op, who, space, (good, wrote), address, site);
            if let Some(arrival) = op.arrives {
                (self.core).tell_of_phases(self.block, self.w, good, arrival.by, completes);
            }
            for (l, object, fault) in faults {
                let here = self.party(1 << l, site);
                let misuse = Misuse::Mbarrier {
                    here,
                    object,
                    fault,
                };
                self.core.observer.misuse(who.block, misuse);
            }
        }
        if op.arrives.is_some() && completes != 0 {
            self.core.phases_complete(self.block, completes);
        }
    }

    /// One lane's operation on one element.
    fn update(&mut self, op: &AtomicOp, space: Space, k: usize, l: usize, at: u64) -> Updated {
        let block = self.block.id;
        let element = u32::from(op.element);
        if self.core.history.is_some() && space == Space::Global {
            self.core.put_stale_value(block, (self.w, l), op, at);
        }
        let old = match element {
            16 => [
                self.number(space, l, at, 8),
                self.number(space, l, at + 8, 8),
            ],
            _ => [self.number(space, l, at, element), 0],
        };
        let new = self.updated(op, space, k, l, old);
        if let Some(new) = new {
            self.put_number(space, l, at, element.min(8), new[0]);
            if element == 16 {
                self.put_number(space, l, at + 8, 8, new[1]);
            }
        }
        let kept = match element {
            // Of what is narrower than a register, as much as memory holds.
            1..8 => new.map(|[low, high]| [low & ((1 << (8 * element)) - 1), high]),
            _ => new,
        };
        if let Some(history) = &mut self.core.history {
            let who = Who {
                block,
                warp: self.w,
                lane: LaneId(l as u8),
            };
            let (owner, at) = match space {
                Space::Shared => (self.core.geometry).owner((block, self.block.cluster), at),
                _ => (block, at),
            };
            let place = place(owner, space, at, op.element);
            history.atomic(who, place, old[0], kept.map(|new| new[0]), op);
        }
        Updated {
            old,
            new: kept.unwrap_or(old),
            wrote: new.is_some(),
        }
    }

    /// The new value, if there is to be one.
    fn updated(
        &self,
        op: &AtomicOp,
        space: Space,
        k: usize,
        l: usize,
        old: [u64; 2],
    ) -> Option<[u64; 2]> {
        let operand = |slot: Slot| match op.element {
            16 => [self.d(slot, l), self.d(Slot(slot.0 + 1), l)],
            8 => [self.d(slot, l), 0],
            _ => [u64::from(self.w(slot, l)), 0],
        };
        let [b, high] = operand(op.b[k]);
        // "atom.add.f32 on global memory flushes subnormal inputs and results to sign-preserving zero."
        let flushes = op.flush && space == Space::Global && matches!(op.f, AtomFn::W(_));
        let flush = |bits: u32| match flushes && bits & 0x7f80_0000 == 0 {
            true => bits & 0x8000_0000,
            false => bits,
        };
        let low = match op.f {
            AtomFn::Cas => {
                // Of a narrow operand, the bits that the element has.
                let keep = if op.element == 2 { 0xffff } else { u64::MAX };
                return (old == [b & keep, high]).then(|| operand(op.c));
            }
            AtomFn::Exch => return Some([b, high]),
            AtomFn::W(f) => u64::from(flush(f.apply(flush(old[0] as u32), flush(b as u32)))),
            AtomFn::D(f) => f(old[0], b),
            AtomFn::AddDouble => {
                let (x, y) = (f64::from_bits(old[0]), f64::from_bits(b));
                float::atomic_add(x, y, space == Space::Shared).to_bits()
            }
            AtomFn::Row(f) => {
                let mut out = [0; LANES];
                f(&[old[0] as u32; LANES], &[b as u32; LANES], &mut out);
                u64::from(out[0])
            }
        };
        Some([low, 0])
    }

    /// "d": the value before.
    fn set_result(&mut self, op: &AtomicOp, k: usize, l: usize, old: [u64; 2]) {
        let d = op.d[k];
        match op.element {
            _ if d == Slot::NONE => {}
            16 => {
                self.set_d(d, l, old[0]);
                self.set_d(Slot(d.0 + 1), l, old[1]);
            }
            8 => self.set_d(d, l, old[0]),
            _ => self.set_w(d, l, old[0] as u32),
        }
    }

    fn tell(
        &mut self,
        op: &AtomicOp,
        who: WarpRef,
        space: Space,
        (mask, wrote): (Mask, Mask),
        address: &Row64,
        site: Site,
    ) {
        self.core.observer.access(&Access {
            site,
            who,
            mask,
            space,
            address,
            neighbours: None,
            element: u32::from(op.element),
            elements: u32::from(op.count),
            kind: op.kind(),
            non_coherent: false,
            fragment: false,
            asynchronous: false,
            order: op.order,
            scope: op.scope,
            wrote,
            dropped: 0,
            initial: 0,
            stores: None,
        });
    }
}
