//! Loops that wait for time to pass and do nothing else.
//!
//! A kernel that spins on the clock for a tenth of a second would take the simulator minutes, instruction by instruction. In a loop that
//! only computes and looks at the clock nothing can happen but that time passes: there it passes faster ([`crate::exec`], `clock`). A loop
//! that touches memory or meets others, as one that polls a flag and gives up after a while, sees the time as everybody else does.

use crate::ids::Site;
use crate::op::*;
use crate::program::Program;
use ptx::semantics::Special;

/// Marks the looks at the clock in such loops.
pub(super) fn find(program: &mut Program) {
    let mut waits: Vec<Site> = Vec::new();
    for (end, i) in program.code.iter().enumerate() {
        let Op::Branch { target } = i.op else {
            continue;
        };
        let start = target as usize;
        if start > end {
            continue;
        }
        let body = &program.code[start..=end];
        let looks = body.iter().filter(|i| is_clock(&i.op));
        let computes = |(at, i): (usize, &Instr)| only_computes(&i.op, start + at, start);
        if looks.clone().next().is_some() && body.iter().enumerate().all(computes) {
            waits.extend(looks.map(|i| i.site));
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
fn only_computes(op: &Op, at: usize, start: usize) -> bool {
    match op {
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
        | Op::Nop => true,
        // A further loop inside is one of its own.
        Op::Branch { target } => *target as usize > at || *target as usize == start,
        _ => false,
    }
}
