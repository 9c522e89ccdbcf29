//! Which accesses of one side touch the bytes that an access of the other side touches.
//!
//! Every access is one or two *touches* (a direction, reading or writing, and a range of bytes): an atomic operation reads and writes one place, an
//! asynchronous copy reads one and writes another. Each byte of a touch stands for one byte of one touch of the other side, so that two
//! stores to a place are not covered by one. Bytes are given away in this order:
//!
//! 1. to the partner that alignment found, where the ranges overlap;
//! 2. to touches of the same address form whose ranges overlap, between the same two barriers or fences;
//! 3. to a partner whose address can't be compared, or is another one;
//! 4. to a byte that is taken already, where the access that took it and this one are never both executed (two arms of a branch, `@p` and
//!    `@!p`) and the other side's is executed for both;
//! 5. to touches of the same address form whose ranges overlap, wherever they stand: what moved across a barrier or fence;
//! 6. to what is still left of the same direction and space, where the addresses may be the same: computed in another way, or of the
//!    same width.
//!
//! What no byte of is given away, the other side does not do: it is elided. Effects read the rest off the pairs of instructions that 1, 2, 4 and 5 found.
//!
//! What it cannot see: aliases. Two address forms of different parameters or variables are different places here, as they are for a
//! compiler that is promised so; and copies of tensors, whose source is no address.

mod extent;

use super::Side;
use super::class::InstructionClass;
use super::code::value::Values;
use super::code::{Code, Root};
use super::compare::Matching;
use super::exclusive::{Alternatives, covers_both, exclusive};
use extent::{Touch, around, bins, by_instruction, regions, shift, touches};
use std::collections::{HashMap, HashSet};

pub use extent::Direction;

/// Two accesses that touch common bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Index into A's instructions.
    pub a: usize,
    /// Index into B's instructions.
    pub b: usize,
    /// What both do.
    pub direction: Direction,
    /// Whether one of them stands for several of the other side, of which one is executed.
    pub shared: bool,
    /// Whether a barrier or a fence that both sides have is in front of one of them and behind the other.
    pub crossed: bool,
}

/// What covers what.
#[derive(Debug, Default)]
pub struct Cover {
    /// Accesses with common bytes.
    pub pairs: Vec<Pair>,
    /// A's and B's accesses that nothing of the other side covers.
    pub elided: [Vec<usize>; 2],
    /// The pairs of each instruction of A and of B.
    of: [HashMap<usize, Vec<usize>>; 2],
    /// A's and B's accesses by direction all of whose bytes pairs hold.
    whole: [HashSet<(usize, Direction)>; 2],
}

struct Covering<'c> {
    code: [&'c Code<'c>; 2],
    matching: &'c Matching,
    values: &'c Values,
    explained: [&'c [bool]; 2],
    touches: [Vec<Touch>; 2],
    /// The touches of each instruction.
    of: [HashMap<usize, Vec<usize>>; 2],
    pairs: Vec<Pair>,
}

impl Cover {
    /// What covers what in two functions. `explained` are instructions that stand for others: copies of a loop's body, an inlined function.
    pub fn of(
        code: [&Code; 2],
        matching: &Matching,
        values: &Values,
        explained: [&[bool]; 2],
    ) -> Cover {
        let regions = regions(code, matching);
        let touches = [touches(code[0], &regions[0]), touches(code[1], &regions[1])];
        let of = [by_instruction(&touches[0]), by_instruction(&touches[1])];
        let mut covering = Covering {
            code,
            matching,
            values,
            explained,
            touches,
            of,
            pairs: Vec::new(),
        };
        covering.partners(true);
        covering.ranges(true);
        covering.partners(false);
        covering.shared(0);
        covering.shared(1);
        covering.ranges(false);
        covering.elsewhere();
        let elided = [covering.elided(0), covering.elided(1)];
        let whole = [0, 1].map(|side: usize| {
            let touches = covering.touches[side].iter();
            let whole = touches.filter(|touch| touch.paired == touch.whole);
            whole.map(|t| (t.instruction, t.direction)).collect()
        });
        let mut pairs = covering.pairs;
        pairs.sort_by_key(|p| (p.a, p.b, p.direction));
        let mut of = [HashMap::new(), HashMap::new()];
        for (number, pair) in pairs.iter().enumerate() {
            let own = [pair.a, pair.b];
            for (of, own) in of.iter_mut().zip(own) {
                of.entry(own).or_insert_with(Vec::new).push(number);
            }
        }
        Cover {
            pairs,
            elided,
            of,
            whole,
        }
    }

    /// Whether pairs hold all bytes of an access.
    pub fn is_whole(&self, side: usize, own: usize, direction: Direction) -> bool {
        self.whole[side].contains(&(own, direction))
    }

    /// Whether a pair holds bytes of an access.
    pub fn is_paired(&self, side: usize, own: usize, direction: Direction) -> bool {
        let pairs = self.of[side].get(&own).into_iter().flatten();
        let mut pairs = pairs.map(|&number| &self.pairs[number]);
        pairs.any(|pair| pair.direction == direction)
    }

    /// The other side's accesses that touch bytes of an access, in order, each once: those that `wanted` admits.
    pub fn beside(&self, side: Side, own: usize, wanted: impl Fn(&Pair) -> bool) -> Vec<usize> {
        self.anywhere(side, own, |pair| !pair.crossed && wanted(pair))
    }

    /// The same, and those that a barrier or fence is between.
    pub fn anywhere(&self, side: Side, own: usize, wanted: impl Fn(&Pair) -> bool) -> Vec<usize> {
        let pairs = self.of[side as usize].get(&own).into_iter().flatten();
        let mut found: Vec<usize> = pairs
            .map(|&number| &self.pairs[number])
            .filter(|pair| wanted(pair))
            .map(|pair| match side {
                Side::A => pair.b,
                Side::B => pair.a,
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Covering<'_> {
    /// Gives away the bytes of partners: of those that overlap, or of the others.
    fn partners(&mut self, overlapping: bool) {
        for pair in &self.matching.pairs {
            let (Some(mine), Some(theirs)) = (self.of[0].get(&pair.a), self.of[1].get(&pair.b))
            else {
                continue;
            };
            for (x, y) in mine
                .iter()
                .flat_map(|&x| theirs.iter().map(move |&y| (x, y)))
            {
                let [first, second] = &mut self.touches;
                let (x, y) = (&mut first[x], &mut second[y]);
                let overlap = x.common(y);
                if overlapping && overlap != 0 {
                    give(x, y, overlap, &mut self.pairs);
                } else if !overlapping && x.direction == y.direction && x.is_whole() && y.is_whole()
                {
                    (x.left, y.left) = (0, 0);
                }
            }
        }
    }

    /// Gives bytes to touches with the same address form in the same region or in any, those from the same source line first.
    fn ranges(&mut self, same_region: bool) {
        let bins = bins(&self.touches[1], |touch| touch.left != 0);
        for x in 0..self.touches[0].len() {
            if self.touches[0][x].left == 0 {
                continue;
            }
            let own = &self.touches[0][x];
            let site = self.code[0].instructions[own.instruction].site;
            let mut near: Vec<usize> = around(own)
                .filter_map(|bin| bins.get(&bin))
                .flatten()
                .copied()
                .filter(|&y| !same_region || self.touches[1][y].region == own.region)
                .collect();
            near.sort_unstable_by_key(|&y| {
                let other = self.code[1].instructions[self.touches[1][y].instruction].site;
                (site == 0 || other != site, y)
            });
            near.dedup();
            for y in near {
                let [first, second] = &mut self.touches;
                let (x, y) = (&mut first[x], &mut second[y]);
                let free = x.left & shift(y.left, y.place.offset.wrapping_sub(x.place.offset));
                if x.common(y) & free != 0 {
                    give(x, y, free, &mut self.pairs);
                }
            }
        }
    }

    /// Gives the bytes of accesses of which one is executed to one access that is executed for all of them.
    fn shared(&mut self, side: usize) {
        let other = 1 - side;
        if self.touches[side].iter().all(|touch| touch.left == 0) {
            return;
        }
        let bins = bins(&self.touches[other], |touch| !touch.takers.is_empty());
        for x in 0..self.touches[side].len() {
            let own = &self.touches[side][x];
            if !own.is_whole() {
                continue;
            }
            let takes = |y: &&usize| {
                let taken = &self.touches[other][**y];
                own.common(taken) != 0
                    && taken.takers.iter().take(WAYS).any(|&twin| {
                        exclusive(self.code[side], twin, own.instruction)
                            && covers_both(
                                self.code[other],
                                taken.instruction,
                                &Alternatives {
                                    code: self.code[side],
                                    first: twin,
                                    second: own.instruction,
                                },
                                |branch| match side {
                                    0 => self.matching.a_of(branch),
                                    _ => self.matching.b_of(branch),
                                },
                            )
                    })
            };
            let found = around(own)
                .filter_map(|bin| bins.get(&bin))
                .flatten()
                .find(takes);
            if let Some(&y) = found {
                let [first, second] = &mut self.touches;
                let (own, taken) = match side {
                    0 => (&mut first[x], &second[y]),
                    _ => (&mut second[x], &first[y]),
                };
                own.left &= !own.common(taken);
                own.paired |= own.common(taken);
                let (a, b) = match side {
                    0 => (own.instruction, taken.instruction),
                    _ => (taken.instruction, own.instruction),
                };
                own.takers.push(taken.instruction);
                self.pairs.push(Pair {
                    a,
                    b,
                    direction: own.direction,
                    shared: true,
                    crossed: false,
                });
            }
        }
    }

    /// Lets what is left on both sides stand for each other, where the addresses may be the same: one for one, then wide ones for several.
    fn elsewhere(&mut self) {
        let named = [self.roots(0), self.roots(1)];
        for (several, same_line) in [(false, true), (false, false), (true, true), (true, false)] {
            let free = |touch: &Touch| match several {
                true => touch.left != 0,
                false => touch.is_whole(),
            };
            // The last of each bucket is the first in order.
            let mut buckets: HashMap<(Direction, u32), Vec<usize>> = HashMap::new();
            for (y, touch) in self.touches[1].iter().enumerate().rev() {
                if free(touch)
                    && self.is_alone(1, touch.instruction)
                    && let Some(key) = self.key(1, touch, same_line)
                {
                    buckets.entry(key).or_default().push(y);
                }
            }
            for x in 0..self.touches[0].len() {
                let own = &self.touches[0][x];
                if !free(own) || !self.is_alone(0, own.instruction) {
                    continue;
                }
                let key = self.key(0, own, same_line);
                let Some(bucket) = key.and_then(|key| buckets.get_mut(&key)) else {
                    continue;
                };
                while self.touches[0][x].left != 0 {
                    let fits = |&y: &usize| {
                        let untouched =
                            [&self.touches[0][x], &self.touches[1][y]].map(Touch::is_whole);
                        untouched.contains(&true) && self.may_be(x, y, &named)
                    };
                    // The first ones: a bucket of thousands that don't fit is not searched again and again.
                    let from = bucket.len().saturating_sub(SEARCHED);
                    let Some(at) = bucket[from..].iter().rposition(fits) else {
                        break;
                    };
                    let y = bucket[from + at];
                    self.stand_in(x, y);
                    if !several || self.touches[1][y].left == 0 {
                        bucket.remove(from + at);
                    }
                    if !several {
                        break;
                    }
                }
            }
        }
    }

    /// What touches must have in common to stand for each other: direction and, if asked for, source line.
    fn key(&self, side: usize, touch: &Touch, same_line: bool) -> Option<(Direction, u32)> {
        let site = self.code[side].instructions[touch.instruction].site;
        match same_line {
            true => (site != 0).then_some((touch.direction, site)),
            false => Some((touch.direction, 0)),
        }
    }

    /// Lets two touches stand for each other, as far as their bytes go.
    fn stand_in(&mut self, x: usize, y: usize) {
        let [first, second] = &mut self.touches;
        let (x, y) = (&mut first[x], &mut second[y]);
        let bytes = x.left.count_ones().min(y.left.count_ones());
        (x.left, y.left) = (drop_bytes(x.left, bytes), drop_bytes(y.left, bytes));
        let class =
            |side: usize, touch: &Touch| self.code[side].instructions[touch.instruction].class;
        let special = |class| {
            !matches!(
                class,
                InstructionClass::Load(_) | InstructionClass::Store(_)
            )
        };
        let alike = x.place.root == y.place.root && x.place.root != Root::Unknown;
        let unknown = x.place.base != y.place.base || [x.whole, y.whole].contains(&u64::MAX);
        // How a place is accessed is worth a word, even if only the variable is known to be the same.
        if alike && unknown && special(class(0, x)) != special(class(1, y)) {
            self.pairs.push(Pair {
                a: x.instruction,
                b: y.instruction,
                direction: x.direction,
                shared: false,
                crossed: false,
            });
        }
    }

    /// Whether two touches, of A and of B, may be of one place that is computed in different ways.
    fn may_be(&self, x: usize, y: usize, named: &[HashSet<Root>; 2]) -> bool {
        let (x, y) = (&self.touches[0][x], &self.touches[1][y]);
        // A variable that only one side knows may be the other's by another name.
        let apart = x.place.is_apart(&y.place)
            || ![x.place.root, y.place.root].contains(&Root::Unknown)
                && x.place.root != y.place.root
                && (named[1].contains(&x.place.root) || named[0].contains(&y.place.root));
        // One form of address, which can be compared: other widths are other places.
        let comparable = x.place.base == y.place.base && self.values.is_known(x.place.base, 6);
        let bulk = [x.whole, y.whole].contains(&u64::MAX);
        !apart && x.place.may_share_space(&y.place) && (x.whole == y.whole || bulk || !comparable)
    }

    /// The variables and parameters that a side accesses.
    fn roots(&self, side: usize) -> HashSet<Root> {
        let roots = self.touches[side].iter().map(|touch| touch.place.root);
        roots.filter(|root| *root != Root::Unknown).collect()
    }

    /// Whether an instruction has no partner and stands for itself.
    fn is_alone(&self, side: usize, instruction: usize) -> bool {
        let partner = match side {
            0 => self.matching.of_a[instruction],
            _ => self.matching.of_b[instruction],
        };
        partner.is_none() && !self.explained[side][instruction]
    }

    /// Accesses no byte of which is given away.
    fn elided(&self, side: usize) -> Vec<usize> {
        let whole = |touches: &[usize]| touches.iter().all(|&t| self.touches[side][t].is_whole());
        let mut elided: Vec<usize> = (self.of[side].iter())
            .filter(|(instruction, touches)| self.is_alone(side, **instruction) && whole(touches))
            .map(|(instruction, _)| *instruction)
            .collect();
        elided.sort_unstable();
        elided
    }
}

/// How many accesses that have a byte are compared with another one.
const WAYS: usize = 32;

/// How many touches of a bucket are looked at.
const SEARCHED: usize = 256;

/// Gives bytes of `x` (counted from its start) and those of `y` that they are to each other.
fn give(x: &mut Touch, y: &mut Touch, bytes: u64, pairs: &mut Vec<Pair>) {
    let by = y.place.offset.wrapping_sub(x.place.offset);
    let theirs = shift(bytes, by.wrapping_neg());
    (x.left, x.paired) = (x.left & !bytes, x.paired | bytes);
    (y.left, y.paired) = (y.left & !theirs, y.paired | theirs);
    x.takers.push(y.instruction);
    y.takers.push(x.instruction);
    pairs.push(Pair {
        a: x.instruction,
        b: y.instruction,
        direction: x.direction,
        shared: false,
        crossed: x.region != y.region,
    });
}

/// A mask without its lowest bytes.
fn drop_bytes(mut mask: u64, bytes: u32) -> u64 {
    for _ in 0..bytes {
        mask &= mask.wrapping_sub(1);
    }
    mask
}
