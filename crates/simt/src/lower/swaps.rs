//! Plain loads whose value is what a compare-and-swap begins with: `old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while
//! (old != seen);`, as in the CUDA C++ Programming Guide ("Atomic Functions").
//!
//! Such a value may be old: the compare-and-swap finds out. It is one if it reaches, through arithmetic and memory of the thread's
//! own, a compare-and-swap, and no address, no other atomic operation, no memory of others and no output. Only how loud a
//! race of it is told rests on this. Blind spot: unoptimised code, where all values pass through memory of the thread's own.

use super::def_use::{Use, visit_operands};
use crate::op::*;
use crate::program::Program;
use std::collections::HashSet;

/// Loads times instructions that are looked at.
const LOOKS: usize = 20_000_000;

/// Fills in [`crate::program::SiteInfo::seeds_swap`].
pub(super) fn find(program: &mut Program) {
    let is_swap = |a: &AtomicOp| matches!(a.f, AtomFn::Cas);
    if !program.atomic_ops.iter().any(is_swap) {
        return;
    }
    let loads = program.code.iter().filter(|i| match i.op {
        Op::Memory(index) => {
            let m = &program.memory_ops[index as usize];
            !m.store && !m.private && !m.order.is_strong() && m.space.is_between_threads()
        }
        _ => false,
    });
    let most = LOOKS / program.code.len().max(1);
    let found: Vec<_> = loads
        .take(most)
        .filter(|load| seeds_swap(program, load))
        .map(|load| load.site)
        .collect();
    for site in found {
        program.sites[site.0 as usize].seeds_swap = true;
    }
}

fn seeds_swap(program: &Program, load: &Instr) -> bool {
    let mut reached: HashSet<Row> = HashSet::new();
    visit_operands(program, load, &mut |_, _| {}, &mut |row| {
        reached.insert(row);
    });
    let (mut swaps, mut local) = (false, false);
    loop {
        let before = (reached.len(), local);
        for i in &program.code {
            let (mut data, mut escapes, mut address) = (false, false, false);
            let mut look = |row: Row, what: Use| {
                if reached.contains(&row) {
                    match what {
                        Use::Data => data = true,
                        Use::Escape => escapes = true,
                        Use::Address => address = true,
                        Use::Control => {}
                    }
                }
            };
            visit_operands(program, i, &mut look, &mut |_| {});
            if address {
                return false;
            }
            match &i.op {
                Op::Memory(index) => {
                    let m = &program.memory_ops[*index as usize];
                    let own = matches!(m.space, AddressSpace::Local | AddressSpace::Param);
                    if m.store && escapes && !own && !m.private {
                        return false;
                    }
                    local |= m.store && escapes;
                    data |= !m.store && own && local;
                }
                Op::Atomic(index) if escapes => {
                    if !matches!(program.atomic_ops[*index as usize].f, AtomFn::Cas) {
                        return false;
                    }
                    swaps = true;
                }
                Op::Warp(_) | Op::Matrix(_) if data || escapes => return false,
                Op::System(_) | Op::Image(_) if escapes || local => return false,
                Op::AsyncCopy(_) if escapes => return false,
                Op::Call(_) => data |= escapes || local,
                _ => {}
            }
            if data {
                visit_operands(program, i, &mut |_, _| {}, &mut |row| {
                    reached.insert(row);
                });
            }
        }
        if (reached.len(), local) == before {
            return swaps;
        }
    }
}
