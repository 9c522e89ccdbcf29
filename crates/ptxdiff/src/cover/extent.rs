//! One direction of one access: which bytes it touches.

use super::super::class::InstructionClass;
use super::super::code::{Code, Place};
use super::super::compare::{Match, Matching};
use crate::code::value::Value;
use std::collections::HashMap;

/// Whether memory is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Memory is read.
    Read,
    /// Memory is written.
    Write,
}

/// One direction of one access.
pub(super) struct Touch {
    pub instruction: usize,
    pub direction: Direction,
    pub place: Place,
    /// The barriers and fences in front of it that both sides have.
    pub region: usize,
    /// Its bytes that are not given away, the lowest first.
    pub left: u64,
    pub whole: u64,
    /// Its bytes that pairs hold.
    pub paired: u64,
    /// The other side's instructions that have its bytes.
    pub takers: Vec<usize>,
}

impl Touch {
    /// The bytes of this touch that another one has too, counted from this one's start.
    pub fn common(&self, other: &Touch) -> u64 {
        let known = self.place.base == other.place.base
            && self.place.may_share_space(&other.place)
            && self.direction == other.direction;
        if !known {
            return 0;
        }
        shift(
            other.whole,
            other.place.offset.wrapping_sub(self.place.offset),
        ) & self.whole
    }

    pub fn is_whole(&self) -> bool {
        self.left == self.whole && self.takers.is_empty()
    }
}

/// A mask of bytes, moved by some bytes.
pub(super) fn shift(mask: u64, by: i64) -> u64 {
    match by {
        0..64 => mask << by,
        -63..0 => mask >> -by,
        _ => 0,
    }
}

/// Bytes that one mask holds; a wider touch is known by its first ones.
const BYTES: u32 = 64;

/// Bytes of a bin of addresses.
const BIN: i64 = 16;

/// The touches of a function, in order.
pub(super) fn touches(code: &Code, regions: &[usize]) -> Vec<Touch> {
    let mut touches = Vec::new();
    for (instruction, instr) in code.instructions.iter().enumerate() {
        let (read, written) = match instr.class {
            InstructionClass::Load(_) => (instr.place, None),
            InstructionClass::Store(_) => (None, instr.place),
            InstructionClass::Atomic(_) | InstructionClass::Reduction(_) => {
                (instr.place, instr.place)
            }
            InstructionClass::AsyncCopy(_) => (instr.source_place, instr.place),
            _ => (None, None),
        };
        let both = [(Direction::Read, read), (Direction::Write, written)];
        for (direction, place) in both {
            let Some(place) = place else { continue };
            let whole = match (instr.class, place.width) {
                // A size that is known when it runs.
                (InstructionClass::AsyncCopy(_), 0) | (_, BYTES..) => u64::MAX,
                (_, width) => (1 << width.max(1)) - 1,
            };
            touches.push(Touch {
                instruction,
                direction,
                place,
                region: regions[instruction],
                left: whole,
                whole,
                paired: 0,
                takers: Vec::new(),
            });
        }
    }
    touches
}

/// How many barriers and fences that both sides have stand in front of each instruction, in the order of alignment.
pub(super) fn regions(code: [&Code; 2], matching: &Matching) -> [Vec<usize>; 2] {
    let parts = |class: InstructionClass| class.is_barrier() || class == InstructionClass::Fence;
    let divides = |pair: Option<usize>| {
        pair.map(|pair| &matching.pairs[pair]).is_some_and(|pair| {
            pair.kind != Match::Moved
                && parts(code[0].instructions[pair.a].class)
                && parts(code[1].instructions[pair.b].class)
        })
    };
    let mut regions = [0, 1].map(|side: usize| vec![0; code[side].instructions.len()]);
    let mut passed = 0;
    for &index in &matching.order_a {
        passed += usize::from(divides(matching.of_a[index]));
        regions[0][index] = passed;
    }
    passed = 0;
    for &index in &matching.order_b {
        passed += usize::from(divides(matching.of_b[index]));
        regions[1][index] = passed;
    }
    regions
}

pub(super) fn by_instruction(touches: &[Touch]) -> HashMap<usize, Vec<usize>> {
    let mut of: HashMap<usize, Vec<usize>> = HashMap::new();
    for (number, touch) in touches.iter().enumerate() {
        of.entry(touch.instruction).or_default().push(number);
    }
    of
}

pub(super) type Bin = (Direction, Value, i64);

/// The bins that a touch has bytes in.
pub(super) fn around(touch: &Touch) -> impl Iterator<Item = Bin> {
    let first = touch.place.offset;
    let last = first.saturating_add(i64::from(touch.whole.count_ones()) - 1);
    let key = (touch.direction, touch.place.base);
    (first.div_euclid(BIN)..=last.div_euclid(BIN)).map(move |bin| (key.0, key.1, bin))
}

pub(super) fn bins(touches: &[Touch], wanted: impl Fn(&Touch) -> bool) -> HashMap<Bin, Vec<usize>> {
    let mut bins: HashMap<Bin, Vec<usize>> = HashMap::new();
    for (number, touch) in touches.iter().enumerate().filter(|(_, t)| wanted(t)) {
        for bin in around(touch) {
            bins.entry(bin).or_default().push(number);
        }
    }
    bins
}
