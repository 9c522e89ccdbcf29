//! Whether an instruction can be executed before another one, on some way through the code.

use crate::ids::Site;
use crate::op::*;
use crate::program::Program;

/// Whether some way leads from an instruction to another one. Of different functions, and where jumps have several targets, nothing is
/// known: then it may be.
pub fn may_come_before(program: &Program, first: Site, then: Site) -> bool {
    let at = |site: Site| program.code.iter().position(|i| i.site == site);
    let (Some(from), Some(to)) = (at(first), at(then)) else {
        return true;
    };
    let function = |at: usize| {
        program
            .functions
            .iter()
            .filter(|f| f.start as usize <= at)
            .map(|f| f.start)
            .max()
    };
    if function(from) != function(to) {
        return true;
    }
    let mut seen = vec![false; program.code.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        let i = &program.code[at];
        let guarded = i.guard != Slot::TRUE;
        let (next, jump) = match i.op {
            Op::Branch { target } => (guarded, Some(target as usize)),
            Op::BranchIndexed { .. } => return true,
            Op::Return | Op::Exit | Op::Trap => (guarded, None),
            _ => (true, None),
        };
        for to_look in next.then_some(at + 1).into_iter().chain(jump) {
            if program.code.get(to_look).is_some_and(|i| i.site == then) {
                return true;
            }
            if to_look < seen.len() && !std::mem::replace(&mut seen[to_look], true) {
                open.push(to_look);
            }
        }
    }
    false
}
