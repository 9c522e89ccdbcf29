//! Which instruction of one side is which of the other.
//!
//! Blocks are matched first: those that hold the same, then along the edges from blocks that are matched, then by what they have
//! in common. That gives side B an order of blocks in which partners stand as in A. Over these two sequences the
//! instructions are aligned ([`super::align`]), across block borders, so that what a compiler moved out of a block that it dissolved
//! still finds its partner. What is left over and means the same has moved. Two partners are *the same* if they agree under one
//! renaming of registers for the whole function; values only found the partners.

use super::align::{Sequences, align};
use super::class::{Class, atomic_operation};
use super::code::{Code, Instr, Token};
use super::flow::is_conditional;
use super::strength::comparable;
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

/// A renaming of registers: one to one.
#[derive(Default)]
struct Renaming {
    to_b: HashMap<u32, u32>,
    to_a: HashMap<u32, u32>,
}

impl Renaming {
    /// Whether two instructions agree; what is not named yet is bound.
    fn agrees(&mut self, a: &Instr, b: &Instr) -> bool {
        let mut same = a.name == b.name && a.operands.len() == b.operands.len();
        let paired = a.operands.iter().zip(&b.operands);
        let count = a.operands.len();
        if same && commutes(a) && count >= 3 {
            let (x, y) = (count - 2, count - 1);
            let straight = self.fits(&a.operands[x], &b.operands[x])
                && self.fits(&a.operands[y], &b.operands[y]);
            let crossed = self.fits(&a.operands[x], &b.operands[y])
                && self.fits(&a.operands[y], &b.operands[x]);
            if !straight && crossed {
                for (mine, theirs) in [(x, y), (y, x)] {
                    same &= self.bind(&a.operands[mine], &b.operands[theirs]);
                }
                for (mine, theirs) in paired.take(x) {
                    same &= self.bind(mine, theirs);
                }
                return same;
            }
        }
        for (mine, theirs) in paired {
            same &= self.bind(mine, theirs);
        }
        same
    }

    fn fits(&self, a: &[Token], b: &[Token]) -> bool {
        a.len() == b.len()
            && a.iter().zip(b).all(|pair| match pair {
                (Token::Register(x), Token::Register(y)) => {
                    match (self.to_b.get(x), self.to_a.get(y)) {
                        (Some(bound), _) => bound == y,
                        (None, Some(_)) => false,
                        (None, None) => true,
                    }
                }
                (x, y) => x == y,
            })
    }

    fn bind(&mut self, a: &[Token], b: &[Token]) -> bool {
        let fits = self.fits(a, b);
        for pair in a.iter().zip(b) {
            if let (Token::Register(x), Token::Register(y)) = pair
                && !self.to_b.contains_key(x)
                && !self.to_a.contains_key(y)
            {
                self.to_b.insert(*x, *y);
                self.to_a.insert(*y, *x);
            }
        }
        fits
    }
}

/// Whether the last two operands may change places.
fn commutes(instruction: &Instr) -> bool {
    let i = instruction.instr;
    match i.opcode.as_str() {
        "add" | "mul" | "and" | "or" | "xor" | "min" | "max" => i.operands.len() == 3,
        "setp" => i.operands.len() == 3 && (i.has("eq") || i.has("ne")),
        _ => false,
    }
}

/// B's instructions, its blocks ordered as their partners in A.
fn order(a: &Code, b: &Code) -> Vec<usize> {
    let partner = blocks(a, b);
    // A block without a partner follows the one before it.
    let mut keys: Vec<(usize, usize)> = Vec::with_capacity(b.flow.blocks.len());
    let mut last = 0;
    for (block, partner) in partner.iter().enumerate() {
        last = partner.unwrap_or(last);
        keys.push((last, block));
    }
    keys.sort_unstable();
    keys.iter()
        .flat_map(|&(_, block)| b.flow.blocks[block].instructions.iter().copied())
        .collect()
}

/// The block of A that each block of B is most likely to be.
fn blocks(a: &Code, b: &Code) -> Vec<Option<usize>> {
    let mut partners = Partners {
        a,
        b,
        of_a: vec![None; a.flow.blocks.len()],
        of_b: vec![None; b.flow.blocks.len()],
        bags: [bags(a), bags(b)],
    };
    if a.flow.blocks.is_empty() || b.flow.blocks.is_empty() {
        return partners.of_b;
    }
    let mut open = partners.equal();
    open.push((0, 0));
    open.reverse();
    while let Some((x, y)) = open.pop() {
        partners.join(x, y);
        if partners.of_a[x] != Some(y) {
            continue;
        }
        let (next, other) = (&a.flow.blocks[x].successors, &b.flow.blocks[y].successors);
        for (&next, &other) in next.iter().zip(other) {
            if partners.free(next, other) && partners.alike(next, other) >= 0.4 {
                open.push((next, other));
            }
        }
    }
    partners.rest();
    partners.of_b
}

/// The coarse keys of a block's instructions, sorted.
fn bags(code: &Code) -> Vec<Vec<u32>> {
    let bag = |block: &super::flow::FlowBlock| {
        let mut keys: Vec<u32> = block
            .instructions
            .iter()
            .map(|&i| code.instructions[i].weak)
            .collect();
        keys.sort_unstable();
        keys
    };
    code.flow.blocks.iter().map(bag).collect()
}

struct Partners<'c> {
    a: &'c Code<'c>,
    b: &'c Code<'c>,
    of_a: Vec<Option<usize>>,
    of_b: Vec<Option<usize>>,
    bags: [Vec<Vec<u32>>; 2],
}

/// Blocks of which every two are compared.
const COMPARED: usize = 256;

impl Partners<'_> {
    fn free(&self, x: usize, y: usize) -> bool {
        self.of_a[x].is_none() && self.of_b[y].is_none()
    }

    fn join(&mut self, x: usize, y: usize) {
        if self.free(x, y) {
            (self.of_a[x], self.of_b[y]) = (Some(y), Some(x));
        }
    }

    /// Blocks that hold the same, once on each side.
    fn equal(&self) -> Vec<(usize, usize)> {
        let strong = |code: &Code| {
            let mut seen: HashMap<Vec<u32>, Option<usize>> = HashMap::new();
            for (index, block) in code.flow.blocks.iter().enumerate() {
                let keys = block
                    .instructions
                    .iter()
                    .map(|&i| code.instructions[i].strong)
                    .collect();
                seen.entry(keys)
                    .and_modify(|place| *place = None)
                    .or_insert(Some(index));
            }
            seen
        };
        let (a, b) = (strong(self.a), strong(self.b));
        let mut equal: Vec<(usize, usize)> = a
            .iter()
            .filter_map(|(keys, place)| Some(((*place)?, (*b.get(keys)?)?)))
            .collect();
        equal.sort_unstable();
        equal
    }

    /// The part of their instructions that two blocks have in common, 0 to 1.
    fn alike(&self, x: usize, y: usize) -> f64 {
        let (a, b) = (&self.bags[0][x], &self.bags[1][y]);
        let (mut i, mut j, mut common) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            match a[i].cmp(&b[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => (i, j, common) = (i + 1, j + 1, common + 1),
            }
        }
        match a.len().max(b.len()) {
            0 => 1.0,
            longer => common as f64 / longer as f64,
        }
    }

    /// What is left, the most alike first; in long functions only as many as can be compared.
    fn rest(&mut self) {
        let left = |of: &[Option<usize>]| -> Vec<usize> {
            (0..of.len())
                .filter(|&block| of[block].is_none())
                .take(COMPARED)
                .collect()
        };
        let mut found = Vec::new();
        for &x in &left(&self.of_a) {
            for &y in &left(&self.of_b) {
                let alike = self.alike(x, y);
                if alike >= 0.5 {
                    found.push((x, y, alike));
                }
            }
        }
        found.sort_by(|l, r| {
            r.2.total_cmp(&l.2)
                .then((l.0.abs_diff(l.1)).cmp(&r.0.abs_diff(r.1)))
        });
        for (x, y, _) in found {
            self.join(x, y);
        }
    }
}

/// The two sequences as [`align`] wants them.
struct Aligned<'c> {
    a: &'c Code<'c>,
    b: &'c Code<'c>,
    order: &'c [usize],
}

impl Aligned<'_> {
    fn get(&self, second: bool, index: usize) -> &Instr<'_> {
        match second {
            true => &self.b.instructions[self.order[index]],
            false => &self.a.instructions[index],
        }
    }
}

impl Sequences for Aligned<'_> {
    type Key = u32;

    fn key(&self, second: bool, index: usize) -> u32 {
        self.get(second, index).strong
    }

    fn coarse(&self, second: bool, index: usize) -> u32 {
        self.get(second, index).weak
    }

    fn similarity(&self, first: usize, second: usize) -> u32 {
        similarity(self.get(false, first), self.get(true, second))
    }
}

/// How alike two instructions are; 0: no partners. What the classes weigh is in [`Class::weight`].
fn similarity(a: &Instr, b: &Instr) -> u32 {
    let weight = a.class.weight();
    let near = u32::from(a.site == b.site && a.site != 0);
    if a.strong == b.strong {
        return 10 * weight + near;
    }
    if a.class.is_access() || b.class.is_access() {
        return accesses(a, b) * weight + near * u32::from(accesses(a, b) > 0);
    }
    let synchronises = |i: &Instr| i.class.is_barrier() || i.class == Class::Fence;
    if (synchronises(a) || synchronises(b)) && !comparable(a.instr, b.instr) {
        return 0;
    }
    if synchronises(a) && a.name != b.name {
        // The same by another name, or a weaker one; rather of one class.
        return (3 + u32::from(a.class == b.class)) * weight + 2 * near;
    }
    match (a.opcode == b.opcode, a.name == b.name, a.weak == b.weak) {
        (_, true, true) => 6 * weight + 2 * near,
        (_, true, false) => 5 * weight + 2 * near,
        // A setp.lt is no partner of a setp.ge elsewhere.
        (true, false, _) if a.class != Class::Arithmetic || near > 0 => 3 * weight + 2 * near,
        _ => 0,
    }
}

fn accesses(a: &Instr, b: &Instr) -> u32 {
    let (Some(x), Some(y)) = (a.place, b.place) else {
        return 0;
    };
    let alike = match (a.class, b.class) {
        (Class::Load(_), Class::Load(_)) | (Class::Store(_), Class::Store(_)) => true,
        // A reduction is an atomic without its result (PTX ISA, "red").
        (Class::Atomic(_) | Class::Reduction(_), Class::Atomic(_) | Class::Reduction(_)) => {
            atomic_operation(a.instr) == atomic_operation(b.instr)
        }
        (Class::AsyncCopy(_), Class::AsyncCopy(_)) => true,
        _ => false,
    };
    if !alike || !x.may_share_space(&y) || x.is_apart(&y) {
        return 0;
    }
    match (x.base == y.base, x.offset == y.offset, x.width == y.width) {
        (true, true, true) => 8 + u32::from(a.name == b.name),
        (true, true, false) => 7,
        (true, false, true) => 1,
        (true, false, false) => 0,
        // Addresses that can't be compared: computed in another way, or from something else.
        (false, _, true) if a.site == b.site && a.site != 0 => 4 + u32::from(x.offset == y.offset),
        (false, _, true) => 2 + u32::from(x.offset == y.offset),
        (false, _, false) => 0,
    }
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
                    Class::Load(_) => 1,
                    Class::Store(_) => 2,
                    _ => 3,
                };
                Some((
                    kind,
                    atomic_operation(i.instr),
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
    is_conditional(instruction.instr)
}
