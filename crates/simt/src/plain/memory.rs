//! Loads and stores (PTX ISA, "Data Movement and Conversion Instructions: ld, st", "State Spaces", "Generic Addressing").
//!
//! An address is computed for each lane, its space is found, and it is checked against what is allocated and against the alignment of the whole
//! access. Then bytes move one by one, lowest lane first. A lane whose access cannot be performed reads zero and stores nothing.

use super::Turn;
use super::arithmetic::lies_in;
use crate::alu::{Mask, Row64};
use crate::device::Device;
use crate::exec::Request;
use crate::hooks::Hooks;
use crate::ids::lanes_of;
use crate::ids::*;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;

/// Bytes of a lane's access, at most.
const WIDEST: usize = 32;

/// What each lane stores, byte by byte.
pub(super) type LaneBytes = [[u8; WIDEST]; LANES];

/// Where generic addresses can lie, in the order in which the parts of an access are performed.
const WINDOWS: [(Space, AddressSpace, u64); 4] = [
    (Space::Global, AddressSpace::Global, GLOBAL_BASE),
    (Space::Shared, AddressSpace::Shared, SHARED_BASE),
    (Space::Local, AddressSpace::Local, LOCAL_BASE),
    (Space::Param, AddressSpace::Param, PARAM_BASE),
];

/// A store that is about to be performed, for whoever asks what it changes.
#[derive(Debug)]
pub(super) struct Stores<'s> {
    pub device: &'s Device,
    pub shared: &'s Shared,
    pub space: Space,
    pub address: &'s Row64,
    pub bytes: &'s LaneBytes,
}

impl StoredValues for Stores<'_> {
    fn stored(&self, lane: usize, at: u64) -> u8 {
        self.bytes[lane][(at - self.address[lane]) as usize]
    }
    fn before(&self, at: u64) -> u8 {
        match self.space {
            Space::Shared => self.shared.read(at, 1, 0) as u8,
            _ => self.device.arena.read(at, 1, 0) as u8,
        }
    }
    fn is_written(&self, at: u64) -> bool {
        match self.space {
            Space::Shared => self.shared.is_valid(at, 1, 0),
            _ => self.device.arena.is_valid(at, 1, 0),
        }
    }
}

impl<O: Hooks> Turn<'_, '_, O> {
    /// The address of each lane. 32-bit addresses wrap around at 32 bits.
    pub(super) fn addresses(&self, base: Base, offset: i64) -> Row64 {
        std::array::from_fn(|l| match base {
            Base::W(slot) => u64::from(self.w(slot, l).wrapping_add(offset as u32)),
            Base::D(slot) => self.d(slot, l).wrapping_add_signed(offset),
            Base::Frame => u64::from(self.split().base).wrapping_add_signed(offset),
            Base::Zero => offset as u64,
        })
    }

    /// "ld", "st"
    pub(super) fn memory(&mut self, op: &MemoryOp, active: Mask, site: Site) {
        let address = self.addresses(op.base, op.offset);
        let in_arena = || address.map(|at| at.wrapping_sub(GLOBAL_BASE));
        match op.space {
            AddressSpace::Generic => self.generic(op, active, &address, site),
            AddressSpace::Global => self.access(op, Space::Global, active, &in_arena(), site),
            AddressSpace::Const => self.access(op, Space::Const, active, &in_arena(), site),
            AddressSpace::Shared => self.access(op, Space::Shared, active, &address, site),
            AddressSpace::Local => self.access(op, Space::Local, active, &address, site),
            AddressSpace::Param => self.access(op, Space::Param, active, &address, site),
        }
    }

    /// "Generic Addressing": the window that an address lies in tells its space.
    fn generic(&mut self, op: &MemoryOp, active: Mask, address: &Row64, site: Site) {
        let mut nowhere = active;
        for (space, window, base) in WINDOWS {
            let here = super::filter(active, |l| lies_in(address[l], window));
            if here != 0 {
                let offsets = address.map(|at| at.wrapping_sub(base));
                self.access(op, space, here, &offsets, site);
            }
            nowhere &= !here;
        }
        if nowhere != 0 {
            let bytes = u32::from(op.element) * u32::from(op.count);
            self.lies_nowhere(nowhere, address, bytes, op.store, site);
            if !op.store {
                lanes_of(nowhere).for_each(|l| self.take(op, l, &[0; WIDEST]));
            }
        }
    }

    /// Reports addresses that lie in no window.
    pub(super) fn lies_nowhere(
        &mut self,
        mask: Mask,
        address: &Row64,
        bytes: u32,
        write: bool,
        site: Site,
    ) {
        if O::WATCHES {
            let who = self.who();
            self.core.observer.fault(&MemoryFault {
                site,
                who,
                mask,
                space: None,
                address,
                bytes,
                write,
                kind: FaultKind::OutOfBounds,
                pointer: None,
            });
        }
    }

    /// An access to one space, at offsets in it.
    fn access(&mut self, op: &MemoryOp, space: Space, active: Mask, address: &Row64, site: Site) {
        if op.store {
            let mut bytes = [[0; WIDEST]; LANES];
            lanes_of(active).for_each(|l| bytes[l] = self.given(op, l));
            self.store(op, space, active, address, &bytes, site);
        } else {
            self.load(op, space, active, address, site);
        }
    }

    fn load(&mut self, op: &MemoryOp, space: Space, active: Mask, address: &Row64, site: Site) {
        let size = u32::from(op.element) * u32::from(op.count);
        let good = self.check(space, active, address, size, false, site);
        for l in lanes_of(active) {
            let mut bytes = [0; WIDEST];
            if good >> l & 1 == 1 {
                for k in 0..size as usize {
                    bytes[k] = self.byte(space, l, address[l] + k as u64);
                }
            }
            self.take(op, l, &bytes);
        }
        if good == 0 {
            return;
        }
        self.core.address = *address;
        if space == Space::Global {
            self.core.looked(good, size);
        }
        let mut initial = 0;
        if self.core.history.is_some() && matches!(space, Space::Global | Space::Shared) {
            initial = (self.core).stale_values(self.block, self.w, op, space, good, site);
        }
        if !O::WATCHES || op.private {
            return;
        }
        let used = super::filter(good, |l| self.p(op.used_if, l));
        let copied = op.copies.then_some(u32::from(op.element));
        self.report_unwritten(space, used, address, size, copied, site);
        if is_between_threads(space) {
            let who = self.who();
            self.core.observer.access(&Access {
                mask: used,
                kind: AccessKind::Read,
                wrote: 0,
                dropped: good & !used,
                initial: initial & used,
                stores: None,
                ..event(op, who, space, address, site)
            });
        }
    }

    /// A store of these bytes.
    pub(super) fn store(
        &mut self,
        op: &MemoryOp,
        space: Space,
        active: Mask,
        address: &Row64,
        bytes: &LaneBytes,
        site: Site,
    ) {
        let size = u32::from(op.element) * u32::from(op.count);
        let good = self.check(space, active, address, size, true, site);
        if good == 0 {
            return;
        }
        self.core.address = *address;
        let before = (self.core).before_store(self.block, op, space, good);
        let old = (self.core).content(self.block, self.w, space, good, size);
        if O::WATCHES && !op.private && is_between_threads(space) {
            let who = self.who();
            let stores = Stores {
                device: self.core.device,
                shared: &self.block.shared,
                space,
                address,
                bytes,
            };
            self.core.observer.access(&Access {
                mask: good,
                kind: AccessKind::Write,
                wrote: good,
                dropped: 0,
                initial: 0,
                stores: Some(&stores),
                ..event(op, who, space, address, site)
            });
        }
        for l in lanes_of(good) {
            for k in 0..size as usize {
                self.put_byte(space, l, address[l] + k as u64, bytes[l][k]);
            }
        }
        if let Some(old) = old {
            (self.core).stored(self.block, self.w, space, good, size, &old);
        }
        if let Some(before) = before {
            (self.core).after_store(self.block, self.w, op, space, &before);
        }
    }

    /// What a lane's registers give to a store, lowest byte first.
    pub(super) fn given(&self, op: &MemoryOp, l: usize) -> [u8; WIDEST] {
        let mut bytes = [0; WIDEST];
        let element = usize::from(op.element);
        for k in 0..usize::from(op.count) {
            let mut value = u128::from(self.register(op.class, op.regs[k], l));
            if op.class == RegisterClass::Q {
                value |= u128::from(self.d(Slot(op.regs[k].0 + 1), l)) << 64;
            }
            bytes[k * element..][..element].copy_from_slice(&value.to_le_bytes()[..element]);
        }
        bytes
    }

    /// Puts what a lane has loaded into its registers, extended to their width ("Operand Size Exceeding Instruction-Type Size").
    fn take(&mut self, op: &MemoryOp, l: usize, bytes: &[u8; WIDEST]) {
        let element = usize::from(op.element);
        for k in 0..usize::from(op.count) {
            let slot = op.regs[k];
            let of = &bytes[k * element..][..element];
            let negative = op.signed && of[element - 1] & 0x80 != 0;
            let mut wide = [if negative { 0xff } else { 0 }; 16];
            wide[..element].copy_from_slice(of);
            let value = u128::from_le_bytes(wide);
            match op.class {
                _ if slot == Slot::NONE => {}
                // A narrow register holds as many bits as its type has.
                RegisterClass::W(bits) if bits < 32 => {
                    self.set_w(slot, l, value as u32 & ((1 << bits) - 1));
                }
                RegisterClass::Q => {
                    self.set_d(slot, l, value as u64);
                    self.set_d(Slot(slot.0 + 1), l, (value >> 64) as u64);
                }
                class => self.set_register(class, slot, l, value as u64),
            }
        }
    }

    /// The lanes whose access lies within what is allocated, and is aligned to its size; the others are reported.
    pub(super) fn check(
        &mut self,
        space: Space,
        active: Mask,
        address: &Row64,
        size: u32,
        write: bool,
        site: Site,
    ) -> Mask {
        let (mut outside, mut misaligned, mut freed) = (0, 0, 0);
        for l in lanes_of(active) {
            let at = address[l];
            let fits = |bytes: u64| at.checked_add(size.into()).is_some_and(|end| end <= bytes);
            let inside = match space {
                Space::Global | Space::Const => {
                    let found = self.core.find_range(at, size.into());
                    if let Some(range) = &found {
                        if write {
                            self.core.keep(range);
                        }
                        freed |= Mask::from(range.freed) << l;
                    }
                    found.is_some()
                }
                Space::Shared => self.block.shared.holds(at, size.into()),
                Space::Local => fits(self.warp().local.bytes()),
                // A kernel's parameters are read-only ("Kernel Function Parameters").
                Space::Param => !write && fits(self.core.geometry.params.bytes()),
            };
            outside |= Mask::from(!inside) << l;
            misaligned |= Mask::from(!at.is_multiple_of(size.into())) << l;
        }
        if space == Space::Param && write {
            misaligned = 0;
        }
        let faults = [
            (outside, FaultKind::OutOfBounds),
            (misaligned, FaultKind::Misaligned),
            (freed & !misaligned, FaultKind::Freed),
        ];
        for (mask, kind) in faults {
            if mask != 0 {
                self.report(space, mask, address, size, write, kind, site);
            }
        }
        active & !outside & !misaligned & !freed
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn report(
        &mut self,
        space: Space,
        mask: Mask,
        address: &Row64,
        size: u32,
        write: bool,
        kind: FaultKind,
        site: Site,
    ) {
        let request = Request {
            site,
            who: self.who(),
            element: size,
            count: 1,
            write,
            address,
        };
        self.core.report(&request, space, mask, kind);
    }

    /// Reports lanes that read bytes which nothing has written.
    ///
    /// Of a value that is only `copied`, in elements of so many bytes, an element may be missing next to written bytes: it is the padding
    /// of a structure. Copies of local variables are not judged: unoptimised code copies empty ones, too.
    pub(super) fn report_unwritten(
        &mut self,
        space: Space,
        mask: Mask,
        address: &Row64,
        size: u32,
        copied: Option<u32>,
        site: Site,
    ) {
        if copied.is_some() && space == Space::Local {
            return;
        }
        let missing = |l: usize| {
            let written = |from: u64, to: u64| (from..to).all(|at| self.is_written(space, l, at));
            let any_written =
                |from: u64, to: u64| (from..to).any(|at| self.is_written(space, l, at));
            let end = address[l] + u64::from(size);
            let Some(element) = copied else {
                return !written(address[l], end);
            };
            (address[l]..end).step_by(element as usize).any(|at| {
                let neighbours = match element {
                    1 => any_written(at & !7, at),
                    _ => any_written(at, at + u64::from(element)),
                };
                !written(at, at + u64::from(element)) && !neighbours
            })
        };
        let mask = super::filter(mask, missing);
        if mask != 0 {
            let kind = FaultKind::Uninitialized;
            self.report(space, mask, address, size, false, kind, site);
        }
    }

    /// A byte of memory, as a lane sees it.
    pub(super) fn byte(&self, space: Space, l: usize, at: u64) -> u8 {
        let byte = match space {
            Space::Global | Space::Const => self.core.device.arena.read(at, 1, l),
            Space::Shared => self.block.shared.read(at, 1, l),
            Space::Local => self.warp().local.read(at, 1, l),
            Space::Param => self.core.geometry.params.read(at, 1, l),
        };
        byte as u8
    }

    /// Whether anything has written a byte.
    pub(super) fn is_written(&self, space: Space, l: usize, at: u64) -> bool {
        match space {
            Space::Global | Space::Const => self.core.device.arena.is_valid(at, 1, l),
            Space::Shared => self.block.shared.is_valid(at, 1, l),
            Space::Local => self.warp().local.is_valid(at, 1, l),
            Space::Param => true,
        }
    }

    pub(super) fn put_byte(&mut self, space: Space, l: usize, at: u64, value: u8) {
        let value = u64::from(value);
        match space {
            Space::Global | Space::Const => self.core.device.arena.write(at, 1, l, value),
            Space::Shared => self.block.shared.write(at, 1, l, value),
            Space::Local => self.warp().local.write(at, 1, l, value),
            Space::Param => {}
        }
    }

    /// Up to eight bytes of memory as a number.
    pub(super) fn number(&self, space: Space, l: usize, at: u64, size: u32) -> u64 {
        (0..u64::from(size)).fold(0, |number, k| {
            number | u64::from(self.byte(space, l, at + k)) << (8 * k)
        })
    }

    pub(super) fn put_number(&mut self, space: Space, l: usize, at: u64, size: u32, value: u64) {
        for k in 0..u64::from(size) {
            self.put_byte(space, l, at + k, (value >> (8 * k)) as u8);
        }
    }
}

/// Whether other threads see what is there.
fn is_between_threads(space: Space) -> bool {
    matches!(space, Space::Global | Space::Shared | Space::Const)
}

/// What an observer is told of every access of an instruction.
fn event<'e>(
    op: &MemoryOp,
    who: WarpRef,
    space: Space,
    address: &'e Row64,
    site: Site,
) -> Access<'e> {
    Access {
        site,
        who,
        mask: 0,
        space,
        address,
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
        dropped: 0,
        initial: 0,
        stores: None,
    }
}
