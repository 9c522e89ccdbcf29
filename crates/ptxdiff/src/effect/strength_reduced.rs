//! # strength-reduced
//!
//! One side divides, takes a remainder or multiplies; the other side gets the same result from shifts, masks and
//! additions.
//!
//! ## Example
//!
//! ```cpp
//! if (t % (2 * d) == 0)                   // rem.u32: some 20 machine instructions
//! if ((t & (2 * d - 1)) == 0)             // and.b32: one
//! ```
//!
//! ## How it is recognised
//!
//! A costly operation of one side has no match. The other side has a cheaper operation, also without a match, that
//! computes the same value from the same operand:
//!
//! - for a product with a constant, a shift or a sum;
//! - for `rem` by y, a mask of y - 1, or the operand minus y times a quotient;
//! - for `div` by a constant, a shift by its logarithm, or shifts of a high product of the operand and constants;
//! - for a floating-point division, the product with the reciprocal, or `rsqrt` for a division by a square root.
//!
//! Costs follow the throughput table of the CUDA C++ Programming Guide ("Arithmetic Instructions") and its notes on
//! division, in four steps: division and remainder; square root and reciprocal; multiplication; everything else. An
//! operation that is on both sides was only moved or split.
//!
//! ## Limitations
//!
//! The comparison does not prove that the results are equal: `%` equals `&` only for powers of two, a high product only
//! for the right constant, and a reciprocal only up to rounding. It does not recognise a product of a loop counter that
//! became a sum from iteration to iteration, or operands that pass through memory, as in unoptimised code.

use super::{Occurrence, View};
use crate::class::InstructionClass;
use crate::code::{Code, Instr, Token};
use crate::code::value::{Node, Value, Values};
use ptx::semantics::Opcode;
use std::collections::HashMap;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let costly: Vec<usize> = view
        .only_other()
        .filter(|(_, i)| cost(i) > 1)
        .map(|(index, _)| index)
        .collect();
    if costly.is_empty() {
        return Vec::new();
    }
    let cheap: Vec<usize> = view
        .only_mine()
        .filter(|(_, i)| i.class == InstructionClass::Arithmetic && i.result.is_some() && i.typed.opcode != Opcode::Setp)
        .map(|(index, _)| index)
        .collect();
    let (mine, other) = (uses(view.mine), uses(view.other));
    let beside = |x: &Instr, y: &Instr| x.site != 0 && x.site == y.site;
    let mut taken = Vec::new();
    let mut found = Vec::new();
    for index in costly {
        let own = &view.other.instructions[index];
        let still_there = cheap.iter().map(|&index| &view.mine.instructions[index]).any(|i| {
            cost(i) >= cost(own) && (i.result == own.result || operands(i).iter().all(|v| operands(own).contains(v)))
        });
        if still_there {
            continue;
        }
        // Of several steps the last one has the result.
        let replacement = cheap
            .iter()
            .copied()
            .filter(|candidate| {
                let cheaper = &view.mine.instructions[*candidate];
                cost(cheaper) < cost(own) && !taken.contains(candidate) && replaces(view.values, cheaper, own)
            })
            .max_by_key(|&candidate| {
                let near = beside(&view.mine.instructions[candidate], own);
                (used_alike(view, &mine, &other, candidate, index), near, candidate)
            });
        if let Some(replacement) = replacement {
            taken.push(replacement);
            found.push(view.occurrence(vec![replacement], vec![index]));
        }
    }
    found
}

/// What an instruction works on, without its guard.
fn operands<'i>(instr: &'i Instr) -> &'i [Value] {
    &instr.sources[usize::from(instr.instr.guard.is_some()).min(instr.sources.len())..]
}

/// Whether a cheaper operation computes from the operand of a costly one what that computes.
fn replaces(values: &Values, cheap: &Instr, costly: &Instr) -> bool {
    let (Some(result), Some(wanted)) = (cheap.result, costly.result) else {
        return false;
    };
    let step = &cheap.typed.opcode;
    match (&costly.typed.opcode, operands(costly)) {
        (Opcode::Mul | Opcode::Mul24, [x, y]) => {
            let twice = |v: &Value| operands(cheap) == [*v, *v];
            let two = |v: &Value| values.node(*v) == &Node::Literal("0f40000000".into());
            match step {
                Opcode::Shl if result == wanted => operands(cheap)[0] == *x || operands(cheap)[0] == *y,
                Opcode::Add | Opcode::Sub if result == wanted => [x, y].iter().any(|v| operands(cheap).contains(v)),
                Opcode::Add => two(y) && twice(x) || two(x) && twice(y),
                _ => false,
            }
        }
        (Opcode::Mad | Opcode::Mad24, [x, y, z]) => {
            let of_one = [x, y].iter().any(|v| operands(cheap).first() == Some(v));
            *step == Opcode::Shl && of_one && values.is_sum(wanted, result, *z)
        }
        (Opcode::Rem, [x, y]) => is_remainder(values, cheap, *x, *y),
        (Opcode::Div, [x, y]) => match values.constant(*y) {
            Some(y) => is_quotient(values, cheap, *x, y),
            None => is_float_quotient(values, cheap, *x, *y),
        },
        _ => false,
    }
}
/// Whether an operation is the last of those that make `x % y`.
fn is_remainder(values: &Values, cheap: &Instr, x: Value, y: Value) -> bool {
    if cheap.typed.opcode == Opcode::And {
        let mask = match operands(cheap) {
            [own, mask] if *own == x => *mask,
            [mask, own] if *own == x => *mask,
            _ => return false,
        };
        return values.minus(y, mask) == (Vec::new(), 1);
    }
    let (Some(result), Some(y)) = (cheap.result, values.constant(y)) else {
        return false;
    };
    let (terms, 0) = values.minus(result, x) else {
        return false;
    };
    let [(rest, factor)] = terms[..] else { return false };
    // x less the multiple of y below it: masked out, or the quotient times y.
    let masked = match values.node(rest) {
        Node::Computed(Opcode::And, _, parts) => {
            parts.iter().any(|part| values.constant(*part).is_some_and(|mask| i64::from(mask as i32) == -y))
        }
        _ => false,
    };
    (factor == -y || factor == -1 && masked) && made_of(values, rest, x, 16) == Some(true)
}

/// Whether an operation is the last of those that make `x / y`.
fn is_quotient(values: &Values, cheap: &Instr, x: Value, y: i64) -> bool {
    let Some(result) = cheap.result.filter(|result| made_of(values, *result, x, 16) == Some(true)) else {
        return false;
    };
    let shift = match (&cheap.typed.opcode, operands(cheap)) {
        (Opcode::Shr, [_, by]) => values.constant(*by),
        _ => None,
    };
    match cheap.typed.opcode {
        Opcode::Shr if y > 0 && shift == Some(i64::from(y.trailing_zeros())) && y.count_ones() == 1 => true,
        Opcode::Shr | Opcode::Add | Opcode::Sub => has_product(values, result, 16),
        _ => false,
    }
}

/// Whether an operation makes `x / y` of floating-point numbers.
fn is_float_quotient(values: &Values, cheap: &Instr, x: Value, y: Value) -> bool {
    let of = |v: Value, opcode: Opcode, operand: Value| {
        matches!(values.node(v), Node::Computed(own, _, parts) if *own == opcode && parts[..] == [operand])
    };
    match (&cheap.typed.opcode, operands(cheap)) {
        (Opcode::Mul, [a, b]) => {
            let factor = match (*a == x, *b == x) {
                (true, _) => *b,
                (_, true) => *a,
                _ => return false,
            };
            let reciprocal = match (float(values, factor), float(values, y)) {
                (Some(factor), Some(y)) => (factor * y - 1.0).abs() < 1e-6,
                _ => false,
            };
            reciprocal || of(factor, Opcode::Rcp, y)
        }
        (Opcode::Rsqrt, [operand]) => of(y, Opcode::Sqrt, *operand),
        _ => false,
    }
}

/// The number that a literal is.
fn float(values: &Values, value: Value) -> Option<f64> {
    let Node::Literal(text) = values.node(value) else {
        return None;
    };
    let bits = |digits: &str| u64::from_str_radix(digits, 16).ok();
    match text.get(..2)?.to_ascii_lowercase().as_str() {
        "0f" => Some(f64::from(f32::from_bits(bits(&text[2..])? as u32))),
        "0d" => Some(f64::from_bits(bits(&text[2..])?)),
        _ => None,
    }
}

/// Whether `x` is in a value; nothing where there is something else than `x` and constants.
fn made_of(values: &Values, value: Value, x: Value, depth: u32) -> Option<bool> {
    if value == x {
        return Some(true);
    }
    let all = |parts: &mut dyn Iterator<Item = Value>| {
        let mut found = false;
        for part in parts {
            found |= made_of(values, part, x, depth - 1)?;
        }
        Some(found)
    };
    match values.node(value) {
        Node::Int(_) | Node::Literal(_) => Some(false),
        _ if depth == 0 => None,
        Node::Operation(_, parts) | Node::Computed(_, _, parts) => all(&mut parts.iter().copied()),
        Node::Sum(terms, _) => {
            // x may be a sum itself, and a part of this one.
            let (rest, _) = values.minus(value, x);
            match rest.len() < terms.len() {
                true => all(&mut rest.iter().map(|(part, _)| *part)).map(|_| true),
                false => all(&mut terms.iter().map(|(part, _)| *part)),
            }
        }
        _ => None,
    }
}

/// Whether a value has a product in it by a constant of more than a few bits.
fn has_product(values: &Values, value: Value, depth: u32) -> bool {
    if depth == 0 {
        return false;
    }
    match values.node(value) {
        Node::Computed(Opcode::Mul | Opcode::Mul24, ..) => true,
        Node::Operation(_, parts) | Node::Computed(_, _, parts) => parts.iter().any(|part| has_product(values, *part, depth - 1)),
        Node::Sum(terms, _) => {
            let large = |factor: i64| factor.unsigned_abs() >= 1 << 12;
            terms.iter().any(|(part, factor)| large(*factor) || has_product(values, *part, depth - 1))
        }
        _ => false,
    }
}

/// What an operation costs, in steps.
fn cost(instr: &Instr) -> u32 {
    if instr.class != InstructionClass::Arithmetic {
        return 0;
    }
    match instr.typed.opcode {
        Opcode::Div | Opcode::Rem => 4,
        Opcode::Sqrt | Opcode::Rsqrt | Opcode::Rcp | Opcode::Sin | Opcode::Cos | Opcode::Ex2 | Opcode::Lg2 | Opcode::Tanh => 3,
        Opcode::Mul | Opcode::Mad | Opcode::Mul24 | Opcode::Mad24 => 2,
        _ => 1,
    }
}

/// Where each instruction's result is used: the users, and as which operand.
type Uses = HashMap<usize, Vec<(usize, usize)>>;

fn uses(code: &Code) -> Uses {
    let mut definitions: HashMap<u32, Vec<usize>> = HashMap::new();
    let guarded = |instr: &Instr| usize::from(instr.instr.guard.is_some());
    let written = |instr: &Instr| instr.destinations();
    for (index, instr) in code.instructions.iter().enumerate() {
        let first = guarded(instr);
        let targets = instr.operands.iter().skip(first).take(written(instr));
        for token in targets.flatten() {
            if let Token::Register(register) = token {
                definitions.entry(*register).or_default().push(index);
            }
        }
    }
    let mut uses = Uses::new();
    for (user, instr) in code.instructions.iter().enumerate() {
        for (position, operand) in instr.operands.iter().enumerate() {
            let first = guarded(instr);
            if (first..first + written(instr)).contains(&position) {
                continue;
            }
            for token in operand {
                if let Token::Register(register) = token {
                    for definition in definitions.get(register).into_iter().flatten() {
                        uses.entry(*definition).or_default().push((user, position));
                    }
                }
            }
        }
    }
    uses
}

/// Whether partners use both results as the same operand.
fn used_alike(view: &View, mine: &Uses, other: &Uses, cheap: usize, costly: usize) -> bool {
    let theirs = other.get(&costly);
    let users = mine.get(&cheap).into_iter().flatten();
    users.into_iter().any(|&(user, position)| {
        let partner = view.partner(user);
        theirs.into_iter().flatten().any(|&(own, at)| Some(own) == partner && at == position)
    })
}
