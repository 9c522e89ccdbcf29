//! Atomic operations (PTX ISA, "atom" and "red"): lane after lane.

use super::Core;
use super::memory::belongs;
use super::weak_memory::place;
use crate::alu::{Mask, float};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::mbarrier::PHASE;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::state::*;
use crate::weak_memory::Who;

impl<O: Hooks> Core<'_, O> {
    pub(super) fn atomic(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        op: &AtomicOp,
        active: Mask,
        site: Site,
    ) {
        if let Some(update) = self.word_update(op) {
            return self.update_shared_words(block, w, s, (op, update), active, site);
        }
        self.addresses(&block.warps[w], s, op.base, op.offset);
        if op.space == AddressSpace::Shared {
            return self.atomic_in(block, w, op, Space::Shared, active, site);
        }
        let full = self.address;
        let ways: &[(Space, AddressSpace, u64)] = match op.space {
            AddressSpace::Global => &[(Space::Global, AddressSpace::Generic, GLOBAL_BASE)],
            // Atomics exist for global and shared memory only.
            _ => &[
                (Space::Global, AddressSpace::Global, GLOBAL_BASE),
                (Space::Shared, AddressSpace::Shared, SHARED_BASE),
            ],
        };
        let mut rest = active;
        for (space, kind, base) in ways {
            let here = lanes_of(active)
                .filter(|l| belongs(full[*l], *kind))
                .fold(0, |m, l| m | 1 << l);
            if here == 0 {
                continue;
            }
            rest &= !here;
            for l in 0..LANES {
                self.address[l] = full[l].wrapping_sub(*base);
            }
            self.atomic_in(block, w, op, *space, here, site);
        }
        if rest != 0 && O::WATCHES {
            self.observer.fault(&MemoryFault {
                site,
                who: block.who(w),
                mask: rest,
                space: None,
                address: &full,
                bytes: u32::from(op.element),
                write: true,
                kind: FaultKind::OutOfBounds,
                pointer: None,
            });
        }
    }

    pub(super) fn atomic_in(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &AtomicOp,
        space: Space,
        active: Mask,
        site: Site,
    ) {
        let bytes = u32::from(op.element) * u32::from(op.count);
        let good = self.check(block, w, space, active, bytes, true, site);
        if good == 0 {
            return;
        }
        let who = block.who(w);
        // An exchange whose result is not used reads nothing.
        let reads = op.used || !matches!(op.f, AtomFn::Exch);
        if O::WATCHES && reads && !self.is_written(block, space, good, bytes) {
            self.uninitialized(block, w, space, good, bytes, None, site);
        }
        if let Some(history) = &mut self.history {
            history.tick();
        }
        let mut wrote = 0;
        let mut flipped: Mask = 0;
        let mut faults = Vec::new();
        // What other cores do must not steer this one.
        let mut changed = self.parallel;
        let own = (block.id, block.cluster);
        let (warp, shared) = (&mut block.warps[w], &block.shared);
        for l in lanes_of(good) {
            for k in 0..usize::from(op.count) {
                let at = self.address[l] + k as u64 * u64::from(op.element);
                if self.history.is_some() && space == Space::Global {
                    self.put_stale_value(block.id, (w, l), op, at);
                }
                let old = if space == Space::Shared {
                    self.update(shared, None, warp, op, k, l, at, &mut wrote)
                } else {
                    let arena = &self.device.arena;
                    self.update(
                        arena,
                        self.parallel.then_some(arena),
                        warp,
                        op,
                        k,
                        l,
                        at,
                        &mut wrote,
                    )
                };
                if let Some(history) = &mut self.history {
                    let who = Who {
                        block: block.id,
                        warp: w,
                        lane: LaneId(l as u8),
                    };
                    let new = (wrote >> l & 1 != 0).then(|| match space {
                        Space::Shared => shared.read(at, u32::from(op.element).min(8), l),
                        _ => self.device.arena.read(at, u32::from(op.element).min(8), l),
                    });
                    let (owner, at) = match space {
                        Space::Shared => self.geometry.owner(own, at),
                        _ => (block.id, at),
                    };
                    history.atomic(who, place(owner, space, at, op.element), old[0], new, op);
                }
                if let Some(MbarrierUse { update, .. }) = op.arrives {
                    if O::WATCHES {
                        let count = row(&warp.d, self.const_d, op.b[0])[l];
                        let fault = update.fault(old[0], count);
                        faults.extend(fault.map(|fault| (l, at, fault)));
                    }
                    let new = shared.read(at, 8, l);
                    flipped |= Mask::from((old[0] ^ new) & PHASE != 0) << l;
                }
                if !changed && wrote >> l & 1 != 0 {
                    let bytes = u32::from(op.element).min(8);
                    changed = old[0]
                        != match space {
                            Space::Shared => shared.read(at, bytes, l),
                            _ => self.device.arena.read(at, bytes, l),
                        };
                }
                let d = op.d[k];
                if d != Slot::NONE {
                    match op.element {
                        16 => {
                            warp.d[d.0 as usize][l] = old[0];
                            warp.d[d.0 as usize + 1][l] = old[1];
                        }
                        8 => warp.d[d.0 as usize][l] = old[0],
                        _ => warp.w[d.0 as usize][l] = old[0] as u32,
                    }
                }
            }
        }
        self.idle = if changed { 0 } else { self.idle + 1 };
        if changed {
            self.moved();
        } else if space == Space::Global {
            self.looked(good, bytes);
        }
        if O::WATCHES {
            self.tell_of_atomic(who, op, space, (good, wrote), site);
            if let Some(arrival) = op.arrives {
                self.tell_of_phases(block, w, good, arrival.by, flipped);
            }
            for (l, object, fault) in faults {
                let here = Party {
                    warp: who.warp,
                    mask: 1 << l,
                    site,
                };
                let misuse = Misuse::Mbarrier {
                    here,
                    object,
                    fault,
                };
                self.observer.misuse(who.block, misuse);
            }
        }
        if flipped != 0 {
            self.phases_complete(block, flipped);
        }
    }

    /// Tells of an atomic at the addresses that are set, by lanes of a warp of which some may not have written.
    #[inline(always)]
    pub(super) fn tell_of_atomic(
        &mut self,
        who: WarpRef,
        op: &AtomicOp,
        space: Space,
        (mask, wrote): (Mask, Mask),
        site: Site,
    ) {
        self.observer.access(&Access {
            site,
            who,
            mask,
            space,
            address: &self.address,
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

    /// Tells who arrives at which mbarriers, lane after lane, and whose arrival completes a phase.
    pub(crate) fn tell_of_phases(
        &mut self,
        block: &Block,
        w: usize,
        mask: Mask,
        arrival: MbarrierArrival,
        completes: Mask,
    ) {
        for l in lanes_of(mask) {
            let own = (block.id, block.cluster);
            let (owner, object) = self.geometry.owner(own, self.address[l]);
            if arrival == MbarrierArrival::Copies {
                (self.observer).copies_arrive_at(block.who(w), 1 << l, owner, object);
            }
            if completes >> l & 1 == 1 {
                self.observer.phase_completes(owner, object);
            }
        }
    }

    /// Phases of the mbarriers at the addresses that are set have become complete: whoever waits for them goes on, in other blocks after the turn.
    pub(crate) fn phases_complete(&mut self, block: &mut Block, completes: Mask) {
        self.cluster_moved |= lanes_of(completes).any(|l| self.address[l] >= FAR);
        self.wake(block);
    }

    fn is_written(&self, block: &Block, space: Space, mask: Mask, bytes: u32) -> bool {
        lanes_of(mask).all(|l| {
            let at = self.address[l];
            let step = bytes.min(4);
            (0..bytes / step).all(|i| {
                let at = at + u64::from(i * step);
                match space {
                    Space::Shared => block.shared.is_valid(at, step, l),
                    _ => self.device.arena.is_valid(at, step, l),
                }
            })
        })
    }

    /// Performs one lane's operation and returns the old value.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn update<S: Words>(
        &self,
        memory: &S,
        parallel: Option<&Arena>,
        warp: &Warp,
        op: &AtomicOp,
        k: usize,
        l: usize,
        at: u64,
        wrote: &mut Mask,
    ) -> [u64; 2] {
        let element = u32::from(op.element);
        if element == 16 {
            let b = op.b[k];
            let pair = |slot: Slot| {
                [
                    row(&warp.d, self.const_d, slot)[l],
                    row(&warp.d, self.const_d, Slot(slot.0 + 1))[l],
                ]
            };
            let old = [memory.read(at, 8, l), memory.read(at + 8, 8, l)];
            let (writes, new) = match op.f {
                AtomFn::Cas => (old == pair(b), pair(op.c)),
                _ => (true, pair(b)),
            };
            if writes {
                memory.write(at, 8, l, new[0]);
                memory.write(at + 8, 8, l, new[1]);
                *wrote |= 1 << l;
            }
            return old;
        }
        let operand = |slot: Slot| match element {
            8 => row(&warp.d, self.const_d, slot)[l],
            _ => u64::from(row(&warp.w, self.const_w, slot)[l]),
        };
        let b = operand(op.b[k]);
        // "atom.add.f32 on global memory flushes subnormal inputs and results to sign-preserving zero."
        let flush = |v: u64, global: bool| {
            if op.flush && global && matches!(op.f, AtomFn::W(_)) && v & 0x7f80_0000 == 0 {
                v & 0x8000_0000
            } else {
                v
            }
        };
        let global = S::GLOBAL;
        let next = |old: u64| -> Option<u64> {
            Some(match op.f {
                AtomFn::W(f) => {
                    let (old, b) = (flush(old, global) as u32, flush(b, global) as u32);
                    flush(u64::from(f.apply(old, b)), global)
                }
                AtomFn::D(f) => f(old, b),
                AtomFn::AddDouble => {
                    let (word, operand) = (f64::from_bits(old), f64::from_bits(b));
                    float::atomic_add(word, operand, !global).to_bits()
                }
                AtomFn::Exch => b,
                AtomFn::Cas => {
                    let keep = if element == 2 { 0xffff } else { u64::MAX };
                    if old != b & keep {
                        return None;
                    }
                    operand(op.c)
                }
                AtomFn::Row(f) => {
                    let mut out = [0; LANES];
                    f(&[old as u32; LANES], &[b as u32; LANES], &mut out);
                    u64::from(out[0])
                }
            })
        };
        if let (Some(arena), 4) = (parallel, element) {
            *wrote |= 1 << l;
            let old = arena.update((at >> 2) as usize, |old| {
                next(u64::from(old)).unwrap_or(u64::from(old)) as u32
            });
            return [u64::from(old), 0];
        }
        let _guard = parallel.map(Arena::lock);
        let old = memory.read(at, element, l);
        if let Some(new) = next(old) {
            memory.write(at, element, l, new);
            *wrote |= 1 << l;
        }
        [old, 0]
    }
}
