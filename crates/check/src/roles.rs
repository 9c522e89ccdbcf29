//! What the integers among a kernel's parameters are for, read from its PTX: sizes, or indices below a size.
//!
//! `for (k = 0; k < n; k++) step<<<…>>>(a, n, k)` passes a size and an index. Guessing the number of threads for both leads the kernel
//! to row `n` of `n` rows, which no caller asks for. So an abstract interpretation without regard to control flow keeps what each
//! register is a sum of, products of parameters, thread numbers and loop variables, and looks at three things:
//!
//! - addresses: `a[i * n + k]` multiplies a thread's number by a size, and adds an index; `a[k * n + j]` adds a product of the two;
//!   `a[n - 1 - i]` counts back from a size;
//! - comparisons with thread numbers: work is done below a size, beyond an index (`i > k`), or at it (`i == source`);
//! - shifts and exclusive ors: `1 << step`, `i ^ j`.
//!
//! It serves guesses alone, never a verdict. It sees the kernel, not the functions that it calls.

use super::usage::{address, collect, lanes};
use ptx::ast::{Function, Instruction, Operand, Stmt};
use ptx::semantics::{Modifier, Opcode, Space, TypedInstruction};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Terms of a sum beyond which a register tells nothing.
const TERMS: usize = 24;
/// Parameters that are multiplied, at most.
const FACTORS: usize = 3;
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
}

impl Index {
    /// The index of another setting: a part of what it stays below, in halves (2 is the last one), from 0.
    pub fn within(self, size: u64, halves: u64) -> u64 {
        let below = match self.bits {
            true => u64::from(size.max(1).ilog2()),
            false => size,
        };
        (below.saturating_mul(halves) / 2).min(below.saturating_sub(1))
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
}

/// A product: parameters, and whether something that varies is among the factors.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Product {
    parameters: Vec<usize>,
    thread: bool,
    loops: bool,
    data: bool,
    negative: bool,
}

impl Product {
    fn of(parameter: usize) -> Product {
        Product {
            parameters: vec![parameter],
            ..Product::default()
        }
    }

    fn varies(&self) -> bool {
        self.thread || self.loops || self.data
    }
}

/// A sum of products; constants are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    terms: BTreeSet<Product>,
    /// Whether a constant was taken away.
    less: bool,
    /// Whether a constant other than 0 was added or taken away.
    moved: bool,
}

impl Sum {
    fn one(product: Product) -> Sum {
        Sum {
            terms: BTreeSet::from([product]),
            ..Sum::default()
        }
    }

    fn data() -> Sum {
        Sum::one(Product {
            data: true,
            ..Product::default()
        })
    }

    fn add(&mut self, other: &Sum, negative: bool) {
        self.less |= other.less;
        self.moved |= other.moved;
        for term in &other.terms {
            let mut term = term.clone();
            term.negative ^= negative;
            self.terms.insert(term);
        }
        if self.terms.len() > TERMS {
            *self = Sum::data();
        }
    }

    fn times(&self, other: &Sum) -> Sum {
        // A constant changes nothing.
        if self.terms.is_empty() || other.terms.is_empty() {
            let constant = self.terms.is_empty();
            return if constant { other } else { self }.clone();
        }
        let mut all = Sum {
            terms: BTreeSet::new(),
            less: self.less || other.less,
            moved: self.moved || other.moved,
        };
        for a in &self.terms {
            for b in &other.terms {
                let mut parameters = [&a.parameters[..], &b.parameters[..]].concat();
                parameters.sort_unstable();
                parameters.truncate(FACTORS);
                all.terms.insert(Product {
                    parameters,
                    thread: a.thread || b.thread,
                    loops: a.loops || b.loops,
                    data: a.data || b.data,
                    negative: a.negative ^ b.negative,
                });
            }
        }
        if all.terms.len() > TERMS {
            return Sum::data();
        }
        all
    }

    /// The parameter that it is, but for a constant.
    fn parameter(&self) -> Option<usize> {
        let mut terms = self.terms.iter();
        let only = terms.next().filter(|_| terms.next().is_none())?;
        match only.parameters[..] {
            [one] if !only.varies() => Some(one),
            _ => None,
        }
    }

    fn has(&self, test: impl Fn(&Product) -> bool) -> bool {
        self.terms.iter().any(test)
    }
}

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Less,
    Greater,
    Equal,
}

/// A comparison of something that varies with a parameter.
#[derive(Clone, Copy)]
struct Compared {
    /// The instruction, counted from the start.
    at: usize,
    compare: Compare,
    parameter: usize,
    /// Whether thread numbers are compared, or loop variables alone.
    thread: bool,
    less: bool,
}

/// The parameters that are indices, if they are integers, each with where it starts.
pub fn indices(function: &Function) -> HashMap<usize, Index> {
    let body = function.body.as_deref().unwrap_or_default();
    let mut instructions = Vec::new();
    collect(body, &mut instructions);
    if instructions.len() > INSTRUCTIONS {
        return HashMap::new();
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
    reader.decide()
}

/// Those of a list in order that belong to the last place before another one.
fn last<T>(all: &[T], before: usize, place: impl Fn(&T) -> usize) -> &[T] {
    let all = &all[..all.partition_point(|one| place(one) < before)];
    let at = all.last().map_or(0, &place);
    &all[all.partition_point(|one| place(one) < at)..]
}

/// Where labels stand, in instructions from the start.
fn places<'a>(body: &'a [Stmt], at: &mut usize, labels: &mut HashMap<&'a str, usize>) {
    for stmt in body {
        match stmt {
            Stmt::Label(label) => drop(labels.insert(&label.name, *at)),
            Stmt::Instruction(_) => *at += 1,
            Stmt::Block(inner) => places(inner, at, labels),
            _ => {}
        }
    }
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
                    self.of(parameter).size = true;
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
                        self.of(parameter).size = true;
                    }
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

    fn compare(
        &mut self,
        at: usize,
        one: &'a Instruction,
        typed: &TypedInstruction,
        a: &Sum,
        b: &Sum,
    ) {
        let has = |all: &[Modifier]| all.iter().any(|m| typed.has(*m));
        let compare = match () {
            () if has(&[Modifier::Lt, Modifier::Le, Modifier::Lo, Modifier::Ls]) => Compare::Less,
            () if has(&[Modifier::Gt, Modifier::Ge, Modifier::Hi, Modifier::Hs]) => {
                Compare::Greater
            }
            () if has(&[Modifier::Eq, Modifier::Ne]) => Compare::Equal,
            () => return,
        };
        let flipped = match compare {
            Compare::Less => Compare::Greater,
            Compare::Greater => Compare::Less,
            Compare::Equal => Compare::Equal,
        };
        for (varying, other, compare) in [(a, b, compare), (b, a, flipped)] {
            // What one thread, or one element, is compared with: `i == source`, `depth[i] == level`. Not `i + 1 == n`.
            if let (Compare::Equal, Some(parameter)) = (compare, other.parameter())
                && varying.has(|p| p.thread || p.data)
                && !varying.moved
                && !other.moved
            {
                self.of(parameter).beyond = true;
            }
            let varies = varying.has(|p| p.thread || p.loops) && !varying.has(|p| p.data);
            if let (Some(parameter), true) = (other.parameter(), varies) {
                let compared = Compared {
                    at,
                    compare,
                    parameter,
                    thread: varying.has(|p| p.thread),
                    less: other.less,
                };
                for to in one.operands.first().into_iter().flat_map(lanes) {
                    self.compared.entry(to).or_default().push(compared);
                }
            }
        }
    }

    /// Which way each comparison lets threads work: branches forward leave work out, branches back do it again.
    fn branches(&mut self, instructions: &[&'a Instruction], labels: &HashMap<&str, usize>) {
        let compared = std::mem::take(&mut self.compared);
        // Predicates that others are made of: each with whether it is negated there.
        let mut parts: HashMap<&str, Vec<(usize, &str, bool)>> = HashMap::new();
        for (at, one) in instructions.iter().enumerate() {
            let typed = TypedInstruction::of(one);
            let negated = match typed.opcode {
                Opcode::And | Opcode::Or | Opcode::Mov => false,
                Opcode::Not => true,
                _ => continue,
            };
            for to in one.operands.first().into_iter().flat_map(lanes) {
                let from = one.operands.iter().skip(1).flat_map(lanes);
                let all = parts.entry(to).or_default();
                all.extend(from.map(|register| (at, register, negated)));
            }
        }
        for (at, one) in instructions.iter().enumerate() {
            let Some(guard) = &one.guard else { continue };
            let forward = match TypedInstruction::of(one).opcode {
                Opcode::Bra => match one.operands.first() {
                    Some(Operand::Name(label, _)) => {
                        labels.get(label.as_str()).is_none_or(|l| *l > at)
                    }
                    _ => continue,
                },
                Opcode::Ret | Opcode::Exit => true,
                _ => continue,
            };
            let mut open = vec![(guard.register.as_str(), forward ^ guard.negated)];
            let mut seen = HashSet::new();
            while let Some((predicate, skips)) = open.pop() {
                if !seen.insert(predicate) {
                    continue;
                }
                // Registers are written again: the last time before the branch counts.
                let inner = parts
                    .get(predicate)
                    .map_or(&[][..], |all| last(all, at, |p| p.0));
                open.extend(
                    inner
                        .iter()
                        .map(|(_, name, negated)| (*name, skips ^ negated)),
                );
                let compared = compared.get(predicate);
                let compared = compared.map_or(&[][..], |all| last(all, at, |c| c.at));
                for one in compared {
                    self.bound(one, skips);
                }
            }
        }
    }

    fn bound(&mut self, compared: &Compared, skips: bool) {
        let below = (compared.compare == Compare::Less) ^ skips;
        let evidence = self.of(compared.parameter);
        match (compared.compare, compared.thread) {
            (Compare::Equal, true) => {}
            (Compare::Equal, false) => evidence.loops = true,
            (_, true) if below => evidence.upper = true,
            (_, true) => evidence.beyond |= !compared.less,
            (_, false) if below => evidence.loops = true,
            (_, false) => {}
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
            let bits = one.bits;
            found.insert(parameter, Index { start, bits });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::ast::Item;

    const THREAD: &str = "mov.u32 %r1, %ntid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %i, %r2, %r1, %r3;
         ld.param.u64 %a, [p0]; ld.param.u32 %n, [p1]; ld.param.u32 %k, [p2];";
    /// Loads element `%at`.
    const LOAD: &str = "mul.wide.s32 %o, %at, 4; add.s64 %b, %a, %o; ld.global.f32 %f, [%b];";

    /// The indices of a kernel of an array, `n` and `k`, by their places.
    fn found(body: &str) -> Vec<(usize, u64, bool)> {
        let body = body.replace("LOAD", LOAD);
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p0, .param .u32 p1, .param .u32 p2)\n{{\n{THREAD}\n{body}\nEND: ret;\n}}\n"
        );
        let module = ptx::parse(&text).expect("valid PTX");
        let function = module.items.iter().find_map(|item| match item {
            Item::Function(f) => Some(f),
            _ => None,
        });
        let mut all: Vec<_> = indices(function.expect("a function"))
            .into_iter()
            .filter(|(place, _)| *place > 0)
            .map(|(place, index)| (place, index.start, index.bits))
            .collect();
        all.sort_unstable();
        all
    }

    const BELOW_N: &str = "setp.ge.s32 %p, %i, %n; @%p bra END;";

    #[test]
    fn a_row_and_a_column_are_indices() {
        // `a[i * n + k]`, `a[k * n + i]`
        let column = "mad.lo.s32 %at, %i, %n, %k; LOAD";
        let row = "mad.lo.s32 %at, %k, %n, %i; LOAD";
        assert_eq!(found(column), [(2, 0, false)]);
        assert_eq!(found(&format!("{BELOW_N} {row}")), [(2, 0, false)]);
        // `a[h * w + i * w]`: both are sizes where threads stay below both.
        let plane = "setp.ge.s32 %q, %i, %k; or.pred %p, %p, %q; @%p bra END;";
        let plane = format!("setp.ge.s32 %p, %i, %n; {plane} {row} {column}");
        assert_eq!(found(&plane), []);
    }

    #[test]
    fn threads_work_below_sizes_and_beyond_indices() {
        let at = "mov.u32 %at, %i; LOAD";
        let beyond =
            "setp.le.s32 %p, %i, %k; setp.ge.s32 %q, %i, %n; or.pred %p3, %p, %q; @%p3 bra END;";
        assert_eq!(found(&format!("{beyond} {at}")), [(2, 0, false)]);
        let other = "setp.gt.s32 %p, %i, %k; @!%p bra END;";
        assert_eq!(found(&format!("{BELOW_N} {other} {at}")), [(2, 0, false)]);
        let source = "setp.ne.s32 %p, %i, %k; @%p bra END;";
        assert_eq!(found(&format!("{BELOW_N} {source} {at}")), [(2, 0, false)]);
        // Whatever is done with it, and of an element as of a thread.
        let chosen = "setp.eq.s32 %p, %i, %k; selp.b32 %at, 0, %i, %p; LOAD";
        assert_eq!(found(&format!("{BELOW_N} {chosen}")), [(2, 0, false)]);
        let level =
            "mov.u32 %at, %i; LOAD setp.ne.s32 %p, %f, %k; @%p bra END; st.global.u32 [%b], %n;";
        assert_eq!(found(&format!("{BELOW_N} {level}")), [(2, 0, false)]);
        let around = "add.s32 %at, %i, 1; setp.eq.s32 %p, %at, %k; selp.b32 %at, 0, %at, %p; LOAD";
        assert_eq!(found(around), []);
        // The last thread: `i == k - 1`.
        let last = "add.s32 %l, %k, -1; setp.ne.s32 %p, %i, %l; @%p bra END;";
        assert_eq!(found(&format!("{last} {at}")), []);
        // `for (j = i; j < k; j++)`
        let around = "mov.u32 %j, %i; AGAIN: mov.u32 %at, %j; LOAD add.s32 %j, %j, 1; setp.lt.s32 %p, %j, %k; @%p bra AGAIN;";
        assert_eq!(found(around), []);
    }

    #[test]
    fn halves_and_mirrors_are_sizes() {
        let half = "setp.ge.s32 %p, %i, %k; @%p bra END; add.s32 %at, %i, %k; LOAD";
        assert_eq!(found(half), []);
        assert_eq!(found("sub.s32 %at, %k, %i; LOAD"), []);
        assert_eq!(found("not.b32 %m, %i; add.s32 %at, %m, %k; LOAD"), []);
        assert_eq!(found("add.s32 %at, %k, -1; LOAD"), []);
        let last = "add.s32 %l, %k, -1; mad.lo.s32 %at, %l, %n, %i; LOAD";
        assert_eq!(found(&format!("{BELOW_N} {last}")), []);
        let last = "mad.lo.s32 %l, %k, %n, %i; sub.s32 %at, %l, %n; LOAD";
        assert_eq!(found(&format!("{BELOW_N} {last}")), []);
    }

    #[test]
    fn offsets_begin_at_one() {
        let back = "sub.s32 %at, %i, %k; LOAD";
        assert_eq!(found(&format!("{BELOW_N} {back}")), [(2, 1, false)]);
        let partner = "xor.b32 %at, %i, %k; LOAD";
        assert_eq!(found(partner), [(2, 1, false)]);
        let bits = "shl.b32 %s, 1, %k; rem.s32 %q, %i, %s; add.s32 %at, %i, %s; LOAD";
        assert_eq!(found(&format!("{BELOW_N} {bits}")), [(2, 0, true)]);
        assert_eq!(
            found(&format!("{BELOW_N} add.s32 %at, %i, %k; LOAD")),
            [(2, 0, false)]
        );
    }

    #[test]
    fn other_settings_stay_below_the_size() {
        let index = Index {
            start: 0,
            bits: false,
        };
        assert_eq!([2, 1, 0].map(|h| index.within(100, h)), [99, 50, 0]);
        assert_eq!([2, 1, 0].map(|h| index.within(0, h)), [0, 0, 0]);
        let bits = Index {
            start: 0,
            bits: true,
        };
        assert_eq!([2, 1, 0].map(|h| bits.within(64, h)), [5, 3, 0]);
    }
}
