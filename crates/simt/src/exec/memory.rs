//! Loads and stores.
//!
//! Addresses are computed for the whole warp, sorted into spaces, checked against
//! allocations and alignment, and only then used. A lane whose access can't be
//! performed reads zero, stores nothing, and goes on: one run shows as many
//! errors as it can.

use super::Core;
use super::transfer::*;
use crate::alu::{Mask, Row64};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::simd::{Work, at_best};
use crate::state::*;

/// Whether a generic address belongs to a space.
#[inline(always)]
pub(super) fn belongs(address: u64, space: AddressSpace) -> bool {
    let window = |base: u64| (base..base + WINDOW).contains(&address);
    match space {
        AddressSpace::Global => address >= GLOBAL_BASE,
        AddressSpace::Shared => (SHARED_BASE..SHARED_BASE + SHARED_WINDOW).contains(&address),
        AddressSpace::Local => window(LOCAL_BASE),
        AddressSpace::Param => window(PARAM_BASE),
        AddressSpace::Const => false,
        AddressSpace::Generic => true,
    }
}

/// [`Core::memory`] as work for [`at_best`].
struct AnyAccess<'r, 'a, O: Hooks> {
    core: &'r mut Core<'a, O>,
    block: &'r mut Block,
    w: usize,
    s: usize,
    op: &'r MemoryOp,
    active: Mask,
    dead: Mask,
    site: Site,
}

impl<O: Hooks> Work for AnyAccess<'_, '_, O> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (block, op) = (self.block, self.op);
        self.core
            .any_access(block, self.w, self.s, op, self.active, self.dead, self.site);
    }
}

/// An instruction's access to one space.
pub(crate) struct Request<'r> {
    pub site: Site,
    pub who: WarpRef,
    pub element: u32,
    pub count: u32,
    pub write: bool,
    pub address: &'r Row64,
}

impl<O: Hooks> Core<'_, O> {
    /// Addresses of all lanes.
    #[inline(always)]
    pub(super) fn addresses(&mut self, warp: &Warp, s: usize, base: Base, offset: i64) {
        let to = &mut self.address;
        match base {
            Base::W(slot) => {
                let r = row(&warp.w, self.const_w, slot);
                let offset = offset as u32;
                for l in 0..LANES {
                    to[l] = u64::from(r[l].wrapping_add(offset));
                }
            }
            Base::D(slot) => {
                let r = row(&warp.d, self.const_d, slot);
                for l in 0..LANES {
                    to[l] = r[l].wrapping_add(offset as u64);
                }
            }
            Base::Frame => {
                *to = [u64::from(warp.splits[s].base).wrapping_add(offset as u64); LANES]
            }
            Base::Zero => *to = [offset as u64; LANES],
        }
    }

    /// Any access. Out of the execution loop, which performs the commonest ones itself.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    pub(super) fn memory(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        op: &MemoryOp,
        active: Mask,
        dead: Mask,
        site: Site,
    ) {
        at_best(AnyAccess {
            core: self,
            block,
            w,
            s,
            op,
            active,
            dead,
            site,
        });
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn any_access(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        op: &MemoryOp,
        active: Mask,
        dead: Mask,
        site: Site,
    ) {
        self.addresses(&block.warps[w], s, op.base, op.offset);
        match op.space {
            AddressSpace::Generic => self.generic(block, w, op, active, site),
            AddressSpace::Global | AddressSpace::Const => {
                let space = if op.space == AddressSpace::Const {
                    Space::Const
                } else {
                    Space::Global
                };
                for a in &mut self.address {
                    *a = a.wrapping_sub(GLOBAL_BASE);
                }
                self.one_space(block, w, op, space, active, dead, site);
            }
            AddressSpace::Shared => self.one_space(block, w, op, Space::Shared, active, dead, site),
            AddressSpace::Local => self.one_space(block, w, op, Space::Local, active, dead, site),
            AddressSpace::Param => self.one_space(block, w, op, Space::Param, active, dead, site),
        }
    }

    /// Sorts generic addresses into spaces (PTX ISA, "Generic Addressing").
    #[inline(never)]
    fn generic(&mut self, block: &mut Block, w: usize, op: &MemoryOp, active: Mask, site: Site) {
        let full = self.address;
        let mut rest = active;
        for (space, kind, base) in WINDOWS {
            let mut here = 0;
            for l in 0..LANES {
                here |= u32::from(belongs(full[l], kind)) << l;
            }
            here &= active;
            if here != 0 {
                rest &= !here;
                for l in 0..LANES {
                    self.address[l] = full[l].wrapping_sub(base);
                }
                // Dead lanes may not be overwritten here: they may belong to another space.
                self.one_space(block, w, op, space, here, 0, site);
            }
            if rest == 0 {
                return;
            }
        }
        self.address = full;
        self.nowhere(block, w, op, rest, site);
    }

    #[cold]
    fn nowhere(&mut self, block: &mut Block, w: usize, op: &MemoryOp, mask: Mask, site: Site) {
        if O::WATCHES {
            self.observer.fault(&MemoryFault {
                site,
                who: block.who(w),
                mask,
                space: None,
                address: &self.address,
                bytes: u32::from(op.element) * u32::from(op.count),
                write: op.store,
                kind: FaultKind::OutOfBounds,
                pointer: None,
            });
        }
        if !op.store {
            let warp = &mut block.warps[w];
            for k in 0..usize::from(op.count) {
                for l in lanes_of(mask) {
                    store_register(warp, op, k, l, [0, 0]);
                }
            }
        }
    }

    /// An access to one space at the addresses that are set.
    #[inline(never)]
    pub(super) fn access_at(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &MemoryOp,
        space: Space,
        active: Mask,
        site: Site,
    ) {
        self.one_space(block, w, op, space, active, 0, site);
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn one_space(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &MemoryOp,
        space: Space,
        active: Mask,
        dead: Mask,
        site: Site,
    ) {
        let bytes = u32::from(op.element) * u32::from(op.count);
        let good = match (op.store, space) {
            // A kernel's parameters are read-only (PTX ISA, "Kernel Function Parameters").
            (true, Space::Param) => {
                self.read_only(block, w, active, bytes, site);
                0
            }
            _ => self.check(block, w, space, active, bytes, op.store, site),
        };
        if good != active && !op.store {
            let warp = &mut block.warps[w];
            for k in 0..usize::from(op.count) {
                lanes_of(active & !good).for_each(|l| store_register(warp, op, k, l, [0, 0]));
            }
        }
        if good == 0 {
            return;
        }
        let who = block.who(w);
        let before = self.before_store(block, op, space, good);
        let old = match op.store {
            true => self.content(block, w, space, good, bytes),
            false => None,
        };
        let (warp, shared) = (&mut block.warps[w], &block.shared);
        let plain = op.element == 4 && op.count == 1 && matches!(op.class, RegisterClass::W(32));
        let mut written = true;
        let between = matches!(space, Space::Global | Space::Shared | Space::Const);
        if op.store {
            if O::WATCHES && !op.private && between {
                let (cw, cd, address) = (self.const_w, self.const_d, &self.address);
                let arena = &self.device.arena;
                let warp = &*warp;
                let stores: &dyn StoredValues = match space {
                    Space::Shared => &Stored {
                        memory: shared,
                        warp,
                        op,
                        address,
                        cw,
                        cd,
                    },
                    _ => &Stored {
                        memory: arena,
                        warp,
                        op,
                        address,
                        cw,
                        cd,
                    },
                };
                self.observer.access(&Access {
                    site,
                    who,
                    mask: good,
                    space,
                    address,
                    neighbours: None,
                    element: u32::from(op.element),
                    elements: u32::from(op.count),
                    kind: AccessKind::Write,
                    non_coherent: op.non_coherent,
                    fragment: op.fragment,
                    asynchronous: op.asynchronous,
                    order: op.order,
                    scope: op.scope,
                    wrote: good,
                    dropped: 0,
                    initial: 0,
                    stores: Some(stores),
                });
            }
            match space {
                Space::Global | Space::Const => {
                    store(
                        &self.device.arena,
                        warp,
                        op,
                        good,
                        &self.address,
                        self.const_w,
                        self.const_d,
                    );
                }
                Space::Shared => store(
                    shared,
                    warp,
                    op,
                    good,
                    &self.address,
                    self.const_w,
                    self.const_d,
                ),
                _ => {
                    let local = std::mem::take(&mut warp.local);
                    store(
                        &local,
                        warp,
                        op,
                        good,
                        &self.address,
                        self.const_w,
                        self.const_d,
                    );
                    warp.local = local;
                }
            }
        } else {
            match space {
                Space::Global | Space::Const if plain => {
                    written = load_words(
                        &self.device.arena,
                        warp,
                        op,
                        good,
                        dead,
                        &self.address,
                        &mut self.t32,
                    );
                }
                Space::Shared if plain => {
                    written =
                        load_words(shared, warp, op, good, dead, &self.address, &mut self.t32);
                }
                Space::Global | Space::Const => {
                    written = load(&self.device.arena, warp, op, good, dead, &self.address)
                }
                Space::Shared => written = load(shared, warp, op, good, dead, &self.address),
                Space::Local => {
                    let local = std::mem::take(&mut warp.local);
                    written = load(&local, warp, op, good, dead, &self.address);
                    warp.local = local;
                }
                Space::Param => {
                    written = load(&self.geometry.params, warp, op, good, dead, &self.address)
                }
            }
        }
        match old {
            Some(old) => self.stored(block, w, space, good, bytes, &old),
            None if space == Space::Global => self.looked(good, bytes),
            None => {}
        }
        let initial = if self.history.is_some() && matches!(space, Space::Global | Space::Shared) {
            if let Some(before) = before {
                self.after_store(block, w, op, space, &before);
                0
            } else {
                self.stale_values(block, w, op, space, good, site)
            }
        } else {
            0
        };
        if O::WATCHES && !op.private && !op.store {
            let used = if op.used_if == Slot::TRUE {
                Mask::MAX
            } else {
                predicate(&block.warps[w].p, op.used_if)
            };
            if !written {
                let padded = op.copies.then_some(u32::from(op.element));
                self.uninitialized(block, w, space, good & used, bytes, padded, site);
            }
            if between && good != 0 {
                self.observer.access(&Access {
                    site,
                    who,
                    mask: good & used,
                    space,
                    address: &self.address,
                    neighbours: None,
                    element: u32::from(op.element),
                    elements: u32::from(op.count),
                    kind: AccessKind::Read,
                    non_coherent: op.non_coherent,
                    fragment: op.fragment,
                    asynchronous: op.asynchronous,
                    order: op.order,
                    scope: op.scope,
                    wrote: 0,
                    dropped: good & !used,
                    initial: initial & used,
                    stores: None,
                });
            }
        }
    }

    /// Reports lanes that read bytes which nothing has written.
    ///
    /// `copied` is the size of an element that is only copied. A structure is copied with its padding, which nobody
    /// writes and nobody looks at: an element of which some bytes are written, or a byte behind written ones,
    /// is let through there. Blind spot: single bytes that were forgotten, where they are only copied.
    #[cold]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn uninitialized(
        &mut self,
        block: &Block,
        w: usize,
        space: Space,
        mask: Mask,
        bytes: u32,
        copied: Option<u32>,
        site: Site,
    ) {
        if copied.is_some() && space == Space::Local {
            return; // unoptimised code copies whole variables, empty ones too, and sets bit-fields one by one
        }
        let written = |at: u64, bytes: u32, l: usize| match space {
            Space::Global | Space::Const => self.device.arena.is_valid(at, bytes, l),
            Space::Shared => block.shared.is_valid(at, bytes, l),
            Space::Local => block.warps[w].local.is_valid(at, bytes, l),
            Space::Param => true,
        };
        let is_valid = |at: u64, l: usize| -> bool {
            let Some(element) = copied else {
                let step = bytes.min(4);
                return (0..bytes / step).all(|i| written(at + u64::from(i * step), step, l));
            };
            (0..bytes / element).all(|i| {
                let at = at + u64::from(i * element);
                // Padding follows a member.
                let around = match element {
                    1 => at & !7..at,
                    _ => at..at + u64::from(element),
                };
                written(at, element, l) || around.into_iter().any(|byte| written(byte, 1, l))
            })
        };
        let bad = lanes_of(mask)
            .filter(|l| !is_valid(self.address[*l], *l))
            .fold(0, |m, l| m | 1 << l);
        let address = self.address;
        let request = Request {
            site,
            who: block.who(w),
            element: bytes,
            count: 1,
            write: false,
            address: &address,
        };
        if bad != 0 {
            self.report(&request, space, bad, FaultKind::Uninitialized);
        }
    }
}

/// Spaces that generic addresses can lie in, with their windows.
const WINDOWS: [(Space, AddressSpace, u64); 4] = [
    (Space::Global, AddressSpace::Global, GLOBAL_BASE),
    (Space::Shared, AddressSpace::Shared, SHARED_BASE),
    (Space::Local, AddressSpace::Local, LOCAL_BASE),
    (Space::Param, AddressSpace::Param, PARAM_BASE),
];
