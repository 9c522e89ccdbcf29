//! Loops that wait for time to pass and do nothing else.
//!
//! A kernel that spins on the clock for a tenth of a second would take the simulator minutes, instruction by instruction. In a loop that
//! only computes and looks at the clock nothing can happen but that time passes: there it passes faster ([`crate::exec`], `clock`). A loop
//! that touches memory or meets others, as one that polls a flag and gives up after a while, sees the time as everybody else does.

use crate::ids::Site;
use crate::op::*;
use crate::program::Program;
use ptx::semantics::Special;
use std::collections::HashMap;

/// Marks the looks at the clock in such loops.
pub(super) fn find(program: &mut Program) {
    let code = &program.code;
    if !code.iter().any(|i| is_clock(&i.op)) {
        return;
    }
    // How many instructions before each do more than compute, and how many jump back; and from where each place is jumped back to.
    let (mut others, mut jumps) = (vec![0u32], vec![0u32]);
    let mut back: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, i) in code.iter().enumerate() {
        let target = match i.op {
            Op::Branch { target } => Some(target as usize).filter(|target| *target <= at),
            _ => None,
        };
        others.push(others[at] + u32::from(!only_computes(&i.op)));
        jumps.push(jumps[at] + u32::from(target.is_some()));
        if let Some(target) = target {
            back.entry(target).or_default().push(at);
        }
    }
    // How many more such loops there are from an instruction on.
    let mut begins = vec![0i64; code.len() + 1];
    for (start, ends) in &back {
        for (earlier, end) in ends.iter().enumerate() {
            let computes = others[*end + 1] == others[*start];
            // A further loop inside is one of its own.
            let alone = (jumps[*end + 1] - jumps[*start]) as usize == earlier + 1;
            if computes && alone {
                begins[*start] += 1;
                begins[*end + 1] -= 1;
            }
        }
    }
    let mut open = 0;
    let mut waits: Vec<Site> = Vec::new();
    for (i, more) in code.iter().zip(&begins) {
        open += more;
        if open > 0 && is_clock(&i.op) {
            waits.push(i.site);
        }
    }
    for site in waits {
        program.sites[site.0 as usize].waits = true;
    }
}

fn is_clock(op: &Op) -> bool {
    let Op::Special { which, .. } = op else {
        return false;
    };
    matches!(
        which,
        Special::Clock | Special::Clock64 | Special::GlobalTimer | Special::GlobalTimerLo
    )
}

/// Whether an instruction changes nothing but registers and where the loop goes on.
fn only_computes(op: &Op) -> bool {
    matches!(
        op,
        Op::Alu { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Lop3Test { .. }
            | Op::Pack { .. }
            | Op::Special { .. }
            | Op::IsSpace { .. }
            | Op::Cvta { .. }
            | Op::FrameAddress { .. }
            | Op::Video(_)
            | Op::Yield
            | Op::Nop
            | Op::Branch { .. }
    )
}
