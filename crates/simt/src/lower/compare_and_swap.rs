//! Plain loads whose value is what a compare-and-swap begins with: `old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while
//! (old != seen);`, as in the CUDA C++ Programming Guide ("Atomic Functions").
//!
//! Such a value may be old: the compare-and-swap finds out. It is one if it reaches, through arithmetic and memory of the thread's
//! own, a compare-and-swap, and no address, no other atomic operation, no memory of others and no output. Only how loud a
//! race of it is told rests on this. Blind spot: unoptimised code, where all values pass through memory of the thread's own.

use super::def_use::{Use, visit_operands};
use super::reaching_values::Graph;
use crate::op::*;
use crate::program::Program;

/// Fills in [`crate::program::SiteInfo::seeds_swap`].
pub(super) fn find(program: &mut Program) {
    let is_swap = |a: &AtomicOp| matches!(a.f, AtomFn::Cas);
    if !program.atomic_ops.iter().any(is_swap) {
        return;
    }
    let (swapped, used) = rows(program);
    let mut found = Vec::new();
    for i in &program.code {
        let Op::Memory(index) = i.op else { continue };
        let m = &program.memory_ops[index as usize];
        if m.store || m.private || m.order.is_strong() || !m.space.is_between_threads() {
            continue;
        }
        let (mut is_swapped, mut is_used) = (false, false);
        visit_operands(program, i, &mut |_, _| {}, &mut |row| {
            is_swapped |= swapped(row);
            is_used |= used(row);
        });
        if is_swapped && !is_used {
            found.push(i.site);
        }
    }
    for site in found {
        program.sites[site.0 as usize].seeds_swap = true;
    }
}

/// Which rows reach a compare-and-swap, and which something else that counts.
fn rows(program: &Program) -> (impl Fn(Row) -> bool + use<>, impl Fn(Row) -> bool + use<>) {
    let mut graph = Graph::of(program, 1);
    // What has been stored to memory of the thread's own.
    let local = graph.further(program.code.len(), 0);
    let mut swaps: Vec<u32> = Vec::new();
    for (at, i) in program.code.iter().enumerate() {
        let here = graph.instruction(at);
        let mut escapes = Vec::new();
        let mut read = |r: Row, what: Use| {
            let row = graph.row(r);
            match what {
                Use::Data => graph.edge(row, here),
                Use::Escape => escapes.push(row),
                Use::Address => graph.mark(row),
                Use::Control => {}
            }
        };
        visit_operands(program, i, &mut read, &mut |_| {});
        match &i.op {
            Op::Memory(index) => {
                let m = &program.memory_ops[*index as usize];
                let own = matches!(m.space, AddressSpace::Local | AddressSpace::Param);
                match m.store {
                    true if own || m.private => {
                        escapes.iter().for_each(|r| graph.edge(*r, local));
                    }
                    true => escapes.iter().for_each(|r| graph.mark(*r)),
                    false if own => graph.edge(local, here),
                    false => {}
                }
            }
            Op::Atomic(index) => match program.atomic_ops[*index as usize].f {
                AtomFn::Cas => swaps.append(&mut escapes),
                _ => escapes.iter().for_each(|r| graph.mark(*r)),
            },
            Op::Warp(_) | Op::Matrix(_) | Op::Wgmma(WgmmaOp::Begin(_)) => {
                graph.mark(here);
                escapes.iter().for_each(|r| graph.mark(*r));
            }
            Op::System(_) | Op::Image(_) => {
                escapes.iter().for_each(|r| graph.mark(*r));
                graph.mark(local);
            }
            Op::AsyncCopy(_) | Op::Bulk(_) => escapes.iter().for_each(|r| graph.mark(*r)),
            Op::Call(_) => {
                escapes.iter().for_each(|r| graph.edge(*r, here));
                graph.edge(local, here);
            }
            _ => {}
        }
        visit_operands(program, i, &mut |_, _| {}, &mut |r| {
            graph.edge(here, graph.row(r));
        });
    }
    let used = graph.comes_to_marks();
    swaps.iter().for_each(|r| graph.mark(*r));
    let swapped = graph.comes_to_marks();
    let of = graph.rows();
    (move |r: Row| swapped[of(r)], move |r: Row| used[of(r)])
}
