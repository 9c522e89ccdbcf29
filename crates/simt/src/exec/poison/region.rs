//! Code between a branch and where its ways meet again.

use crate::lower::def_use::visit_operands;
use crate::op::*;
use crate::program::Program;
use crate::undefined::Region;
use std::collections::HashSet;

impl Region {
    /// Instructions that are looked at for where the ways of a branch meet.
    const REACH: u32 = 512;

    /// The region of a branch, if its ways meet soon and only compute until then.
    pub(super) fn find(program: &Program, pc: u32) -> Option<Region> {
        let starts = successors(program, pc);
        let last = (program.code.len() as u32).min(pc.saturating_add(Region::REACH));
        (pc + 1..last).find_map(|end| Region::until(program, pc, &starts, end))
    }

    /// The region that ends there, if every way leads there.
    fn until(program: &Program, branch: u32, starts: &[u32], end: u32) -> Option<Region> {
        let mut seen: HashSet<u32> = HashSet::from([end]);
        let mut left: Vec<u32> = starts.to_vec();
        let mut region = Region {
            end,
            writes: Vec::new(),
            stores: Vec::new(),
        };
        while let Some(pc) = left.pop() {
            if !seen.insert(pc) {
                continue;
            }
            if seen.len() as u32 > Region::REACH || pc.abs_diff(branch) > Region::REACH {
                return None;
            }
            let i = program.code.get(pc as usize)?;
            match &i.op {
                Op::Memory(index) => {
                    let m = &program.memory_ops[*index as usize];
                    if m.store {
                        region.stores.push(*index);
                    }
                }
                Op::Image(index) if program.image_ops[*index as usize].kind != ImageKind::Store => {
                }
                Op::Atomic(_)
                | Op::AsyncCopy(_)
                | Op::CommitGroup
                | Op::WaitGroup(_)
                | Op::CopiesArrive(_)
                | Op::Bulk(_)
                | Op::CommitBulk
                | Op::ClusterArrive { .. }
                | Op::ClusterWait { .. }
                | Op::MapShared(_)
                | Op::WaitBulk { .. }
                | Op::Wgmma(_)
                | Op::AwaitPhase(_)
                | Op::PhaseAwaited { .. }
                | Op::Image(_)
                | Op::Barrier(_)
                | Op::Warp(_)
                | Op::System(_)
                | Op::Return
                | Op::Exit
                | Op::Trap
                | Op::Alloca { .. }
                | Op::Unsupported => return None,
                Op::Call(call) => {
                    let callee = call.function?;
                    if !only_computes(program, callee, &mut HashSet::new()) {
                        return None;
                    }
                }
                _ => {}
            }
            visit_operands(program, i, &mut |_, _| {}, &mut |row| {
                region.writes.push(row)
            });
            left.extend(successors(program, pc));
        }
        let fixed = |index: &u32| match program.memory_ops[*index as usize].base {
            Base::W(slot) => {
                row_of(RegisterClass::W(32), slot).is_none_or(|row| !region.writes.contains(&row))
            }
            Base::D(slot) => {
                row_of(RegisterClass::D, slot).is_none_or(|row| !region.writes.contains(&row))
            }
            Base::Frame | Base::Zero => true,
        };
        region.stores.iter().all(fixed).then_some(region)
    }
}

/// Whether a function does nothing but to compute and to store to memory that may be its caller's. Where its stores really go is looked
/// at when they are made.
fn only_computes(program: &Program, function: u32, seen: &mut HashSet<u32>) -> bool {
    if !seen.insert(function) {
        return true;
    }
    let info = &program.functions[function as usize];
    let later = program.functions.iter().map(|f| f.start);
    let end = later.filter(|start| *start > info.start).min();
    let end = end.map_or(program.code.len(), |end| end as usize);
    let computes = |i: &Instr, seen: &mut HashSet<u32>| match &i.op {
        Op::Memory(index) => {
            let m = &program.memory_ops[*index as usize];
            !m.store || matches!(m.space, AddressSpace::Generic | AddressSpace::Local)
        }
        Op::Call(call) => call
            .function
            .is_some_and(|callee| only_computes(program, callee, seen)),
        Op::Image(index) => program.image_ops[*index as usize].kind != ImageKind::Store,
        Op::Atomic(_)
        | Op::AsyncCopy(_)
        | Op::CommitGroup
        | Op::WaitGroup(_)
        | Op::CopiesArrive(_)
        | Op::Bulk(_)
        | Op::CommitBulk
        | Op::ClusterArrive { .. }
        | Op::ClusterWait { .. }
        | Op::MapShared(_)
        | Op::WaitBulk { .. }
        | Op::Wgmma(_)
        | Op::AwaitPhase(_)
        | Op::PhaseAwaited { .. }
        | Op::Barrier(_)
        | Op::Warp(_)
        | Op::System(_)
        | Op::Exit
        | Op::Trap
        | Op::Alloca { .. }
        | Op::Unsupported => false,
        _ => true,
    };
    !info.recursive
        && program.code[info.start as usize..end]
            .iter()
            .all(|i| computes(i, seen))
}

/// Where an instruction leads to.
fn successors(program: &Program, pc: u32) -> Vec<u32> {
    let i = &program.code[pc as usize];
    match &i.op {
        Op::Branch { target } if i.guard == Slot::TRUE => vec![*target],
        Op::Branch { target } => vec![*target, pc + 1],
        Op::BranchIndexed { targets, .. } => {
            let mut all = targets.to_vec();
            all.push(pc + 1);
            all
        }
        _ => vec![pc + 1],
    }
}
