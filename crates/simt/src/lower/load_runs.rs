//! Loads from shared memory that are performed together, where the first of them stands.
//!
//! An unrolled loop loads many words, with nothing between them but arithmetic. Nobody can tell whether such a load is performed in its
//! place or at the first one's: nothing else runs in between, and what is in between reads and writes other registers and no memory. So the
//! execution loop looks at the addresses of a whole run of them once, and passes over the others (`exec::load_run`).

use super::def_use::visit_operands;
use crate::observer::{Order, RunRead, RunWords};
use crate::op::*;
use crate::program::{LoadRun, Program, RunBase, RunLoad};
use std::collections::HashSet;

/// A run that may still grow.
#[derive(Default)]
struct Open {
    loads: Vec<RunLoad>,
    reads: Vec<RunRead>,
    bases: Vec<RunBase>,
    last: u32,
    /// Rows that were read and written since it began.
    read: HashSet<Row>,
    written: HashSet<Row>,
}

/// A load that can be in a run: its base and destination.
fn candidate(op: &MemoryOp, guard: Slot) -> Option<(Row, Row)> {
    let plain = op.word
        && !op.store
        && op.space == AddressSpace::Shared
        && op.order == Order::Weak
        && op.class == RegisterClass::W(32)
        && op.used_if == Slot::TRUE
        && guard == Slot::TRUE
        && !op.asynchronous
        && !op.fragment;
    if !plain {
        return None;
    }
    let base = row_of(op.base.class(), op.base.slot())?;
    Some((base, row_of(op.class, op.regs[0])?))
}

/// Whether an instruction does nothing but write registers, at once and in every case.
fn is_arithmetic(op: &Op) -> bool {
    matches!(
        op,
        Op::Alu { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Lop3Test { .. }
            | Op::Pack { .. }
            | Op::Cvta { .. }
            | Op::IsSpace { .. }
            | Op::Video(_)
            | Op::Nop
    )
}

impl Open {
    /// Adds the load at `at` of the code. False if it cannot be performed where the first one stands, or there is no room.
    fn add(&mut self, program: &Program, index: u32, at: u32, (base, d): (Row, Row)) -> bool {
        let i = &program.code[at as usize];
        let op = &program.memory_ops[index as usize];
        let early =
            !self.read.contains(&d) && !self.written.contains(&d) && !self.written.contains(&base);
        let of_base = self.bases.iter().position(|b| b.base == op.base);
        // An aligned run stays so with any base.
        let aligned = self
            .loads
            .first()
            .is_none_or(|first| op.offset.wrapping_sub(first.offset) % 4 == 0);
        let room = self.loads.len() < RunRead::MOST
            && (of_base.is_some() || self.bases.len() < RunWords::MOST);
        if !(early && aligned && room) {
            return false;
        }
        let offset = op.offset;
        let number = of_base.unwrap_or_else(|| {
            self.bases.push(RunBase {
                base: op.base,
                least: offset,
                most: offset,
            });
            self.bases.len() - 1
        });
        let of = &mut self.bases[number];
        (of.least, of.most) = (of.least.min(offset), of.most.max(offset));
        self.loads.push(RunLoad {
            index,
            base: number as u8,
            offset,
            d: op.regs[0],
        });
        self.reads.push(RunRead {
            site: i.site,
            base: number as u8,
            offset: offset as u32,
        });
        self.last = at;
        self.read.insert(base);
        self.written.insert(d);
        true
    }

    /// Ends the run: it is one if there are two loads in it.
    fn close(&mut self, runs: &mut Vec<LoadRun>) {
        let Open {
            loads,
            reads,
            bases,
            last,
            ..
        } = std::mem::take(self);
        if loads.len() > 1 {
            let reads = reads.into();
            runs.push(LoadRun {
                loads,
                reads,
                bases,
                last,
            });
        }
    }
}

/// Where a stretch of code begins that is entered there alone: one flag an instruction, and one for the end.
fn starts(program: &Program) -> Vec<bool> {
    let mut starts = vec![false; program.code.len() + 1];
    for i in &program.code {
        match &i.op {
            Op::Branch { target } => starts[*target as usize] = true,
            Op::BranchIndexed { targets, .. } => {
                targets.iter().for_each(|t| starts[*t as usize] = true);
            }
            _ => {}
        }
    }
    for function in &program.functions {
        starts[function.start as usize] = true;
    }
    starts
}

/// Fills in [`Program::load_runs`] and [`MemoryOp::run`].
pub fn find(program: &mut Program) {
    let starts = starts(program);
    let (mut runs, mut open) = (Vec::new(), Open::default());
    for (at, i) in program.code.iter().enumerate() {
        if starts[at] {
            open.close(&mut runs);
        }
        let load = match i.op {
            Op::Memory(index) => {
                candidate(&program.memory_ops[index as usize], i.guard).map(|rows| (index, rows))
            }
            _ => None,
        };
        if let Some((index, rows)) = load {
            if !open.add(program, index, at as u32, rows) {
                open.close(&mut runs);
                open.add(program, index, at as u32, rows);
            }
        } else if is_arithmetic(&i.op) {
            let Open { read, written, .. } = &mut open;
            visit_operands(
                program,
                i,
                &mut |row, _| {
                    read.insert(row);
                },
                &mut |row| {
                    written.insert(row);
                },
            );
        } else {
            open.close(&mut runs);
        }
    }
    for (number, run) in runs.iter().enumerate() {
        for (place, load) in run.loads.iter().enumerate() {
            program.memory_ops[load.index as usize].run = RunPlace {
                run: number as u32 + 1,
                place: place as u32,
            };
        }
    }
    program.load_runs = runs;
}

#[cfg(test)]
mod tests;
