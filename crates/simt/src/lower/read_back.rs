//! Loads that only read back what their thread has just stored, as the code that no optimiser has seen does for `*a = *b = 0`.
//!
//! Whatever races with such a load races with the store, which comes before it with nothing that orders threads in between. So nothing
//! is lost where detectors take the value for one that is not read from memory ([`MemoryOp::used_if`]), and an optimiser may do the same.
//!
//! A load is one if it is weak and a store to the same place ([`super::updates`] compares addresses), without a guard, stands before
//! it in the same basic block, with nothing between the two but arithmetic and other weak accesses.
//!
//! Programs with strong accesses keep such loads: their schedules are explored by what threads read from each other, and another thread's
//! store may come between the two.

use super::updates::Text;
use crate::observer::Order;
use crate::op::*;
use crate::program::Program;
use std::collections::HashSet;

/// Stores of a basic block that are remembered.
const STORES: usize = 16;

/// Marks the loads.
pub(super) fn find(program: &mut Program) {
    let weak = |op: &MemoryOp| op.order == Order::Weak;
    if !program.atomic_ops.is_empty() || !program.memory_ops.iter().all(weak) {
        return;
    }
    let mut found = Vec::new();
    let targets = targets(program);
    for text in Text::all(program) {
        let mut stores: Vec<usize> = Vec::new();
        for at in text.range() {
            let i = &program.code[at];
            if targets.contains(&at) {
                stores.clear();
            }
            match &i.op {
                Op::Memory(index) => {
                    let m = &program.memory_ops[*index as usize];
                    if m.order != Order::Weak {
                        stores.clear();
                    } else if m.store && i.guard == Slot::TRUE && m.space.is_between_threads() {
                        if stores.len() == STORES {
                            stores.remove(0);
                        }
                        stores.push(at);
                    } else if !m.store
                        && m.used_if == Slot::TRUE
                        && stores.iter().any(|store| text.is_same_place(*store, at))
                    {
                        found.push(*index);
                    }
                }
                Op::Alu { .. }
                | Op::Setp { .. }
                | Op::Set { .. }
                | Op::Lop3Test { .. }
                | Op::Pack { .. }
                | Op::Special { .. }
                | Op::FrameAddress { .. }
                | Op::IsSpace { .. }
                | Op::Cvta { .. }
                | Op::MapShared(_)
                | Op::Nop => {}
                _ => stores.clear(),
            }
        }
    }
    for index in found {
        program.memory_ops[index as usize].used_if = Slot::FALSE;
    }
}

/// Instructions that something jumps to.
fn targets(program: &Program) -> HashSet<usize> {
    let mut all = HashSet::new();
    for i in &program.code {
        match &i.op {
            Op::Branch { target } => _ = all.insert(*target as usize),
            Op::BranchIndexed { targets, .. } => all.extend(targets.iter().map(|t| *t as usize)),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use crate::Program;
    use crate::op::Slot;
    use ptx::parser::parse;

    /// Whether the last load of a kernel counts as one.
    fn loads(body: &str) -> bool {
        let ptx = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 memory) {{\n\
             .reg .b32 %r<4>; .reg .b64 %x, %y; .reg .pred %p;\n\
             ld.param.u64 %x, [memory]; add.u64 %y, %x, 4; mov.u32 %r1, %tid.x;\n\
             setp.eq.u32 %p, %r1, 0;\n\
             {body}\n\
             st.global.u32 [%x+8], %r2;\n ret;\n}}\n"
        );
        let module = parse(&ptx).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
        let program = Program::lower(&module, &ptx, "k").unwrap();
        let load = program.memory_ops.iter().rfind(|m| !m.store).unwrap();
        load.used_if != Slot::FALSE
    }

    #[test]
    fn what_a_thread_has_just_stored_is_not_loaded() {
        assert!(!loads("st.global.u32 [%y], %r1; ld.global.u32 %r2, [%y];"));
        assert!(!loads(
            "st.global.u32 [%y], %r1; add.u32 %r3, %r1, 1; ld.global.u32 %r2, [%y];"
        ));
        for body in [
            "st.global.u32 [%x], %r1; ld.global.u32 %r2, [%y];",
            "st.global.u32 [%y], %r1; bar.sync 0; ld.global.u32 %r2, [%y];",
            "@%p st.global.u32 [%y], %r1; ld.global.u32 %r2, [%y];",
            "st.global.u32 [%y], %r1; @%p bra L; L: ld.global.u32 %r2, [%y];",
            "st.global.u32 [%y], %r1; ld.volatile.global.u32 %r2, [%y];",
            "st.global.u32 [%y], %r1; add.u64 %y, %y, 4; ld.global.u32 %r2, [%y];",
        ] {
            assert!(loads(body), "{body}");
        }
    }
}
