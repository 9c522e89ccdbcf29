//! # loop-unrolled
//!
//! One side has a loop where the other side repeats the loop's body several times, in a loop with fewer iterations or
//! without a loop.
//!
//! ## Example
//!
//! ```cpp
//! #pragma unroll
//! for (int d = 1; d < 32; d *= 2)         // five bodies, no branch
//!     sum += data[32 - d];
//! ```
//!
//! ## How it is recognised
//!
//! The work of a loop body is its accesses, barriers and arithmetic, without moves, the counter and the branch. Its
//! instructions are identified by opcode and source line, or by opcode and operand kinds if there are no lines. If most
//! of them appear at least twice as often in one loop of the other side, or outside its loops, the other side is
//! unrolled. The factor is the median of the ratios.
//!
//! ## Limitations
//!
//! A cycle with several entries does not count as a loop. Peeling one iteration, or a loop that runs once, does not count
//! as unrolling. Optimisations that unrolling made possible (values kept from one iteration to the next) are not counted:
//! a loop repeats its accesses, but they appear once in the PTX.

use super::{Occurrence, View};
use crate::class::InstructionClass;
use ptx::semantics::Opcode;
use crate::code::{Code, Instr};
use std::collections::{BTreeMap, HashMap};

/// What work is known by.
type Work = (u32, u32);

/// The loops of the other side that are unrolled here, and the copies that have no partner.
pub(super) fn find(view: &View) -> (Vec<Occurrence>, Vec<usize>) {
    let theirs = by_loop(view.other);
    let mine = by_loop(view.mine);
    let (mut found, mut copies) = (Vec::new(), Vec::new());
    for (number, body) in view.other.flow.loops.iter().enumerate() {
        let mut ratios = Vec::new();
        let mut unrolled: Vec<Work> = Vec::new();
        let mut seen = 0;
        let mut works = false;
        for (work, places) in &theirs {
            // What stands in other loops, or outside, tells nothing about this one.
            let (Some(count), 1) = (places.get(&Some(number)), places.len()) else {
                continue;
            };
            let Some(here) = mine.get(work) else { continue };
            seen += 1;
            let most = here.values().map(Vec::len).max().unwrap_or(0);
            if most >= 2 * count.len() {
                ratios.push(most / count.len());
                unrolled.push(*work);
                works |= count.iter().any(|&i| view.other.instructions[i].class != InstructionClass::Arithmetic);
            }
        }
        let arithmetic_only = ratios.len() >= 2;
        if ratios.is_empty() || 2 * ratios.len() <= seen || !(works || arithmetic_only) {
            continue;
        }
        ratios.sort_unstable();
        let all_of = |map: &Places, works: &[Work]| -> Vec<usize> {
            let mut all: Vec<usize> = works.iter().flat_map(|w| map[w].values().flatten().copied()).collect();
            all.sort_unstable();
            all
        };
        let here = all_of(&mine, &unrolled);
        copies.extend(here.iter().copied().filter(|&index| view.partner(index).is_none()));
        let header = view.other.flow.blocks[body.header].instructions.first().copied();
        let mut there = all_of(&theirs, &unrolled);
        if let Some(header) = header
            && !there.contains(&header)
        {
            there.insert(0, header);
        }
        let mut occurrence = view.occurrence(here, there);
        occurrence.factor = Some(ratios[ratios.len() / 2] as u32);
        found.push(occurrence);
    }
    (found, copies)
}

/// Where work stands: by the smallest loop around it.
type Places = BTreeMap<Work, HashMap<Option<usize>, Vec<usize>>>;

fn by_loop(code: &Code) -> Places {
    let mut places = Places::new();
    for (index, instr) in code.instructions.iter().enumerate() {
        if let Some(work) = work(instr) {
            let own = places.entry(work).or_default();
            own.entry(code.loop_of(index)).or_default().push(index);
        }
    }
    places
}

fn work(instr: &Instr) -> Option<Work> {
    match instr.class {
        InstructionClass::Move | InstructionClass::Parameter | InstructionClass::Branch | InstructionClass::Leave => None,
        _ if instr.typed.opcode == Opcode::Setp => None,
        _ if instr.site == 0 => Some((instr.weak, 0)),
        _ => Some((instr.opcode, instr.site)),
    }
}
