//! Computes what a few instructions make of given operands, to tell whether two ways to a value are equal.
//!
//! A computation is followed from its last instruction back to operands with given values (the *leaves*), through registers that one
//! instruction defines. Integers are computed as the PTX ISA states it ("Integer Arithmetic Instructions", "Logic and Shift
//! Instructions"), in their width; floating-point numbers are computed in `f32` and `f64`, rounded to nearest.
//!
//! What it cannot see: what memory holds, and which of several values that differ from way to way an operand holds: they are
//! taken for one. Equality on values that were tried is no proof; the values are chosen
//! where identities of quotients and remainders break: around multiples of the divisor, the limits of the type, and zero.

use crate::code::value::{Node, Value, Values};
use crate::code::{Code, Instr, Token};
use ptx::semantics::{Comparison, Modifier, Opcode, Type};
use std::collections::HashMap;

/// The instructions that define each register of a function.
pub struct Definitions<'c> {
    code: &'c Code<'c>,
    of: HashMap<u32, Vec<usize>>,
}

/// An operand with a given value: which one, of which width in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// What the operand holds.
    pub value: Value,
    /// Bits of its register.
    pub bits: u32,
}

/// Instructions that one computation may have.
const STEPS: usize = 24;

impl<'c> Definitions<'c> {
    /// The definitions of a function.
    pub fn of(code: &'c Code<'c>) -> Definitions<'c> {
        let mut of: HashMap<u32, Vec<usize>> = HashMap::new();
        for (index, instr) in code.instructions.iter().enumerate() {
            for position in 0..instr.destinations() {
                for token in operand(instr, position) {
                    if let Token::Register(web) = token {
                        of.entry(*web).or_default().push(index);
                    }
                }
            }
        }
        Definitions { code, of }
    }

    /// The instructions that define a register.
    pub(super) fn of_register(&self, web: u32) -> &[usize] {
        self.of.get(&web).map_or(&[], |own| &own[..])
    }

    /// What an instruction computes where the leaves have these values; nothing where something else comes in.
    pub fn evaluate(&self, values: &Values, index: usize, leaves: &[(Leaf, u64)]) -> Option<u64> {
        let mut steps = 0;
        self.compute(values, index, leaves, &mut steps)
    }

    /// The instructions of a computation down to its leaves, the last one among them; nothing where something else comes in or no leaf
    /// is used.
    pub fn steps(&self, values: &Values, index: usize, leaves: &[Leaf]) -> Option<Vec<usize>> {
        let (mut open, mut found, mut used) = (vec![index], Vec::new(), false);
        while let Some(next) = open.pop() {
            if found.contains(&next) {
                continue;
            }
            if found.len() == STEPS {
                return None;
            }
            found.push(next);
            let instr = &self.code.instructions[next];
            for position in instr.destinations()..instr.instr.operands.len() {
                let bits = width(instr, position - instr.destinations())?;
                match self.source(values, instr, position, bits, leaves)? {
                    Source::Constant(_) => {}
                    Source::Leaf(_) => used = true,
                    Source::Defined(by) => open.push(by),
                }
            }
        }
        used.then_some(found)
    }

    fn compute(
        &self,
        values: &Values,
        index: usize,
        leaves: &[(Leaf, u64)],
        steps: &mut usize,
    ) -> Option<u64> {
        *steps += 1;
        if *steps > 4 * STEPS {
            return None;
        }
        let instr = &self.code.instructions[index];
        if instr.instr.guard.is_some() {
            return None;
        }
        let known: Vec<Leaf> = leaves.iter().map(|(leaf, _)| *leaf).collect();
        let mut operands = Vec::new();
        for position in instr.destinations()..instr.instr.operands.len() {
            let bits = width(instr, position - instr.destinations())?;
            operands.push(match self.source(values, instr, position, bits, &known)? {
                Source::Constant(value) => value,
                Source::Leaf(at) => leaves[at].1,
                Source::Defined(by) => self.compute(values, by, leaves, steps)?,
            });
        }
        result(instr, &operands)
    }

    /// What an instruction computes where some registers hold these values and all others what their one definition gives them; nothing where
    /// something else comes in.
    pub(super) fn with_registers(&self, index: usize, known: &HashMap<u32, u64>) -> Option<u64> {
        let mut steps = 0;
        self.follow(index, known, &mut steps)
    }

    fn follow(&self, index: usize, known: &HashMap<u32, u64>, steps: &mut usize) -> Option<u64> {
        *steps += 1;
        let instr = &self.code.instructions[index];
        if *steps > STEPS || instr.instr.guard.is_some() {
            return None;
        }
        let mut operands = Vec::new();
        for position in instr.destinations()..instr.instr.operands.len() {
            operands.push(match operand(instr, position) {
                [Token::Int(value)] => *value as u64,
                [Token::Register(web)] => match (known.get(web), self.of_register(*web)) {
                    (Some(value), _) => *value,
                    (None, [one]) => self.follow(*one, known, steps)?,
                    _ => return None,
                },
                _ => return None,
            });
        }
        result(instr, &operands)
    }

    fn source(
        &self,
        values: &Values,
        instr: &Instr,
        position: usize,
        bits: u32,
        leaves: &[Leaf],
    ) -> Option<Source> {
        let guarded = usize::from(instr.instr.guard.is_some());
        let value = *instr
            .sources
            .get(position - instr.destinations() + guarded)?;
        let leaf = Leaf { value, bits };
        match operand(instr, position) {
            [Token::Int(value)] => Some(Source::Constant(cut(*value as u64, bits))),
            [Token::Word(_)] => match values.node(value) {
                Node::Literal(text) => literal(text).map(Source::Constant),
                Node::Int(value) => Some(Source::Constant(cut(*value as u64, bits))),
                _ => leaves.iter().position(|l| *l == leaf).map(Source::Leaf),
            },
            [Token::Register(web)] => {
                let defined = self.of.get(web)?;
                // What differs from way to way has another form on each side.
                let varies = |value: Value| matches!(values.node(value), Node::Merge(_));
                let several = defined.len() > 1 && varies(value);
                let fits = |l: &Leaf| *l == leaf || several && l.bits == bits && varies(l.value);
                match (leaves.iter().position(fits), &defined[..]) {
                    (Some(at), _) => Some(Source::Leaf(at)),
                    (None, [one]) => Some(Source::Defined(*one)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

enum Source {
    Constant(u64),
    Leaf(usize),
    Defined(usize),
}

/// An operand's tokens, its guard apart.
fn operand<'i>(instr: &'i Instr, position: usize) -> &'i [Token] {
    let guarded = usize::from(instr.instr.guard.is_some());
    instr
        .operands
        .get(position + guarded)
        .map_or(&[], |tokens| &tokens[..])
}

/// Bits of a source operand, counted from the first source.
pub fn width(instr: &Instr, source: usize) -> Option<u32> {
    let t = &instr.typed;
    let ty = t.modifiers.types().next_back()?;
    Some(match (&t.opcode, source) {
        (Opcode::Shl | Opcode::Shr, 1) | (Opcode::Bfe, 1 | 2) => 32,
        (Opcode::Selp, 2) => 1,
        (Opcode::Mad, 2) if t.has(Modifier::Wide) => 2 * ty.bits(),
        _ => ty.bits(),
    })
}

/// The number that a literal stands for, as bits.
fn literal(text: &str) -> Option<u64> {
    let bits = u64::from_str_radix(text.get(2..)?, 16).ok()?;
    matches!(text.get(..2)?, "0f" | "0F" | "0d" | "0D").then_some(bits)
}

/// The lowest bits of a number.
pub fn cut(value: u64, bits: u32) -> u64 {
    match bits {
        0..64 => value & ((1 << bits) - 1),
        _ => value,
    }
}

/// A number of some bits as a signed one.
pub(super) fn signed(value: u64, bits: u32) -> i64 {
    let rest = 64 - bits.clamp(1, 64);
    ((value << rest) as i64) >> rest
}

/// What an instruction makes of its sources.
fn result(instr: &Instr, x: &[u64]) -> Option<u64> {
    let t = &instr.typed;
    let ty = t.modifiers.types().next_back()?;
    if t.opcode == Opcode::Cvt {
        return convert(instr, x);
    }
    if ty.is_float() {
        return float(instr, ty, x);
    }
    integer(instr, ty, x)
}

fn convert(instr: &Instr, x: &[u64]) -> Option<u64> {
    let (to, from) = match instr.typed.modifiers[..] {
        [Modifier::Type(to), Modifier::Type(from)] => (to, from),
        _ => return None,
    };
    if !to.is_integer() || !from.is_integer() {
        return None;
    }
    let [value] = x else { return None };
    let value = if from.is_signed() {
        signed(*value, from.bits()) as u64
    } else {
        *value
    };
    Some(cut(value, to.bits()))
}

fn integer(instr: &Instr, ty: Type, x: &[u64]) -> Option<u64> {
    let t = &instr.typed;
    let bits = ty.bits();
    let number = |value: u64| match ty.is_signed() {
        true => i128::from(signed(value, bits)),
        false => i128::from(cut(value, bits)),
    };
    let product = |a: u64, b: u64| number(a) * number(b);
    let half = |product: i128| match () {
        _ if t.has(Modifier::Hi) => (product >> bits) as u64,
        _ => product as u64,
    };
    let out = if t.has(Modifier::Wide) {
        2 * bits
    } else {
        bits
    };
    let plain = [Modifier::Sat, Modifier::Cc].into_iter().all(|m| !t.has(m));
    if !plain {
        return None;
    }
    let value = match (&t.opcode, x) {
        (Opcode::Mov, [a]) => *a,
        (Opcode::Add, [a, b]) => a.wrapping_add(*b),
        (Opcode::Sub, [a, b]) => a.wrapping_sub(*b),
        (Opcode::Mul, [a, b]) => half(product(*a, *b)),
        (Opcode::Mad, [a, b, c]) => half(product(*a, *b)).wrapping_add(*c),
        (Opcode::Div, [_, 0]) | (Opcode::Rem, [_, 0]) => return None,
        (Opcode::Div, [a, b]) => (number(*a) / number(*b)) as u64,
        (Opcode::Rem, [a, b]) => (number(*a) % number(*b)) as u64,
        (Opcode::And, [a, b]) => a & b,
        (Opcode::Or, [a, b]) => a | b,
        (Opcode::Xor, [a, b]) => a ^ b,
        (Opcode::Not, [a]) => !a,
        (Opcode::Neg, [a]) => a.wrapping_neg(),
        (Opcode::Abs, [a]) => number(*a).unsigned_abs() as u64,
        (Opcode::Min, [a, b]) => number(*a).min(number(*b)) as u64,
        (Opcode::Max, [a, b]) => number(*a).max(number(*b)) as u64,
        (Opcode::Shl, [a, b]) => {
            if *b >= u64::from(bits) {
                0
            } else {
                a << b
            }
        }
        (Opcode::Shr, [a, b]) => {
            (number(*a) >> (*b).min(u64::from(bits) - u64::from(ty.is_signed()))) as u64
        }
        (Opcode::Popc, [a]) => u64::from(cut(*a, bits).count_ones()),
        (Opcode::Selp, [a, b, p]) => {
            if *p & 1 == 1 {
                *a
            } else {
                *b
            }
        }
        (Opcode::Setp, [a, b]) => u64::from(match t.modifiers.comparison()? {
            Comparison::Eq => number(*a) == number(*b),
            Comparison::Ne => number(*a) != number(*b),
            Comparison::Lt => number(*a) < number(*b),
            Comparison::Le => number(*a) <= number(*b),
            Comparison::Gt => number(*a) > number(*b),
            Comparison::Ge => number(*a) >= number(*b),
            _ => return None,
        }),
        _ => return None,
    };
    Some(cut(value, out))
}

fn float(instr: &Instr, ty: Type, x: &[u64]) -> Option<u64> {
    let opcode = &instr.typed.opcode;
    match ty {
        Type::F32 => {
            let of = |bits: u64| f32::from_bits(bits as u32);
            let value = match (opcode, x) {
                (Opcode::Mov, [a]) => of(*a),
                (Opcode::Add, [a, b]) => of(*a) + of(*b),
                (Opcode::Sub, [a, b]) => of(*a) - of(*b),
                (Opcode::Mul, [a, b]) => of(*a) * of(*b),
                (Opcode::Fma | Opcode::Mad, [a, b, c]) => of(*a).mul_add(of(*b), of(*c)),
                (Opcode::Div, [a, b]) => of(*a) / of(*b),
                (Opcode::Rcp, [a]) => 1.0 / of(*a),
                (Opcode::Sqrt, [a]) => of(*a).sqrt(),
                (Opcode::Rsqrt, [a]) => 1.0 / of(*a).sqrt(),
                (Opcode::Neg, [a]) => -of(*a),
                _ => return None,
            };
            Some(u64::from(value.to_bits()))
        }
        Type::F64 => {
            let of = f64::from_bits;
            let value = match (opcode, x) {
                (Opcode::Mov, [a]) => of(*a),
                (Opcode::Add, [a, b]) => of(*a) + of(*b),
                (Opcode::Sub, [a, b]) => of(*a) - of(*b),
                (Opcode::Mul, [a, b]) => of(*a) * of(*b),
                (Opcode::Fma | Opcode::Mad, [a, b, c]) => of(*a).mul_add(of(*b), of(*c)),
                (Opcode::Div, [a, b]) => of(*a) / of(*b),
                (Opcode::Rcp, [a]) => 1.0 / of(*a),
                (Opcode::Sqrt, [a]) => of(*a).sqrt(),
                (Opcode::Rsqrt, [a]) => 1.0 / of(*a).sqrt(),
                (Opcode::Neg, [a]) => -of(*a),
                _ => return None,
            };
            Some(value.to_bits())
        }
        _ => None,
    }
}

/// Numbers of some bits to try: the limits, those around multiples of `by`, and others.
pub fn samples(bits: u32, by: u64) -> Vec<u64> {
    let top = cut(u64::MAX, bits);
    let half = top / 2;
    let mut found: Vec<u64> = (0..40)
        .chain([63, 64, 99, 127, 128, 255, 256, 1000, 65_535, 65_536])
        .collect();
    found.extend([half - 1, half, half + 1, half + 2, top - 2, top - 1, top]);
    found.extend((1..40u64).map(|n| n.wrapping_neg()));
    // Multiplicative steps of an odd number go through all residues.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..200 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let any = state >> 13;
        found.push(any);
        let by = cut(by, bits).max(1);
        let multiple = cut(any, bits) / by * by;
        found.extend([
            multiple,
            multiple.wrapping_sub(1),
            multiple.wrapping_add(1),
            multiple.wrapping_neg(),
        ]);
    }
    let last = top / by.max(1) * by.max(1);
    found.extend([last, last.wrapping_sub(1)]);
    found.into_iter().map(|value| cut(value, bits)).collect()
}
