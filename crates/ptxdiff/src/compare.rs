//! Which instruction of one side is which of the other.
//!
//! Blocks are matched first: those that hold the same, then along the edges from blocks that are matched, then by what they have
//! in common. That gives side B an order of blocks in which partners stand as in A. Over these two sequences the
//! instructions are aligned ([`super::align`]), across block borders, so that what a compiler moved out of a block that it dissolved
//! still finds its partner. What is left over and means the same has moved. Two partners are *the same* if they agree under one
//! renaming of registers for the whole function; values only found the partners.

mod blocks;
mod renaming;
mod similarity;

use super::align::align;
use super::class::InstructionClass;
use super::code::{Code, Instr};
use blocks::order;
use renaming::Renaming;
use similarity::Aligned;
use std::collections::HashMap;

/// How two partners compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Match {
    /// The same under the renaming of registers.
    Same,
    /// Other modifiers, operands or successors.
    Changed,
    /// At another place in the order.
    Moved,
}

/// Partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Index into A's instructions.
    pub a: usize,
    /// Index into B's instructions.
    pub b: usize,
    /// How they compare.
    pub kind: Match,
}

/// The partners of two functions.
#[derive(Clone, Debug)]
pub struct Matching {
    /// By A's order.
    pub pairs: Vec<Pair>,
    /// The pair of each of A's instructions.
    pub of_a: Vec<Option<usize>>,
    /// The pair of each of B's instructions.
    pub of_b: Vec<Option<usize>>,
    /// A's instructions in the order in which they were aligned.
    pub order_a: Vec<usize>,
    /// B's instructions in the order in which they were aligned.
    pub order_b: Vec<usize>,
    /// B's registers by A's definitions: what B's definition is called in A.
    pub renamed: HashMap<u32, u32>,
}

impl Matching {
    /// The partners of the instructions of `a` and `b`. One side gives the order that the other's blocks are brought into; which one does not hang on
    /// what they are called, so that `b` and `a` have the same partners.
    pub fn of(a: &Code, b: &Code) -> Matching {
        match is_after(a, b) {
            false => Matching::directed(a, b),
            true => Matching::directed(b, a).mirrored(),
        }
    }

    /// The same with A for B.
    fn mirrored(self) -> Matching {
        let mut order: Vec<usize> = (0..self.pairs.len()).collect();
        order.sort_by_key(|&pair| self.pairs[pair].b);
        let mut mirrored = Matching {
            pairs: Vec::new(),
            of_a: vec![None; self.of_b.len()],
            of_b: vec![None; self.of_a.len()],
            order_a: self.order_b,
            order_b: self.order_a,
            renamed: self.renamed.iter().map(|(b, a)| (*a, *b)).collect(),
        };
        let pairs: Vec<Pair> = order
            .into_iter()
            .map(|pair| {
                let Pair { a, b, kind } = self.pairs[pair];
                Pair { a: b, b: a, kind }
            })
            .collect();
        mirrored.note(&pairs);
        mirrored.pairs = pairs;
        mirrored
    }

    fn directed(a: &Code, b: &Code) -> Matching {
        let order_b = order(a, b);
        let sequences = Aligned {
            a,
            b,
            order: &order_b,
        };
        let aligned = align(&sequences, a.instructions.len(), b.instructions.len());
        let mut pairs: Vec<Pair> = aligned
            .into_iter()
            .map(|(x, y)| Pair {
                a: x,
                b: order_b[y],
                kind: Match::Changed,
            })
            .collect();
        let mut matching = Matching {
            of_a: vec![None; a.instructions.len()],
            of_b: vec![None; b.instructions.len()],
            pairs: Vec::new(),
            order_a: (0..a.instructions.len()).collect(),
            order_b,
            renamed: HashMap::new(),
        };
        matching.note(&pairs);
        pairs.extend(moved(a, b, &matching));
        pairs.sort_by_key(|pair| (pair.a, pair.b));
        matching.note(&pairs);
        matching.pairs = pairs;
        matching.judge(a, b);
        matching
    }

    fn note(&mut self, pairs: &[Pair]) {
        for (index, pair) in pairs.iter().enumerate() {
            self.of_a[pair.a] = Some(index);
            self.of_b[pair.b] = Some(index);
        }
    }

    /// B's partner of an instruction of A.
    pub fn b_of(&self, a: usize) -> Option<usize> {
        self.of_a[a].map(|pair| self.pairs[pair].b)
    }

    /// A's partner of an instruction of B.
    pub fn a_of(&self, b: usize) -> Option<usize> {
        self.of_b[b].map(|pair| self.pairs[pair].a)
    }

    /// Tells the same from the changed, under one renaming of registers.
    fn judge(&mut self, a: &Code, b: &Code) {
        let mut renaming = Renaming::default();
        for index in 0..self.pairs.len() {
            let pair = self.pairs[index];
            let (x, y) = (&a.instructions[pair.a], &b.instructions[pair.b]);
            let same = renaming.agrees(x, y);
            if pair.kind == Match::Changed && same {
                self.pairs[index].kind = Match::Same;
            }
        }
        // A register that is read before it is bound (around a loop) may have been bound otherwise later.
        for index in 0..self.pairs.len() {
            let pair = self.pairs[index];
            let (x, y) = (&a.instructions[pair.a], &b.instructions[pair.b]);
            if pair.kind == Match::Same && (!renaming.agrees(x, y) || !self.flows_alike(a, b, pair))
            {
                self.pairs[index].kind = Match::Changed;
            }
        }
        self.renamed = renaming.to_a;
    }

    /// Whether control goes on to partners, where these two end their blocks.
    fn flows_alike(&self, a: &Code, b: &Code, pair: Pair) -> bool {
        let next = |code: &Code, index: usize| {
            let block = &code.flow.blocks[code.instructions[index].block];
            match block.instructions.last() == Some(&index) {
                true => Some((heads(code, &block.successors), block.leaves)),
                false => None,
            }
        };
        match (next(a, pair.a), next(b, pair.b)) {
            (None, None) => true,
            (Some((x, leaves)), Some((y, also))) => {
                leaves == also
                    && x.len() == y.len()
                    && x.iter().zip(&y).all(|(x, y)| match (x, y) {
                        (Some(x), Some(y)) => self.b_of(*x) == Some(*y),
                        (None, None) => true,
                        _ => false,
                    })
            }
            // One side goes straight on to what the other has in its next block.
            (Some((x, false)), None) => {
                matches!(x[..], [Some(x)] if self.b_of(x) == Some(pair.b + 1))
            }
            (None, Some((y, false))) => {
                matches!(y[..], [Some(y)] if self.a_of(y) == Some(pair.a + 1))
            }
            _ => false,
        }
    }

    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.of_a.iter().chain(&self.of_b).all(Option::is_some)
            && self.pairs.iter().all(|pair| pair.kind == Match::Same)
    }
}

/// Whether the first function's text comes after the second's.
fn is_after(a: &Code, b: &Code) -> bool {
    fn name<'i>(i: &Instr<'i>) -> (&'i str, &'i [String]) {
        (&i.instr.opcode, &i.instr.modifiers)
    }
    let (a, b) = (&a.instructions, &b.instructions);
    let text = |i: &Instr| i.instr.to_string();
    (a.len().cmp(&b.len()))
        .then_with(|| a.iter().map(name).cmp(b.iter().map(name)))
        .then_with(|| a.iter().map(text).cmp(b.iter().map(text)))
        .is_gt()
}

/// The first instruction of each block.
fn heads(code: &Code, blocks: &[usize]) -> Vec<Option<usize>> {
    blocks
        .iter()
        .map(|&block| code.flow.blocks[block].instructions.first().copied())
        .collect()
}

/// Partners among what alignment left over: instructions that mean the same, in order.
fn moved<'c>(a: &Code<'c>, b: &Code<'c>, matching: &Matching) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut taken = vec![false; b.instructions.len()];
    let mut gone = vec![false; a.instructions.len()];
    for exact in [true, false] {
        let key = |i: &Instr<'c>| match (exact, i.place) {
            (true, _) => Some((i.strong, None, 0, 0, 0)),
            // The same place, other qualifiers.
            (false, Some(place)) => {
                let kind = match i.class {
                    InstructionClass::Load(_) => 1,
                    InstructionClass::Store(_) => 2,
                    _ => 3,
                };
                Some((
                    kind,
                    i.atomic_operation(),
                    place.width,
                    place.offset,
                    place.base_number(),
                ))
            }
            (false, None) => None,
        };
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for &index in matching.order_b.iter().rev() {
            if matching.of_b[index].is_none()
                && !taken[index]
                && let Some(key) = key(&b.instructions[index])
            {
                places.entry(key).or_default().push(index);
            }
        }
        for (index, own) in a.instructions.iter().enumerate() {
            if matching.of_a[index].is_none()
                && !gone[index]
                && let Some(key) = key(own)
                && let Some(partner) = places.get_mut(&key).and_then(Vec::pop)
            {
                taken[partner] = true;
                gone[index] = true;
                pairs.push(Pair {
                    a: index,
                    b: partner,
                    kind: Match::Moved,
                });
            }
        }
    }
    pairs
}

/// Whether the instruction chooses the way.
pub(super) fn chooses(instruction: &Instr) -> bool {
    instruction.is_conditional()
}
