//! Analyses of registers to a fixed point: what a step newly learns of a register is followed to the instructions that read it (the worklist of Kildall,
//! "A Unified Approach to Global Program Optimization", POPL 1973, without control flow), so that the work grows with the instructions.

use std::collections::{HashMap, VecDeque};

/// Goes through instructions, of each of which the registers that it reads are given, until nothing changes. `step` takes one of them, by its number, and says
/// which registers it has changed; what it can add to a register must be finite.
pub(super) fn fixed_point<'a>(reads: &[Vec<&'a str>], mut step: impl FnMut(usize) -> Vec<&'a str>) {
    let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (reader, registers) in reads.iter().enumerate() {
        for register in registers {
            readers.entry(register).or_default().push(reader);
        }
    }
    let mut waits = vec![true; reads.len()];
    let mut waiting: VecDeque<usize> = (0..reads.len()).collect();
    while let Some(one) = waiting.pop_front() {
        waits[one] = false;
        for register in step(one) {
            for next in readers.get(register).into_iter().flatten() {
                if !std::mem::replace(&mut waits[*next], true) {
                    waiting.push_back(*next);
                }
            }
        }
    }
}
