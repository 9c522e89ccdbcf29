//! What the integers among a kernel's parameters are for, read from its PTX: sizes, or indices below a size.
//!
//! `for (k = 0; k < n; k++) step<<<…>>>(a, n, k)` passes a size and an index. Guessing the number of threads for both leads the kernel
//! to row `n` of `n` rows, which no caller asks for. So an abstract interpretation without regard to control flow keeps what each
//! register is a sum of, products of parameters, thread numbers and loop variables, and looks at three things:
//!
//! - addresses: `a[i * n + k]` multiplies a thread's number by a size, and adds an index; `a[k * n + j]` adds a product of the two;
//!   `a[n - 1 - i]` counts back from a size;
//! - comparisons with thread numbers: work is done below a size, beyond an index (`i > k`), or at it (`i == source`); and with 0:
//!   a kernel that asks whether an index is 0 is called with 0;
//! - shifts and exclusive ors: `1 << step`, `i ^ j`.
//!
//! It also tells which parameters the kernel asks its threads about. `if (i < n)` lets callers pass any `n`; a kernel that multiplies by
//! `n` and never asks works with those alone that fit its launch.
//!
//! It serves guesses alone, never a verdict. It sees the kernel, not the functions that it calls.

mod compare;
mod sum;
#[cfg(test)]
mod tests;

use super::usage::{address, collect, lanes};
use compare::{Compared, places};
use ptx::ast::{Function, Instruction, Operand};
use ptx::semantics::{Modifier, Opcode, Space, TypedInstruction};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use sum::{Product, Sum};

/// Instructions of a kernel that is read, at most: nobody writes a longer one by hand.
const INSTRUCTIONS: usize = 100_000;
/// Passes until nothing changes; long chains are rare.
const PASSES: usize = 16;

/// A parameter that is an index, or the number of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its first value.
    pub start: u64,
    /// Whether it counts bits: it stays below the logarithm of the size.
    pub bits: bool,
    /// Whether the kernel asks if it is 0, so that 0 is one of its values.
    pub zero: bool,
}

impl Index {
    /// The index of another setting: a part of what it stays below, in halves (2 is the last one), and no less than its first value.
    pub fn within(self, size: u64, halves: u64) -> u64 {
        let below = match self.bits {
            true => u64::from(size.max(1).ilog2()),
            false => size,
        };
        let part = below.saturating_mul(halves) / 2;
        part.min(below.saturating_sub(1)).max(self.start)
    }
}

/// What is known of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Evidence {
    /// Multiplied by something that varies, or divided by, or counted back from: a size.
    size: bool,
    /// Threads below it work.
    upper: bool,
    /// A loop goes up to it.
    loops: bool,
    /// Threads beyond it, or at it, work.
    beyond: bool,
    /// Added in an address.
    added: bool,
    /// Added there less a constant: the last element, most likely.
    less: bool,
    /// Subtracted from a thread's number, or combined with it bit by bit: 0 would do nothing.
    offset: bool,
    /// A number of bits to shift by.
    bits: bool,
    /// Compared with 0.
    zero: bool,
    /// Compared with what varies from thread to thread, or what wraps or stops there: any value will do.
    asked: bool,
}

/// What a kernel's integers are for.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// The parameters that are indices, if they are integers, each with where it starts.
    pub indices: HashMap<usize, Index>,
    /// The parameters that the kernel compares with something of its threads, and with no other parameter beside.
    pub asked: HashSet<usize>,
}

/// Reads the roles of a kernel's parameters; `None` where the kernel is too long.
pub fn roles(function: &Function) -> Option<Roles> {
    let body = function.body.as_deref().unwrap_or_default();
    let mut instructions = Vec::new();
    collect(body, &mut instructions);
    if instructions.len() > INSTRUCTIONS {
        return None;
    }
    let mut labels = HashMap::new();
    places(body, &mut 0, &mut labels);
    let parameters = function.params.iter().enumerate();
    let mut reader = Reader {
        parameters: parameters.map(|(i, p)| (p.name.as_str(), i)).collect(),
        written: HashMap::new(),
        sums: HashMap::new(),
        compared: HashMap::new(),
        evidence: BTreeMap::new(),
        products: BTreeSet::new(),
    };
    for one in &instructions {
        for to in one.operands.first().into_iter().flat_map(lanes) {
            *reader.written.entry(to).or_default() += 1;
        }
    }
    for _ in 0..PASSES {
        let changed = instructions.iter().filter(|one| reader.step(one)).count();
        if changed == 0 {
            break;
        }
    }
    for (at, one) in instructions.iter().enumerate() {
        reader.look(at, one);
    }
    reader.branches(&instructions, &labels);
    let asked = reader.evidence.iter().filter(|(_, e)| e.asked);
    Some(Roles {
        asked: asked.map(|(parameter, _)| *parameter).collect(),
        indices: reader.decide(),
    })
}

/// Whether a name says that it is the number of a number's digits in base 2.
pub fn is_exponent(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = name.rsplit(['.', '>', ' ']).next().unwrap_or_default();
    plain.ends_with("bits") || plain.starts_with("log") || plain.ends_with("log2")
}

struct Reader<'a> {
    parameters: HashMap<&'a str, usize>,
    /// How often each register is written: what is written twice varies.
    written: HashMap<&'a str, usize>,
    sums: HashMap<&'a str, Sum>,
    /// By predicate.
    compared: HashMap<&'a str, Vec<Compared>>,
    evidence: BTreeMap<usize, Evidence>,
    /// Products of two parameters that are added in an address.
    products: BTreeSet<(usize, usize)>,
}

impl<'a> Reader<'a> {
    fn sum(&self, operand: &Operand) -> Sum {
        match operand {
            Operand::Name(name, _) => match name.as_str() {
                "%tid" | "%ctaid" | "%laneid" | "%warpid" => Sum::one(Product {
                    thread: true,
                    ..Product::default()
                }),
                name => self.sums.get(name).cloned().unwrap_or_default(),
            },
            Operand::Neg(inner) => {
                let mut sum = Sum::default();
                sum.add(&self.sum(inner), true);
                sum.less |= matches!(**inner, Operand::Int(..));
                sum.moved |= sum.less;
                sum
            }
            // A negative literal may be written as a large one.
            Operand::Int(value, _) => Sum {
                less: (*value as i64) < 0
                    || *value > u64::from(i32::MAX as u32) && *value <= u64::from(u32::MAX),
                moved: *value != 0,
                ..Sum::default()
            },
            _ => Sum::default(),
        }
    }

    /// Follows sums through one instruction; whether something is new.
    fn step(&mut self, one: &'a Instruction) -> bool {
        let typed = TypedInstruction::of(one);
        let operand = |at: usize| one.operands.get(at).map(|o| self.sum(o));
        let (a, b) = (
            operand(1).unwrap_or_default(),
            operand(2).unwrap_or_default(),
        );
        let sum = match &typed.opcode {
            Opcode::Ld
                if typed
                    .memory
                    .as_ref()
                    .is_some_and(|m| m.space == Space::Param) =>
            {
                let index = one.operands.get(1).and_then(address);
                let index = index.filter(|(_, offset)| *offset == 0);
                let index = index.and_then(|(base, _)| self.parameters.get(base));
                index.map_or(Sum::data(), |index| Sum::one(Product::of(*index)))
            }
            Opcode::Mov | Opcode::Cvta | Opcode::Cvt | Opcode::Abs => a,
            Opcode::Add | Opcode::Or | Opcode::Min | Opcode::Max | Opcode::Selp => {
                let mut sum = a;
                sum.add(&b, false);
                sum
            }
            Opcode::Sub => {
                let mut sum = a;
                sum.add(&b, true);
                sum
            }
            Opcode::Neg | Opcode::Not => {
                let mut sum = Sum::default();
                sum.add(&a, true);
                sum
            }
            Opcode::Mul | Opcode::Mul24 if !typed.has(Modifier::Hi) => a.times(&b),
            Opcode::Mad | Opcode::Mad24 if !typed.has(Modifier::Hi) => {
                let mut sum = a.times(&b);
                sum.add(&operand(3).unwrap_or_default(), false);
                sum
            }
            // A part of the number varies as the number does.
            Opcode::Div | Opcode::Shr | Opcode::Rem | Opcode::And | Opcode::Xor => {
                let mut sum = a;
                sum.add(&b, false);
                sum.less = false;
                sum
            }
            // `1 << step`
            Opcode::Shl => match a.terms.is_empty() {
                true => b,
                false => a,
            },
            Opcode::Setp | Opcode::Bra | Opcode::St | Opcode::Red => return false,
            _ => Sum::data(),
        };
        let mut changed = false;
        for to in one.operands.first().into_iter().flat_map(lanes) {
            let before = self.sums.entry(to).or_default();
            let mut now = before.clone();
            now.add(&sum, false);
            if self.written.get(to).is_some_and(|count| *count > 1) {
                now.terms.insert(Product {
                    loops: true,
                    ..Product::default()
                });
            }
            changed |= now != *before;
            *before = now;
        }
        changed
    }

    fn of(&mut self, parameter: usize) -> &mut Evidence {
        self.evidence.entry(parameter).or_default()
    }

    /// What one instruction says of parameters, when it is known what registers hold.
    fn look(&mut self, at: usize, one: &'a Instruction) {
        let typed = TypedInstruction::of(one);
        let operand = |at: usize| {
            one.operands
                .get(at)
                .map(|o| self.sum(o))
                .unwrap_or_default()
        };
        let (a, b) = (operand(1), operand(2));
        let thread = |sum: &Sum| sum.has(|p| p.thread);
        match &typed.opcode {
            Opcode::Div | Opcode::Rem => {
                if let Some(parameter) = b.parameter() {
                    let one = self.of(parameter);
                    one.size = true;
                    one.asked |= a.has(|p| p.thread || p.data);
                }
            }
            // `n / 2` is half of a size.
            Opcode::Shr if matches!(one.operands.get(2), Some(Operand::Int(1, _))) => {
                for product in a.terms.iter().filter(|p| !p.varies()) {
                    for parameter in &product.parameters {
                        self.of(*parameter).size = true;
                    }
                }
            }
            Opcode::Shl | Opcode::Shr => {
                if let Some(parameter) = b.parameter() {
                    self.of(parameter).bits = true;
                }
            }
            Opcode::Xor | Opcode::And => {
                for (sum, other) in [(&a, &b), (&b, &a)] {
                    if let (Some(parameter), true) = (sum.parameter(), thread(other)) {
                        self.of(parameter).offset = true;
                    }
                }
            }
            // `min(i, n - 1)`
            Opcode::Min | Opcode::Max => {
                for (sum, other) in [(&a, &b), (&b, &a)] {
                    if let (Some(parameter), true) = (sum.parameter(), other.has(Product::varies)) {
                        let one = self.of(parameter);
                        one.size = true;
                        one.asked = true;
                    }
                }
            }
            // What a function gets that is called.
            Opcode::St
                if typed
                    .memory
                    .as_ref()
                    .is_some_and(|m| m.space == Space::Param) =>
            {
                for parameter in a.terms.iter().flat_map(|p| &p.parameters) {
                    self.of(*parameter).asked = true;
                }
            }
            Opcode::Setp => self.compare(at, one, &typed, &a, &b),
            _ => {}
        }
        let space = typed.memory.as_ref().map(|memory| memory.space);
        if space.is_some_and(|space| space != Space::Param) {
            for (base, offset) in one.operands.iter().filter_map(address) {
                let mut sum = self.sums.get(base).cloned().unwrap_or_default();
                sum.less |= offset < 0;
                self.access(&sum);
            }
        }
    }

    fn access(&mut self, sum: &Sum) {
        let back = sum.has(|p| p.negative && (p.thread || p.loops));
        // `(k - 1) * n` is the last row of `k`, also as `k * n - n`.
        let last_row = sum.less || sum.has(|p| p.negative && !p.varies());
        for product in &sum.terms {
            if product.varies() {
                for parameter in &product.parameters {
                    self.of(*parameter).size = true;
                }
                continue;
            }
            match product.parameters[..] {
                [one] => {
                    let one = self.of(one);
                    one.added = true;
                    one.size |= back && !product.negative;
                    one.offset |= product.negative;
                    one.less |= sum.less;
                }
                [one, other] if !last_row => drop(self.products.insert((one, other))),
                _ => {}
            }
        }
    }

    fn decide(&self) -> HashMap<usize, Index> {
        let is_size = |p: usize| self.evidence.get(&p).is_some_and(|e| e.size || e.upper);
        let mut found = HashMap::new();
        let none = Evidence::default();
        let known = self.evidence.keys().copied();
        let multiplied = self.products.iter().flat_map(|(a, b)| [*a, *b]);
        for parameter in known.chain(multiplied) {
            let one = self.evidence.get(&parameter).unwrap_or(&none);
            let row = self
                .products
                .iter()
                .any(|(a, b)| *a == parameter && is_size(*b) || *b == parameter && is_size(*a));
            let added = one.added && !one.less && !one.loops;
            let is_index = one.bits || one.offset || one.beyond || row || added;
            // What is made of a shift may well be a size: `i % (2 << step)`.
            if !is_index || is_size(parameter) && !one.bits {
                continue;
            }
            let start = u64::from(!one.bits && (one.offset || one.loops));
            let (bits, zero) = (one.bits, one.zero);
            found.insert(parameter, Index { start, bits, zero });
        }
        found
    }
}
