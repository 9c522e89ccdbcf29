//! One lane's registers: words, double words and predicates.

use super::*;

impl<O: Hooks> Turn<'_, '_, O> {
    /// A lane of a 32-bit row.
    pub(super) fn w(&self, slot: Slot, l: usize) -> u32 {
        row(&self.warp().w, self.core.const_w, slot)[l]
    }

    /// A lane of a 64-bit row.
    pub(super) fn d(&self, slot: Slot, l: usize) -> u64 {
        row(&self.warp().d, self.core.const_d, slot)[l]
    }

    /// A lane of a predicate.
    pub(super) fn p(&self, slot: Slot, l: usize) -> bool {
        predicate(&self.warp().p, slot) >> l & 1 == 1
    }

    /// A lane of a row of any class; of two rows, the lower one.
    pub(super) fn register(&self, class: RegisterClass, slot: Slot, l: usize) -> u64 {
        match class {
            RegisterClass::W(_) => u64::from(self.w(slot, l)),
            RegisterClass::P => u64::from(self.p(slot, l)),
            RegisterClass::D | RegisterClass::Q => self.d(slot, l),
        }
    }

    pub(super) fn set_w(&mut self, slot: Slot, l: usize, value: u32) {
        if slot != Slot::NONE {
            self.warp_mut().w[slot.0 as usize][l] = value;
        }
    }

    pub(super) fn set_d(&mut self, slot: Slot, l: usize, value: u64) {
        if slot != Slot::NONE {
            self.warp_mut().d[slot.0 as usize][l] = value;
        }
    }

    pub(super) fn set_p(&mut self, slot: Slot, l: usize, value: bool) {
        if slot != Slot::NONE {
            let p = &mut self.warp_mut().p[slot.0 as usize];
            *p = *p & !(1 << l) | u32::from(value) << l;
        }
    }

    /// Writes a lane of a row of any class but pairs.
    pub(super) fn set_register(&mut self, class: RegisterClass, slot: Slot, l: usize, value: u64) {
        match class {
            RegisterClass::W(_) => self.set_w(slot, l, value as u32),
            RegisterClass::P => self.set_p(slot, l, value & 1 == 1),
            RegisterClass::D | RegisterClass::Q => self.set_d(slot, l, value),
        }
    }
}
