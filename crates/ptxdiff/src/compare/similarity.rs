//! How alike two instructions are: what alignment maximises.

use crate::align::Sequences;
use crate::class::InstructionClass;
use crate::code::{Code, Instr};
use crate::strength::comparable;

/// The two sequences as [`align`] wants them.
pub(super) struct Aligned<'c> {
    pub a: &'c Code<'c>,
    pub b: &'c Code<'c>,
    pub order: &'c [usize],
}

impl Aligned<'_> {
    fn get(&self, second: bool, index: usize) -> &Instr<'_> {
        match second {
            true => &self.b.instructions[self.order[index]],
            false => &self.a.instructions[index],
        }
    }
}

impl Sequences for Aligned<'_> {
    type Key = u32;

    fn key(&self, second: bool, index: usize) -> u32 {
        self.get(second, index).strong
    }

    fn coarse(&self, second: bool, index: usize) -> u32 {
        self.get(second, index).weak
    }

    fn similarity(&self, first: usize, second: usize) -> u32 {
        similarity(self.get(false, first), self.get(true, second))
    }
}

/// How alike two instructions are; 0: no partners. What the classes weigh is in [`InstructionClass::weight`].
fn similarity(a: &Instr, b: &Instr) -> u32 {
    let weight = a.class.weight();
    let near = u32::from(a.site == b.site && a.site != 0);
    if a.strong == b.strong {
        return 10 * weight + near;
    }
    if a.class.is_access() || b.class.is_access() {
        return accesses(a, b) * weight + near * u32::from(accesses(a, b) > 0);
    }
    let synchronises = |i: &Instr| i.class.is_barrier() || i.class == InstructionClass::Fence;
    if (synchronises(a) || synchronises(b)) && !comparable(a, b) {
        return 0;
    }
    if synchronises(a) && a.name != b.name {
        // The same by another name, or a weaker one; rather of one class.
        return (3 + u32::from(a.class == b.class)) * weight + 2 * near;
    }
    match (a.opcode == b.opcode, a.name == b.name, a.weak == b.weak) {
        (_, true, true) => 6 * weight + 2 * near,
        (_, true, false) => 5 * weight + 2 * near,
        // A setp.lt is no partner of a setp.ge elsewhere.
        (true, false, _) if a.class != InstructionClass::Arithmetic || near > 0 => {
            3 * weight + 2 * near
        }
        _ => 0,
    }
}

fn accesses(a: &Instr, b: &Instr) -> u32 {
    let (Some(x), Some(y)) = (a.place, b.place) else {
        return 0;
    };
    let alike = match (a.class, b.class) {
        (InstructionClass::Load(_), InstructionClass::Load(_))
        | (InstructionClass::Store(_), InstructionClass::Store(_)) => true,
        // A reduction is an atomic without its result (PTX ISA, "red").
        (
            InstructionClass::Atomic(_) | InstructionClass::Reduction(_),
            InstructionClass::Atomic(_) | InstructionClass::Reduction(_),
        ) => a.atomic_operation() == b.atomic_operation(),
        (InstructionClass::AsyncCopy(_), InstructionClass::AsyncCopy(_)) => true,
        _ => false,
    };
    if !alike || !x.may_share_space(&y) || x.is_apart(&y) {
        return 0;
    }
    match (x.base == y.base, x.offset == y.offset, x.width == y.width) {
        (true, true, true) => 8 + u32::from(a.name == b.name),
        (true, true, false) => 7,
        (true, false, true) => 1,
        (true, false, false) => 0,
        // Addresses that can't be compared: computed in another way, or from something else.
        (false, _, true) if a.site == b.site && a.site != 0 => 4 + u32::from(x.offset == y.offset),
        (false, _, true) => 2 + u32::from(x.offset == y.offset),
        (false, _, false) => 0,
    }
}
