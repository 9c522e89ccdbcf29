//! What code ran: from the ways that branches went, along the control flow of a program.
//!
//! Blind spots, all of which count as run: an instruction whose guard holds in no lane but which is no branch, the other
//! targets of an indexed branch, functions that are called through a pointer.

use detect::coverage::Coverage;
use simt::Program;
use simt::ids::{Mask, Site};
use simt::op::{Op, Slot, System};

/// Instructions along which the end of a way is looked for.
const FAR: usize = 64;

/// The warps in which each instruction ran, by site, as in [`Coverage`]; a launch has so many warps a block.
pub fn reached(program: &Program, coverage: &Coverage, warps: u32) -> Vec<Mask> {
    let all = Mask::MAX >> (32 - warps.clamp(1, 32));
    let mut masks = vec![0; program.code.len()];
    let mut waiting = Vec::new();
    let mut reach = |waiting: &mut Vec<usize>, at: usize, mask: Mask| {
        if let Some(known) = masks.get_mut(at)
            && mask & !*known != 0
        {
            *known |= mask;
            waiting.push(at);
        }
        masks.get(at).copied().unwrap_or(0)
    };
    reach(&mut waiting, 0, all);
    while let Some(at) = waiting.pop() {
        let i = &program.code[at];
        let mask = reach(&mut waiting, at, 0);
        let always = i.guard == Slot::TRUE;
        let mut goes_on = mask;
        match &i.op {
            Op::Branch { target } => {
                let [taken, fallen] = match always {
                    true => [mask, 0],
                    false => coverage.ways(i.site),
                };
                goes_on = fallen;
                reach(&mut waiting, *target as usize, taken);
            }
            Op::BranchIndexed { targets, .. } => {
                for target in targets {
                    reach(&mut waiting, *target as usize, mask);
                }
            }
            Op::Call(call) => {
                let functions = match call.function {
                    Some(f) => f as usize..f as usize + 1,
                    None => 0..program.functions.len(),
                };
                for f in &program.functions[functions] {
                    reach(&mut waiting, f.start as usize, mask);
                }
            }
            Op::Return | Op::Exit | Op::Trap | Op::Unsupported if always => continue,
            _ => {}
        }
        reach(&mut waiting, at + 1, goes_on);
    }
    let mut sites = vec![0; program.sites.len()];
    for (i, mask) in program.code.iter().zip(masks) {
        if !matches!(i.op, Op::BarrierBypass { .. }) {
            sites[i.site.0 as usize] |= mask;
        }
    }
    sites
}

/// The branches that ran and always went the same way. Those to a failed assertion or a trap are left out: no run that comes to
/// its end takes them.
pub fn one_way<'p>(
    program: &'p Program,
    coverage: &'p Coverage,
) -> impl Iterator<Item = Site> + 'p {
    let code = program.code.iter().enumerate();
    code.filter_map(move |(at, i)| {
        let Op::Branch { target } = i.op else {
            return None;
        };
        let other = match coverage.ways(i.site) {
            [0, 0] => return None,
            [0, _] => target as usize,
            [_, 0] => at + 1,
            _ => return None,
        };
        (i.guard != Slot::TRUE && !stops(program, other)).then_some(i.site)
    })
}

/// Whether code leads to a failed assertion or a trap before it branches.
fn stops(program: &Program, mut at: usize) -> bool {
    for _ in 0..FAR {
        let Some(i) = program.code.get(at) else {
            return false;
        };
        at += 1;
        match &i.op {
            Op::Trap => return true,
            Op::System(call) if call.which == System::AssertFail => return true,
            Op::Branch { target } if i.guard == Slot::TRUE => at = *target as usize,
            Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Return | Op::Exit => return false,
            _ => {}
        }
    }
    false
}
