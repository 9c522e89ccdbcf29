//! On what it depends that a block is executed: the branches that decide it, and which way they must go.
//!
//! A block depends on a way out of a branch if it is behind that way and not behind every way (J. Ferrante, K. J. Ottenstein, J. D. Warren, "The
//! Program Dependence Graph and Its Use in Optimization", ACM TOPLAS 9, 1987), and on what the branch depends on.

use crate::code::Code;
use std::collections::BTreeSet;

/// A branch goes a way, or a guard holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Condition {
    /// The branch and the number of its way: a conditional one's first way is that of its predicate.
    Way(usize, usize),
    /// The guarded instruction, and whether its predicate must hold.
    Guard(usize, bool),
}

/// The conditions of a function's blocks.
pub(super) struct Conditions {
    of: Vec<BTreeSet<Condition>>,
}

impl Conditions {
    pub fn of(code: &Code) -> Conditions {
        let flow = &code.flow;
        let mut direct: Vec<Vec<(usize, usize)>> = vec![Vec::new(); flow.blocks.len()];
        for (from, block) in flow.blocks.iter().enumerate() {
            if block.successors.len() + usize::from(block.leaves) < 2 {
                continue;
            }
            for (way, &next) in block.successors.iter().enumerate() {
                let behind = std::iter::successors(Some(next), |&at| flow.ipdom[at]);
                for at in behind.take(flow.blocks.len()) {
                    if Some(at) == flow.ipdom[from] {
                        break;
                    }
                    direct[at].push((from, way));
                }
            }
        }
        let all = (0..flow.blocks.len()).map(|block| {
            let (mut found, mut open) = (BTreeSet::new(), vec![block]);
            let mut seen = vec![false; flow.blocks.len()];
            while let Some(at) = open.pop() {
                for &(from, way) in &direct[at] {
                    // A block without instructions decides nothing that can be compared.
                    let last = flow.blocks[from].instructions.last();
                    found.insert(Condition::Way(last.copied().unwrap_or(usize::MAX), way));
                    if !std::mem::replace(&mut seen[from], true) {
                        open.push(from);
                    }
                }
            }
            found
        });
        Conditions { of: all.collect() }
    }

    /// All that must hold for an instruction to be executed.
    pub fn of_instruction(&self, code: &Code, index: usize) -> BTreeSet<Condition> {
        let instr = &code.instructions[index];
        let mut found = self.of[instr.block].clone();
        if let Some(guard) = &instr.instr.guard {
            found.insert(Condition::Guard(index, !guard.negated));
        }
        found
    }
}
