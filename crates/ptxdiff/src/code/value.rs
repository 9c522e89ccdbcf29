//! Values by what they are computed from, with registers named away.
//!
//! A value is a node of one table that both sides of a diff share, so that equal expressions have equal numbers
//! (value numbering by hashing, as in B. K. Rosen, M. N. Wegman, F. K. Zadeck, "Global Value Numbers and Redundant
//! Computations", POPL 1988, without the congruence of loops). Integer sums are kept as `constant + Σ factor · value`, which is what
//! turns `%rd4` into `data + 4·tid.x`.
//!
//! What it cannot see: widths and overflow (an address form says what the sum is where nothing wraps), values that differ from
//! way to way (a [`Node::Merge`] is told from others by what its definitions look like, not by what they are), and what memory
//! holds (two loads of one place are one value here). So numbers find partners and name addresses; that two sides are *the same* is
//! decided by their registers, in [`crate::compare`].

use super::Root;
use ptx::semantics::{Modifiers, Opcode};
use std::collections::{HashMap, HashSet};

/// Number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);

impl Value {
    /// As a number: equal for equal values.
    pub(super) fn number(self) -> i64 {
        i64::from(self.0)
    }
}

/// How a value comes about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// An integer.
    Int(i64),
    /// A literal of another kind, as PTX writes it.
    Literal(String),
    /// The address of a variable, by its plain name.
    Symbol(String),
    /// What the kernel's parameter of this index holds, some bytes in.
    Parameter(u32, i64),
    /// A special register: `%tid.x`.
    Special(String),
    /// `constant + Σ factor · value`: at least two parts, or a factor other than 1.
    Sum(Vec<(Value, i64)>, i64),
    /// An instruction, with its modifiers, and what it works on.
    Computed(Opcode, Modifiers, Vec<Value>),
    /// Something that operands are put together by: a vector, a negation, a lane of a result.
    Operation(String, Vec<Value>),
    /// What a place in memory holds.
    Load(String, Value),
    /// One of several definitions, known by the looks of each.
    Merge(Vec<u32>),
    /// Nothing is known.
    Unknown,
}

/// Terms beyond which a sum is no longer spelled out: addresses have few.
const TERMS: usize = 8;

/// Parts of values that are compared one by one.
const PARTS: usize = 256;

/// All values of both sides, and all words.
#[derive(Debug, Default)]
pub struct Values {
    nodes: Vec<Node>,
    numbers: HashMap<Node, Value>,
    /// Whether a value holds nothing that differs from way to way, at any depth.
    fixed: Vec<bool>,
    words: HashMap<String, u32>,
}

impl Values {
    /// The number of a node.
    pub fn intern(&mut self, node: Node) -> Value {
        if let Some(&value) = self.numbers.get(&node) {
            return value;
        }
        let value = Value(self.nodes.len() as u32);
        let fixed = |value: &Value| self.fixed[value.0 as usize];
        let is_fixed = match &node {
            Node::Merge(_) | Node::Unknown => false,
            Node::Sum(terms, _) => terms.iter().all(|(term, _)| fixed(term)),
            Node::Operation(_, operands) | Node::Computed(_, _, operands) => {
                operands.iter().all(fixed)
            }
            Node::Load(_, address) => fixed(address),
            _ => true,
        };
        self.fixed.push(is_fixed);
        self.nodes.push(node.clone());
        self.numbers.insert(node, value);
        value
    }

    /// The number of a text.
    pub fn word(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.words.get(text) {
            return number;
        }
        let number = self.words.len() as u32;
        self.words.insert(text.to_owned(), number);
        number
    }

    /// How a value comes about.
    pub fn node(&self, value: Value) -> &Node {
        &self.nodes[value.0 as usize]
    }

    /// An integer.
    pub fn int(&mut self, value: i64) -> Value {
        self.intern(Node::Int(value))
    }

    /// The integer that a value is.
    pub fn constant(&self, value: Value) -> Option<i64> {
        match self.node(value) {
            Node::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// A value as a sum.
    fn parts(&self, value: Value) -> (Vec<(Value, i64)>, i64) {
        match self.node(value) {
            Node::Int(constant) => (Vec::new(), *constant),
            Node::Sum(terms, constant) => (terms.clone(), *constant),
            _ => (vec![(value, 1)], 0),
        }
    }

    fn sum(&mut self, mut terms: Vec<(Value, i64)>, constant: i64) -> Value {
        terms.sort_unstable();
        terms.dedup_by(|next, kept| {
            let equal = next.0 == kept.0;
            if equal {
                kept.1 = kept.1.wrapping_add(next.1);
            }
            equal
        });
        terms.retain(|(_, factor)| *factor != 0);
        match (terms.as_slice(), constant) {
            ([], constant) => self.int(constant),
            ([(only, 1)], 0) => *only,
            _ => self.intern(Node::Sum(terms, constant)),
        }
    }

    /// `a + factor · b`.
    pub fn add(&mut self, a: Value, b: Value, factor: i64) -> Value {
        let (mut terms, constant) = self.parts(a);
        let (more, other) = self.parts(b);
        if terms.len() + more.len() > TERMS {
            let b = self.scale(b, factor);
            return self.intern(Node::Computed(
                Opcode::Add,
                Modifiers::default(),
                vec![a.min(b), a.max(b)],
            ));
        }
        terms.extend(more.iter().map(|&(v, f)| (v, f.wrapping_mul(factor))));
        self.sum(terms, constant.wrapping_add(other.wrapping_mul(factor)))
    }

    /// `factor · a`.
    pub fn scale(&mut self, a: Value, factor: i64) -> Value {
        let (mut terms, constant) = self.parts(a);
        for (_, own) in &mut terms {
            *own = own.wrapping_mul(factor);
        }
        self.sum(terms, constant.wrapping_mul(factor))
    }

    /// `a · b`.
    pub fn multiply(&mut self, a: Value, b: Value) -> Value {
        match (self.constant(a), self.constant(b)) {
            (Some(factor), _) => self.scale(b, factor),
            (_, Some(factor)) => self.scale(a, factor),
            _ => self.intern(Node::Computed(
                Opcode::Mul,
                Modifiers::default(),
                vec![a.min(b), a.max(b)],
            )),
        }
    }

    /// A value without its constant, and the constant: two addresses with one base are a known distance apart.
    pub fn split(&mut self, value: Value) -> (Value, i64) {
        let (terms, constant) = self.parts(value);
        (self.sum(terms, 0), constant)
    }

    /// What an address starts from.
    pub fn root(&self, address: Value) -> Root {
        let root = |value: Value| match self.node(value) {
            Node::Symbol(_) => Root::Variable(value),
            Node::Parameter(..) => Root::Parameter(value),
            _ => Root::Unknown,
        };
        let Node::Sum(terms, _) = self.node(address) else {
            return root(address);
        };
        let roots = terms.iter().filter(|(_, factor)| *factor == 1);
        let mut roots = roots
            .map(|(value, _)| root(*value))
            .filter(|root| *root != Root::Unknown);
        match (roots.next(), roots.next()) {
            (Some(only), None) => only,
            _ => Root::Unknown,
        }
    }

    /// Whether a value's form holds nothing that differs from way to way; what is nested deeper than `depth` is taken for known.
    pub fn is_known(&self, value: Value, depth: u32) -> bool {
        if depth == 0 {
            return true;
        }
        let known = |value: &Value| self.is_known(*value, depth - 1);
        match self.node(value) {
            Node::Merge(_) | Node::Unknown => false,
            Node::Sum(terms, _) => terms.iter().all(|(term, _)| known(term)),
            Node::Operation(_, operands) | Node::Computed(_, _, operands) => {
                operands.iter().all(known)
            }
            Node::Load(_, address) => known(address),
            _ => true,
        }
    }

    /// `a - b`, as terms and a constant.
    pub fn minus(&self, a: Value, b: Value) -> (Vec<(Value, i64)>, i64) {
        let ((mut terms, constant), (others, other)) = (self.parts(a), self.parts(b));
        for (value, factor) in others {
            match terms.iter_mut().find(|(own, _)| *own == value) {
                Some((_, own)) => *own = own.wrapping_sub(factor),
                None => terms.push((value, factor.wrapping_neg())),
            }
        }
        terms.retain(|(_, factor)| *factor != 0);
        (terms, constant.wrapping_sub(other))
    }

    /// Whether a value's form holds nothing that differs from way to way.
    pub fn is_fixed(&self, value: Value) -> bool {
        self.fixed[value.0 as usize]
    }

    /// Whether two values are made in the same way, each of one value that differs from way to way: `i + 1` and `j + 1`.
    pub fn vary_alike(&self, a: Value, b: Value) -> bool {
        // The values that differ, and pairs that need not be looked at again.
        let (mut varying, mut seen) = (None, HashSet::new());
        let mut open = vec![(a, b)];
        while let Some((x, y)) = open.pop() {
            if !seen.insert((x, y)) || x == y && self.is_fixed(x) {
                continue;
            }
            let (of, from) = match (self.node(x), self.node(y)) {
                (Node::Merge(_), Node::Merge(_)) => {
                    if *varying.get_or_insert((x, y)) != (x, y) {
                        return false;
                    }
                    continue;
                }
                (Node::Sum(..), Node::Sum(..)) => match self.left_over(x, y) {
                    Some(pair) => {
                        open.push(pair);
                        continue;
                    }
                    None => return false,
                },
                (Node::Computed(p, first, of), Node::Computed(q, second, from))
                    if (p, first) == (q, second) =>
                {
                    (of, from)
                }
                (Node::Operation(p, of), Node::Operation(q, from)) if p == q => (of, from),
                _ => return false,
            };
            if of.len() != from.len() || seen.len() > PARTS {
                return false;
            }
            open.extend(of.iter().copied().zip(from.iter().copied()));
        }
        varying.is_some()
    }

    /// The terms of two sums that are left besides those that both have, where they are one each with one factor.
    fn left_over(&self, a: Value, b: Value) -> Option<(Value, Value)> {
        let ((first, x), (second, y)) = (self.parts(a), self.parts(b));
        let rest = |of: &[(Value, i64)], other: &[(Value, i64)]| -> Vec<(Value, i64)> {
            let known = |term: &(Value, i64)| other.contains(term) && self.is_fixed(term.0);
            of.iter().filter(|term| !known(term)).copied().collect()
        };
        match (&rest(&first, &second)[..], &rest(&second, &first)[..]) {
            ([(one, factor)], [(two, other)]) if factor == other && x == y => Some((*one, *two)),
            _ => None,
        }
    }

    /// Whether a value is the same for all threads and at all times: made of constants, variables and parameters alone.
    pub fn is_uniform(&self, value: Value) -> bool {
        match self.node(value) {
            Node::Int(_) | Node::Symbol(_) | Node::Parameter(..) => true,
            Node::Sum(terms, _) => terms.iter().all(|(term, _)| self.is_uniform(*term)),
            _ => false,
        }
    }

    /// Whether `whole` is `a + b`.
    pub fn is_sum(&self, whole: Value, a: Value, b: Value) -> bool {
        let ((mut terms, constant), (mut others, other)) = (self.minus(whole, a), self.parts(b));
        terms.sort_unstable();
        others.sort_unstable();
        terms == others && constant == other
    }

    /// A value in words: `scratch + 4*tid.x + 128`; what is nested deeper than `depth` is `…`. Parameters are
    /// called by their place among `parameters`, or `param0` and so on beyond them.
    pub fn show(&self, value: Value, depth: u32, parameters: &[String]) -> String {
        match self.node(value) {
            Node::Int(value) => value.to_string(),
            Node::Symbol(name) => name
                .strip_prefix("param")
                .and_then(|index| parameters.get(index.parse::<usize>().ok()?))
                .unwrap_or(name)
                .clone(),
            Node::Literal(text) => text.clone(),
            Node::Parameter(index, offset) => {
                let name = parameters.get(*index as usize);
                let name = name.map_or_else(|| format!("param{index}"), String::clone);
                match offset {
                    0 => name,
                    // As in the operand of `ld.param`.
                    offset => format!("[{name}+{offset}]"),
                }
            }
            Node::Special(name) => name.trim_start_matches('%').to_owned(),
            Node::Merge(_) | Node::Unknown => "…".to_owned(),
            _ if depth == 0 => "…".to_owned(),
            Node::Sum(terms, constant) => self.show_sum(terms, *constant, depth, parameters),
            Node::Load(_, address) => format!("[{}]", self.show(*address, depth - 1, parameters)),
            Node::Computed(opcode, _, operands) => {
                let shown = |v: &Value| self.show(*v, depth - 1, parameters);
                match (infix(opcode), operands.as_slice()) {
                    (Some(symbol), [a, b]) => format!("({} {symbol} {})", shown(a), shown(b)),
                    _ => self.show_call(opcode.name(), operands, depth, parameters),
                }
            }
            Node::Operation(name, operands) => {
                // `.x` of a register, `lane1` of a result.
                let name = name.split('.').next().unwrap_or(name);
                self.show_call(name, operands, depth, parameters)
            }
        }
    }

    fn show_call(
        &self,
        name: &str,
        operands: &[Value],
        depth: u32,
        parameters: &[String],
    ) -> String {
        let shown: Vec<String> = operands
            .iter()
            .map(|v| self.show(*v, depth - 1, parameters))
            .collect();
        format!("{name}({})", shown.join(", "))
    }

    fn show_sum(
        &self,
        terms: &[(Value, i64)],
        constant: i64,
        depth: u32,
        parameters: &[String],
    ) -> String {
        // What the memory belongs to comes first.
        let rank = |value: Value| match self.node(value) {
            Node::Symbol(_) => 0,
            Node::Parameter(..) => 1,
            _ => 2,
        };
        let mut terms: Vec<_> = terms.iter().collect();
        terms.sort_by_key(|(value, _)| rank(*value));
        let mut text = String::new();
        for (value, factor) in terms {
            let shown = self.show(*value, depth - 1, parameters);
            let sign = if *factor < 0 { "-" } else { "+" };
            match (text.is_empty(), factor.unsigned_abs()) {
                (true, 1) if *factor > 0 => text = shown,
                (true, _) => text = format!("{factor}*{shown}"),
                (false, 1) => text += &format!(" {sign} {shown}"),
                (false, size) => text += &format!(" {sign} {size}*{shown}"),
            }
        }
        match constant {
            0 => text,
            constant if constant < 0 => format!("{text} - {}", constant.unsigned_abs()),
            constant => format!("{text} + {constant}"),
        }
    }
}

fn infix(opcode: &Opcode) -> Option<&'static str> {
    Some(match opcode {
        Opcode::Add => "+",
        Opcode::Mul => "*",
        Opcode::And => "&",
        Opcode::Or => "|",
        Opcode::Xor => "^",
        Opcode::Shl => "<<",
        Opcode::Shr => ">>",
        Opcode::Rem => "%",
        Opcode::Div => "/",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_spelled_one_way() {
        let mut values = Values::default();
        let tid = values.intern(Node::Special("%tid.x".into()));
        let base = values.intern(Node::Symbol("tile".into()));
        let four = values.int(4);
        let scaled = values.multiply(tid, four);
        let left = values.add(base, scaled, 1);
        let right = values.add(scaled, base, 1);
        assert_eq!(left, right);
        let one = values.int(-31);
        let far = values.add(left, one, -4);
        assert_eq!(values.show(far, 4, &[]), "tile + 4*tid.x + 124");
        assert_eq!(values.split(far), (left, 124));
        let nothing = values.add(far, far, -1);
        assert_eq!(values.constant(nothing), Some(0));
    }

    #[test]
    fn long_sums_stay_short() {
        let mut values = Values::default();
        let mut sum = values.int(0);
        for i in 0..1000 {
            let term = values.intern(Node::Special(format!("%r{i}")));
            sum = values.add(sum, term, 1);
        }
        assert!(values.show(sum, 3, &[]).len() < 300);
    }
}
