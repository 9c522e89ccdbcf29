//! Which pointer an address was computed from: so that an access outside all memory can be told by the buffer that it was meant for.
//!
//! A pointer is a parameter of 64 bits, or the address of a variable. From there it is followed through additions, the addend of
//! multiplications, conversions between spaces and selections, through registers alone and without regard to order; the indices that are
//! added come along. Which of several candidates holds an address is for the run to say. Blind spots: pointers that
//! come from memory, or through calls.

use super::instruction::signature;
use super::reaching_values::{Queue, Readers};
use crate::op::*;
use crate::program::{Pointer, Program};
use ptx::semantics::Opcode;
use std::collections::{BTreeSet, HashMap};

/// Most candidates for an address.
const MOST: usize = 8;

type Origins = HashMap<Row, BTreeSet<Pointer>>;

/// Fills in [`crate::program::SiteInfo::pointers`].
pub(super) fn find(program: &mut Program) {
    let variables: BTreeSet<usize> = program.relocations.iter().map(|r| r.row).collect();
    let shared: BTreeSet<u64> = program.shared.iter().map(|s| u64::from(s.offset)).collect();
    let constant = |class: RegisterClass, slot: Slot, moved: bool| -> Option<Pointer> {
        let index = (slot.0 & !Slot::CONST) as usize;
        let value = match class {
            RegisterClass::D => {
                if variables.contains(&index) {
                    return Some(Pointer::Variable(index));
                }
                program.const_d.get(index)?[0]
            }
            RegisterClass::W(_) => u64::from(program.const_w.get(index)?[0]),
            _ => return None,
        };
        (moved && shared.contains(&value)).then_some(Pointer::Shared(value))
    };
    let of = |origins: &Origins, class: RegisterClass, slot: Slot, moved: bool| {
        if slot == Slot::NONE {
            return BTreeSet::new();
        }
        if slot.0 & Slot::CONST != 0 {
            return constant(class, slot, moved).into_iter().collect();
        }
        let known = row_of(class, slot).and_then(|r| origins.get(&r));
        known.cloned().unwrap_or_default()
    };
    let mut origins = Origins::new();
    let readers = Readers::of(program);
    let mut queue = Queue::all(program);
    while let Some(at) = queue.pop() {
        let i = &program.code[at];
        let opcode = &program.site(i.site).instruction.opcode;
        let (to, found) = match &i.op {
            Op::Memory(index) => {
                let m = &program.memory_ops[*index as usize];
                let parameter = !m.store && m.space == AddressSpace::Param && m.element == 8;
                if !parameter || m.base != Base::Zero || m.private {
                    continue;
                }
                for (k, slot) in m.regs[..usize::from(m.count)].iter().enumerate() {
                    if let Some(r) = row_of(m.class, *slot) {
                        let at = Pointer::Parameter(m.offset as u32 + 8 * k as u32);
                        if origins.entry(r).or_default().insert(at) {
                            readers.of_row(r).for_each(|at| queue.push(at));
                        }
                    }
                }
                continue;
            }
            Op::Cvta { d, a, .. } => (
                row_of(RegisterClass::D, *d),
                of(&origins, RegisterClass::D, *a, true),
            ),
            Op::Alu { f, d, s } => {
                let (out, classes) = signature(f);
                let from = match opcode {
                    Opcode::Mov | Opcode::Cvta | Opcode::Cvt => 0..1,
                    Opcode::Add | Opcode::Selp => 0..2,
                    Opcode::Sub => 0..1,
                    Opcode::Mad => 2..3,
                    _ => continue,
                };
                let moved = matches!(opcode, Opcode::Mov | Opcode::Cvta);
                let operands = classes.iter().zip(s).enumerate();
                let found = operands
                    .filter(|(k, _)| from.contains(k))
                    .flat_map(|(_, (class, slot))| of(&origins, *class, *slot, moved))
                    .collect();
                (row_of(out, *d), found)
            }
            _ => continue,
        };
        let Some(to) = to else { continue };
        let known = origins.entry(to).or_default();
        let mut grown = false;
        for pointer in found {
            grown |= known.len() < MOST && known.insert(pointer);
        }
        if grown {
            readers.of_row(to).for_each(|at| queue.push(at));
        }
    }
    for at in 0..program.code.len() {
        let bases: &[Base] = match &program.code[at].op {
            Op::Memory(m) => &[program.memory_ops[*m as usize].base],
            Op::Atomic(a) => &[program.atomic_ops[*a as usize].base],
            Op::AsyncCopy(c) => {
                let (read, write) = program.copy_ops[*c as usize].accesses(program);
                &[read.base, write.base]
            }
            _ => continue,
        };
        let pointers: BTreeSet<Pointer> = bases
            .iter()
            .flat_map(|base| of(&origins, base.class(), base.slot(), true))
            .collect();
        let site = program.code[at].site.0 as usize;
        program.sites[site].pointers = pointers.into_iter().collect();
    }
}
