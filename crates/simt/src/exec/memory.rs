//! Loads and stores.
//!
//! Addresses are computed for the whole warp, sorted into spaces, checked against
//! allocations and alignment, and only then used. A lane whose access can't be
//! performed reads zero, stores nothing, and goes on: one run shows as many
//! errors as it can.

use super::{Core, Range};
use crate::alu::{Mask, Row64};
use crate::ids::*;
use crate::lent::Hooks;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::program::Pointer;
use crate::state::*;
use crate::wide::{Work, at_best};

/// Whether a generic address belongs to a space.
pub(super) fn belongs(address: u64, space: AddressSpace) -> bool {
    let window = |base: u64| (base..base + WINDOW).contains(&address);
    match space {
        AddressSpace::Global => address >= GLOBAL_BASE,
        AddressSpace::Shared => window(SHARED_BASE),
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
pub(super) struct Request<'r> {
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
        }
        if rest != 0 {
            self.address = full;
            self.nowhere(block, w, op, rest, site);
        }
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
                    written = load(&self.device.arena, warp, op, good, &self.address)
                }
                Space::Shared => written = load(shared, warp, op, good, &self.address),
                Space::Local => {
                    let local = std::mem::take(&mut warp.local);
                    written = load(&local, warp, op, good, &self.address);
                    warp.local = local;
                }
                Space::Param => {
                    written = load(&self.geometry.params, warp, op, good, &self.address)
                }
            }
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

    /// Reports a store to the kernel's parameters.
    #[cold]
    fn read_only(&mut self, block: &Block, w: usize, mask: Mask, bytes: u32, site: Site) {
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
                        freed |= u32::from(range.freed) << l;
                        // What is on the heap may be freed by anybody, at any time.
                        if !range.freed && !self.device.in_heap(at) {
                            self.recent[site.0 as usize] = range;
                        }
                        true
                    }
                    None => false,
                },
                Space::Shared => at
                    .checked_add(size)
                    .is_some_and(|e| e <= block.shared.bytes),
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

    pub(super) fn find_range(&self, at: u64, size: u64) -> Option<Range> {
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

    fn report(&mut self, request: &Request<'_>, space: Space, mask: Mask, kind: FaultKind) {
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

/// The common load: one 32-bit word a lane. Whether all bytes had been written.
#[inline(always)]
fn load_words<S: Words>(
    memory: &S,
    warp: &mut Warp,
    op: &MemoryOp,
    active: Mask,
    dead: Mask,
    address: &Row64,
    t32: &mut [u32; LANES],
) -> bool {
    let mut valid = 0xf;
    if active == Mask::MAX {
        for l in 0..LANES {
            let word = (address[l] >> 2) as usize;
            t32[l] = memory.get(word, l);
            valid &= memory.valid(word, l);
        }
    } else {
        for l in lanes_of(active) {
            let word = (address[l] >> 2) as usize;
            t32[l] = memory.get(word, l);
            valid &= memory.valid(word, l);
        }
    }
    if op.regs[0] != Slot::NONE {
        let to = &mut warp.w[op.regs[0].0 as usize];
        if active | dead == Mask::MAX {
            *to = *t32;
        } else {
            lanes_of(active).for_each(|l| to[l] = t32[l]);
        }
    }
    valid == 0xf
}

/// Any load. Whether all bytes had been written.
fn load<S: Words>(
    memory: &S,
    warp: &mut Warp,
    op: &MemoryOp,
    active: Mask,
    address: &Row64,
) -> bool {
    let element = u32::from(op.element);
    let mut valid = true;
    for k in 0..usize::from(op.count) {
        for l in lanes_of(active) {
            let at = address[l] + k as u64 * u64::from(element);
            let value = if element == 16 {
                [memory.read(at, 8, l), memory.read(at + 8, 8, l)]
            } else {
                [memory.read(at, element, l), 0]
            };
            valid &= memory.is_valid(at, element, l);
            store_register(warp, op, k, l, value);
        }
    }
    valid
}

/// Puts a loaded element into its register, extended to the register's width
/// (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
pub(super) fn store_register(warp: &mut Warp, op: &MemoryOp, k: usize, l: usize, value: [u64; 2]) {
    let slot = op.regs[k];
    if slot == Slot::NONE {
        return;
    }
    let bits = u32::from(op.element) * 8;
    let wide = if op.signed && bits < 64 {
        let up = 64 - bits;
        ((value[0] << up) as i64 >> up) as u64
    } else {
        value[0]
    };
    match op.class {
        RegisterClass::W(width) => {
            let keep = if width >= 32 {
                u32::MAX
            } else {
                (1 << width) - 1
            };
            warp.w[slot.0 as usize][l] = wide as u32 & keep;
        }
        RegisterClass::D => warp.d[slot.0 as usize][l] = wide,
        RegisterClass::Q => {
            warp.d[slot.0 as usize][l] = value[0];
            warp.d[slot.0 as usize + 1][l] = value[1];
        }
        RegisterClass::P => {}
    }
}

/// What a store is about to write.
#[derive(Debug)]
struct Stored<'a, S> {
    memory: &'a S,
    warp: &'a Warp,
    op: &'a MemoryOp,
    address: &'a Row64,
    cw: &'a [[u32; LANES]],
    cd: &'a [Row64],
}

impl<S: Words + std::fmt::Debug> StoredValues for Stored<'_, S> {
    fn stored(&self, lane: usize, at: u64) -> u8 {
        let into = at - self.address[lane];
        let element = u64::from(self.op.element);
        let slot = self.op.regs[(into / element) as usize % self.op.regs.len()];
        let byte = into % element;
        let word = match self.op.class {
            RegisterClass::W(_) => u64::from(row(&self.warp.w, self.cw, slot)[lane]),
            RegisterClass::Q if byte >= 8 => row(&self.warp.d, self.cd, Slot(slot.0 + 1))[lane],
            _ => row(&self.warp.d, self.cd, slot)[lane],
        };
        (word >> (8 * (byte % 8))) as u8
    }
    fn before(&self, at: u64) -> u8 {
        self.memory.read(at, 1, 0) as u8
    }
    fn is_written(&self, at: u64) -> bool {
        self.memory.is_valid(at, 1, 0)
    }
}

#[inline(always)]
fn store<S: Words>(
    memory: &S,
    warp: &Warp,
    op: &MemoryOp,
    active: Mask,
    address: &Row64,
    cw: &[[u32; LANES]],
    cd: &[Row64],
) {
    let element = u32::from(op.element);
    if element == 4 && op.count == 1 && matches!(op.class, RegisterClass::W(_)) {
        let from = row(&warp.w, cw, op.regs[0]);
        let mut put = |l: usize| {
            let word = (address[l] >> 2) as usize;
            memory.set(word, l, from[l]);
            memory.mark(word, l, 0xf);
        };
        if active == Mask::MAX {
            (0..LANES).for_each(put);
        } else {
            lanes_of(active).for_each(&mut put);
        }
        return;
    }
    for k in 0..usize::from(op.count) {
        let slot = op.regs[k];
        for l in lanes_of(active) {
            let at = address[l] + k as u64 * u64::from(element);
            match op.class {
                RegisterClass::W(_) => {
                    memory.write(at, element, l, u64::from(row(&warp.w, cw, slot)[l]))
                }
                RegisterClass::Q => {
                    let high = Slot(slot.0 + 1);
                    memory.write(at, 8, l, row(&warp.d, cd, slot)[l]);
                    memory.write(at + 8, 8, l, row(&warp.d, cd, high)[l]);
                }
                _ => memory.write(at, element, l, row(&warp.d, cd, slot)[l]),
            }
        }
    }
}
