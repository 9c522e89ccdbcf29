//! The control flow of a function without what layout adds to it.
//!
//! Unconditional branches are edges here and no instructions; blocks that hold nothing else are gone; a block that only one other leads to,
//! unconditionally, is part of that one; the two ways of a conditional branch are ordered by its predicate, whichever of them
//! was written as the fall-through. Blocks stand in reverse post-order, the ways that leave a loop after those that stay in
//! it, so that where they stood in the file does not matter.

use ptx::flatten::Flat;
use ptx::semantics::{Control, TypedInstruction};
use ptx::{Cfg, CfgError, graph};

/// A block: instructions of [`Flat::instructions`], not always adjacent ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowBlock {
    /// The instructions, in order.
    pub instructions: Vec<usize>,
    /// Where control goes next: after a conditional branch first where its predicate is true, then where it is false.
    pub successors: Vec<usize>,
    /// Whether control may leave the function from here.
    pub leaves: bool,
}

/// The control flow of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The blocks; the first is the entry.
    pub blocks: Vec<FlowBlock>,
    /// The immediate dominator of each block; `None` for the entry and for blocks that can't be reached.
    pub idom: Vec<Option<usize>>,
    /// Where the ways that leave each block meet again.
    pub ipdom: Vec<Option<usize>>,
    /// The natural loops.
    pub loops: Vec<graph::Loop>,
    /// The smallest loop that each block is in.
    pub innermost: Vec<Option<usize>>,
}

impl Flow {
    /// The control flow of a function.
    ///
    /// # Errors
    ///
    /// A branch whose target does not exist.
    pub fn of(flat: &Flat) -> Result<Flow, CfgError> {
        let cfg = Cfg::of_flat(flat)?;
        let mut blocks: Vec<FlowBlock> =
            cfg.blocks.iter().map(|block| plain(flat, block)).collect();
        if blocks.is_empty() {
            return Ok(Flow::default());
        }
        let entry = skip_empty(&mut blocks);
        join_chains(&mut blocks, entry);
        let order = order(&blocks, entry);
        let mut place = vec![usize::MAX; blocks.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let blocks: Vec<FlowBlock> = order
            .iter()
            .map(|&old| {
                let mut block = std::mem::take(&mut blocks[old]);
                block
                    .successors
                    .iter_mut()
                    .for_each(|next| *next = place[*next]);
                block
            })
            .collect();
        let successors: Vec<&[usize]> = blocks.iter().map(|b| &b.successors[..]).collect();
        let exits: Vec<usize> = (0..blocks.len()).filter(|&b| blocks[b].leaves).collect();
        let loops = graph::natural_loops(0, &successors);
        let mut innermost: Vec<Option<usize>> = vec![None; blocks.len()];
        for (index, found) in loops.iter().enumerate() {
            for &node in &found.nodes {
                let smaller =
                    innermost[node].is_none_or(|old| found.nodes.len() < loops[old].nodes.len());
                if smaller {
                    innermost[node] = Some(index);
                }
            }
        }
        Ok(Flow {
            idom: graph::dominators(0, &successors),
            ipdom: graph::post_dominators(&successors, &exits),
            loops,
            innermost,
            blocks,
        })
    }

    /// Whether control can get from block `from` to block `to` (from a block to itself only around a loop).
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.blocks.len()];
        let mut open = self.blocks[from].successors.clone();
        while let Some(block) = open.pop() {
            if block == to {
                return true;
            }
            if !std::mem::replace(&mut seen[block], true) {
                open.extend(&self.blocks[block].successors);
            }
        }
        false
    }
}

/// A block of the control-flow graph, without the branch that always goes one way.
fn plain(flat: &Flat, block: &ptx::cfg::Block) -> FlowBlock {
    let last = flat.instructions[block.end - 1].instr;
    let mut successors = block.successors.clone();
    let branch = TypedInstruction::of(last).control == Control::Branch;
    let mut end = block.end;
    match &last.guard {
        None if branch => end -= 1,
        // The target comes first: it is where a negated predicate is false.
        Some(guard) if branch && guard.negated => successors.reverse(),
        _ => {}
    }
    FlowBlock {
        instructions: (block.start..end).collect(),
        successors,
        leaves: block.leaves,
    }
}

/// Leads edges past blocks that hold nothing; gives the block that the function starts with.
fn skip_empty(blocks: &mut [FlowBlock]) -> usize {
    let passes = |block: &FlowBlock| block.instructions.is_empty() && block.successors.len() == 1;
    let target = |blocks: &[FlowBlock], mut block: usize| {
        let mut steps = 0;
        while passes(&blocks[block]) && steps < blocks.len() {
            block = blocks[block].successors[0];
            steps += 1;
        }
        block
    };
    for block in 0..blocks.len() {
        let mut successors = blocks[block].successors.clone();
        successors
            .iter_mut()
            .for_each(|next| *next = target(blocks, *next));
        // Both ways to one place are no choice.
        successors.dedup();
        blocks[block].successors = successors;
    }
    target(blocks, 0)
}

/// Joins a block with the one behind it, where nothing else leads there and nothing else follows.
fn join_chains(blocks: &mut [FlowBlock], entry: usize) {
    let mut predecessors = vec![0usize; blocks.len()];
    predecessors[entry] += 1;
    let mut reached = vec![false; blocks.len()];
    let mut open = vec![entry];
    while let Some(block) = open.pop() {
        if std::mem::replace(&mut reached[block], true) {
            continue;
        }
        for &next in &blocks[block].successors {
            predecessors[next] += 1;
            open.push(next);
        }
    }
    for block in 0..blocks.len() {
        while reached[block] && !blocks[block].leaves {
            let [next] = blocks[block].successors[..] else {
                break;
            };
            if predecessors[next] != 1 || next == block || next == entry {
                break;
            }
            let behind = std::mem::take(&mut blocks[next]);
            blocks[block].instructions.extend(behind.instructions);
            blocks[block].successors = behind.successors;
            blocks[block].leaves = behind.leaves;
            reached[next] = false;
        }
    }
}

/// The blocks in canonical order; those that can't be reached are left out.
fn order(blocks: &[FlowBlock], entry: usize) -> Vec<usize> {
    let successors: Vec<&[usize]> = blocks.iter().map(|b| &b.successors[..]).collect();
    let loops = graph::natural_loops(entry, &successors);
    let mut stays: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for (index, found) in loops.iter().enumerate() {
        found.nodes.iter().for_each(|&node| stays[node].push(index));
    }
    // What is visited first stands last: the ways out of most loops, and of two equal ones where the predicate is false.
    let visits: Vec<Vec<usize>> = (0..blocks.len())
        .map(|block| {
            let mut next: Vec<usize> = blocks[block].successors.iter().rev().copied().collect();
            next.sort_by_key(|next| {
                stays[block]
                    .iter()
                    .filter(|own| stays[*next].contains(own))
                    .count()
            });
            next
        })
        .collect();
    graph::reverse_post_order(entry, &visits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::ast::Item;

    fn flow(body: &str) -> Vec<(Vec<String>, Vec<usize>)> {
        let source = format!(".version 8.0\n.target sm_90\n.entry k() {{ {body} }}");
        let module = ptx::parse(&source).unwrap();
        let Item::Function(function) = &module.items[0] else {
            panic!("{module:?}");
        };
        let flat = Flat::of(function).unwrap();
        let flow = Flow::of(&flat).unwrap();
        let opcode = |&i: &usize| flat.instructions[i].instr.opcode.clone();
        flow.blocks
            .iter()
            .map(|b| {
                (
                    b.instructions.iter().map(opcode).collect(),
                    b.successors.clone(),
                )
            })
            .collect()
    }

    #[test]
    fn layout_does_not_matter() {
        let fallen = flow("@%p bra A; add; bra B; A: sub; B: ret;");
        assert_eq!(fallen, flow("@!%p bra X; A: sub; bra B; X: add; B: ret;"));
        assert_eq!(
            fallen,
            flow("bra S; B: ret; X: add; bra B; A: sub; bra B; S: @%p bra A; bra Y; Y: bra X;")
        );
    }

    #[test]
    fn a_loop_stands_before_what_follows_it() {
        let blocks = flow("H: setp; @%p bra E; add; bra H; E: ret;");
        let opcodes: Vec<&str> = blocks.iter().map(|(i, _)| i[0].as_str()).collect();
        assert_eq!(opcodes, ["setp", "add", "ret"]);
        assert_eq!(blocks[0].1, [2, 1]);
    }

    #[test]
    fn an_endless_loop_of_nothing_is_a_block() {
        assert_eq!(flow("L: bra L;"), [(vec![], vec![0])]);
        assert!(flow("").is_empty());
    }
}
