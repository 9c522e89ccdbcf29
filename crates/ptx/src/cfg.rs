//! The control-flow graph of a function.
//!
//! Blocks are runs of [flattened](super::flatten) instructions that are entered at
//! the top and left at the bottom. A block ends in front of a label and behind
//! `bra`, `brx.idx`, `ret`, `exit` and `trap` (PTX ISA, "Control Flow
//! Instructions"), guarded or not. A `call` ends none: control comes back.
//!
//! Two kinds of "where paths meet again" are computed:
//!
//! * [`Cfg::ipdom`], the immediate post-dominator in the strict sense: every path
//!   to the function's end passes there. An early `ret` is a path.
//! * [`Cfg::reconvergence`], where lanes that parted company meet: as above, but a
//!   branch to code that does nothing but leave the function is not counted while
//!   there is another way to go, because lanes that have left are not waited for.
//!   `if (c) { if (d) return; a(); } b();` meets at `b()` in this sense, and at the
//!   end in the strict one.

use super::ast::*;
use super::flatten::{Declared, DuplicateName, Flat, FlatInstr};
use super::graph;
use super::semantics::{Control, TypedInstruction};

/// The control-flow graph of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    /// The blocks in textual order; the first is the entry.
    pub blocks: Vec<Block>,
    /// The block of each instruction.
    pub block_of: Vec<usize>,
    /// The immediate dominator of each block; `None` for the entry and for
    /// blocks that can't be reached.
    pub idom: Vec<Option<usize>>,
    /// The immediate post-dominator of each block; `None` is the function's end.
    pub ipdom: Vec<Option<usize>>,
    /// The block where lanes that leave each block by different ways meet again;
    /// `None` where they don't.
    pub reconvergence: Vec<Option<usize>>,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first instruction.
    pub start: usize,
    /// One past its last instruction; larger than `start`.
    pub end: usize,
    /// The blocks that may come next: the targets of the branch in order, then
    /// the block below it. No block is named twice.
    pub successors: Vec<usize>,
    /// Whether control may leave the function from here.
    pub leaves: bool,
}

/// Why a function has no control-flow graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CfgError {
    /// Two declarations of one name.
    #[error(transparent)]
    Duplicate(#[from] DuplicateName),
    /// A branch to a label that its scope does not see.
    #[error("`{label}` is not a label that can be branched to from here")]
    UnknownLabel {
        /// The name.
        label: String,
        /// The branch.
        span: Span,
    },
    /// A `brx.idx` without a `.branchtargets` list.
    #[error("`{list}` is not a list of branch targets")]
    UnknownTargets {
        /// The name.
        list: String,
        /// The branch.
        span: Span,
    },
    /// A `bra` or `brx` without the operand that names its target.
    #[error("this branch names no target")]
    NoTarget {
        /// The branch.
        span: Span,
    },
}

impl CfgError {
    /// The place at fault.
    pub fn span(&self) -> Span {
        match self {
            CfgError::Duplicate(duplicate) => duplicate.span,
            CfgError::UnknownLabel { span, .. }
            | CfgError::UnknownTargets { span, .. }
            | CfgError::NoTarget { span } => *span,
        }
    }
}

impl Cfg {
    /// The graph of `function`; without blocks for a declaration.
    ///
    /// # Errors
    ///
    /// A name declared twice, or a branch whose target does not exist.
    pub fn of(function: &Function) -> Result<Cfg, CfgError> {
        Cfg::of_flat(&Flat::of(function)?)
    }

    /// The graph of a body that is flattened already.
    ///
    /// # Errors
    ///
    /// A branch whose target does not exist.
    pub fn of_flat(flat: &Flat) -> Result<Cfg, CfgError> {
        let count = flat.instructions.len();
        let ends = flat.instructions.iter().map(Ending::of).collect::<Vec<_>>();
        let mut is_start = vec![false; count + 1];
        is_start[0] = true;
        flat.labels
            .values()
            .for_each(|&index| is_start[index] = true);
        for (index, end) in ends.iter().enumerate() {
            is_start[index + 1] |= *end != Ending::None;
        }
        let mut starts: Vec<usize> = (0..count).filter(|&index| is_start[index]).collect();
        starts.push(count);

        let mut block_of = vec![0; count];
        for (block, range) in starts.windows(2).enumerate() {
            block_of[range[0]..range[1]].fill(block);
        }
        let mut blocks = Vec::with_capacity(starts.len());
        for range in starts.windows(2) {
            let last = range[1] - 1;
            blocks.push(block(flat, &block_of, (range[0], range[1]), ends[last])?);
        }
        Ok(Cfg::with_dominators(blocks, block_of))
    }

    fn with_dominators(blocks: Vec<Block>, block_of: Vec<usize>) -> Cfg {
        if blocks.is_empty() {
            let none = Vec::new;
            return Cfg {
                blocks,
                block_of,
                idom: none(),
                ipdom: none(),
                reconvergence: none(),
            };
        }
        let succs: Vec<&[usize]> = blocks.iter().map(|block| &block.successors[..]).collect();
        let exits = |blocks: &[Block]| -> Vec<usize> {
            (0..blocks.len())
                .filter(|&block| blocks[block].leaves)
                .collect()
        };
        let idom = graph::dominators(0, &succs);
        let ipdom = graph::post_dominators(&succs, &exits(&blocks));
        let staying = without_departures(&blocks);
        let succs: Vec<&[usize]> = staying.iter().map(|block| &block.successors[..]).collect();
        let reconvergence = graph::post_dominators(&succs, &exits(&staying));
        Cfg {
            blocks,
            block_of,
            idom,
            ipdom,
            reconvergence,
        }
    }

    /// The natural loops, by ascending header; see [`graph::natural_loops`].
    pub fn loops(&self) -> Vec<graph::Loop> {
        if self.blocks.is_empty() {
            return Vec::new();
        }
        let succs: Vec<&[usize]> = self
            .blocks
            .iter()
            .map(|block| &block.successors[..])
            .collect();
        graph::natural_loops(0, &succs)
    }

    /// Whether every path from instruction `from` to the end of the function passes
    /// instruction `to` (which counts as passed where it is `from` itself).
    pub fn always_reaches(&self, from: usize, to: usize) -> bool {
        let (block, target) = (self.block_of[from], self.block_of[to]);
        (block == target && from <= to)
            || (block != target && graph::dominates(&self.ipdom, target, block))
    }
}

/// How an instruction ends its block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    None,
    Branch,
    IndexedBranch,
    Leave,
}

impl Ending {
    fn of(instruction: &FlatInstr) -> Ending {
        match TypedInstruction::of(instruction.instr).control {
            Control::Branch => Ending::Branch,
            Control::IndexedBranch => Ending::IndexedBranch,
            control if control.ends_function() => Ending::Leave,
            _ => Ending::None,
        }
    }
}

fn block(
    flat: &Flat,
    block_of: &[usize],
    (start, end): (usize, usize),
    ending: Ending,
) -> Result<Block, CfgError> {
    let last = &flat.instructions[end - 1];
    let mut targets = match ending {
        Ending::None | Ending::Leave => Vec::new(),
        Ending::Branch => vec![label(flat, last, target_name(last, 0)?)?],
        Ending::IndexedBranch => indexed_targets(flat, last)?,
    };
    if ending == Ending::None || last.instr.guard.is_some() {
        targets.push(end);
    }
    let mut block = Block {
        start,
        end,
        successors: Vec::new(),
        leaves: ending == Ending::Leave,
    };
    for target in targets {
        match block_of.get(target) {
            Some(next) if block.successors.contains(next) => {}
            Some(next) => block.successors.push(*next),
            // Running off the end of the body leaves it, as `ret` does.
            None => block.leaves = true,
        }
    }
    Ok(block)
}

/// "Control Flow Instructions: brx.idx": an index and a list.
fn indexed_targets(flat: &Flat, branch: &FlatInstr) -> Result<Vec<usize>, CfgError> {
    let name = target_name(branch, 1)?;
    match flat.lookup(branch.scope, name) {
        Some(Declared::BranchTargets(list)) => list
            .targets
            .iter()
            .map(|target| label(flat, branch, target))
            .collect(),
        _ => {
            let (list, span) = (name.to_owned(), branch.instr.span);
            Err(CfgError::UnknownTargets { list, span })
        }
    }
}

fn target_name<'a>(branch: &FlatInstr<'a>, operand: usize) -> Result<&'a str, CfgError> {
    match branch.instr.operands.get(operand) {
        Some(Operand::Name(name, None)) => Ok(name),
        _ => Err(CfgError::NoTarget {
            span: branch.instr.span,
        }),
    }
}

fn label(flat: &Flat, branch: &FlatInstr, name: &str) -> Result<usize, CfgError> {
    flat.label(branch.scope, name)
        .ok_or_else(|| CfgError::UnknownLabel {
            label: name.to_owned(),
            span: branch.instr.span,
        })
}

/// The blocks without edges to a lone `ret`, `exit` or `trap` where there is
/// another way to go.
fn without_departures(blocks: &[Block]) -> Vec<Block> {
    let departs = |block: usize| {
        let Block {
            start,
            end,
            successors,
            leaves,
        } = &blocks[block];
        *leaves && successors.is_empty() && end - start == 1
    };
    let mut staying = blocks.to_vec();
    for block in &mut staying {
        if block.successors.iter().all(|&next| departs(next)) {
            continue;
        }
        block.leaves = false;
        block.successors.retain(|&next| !departs(next));
    }
    staying
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cfg(body: &str) -> Result<Cfg, CfgError> {
        let source = format!(".version 8.0\n.target sm_90\n.entry k() {{ {body} }}");
        let module = crate::parse(&source).unwrap();
        match &module.items[0] {
            Item::Function(function) => Cfg::of(function),
            other => panic!("{other:?}"),
        }
    }

    fn edges(cfg: &Cfg) -> Vec<Vec<usize>> {
        cfg.blocks
            .iter()
            .map(|block| block.successors.clone())
            .collect()
    }

    #[test]
    fn a_diamond_meets_at_its_foot() {
        let cfg = cfg("@p bra A; add; bra B; A: sub; B: ret;").unwrap();
        assert_eq!(edges(&cfg), [vec![2, 1], vec![3], vec![3], vec![]]);
        assert_eq!(cfg.ipdom, [Some(3), Some(3), Some(3), None]);
        assert_eq!(cfg.idom, [None, Some(0), Some(0), Some(0)]);
        assert_eq!(cfg.block_of, [0, 1, 1, 2, 3]);
        assert!(cfg.always_reaches(0, 4) && !cfg.always_reaches(0, 3));
    }

    #[test]
    fn lanes_that_leave_are_not_waited_for() {
        // if (p) { if (q) return; sub; } add; return;
        let cfg = cfg("@!p bra J; @q bra R; sub; J: add; R: ret;").unwrap();
        assert_eq!(cfg.ipdom[0], Some(4));
        assert_eq!(cfg.reconvergence[0], Some(3));
        // The same with a guarded return, and with a trap.
        for leave in ["@q ret;", "@q exit;", "@q trap;"] {
            let cfg = super::tests::cfg(&format!("@!p bra J; {leave} sub; J: add; ret;")).unwrap();
            assert_eq!(
                (cfg.ipdom[0], cfg.reconvergence[0]),
                (None, Some(3)),
                "{leave}"
            );
        }
    }

    #[test]
    fn where_all_ways_leave_none_is_dropped() {
        let cfg = cfg("@p bra A; ret; A: ret;").unwrap();
        assert_eq!(cfg.reconvergence, [None, None, None]);
    }

    #[test]
    fn loops_have_their_header() {
        let cfg = cfg("mov; L: add; @p bra L; ret;").unwrap();
        assert_eq!(edges(&cfg), [vec![1], vec![1, 2], vec![]]);
        assert_eq!(cfg.ipdom, [Some(1), Some(2), None]);
        assert_eq!(
            cfg.loops(),
            [graph::Loop {
                header: 1,
                nodes: vec![1]
            }]
        );
    }

    #[test]
    fn an_indexed_branch_goes_to_each_target_once() {
        let cfg = cfg("t: .branchtargets A, B, A; brx.idx %r0, t; A: add; B: ret;").unwrap();
        assert_eq!(edges(&cfg), [vec![1, 2], vec![2], vec![]]);
    }

    #[test]
    fn labels_of_inner_scopes_do_not_clash() {
        let cfg = cfg("{ L: add; @p bra L; } { L: sub; @p bra L; } bra E; E:").unwrap();
        assert_eq!(edges(&cfg), [vec![0, 1], vec![1, 2], vec![]]);
        assert!(cfg.blocks[2].leaves);
    }

    #[test]
    fn wrong_targets_are_errors() {
        let message = |body| cfg(body).unwrap_err().to_string();
        assert_eq!(
            message("bra L;"),
            "`L` is not a label that can be branched to from here"
        );
        assert_eq!(
            message("{ L: add; } bra L;"),
            "`L` is not a label that can be branched to from here"
        );
        assert_eq!(
            message("brx.idx %r0, L; L: ret;"),
            "`L` is not a list of branch targets"
        );
        assert_eq!(message("bra;"), "this branch names no target");
        assert_eq!(
            message("L: add; L: add;"),
            "`L` is declared twice in the same scope of `k`"
        );
    }

    #[test]
    fn an_empty_body_has_no_blocks() {
        assert!(cfg("").unwrap().blocks.is_empty());
        assert!(cfg("L:").unwrap().blocks.is_empty());
    }
}
