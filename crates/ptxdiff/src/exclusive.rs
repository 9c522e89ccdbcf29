//! Which instructions are never both executed in one pass, and which are executed for either of two.
//!
//! Two are exclusive if neither block leads to the other, or if one is guarded by a predicate and the other by its negation. An instruction of
//! the other function is executed for both if no guard is on it and if each branch that it hangs on (it is on one way of the branch
//! and not behind its end: J. Ferrante, K. J. Ottenstein, J. D. Warren, "The Program Dependence Graph and Its Use in Optimization", ACM
//! TOPLAS 9, 1987) has a partner in front of both that does not tell them apart.

use super::code::{Code, Instr, Token};
use ptx::graph::dominates;

/// Whether `a` and `b` are never both executed in one pass.
pub fn exclusive(code: &Code, a: usize, b: usize) -> bool {
    complementary(&code.instructions[a], &code.instructions[b]) || code.exclusive(a, b)
}

/// Whether one is guarded by what the other is guarded by the negation of.
fn complementary(a: &Instr, b: &Instr) -> bool {
    let guard = |instr: &Instr| match (&instr.instr.guard, instr.operands.first()?.first()?) {
        (Some(guard), Token::Register(register)) => Some((*register, guard.negated)),
        _ => None,
    };
    match (guard(a), guard(b)) {
        (Some((x, negated)), Some((y, other))) => x == y && negated != other,
        _ => false,
    }
}

/// Two instructions of a function, of which only one is ever executed.
pub struct Alternatives<'c> {
    /// The function.
    pub code: &'c Code<'c>,
    /// One of them.
    pub first: usize,
    /// The other.
    pub second: usize,
}

/// Whether instruction `own` of a function is executed wherever either of two of the other function is. `partner` gives the other function's
/// partner of a branch.
pub fn covers_both(
    code: &Code,
    own: usize,
    others: &Alternatives<'_>,
    partner: impl Fn(usize) -> Option<usize>,
) -> bool {
    let Alternatives {
        code: other,
        first,
        second,
    } = *others;
    let instr = &code.instructions[own];
    if instr.instr.guard.is_some() {
        return false;
    }
    let (x, y) = (
        other.instructions[first].block,
        other.instructions[second].block,
    );
    branches(code, instr.block).all(|branch| {
        let Some(theirs) = partner(branch) else {
            return false;
        };
        let block = other.instructions[theirs].block;
        let idom = &other.flow.idom;
        // What dominates both, and nothing that dominates both comes after it, tells them apart.
        let divides = x != y && nearest(idom, x, y) == Some(block);
        !divides && dominates(idom, block, x) && dominates(idom, block, y)
    })
}

/// The conditional branches that decide whether a block is executed.
fn branches<'c>(code: &'c Code, block: usize) -> impl Iterator<Item = usize> + 'c {
    let flow = &code.flow;
    let above = std::iter::successors(flow.idom[block], move |&above| flow.idom[above]);
    above.filter_map(move |above| {
        let last = *flow.blocks[above].instructions.last()?;
        let behind = std::iter::successors(flow.ipdom[above], move |&b| flow.ipdom[b]);
        let decides = code.instructions[last].is_conditional();
        (decides && !behind.take(flow.blocks.len()).any(|b| b == block)).then_some(last)
    })
}

/// The last block that both are dominated by.
fn nearest(idom: &[Option<usize>], x: usize, y: usize) -> Option<usize> {
    std::iter::successors(Some(x), |&above| idom[above]).find(|&above| dominates(idom, above, y))
}
