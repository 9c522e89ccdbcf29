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
//! A costly operation of one side has no match. The other side has cheaper operations, also without a match, that compute
//! from the same operands the same value: both are computed for some thousand values, in the width of the operands, among
//! them the limits and the neighbours of multiples of the divisor. Floating-point results may differ in the last place. If
//! the divisor is no constant, powers of two are tried, and the note says so. If the values differ, and the result stands
//! where the costly one's stood, that is `operation-changed`.
//!
//! Costs are machine instructions, roughly (CUDA C++ Programming Guide, "Arithmetic Instructions" and its notes on
//! division): an addition, shift or mask is one, of 64 bits two; a product of 32 bits, wide or not, three, of 64 bits six;
//! a division or remainder 20, of 64 bits 60; a floating-point division 8, a root or reciprocal 4, a product 2. So a wide
//! product is no costlier than the conversion and the shift of 64 bits that compute the same address.
//!
//! ## Limitations
//!
//! The comparison does not recognise a product of a loop counter that became a sum from iteration to iteration, or
//! operands that pass through memory, as in unoptimised code.

use super::{Occurrence, View};
use crate::class::InstructionClass;
use crate::code::value::{Node, Value};
use crate::code::{Code, Instr, Token};
use crate::evaluate::{Definitions, Leaf, cut, samples, width};
use ptx::semantics::{Opcode, Type};
use std::collections::HashMap;

/// A costly operation of the other side, and what stands for it.
struct Replacement {
    costly: usize,
    /// The last of my instructions.
    cheap: usize,
    outcome: Outcome,
}

/// How the two values compare.
enum Outcome {
    /// Equal for all values that were tried.
    Equal,
    /// Equal for powers of two as divisors.
    EqualForPowers,
    /// Different: for which values, and the two results.
    Different(String),
}

/// Cheaper operations that compute the same.
pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let found = replacements(view).into_iter().filter_map(|r| {
        let note = match r.outcome {
            Outcome::Equal => None,
            Outcome::EqualForPowers => Some("equal where the divisor is a power of two".to_owned()),
            Outcome::Different(_) => return None,
        };
        Some(Occurrence {
            note,
            ..view.occurrence(vec![r.cheap], vec![r.costly])
        })
    });
    found.collect()
}

/// Cheaper operations in the place of others that compute something else.
pub(super) fn different(view: &View) -> Vec<Occurrence> {
    let found = replacements(view).into_iter().filter_map(|r| match r.outcome {
        Outcome::Different(note) => Some(Occurrence {
            note: Some(note),
            ..view.occurrence(vec![r.cheap], vec![r.costly])
        }),
        _ => None,
    });
    found.collect()
}

fn replacements(view: &View) -> Vec<Replacement> {
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
        .filter(|(index, i)| !view.is_copy_of_mine(*index) && computes(i))
        .map(|(index, _)| index)
        .collect();
    let definitions = [Definitions::of(view.mine), Definitions::of(view.other)];
    let users = [uses(view.mine), uses(view.other)];
    let mut taken = Vec::new();
    let mut found = Vec::new();
    for costly in costly {
        let own = &view.other.instructions[costly];
        let still_there = cheap.iter().map(|&index| &view.mine.instructions[index]).any(|i| {
            cost(i) >= cost(own)
                && (i.result == own.result || operands(i).iter().all(|v| operands(own).contains(v)))
        });
        let Some(leaves) = leaves(view, own).filter(|_| !still_there) else {
            continue;
        };
        // Of several steps the last one has the result.
        let candidates = cheap.iter().copied().filter(|index| !taken.contains(index));
        let best = candidates
            .filter_map(|cheap| {
                let only: Vec<Leaf> = leaves.iter().map(|(leaf, _)| *leaf).collect();
                let steps = definitions[0].steps(view.values, cheap, &only)?;
                let all: u32 = steps.iter().map(|&i| cost(&view.mine.instructions[i])).sum();
                let instr = &view.mine.instructions[cheap];
                let narrow = cost(instr) < cost(own) && all < cost(own);
                if !narrow || bits(instr) != bits(own) {
                    return None;
                }
                let alike = used_alike(view, &users, cheap, costly);
                let outcome = compare(view, &definitions, (cheap, costly), &leaves)?;
                let equal = !matches!(outcome, Outcome::Different(_));
                let beside = instr.site != 0 && instr.site == own.site;
                // Two values that differ from way to way may be two.
                let varies = only.iter().any(|l| matches!(view.values.node(l.value), Node::Merge(_)));
                let told = match varies {
                    true => equal && (alike || beside || own.site == 0),
                    false => equal || alike,
                };
                told.then_some(((equal, alike, beside, cheap), outcome))
            })
            .max_by_key(|(rank, _)| *rank);
        if let Some(((_, _, _, cheap), outcome)) = best {
            taken.push(cheap);
            found.push(Replacement {
                costly,
                cheap,
                outcome,
            });
        }
    }
    found
}

/// Whether it computes a value that can be compared.
fn computes(instr: &Instr) -> bool {
    instr.class == InstructionClass::Arithmetic
        && instr.result.is_some()
        && instr.typed.opcode != Opcode::Setp
}

/// What an instruction works on, without its guard.
fn operands<'i>(instr: &'i Instr) -> &'i [Value] {
    &instr.sources[usize::from(instr.instr.guard.is_some()).min(instr.sources.len())..]
}

/// Bits of the result.
fn bits(instr: &Instr) -> Option<u32> {
    let bits = instr.typed.modifiers.types().next()?.bits();
    let wide = instr.typed.has(ptx::semantics::Modifier::Wide);
    Some(if wide { 2 * bits } else { bits })
}

/// The operands of a costly operation that are no constants, with values to try.
fn leaves(view: &View, own: &Instr) -> Option<Vec<(Leaf, Vec<u64>)>> {
    let constant = operands(own).iter().find_map(|v| view.values.constant(*v));
    let ty = own.typed.modifiers.types().next_back()?;
    let mut leaves: Vec<(Leaf, Vec<u64>)> = Vec::new();
    for (position, value) in operands(own).iter().enumerate() {
        let literal = matches!(view.values.node(*value), Node::Literal(_) | Node::Int(_));
        let leaf = Leaf {
            value: *value,
            bits: width(own, position)?,
        };
        if literal || leaves.iter().any(|(known, _)| *known == leaf) {
            continue;
        }
        let divisor = position == 1 && matches!(own.typed.opcode, Opcode::Div | Opcode::Rem);
        leaves.push((leaf, values_to_try(view, *value, ty, constant, divisor)));
    }
    (leaves.len() <= 2 && !leaves.is_empty()).then_some(leaves)
}

fn values_to_try(view: &View, value: Value, ty: Type, constant: Option<i64>, divisor: bool) -> Vec<u64> {
    let numbers = [1.0f64, 3.0, 0.1, -7.5, 1000.25, 6.0e-5, 12_345.678, -0.3, 2.0, 9.9e9];
    match ty {
        Type::F32 => return numbers.iter().map(|x| u64::from((*x as f32).abs().to_bits())).collect(),
        Type::F64 => return numbers.iter().map(|x| x.abs().to_bits()).collect(),
        _ => {}
    }
    if divisor {
        return (0..ty.bits() - u32::from(ty.is_signed())).map(|by| 1u64 << by).collect();
    }
    let all = samples(ty.bits(), constant.unwrap_or(8).unsigned_abs());
    match view.values.node(value) {
        // Indices and sizes of threads and blocks (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
        Node::Special(_) => all.into_iter().filter(|x| *x < 1 << 31).map(|x| x % 1024).collect(),
        _ => all,
    }
}

/// How what two instructions compute compares; nothing where one of them can't be computed.
fn compare(
    view: &View,
    definitions: &[Definitions; 2],
    (cheap, costly): (usize, usize),
    leaves: &[(Leaf, Vec<u64>)],
) -> Option<Outcome> {
    let own = &view.other.instructions[costly];
    let ty = own.typed.modifiers.types().next_back()?;
    let of_two = leaves.len() == 2;
    let divides = matches!(own.typed.opcode, Opcode::Div | Opcode::Rem);
    let seconds: Vec<Option<u64>> = match leaves {
        [_, (_, values)] => values.iter().take(40).copied().map(Some).collect(),
        _ => vec![None],
    };
    let (mut tried, mut wrong) = (0, Vec::new());
    for x in &leaves[0].1 {
        for y in &seconds {
            let mut given = vec![(leaves[0].0, *x)];
            given.extend(y.map(|y| (leaves[1].0, y)));
            let theirs = definitions[1].evaluate(view.values, costly, &given);
            let Some(theirs) = theirs else { continue };
            let mine = definitions[0].evaluate(view.values, cheap, &given)?;
            tried += 1;
            if !agree(ty, mine, theirs) && wrong.len() < 400 {
                wrong.push((*x, *y, mine, theirs));
            }
        }
    }
    match (tried, wrong.first()) {
        (0, _) => None,
        (_, None) if of_two && divides && ty.is_integer() => Some(Outcome::EqualForPowers),
        (_, None) => Some(Outcome::Equal),
        (_, Some(_)) => Some(Outcome::Different(words(view, ty, &wrong))),
    }
}

/// Whether two results are equal; floating-point numbers up to the last places.
fn agree(ty: Type, x: u64, y: u64) -> bool {
    let near = |x: f64, y: f64, by: f64| x == y || (x - y).abs() <= by * x.abs().max(y.abs());
    match ty {
        Type::F32 => {
            let of = |bits: u64| f64::from(f32::from_bits(bits as u32));
            near(of(x), of(y), 1e-6)
        }
        Type::F64 => near(f64::from_bits(x), f64::from_bits(y), 1e-14),
        _ => x == y,
    }
}

/// A difference in words, by the smallest operand that shows it.
fn words(view: &View, ty: Type, wrong: &[(u64, Option<u64>, u64, u64)]) -> String {
    let shown = |bits: u64| match ty {
        Type::F32 => f32::from_bits(bits as u32).to_string(),
        Type::F64 => f64::from_bits(bits).to_string(),
        _ if ty.is_signed() => {
            let rest = 64 - ty.bits();
            (((bits << rest) as i64) >> rest).to_string()
        }
        _ => cut(bits, ty.bits()).to_string(),
    };
    let negative = |bits: &u64| ty.is_signed() && bits >> (ty.bits() - 1) & 1 == 1;
    let size = |bits: u64| if negative(&bits) { cut(bits.wrapping_neg(), ty.bits()) } else { bits };
    let Some((x, y, mine, theirs)) = wrong.iter().min_by_key(|w| size(w.0)) else {
        return String::new();
    };
    let with = match y {
        Some(y) => format!("{} and {}", shown(*x), shown(*y)),
        None => shown(*x),
    };
    let (a, b) = match view.side {
        crate::Side::A => (mine, theirs),
        crate::Side::B => (theirs, mine),
    };
    let all = if wrong.iter().all(|w| negative(&w.0)) { "; equal where no operand is negative" } else { "" };
    format!("of {with} it is {} in A, {} in B{all}", shown(*a), shown(*b))
}

/// What an operation costs, in machine instructions, roughly.
fn cost(instr: &Instr) -> u32 {
    if instr.class != InstructionClass::Arithmetic {
        return 0;
    }
    let Some(ty) = instr.typed.modifiers.types().next_back() else {
        return 1;
    };
    let long = ty.bits() == 64;
    if ty.is_float() {
        return match instr.typed.opcode {
            Opcode::Div => 8,
            Opcode::Sqrt | Opcode::Rsqrt | Opcode::Rcp | Opcode::Sin | Opcode::Cos | Opcode::Ex2
            | Opcode::Lg2 | Opcode::Tanh => 4,
            Opcode::Mul | Opcode::Fma | Opcode::Mad => 2,
            _ => 1,
        };
    }
    match instr.typed.opcode {
        Opcode::Div | Opcode::Rem if long => 60,
        Opcode::Div | Opcode::Rem => 20,
        Opcode::Mul | Opcode::Mad | Opcode::Mul24 | Opcode::Mad24 if long => 6,
        Opcode::Mul | Opcode::Mad | Opcode::Mul24 | Opcode::Mad24 => 3,
        Opcode::Cvt => 1,
        _ if long => 2,
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
fn used_alike(view: &View, users: &[Uses; 2], cheap: usize, costly: usize) -> bool {
    let theirs = users[1].get(&costly);
    let users = users[0].get(&cheap).into_iter().flatten();
    users.into_iter().any(|&(user, position)| {
        let partner = view.partner(user);
        theirs
            .into_iter()
            .flatten()
            .any(|&(own, at)| Some(own) == partner && at == position)
    })
}
