//! Fewer checks: neighbouring reads of straight-line code are checked together, in front of the first.
//!
//! Compilers unroll loops into loads from one register with different offsets. As long as nothing in between synchronises, branches or changes
//! that register, the checks of all of them can stand in front of the first: only reads are taken together, so no other access of the thread
//! becomes earlier or later than a record that it could clash with. Equal reads are checked once.

use crate::access::{self, Access, Bytes, Memory};
use crate::{SiteAccess, sync};
use ptx::ast::{Instruction, Loc, Operand, Stmt};
use ptx::semantics::{Control, Space, TypedInstruction};
use std::collections::HashMap;

/// What to do at a load, by its place in a list of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// It is checked with an earlier one.
    Checked,
    /// It is checked here, with others: first offset, number, distance in bytes.
    First(i64, u32, u32),
}

/// Loads of one register at one line that are open: place, offset.
type Open = HashMap<(Space, String, Option<Loc>), Vec<(usize, i64)>>;

/// The most that are taken together.
const LONGEST: u32 = 255;

/// The runs of a list of statements.
pub fn runs(body: &[Stmt]) -> HashMap<usize, Run> {
    let mut out = HashMap::new();
    let mut open = Open::new();
    let mut loc = None;
    for (at, statement) in body.iter().enumerate() {
        let instruction = match statement {
            Stmt::Instruction(instruction) => instruction,
            // Each line has a place of its own.
            Stmt::Loc(new) => {
                loc = Some(new.clone());
                continue;
            }
            Stmt::Variable(_) => continue,
            _ => {
                close(&mut open, &mut out);
                continue;
            }
        };
        let typed = TypedInstruction::of(instruction);
        if ends(instruction, &typed) {
            close(&mut open, &mut out);
            continue;
        }
        if let Some((space, base, offset)) = plain_load(instruction, &typed) {
            open.entry((space, base, loc.clone()))
                .or_default()
                .push((at, offset));
        }
        for register in written(instruction, &typed) {
            let changed = open.extract_if(|(_, base, _), _| *base == register);
            changed.for_each(|(_, loads)| settle(loads, &mut out));
        }
    }
    close(&mut open, &mut out);
    out
}

/// Whether checks must not be moved over an instruction.
fn ends(instruction: &Instruction, typed: &TypedInstruction) -> bool {
    typed.control != Control::Next
        || typed.synchronisation.is_some()
        || !sync::of(instruction, typed, true).is_empty()
        || typed.memory.as_ref().is_some_and(|m| m.effect.writes())
}

/// Space, register and offset of a weak load of 4 bytes without a guard.
fn plain_load(instruction: &Instruction, typed: &TypedInstruction) -> Option<(Space, String, i64)> {
    if instruction.guard.is_some() {
        return None;
    }
    let Memory::Checked(list) = access::of(instruction, typed) else {
        return None;
    };
    let [
        Access {
            operand,
            space: space @ (Space::Shared | Space::Global),
            bytes: Bytes::Fixed(4),
            access: SiteAccess::Read,
            strength: 0,
        },
    ] = list[..]
    else {
        return None;
    };
    match instruction.operands.get(operand) {
        Some(Operand::Address(at)) => match &*at.base {
            Operand::Name(base, None) => Some((space, base.clone(), at.offset)),
            _ => None,
        },
        _ => None,
    }
}

fn written(instruction: &Instruction, typed: &TypedInstruction) -> Vec<String> {
    let count = typed.destinations().min(instruction.operands.len());
    let mut out = Vec::new();
    let mut add = |operand: &Operand| {
        if let Operand::Name(name, None) = operand {
            out.push(name.clone());
        }
    };
    for operand in &instruction.operands[..count] {
        match operand {
            Operand::Vector(list) | Operand::List(list) => list.iter().for_each(&mut add),
            Operand::Pair(a, b) => {
                add(a);
                add(b);
            }
            one => add(one),
        }
    }
    out
}

fn close(open: &mut Open, out: &mut HashMap<usize, Run>) {
    open.drain().for_each(|(_, loads)| settle(loads, out));
}

/// Takes loads together whose offsets are at one distance.
fn settle(loads: Vec<(usize, i64)>, out: &mut HashMap<usize, Run>) {
    let mut offsets: Vec<i64> = loads.iter().map(|(_, offset)| *offset).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let Some(first) = loads
        .iter()
        .map(|(at, _)| *at)
        .min()
        .filter(|_| loads.len() > 1)
    else {
        return;
    };
    let distance = match offsets[..] {
        [_] => 4,
        [a, b, ..] => b - a,
        [] => return,
    };
    let even = offsets.windows(2).all(|w| w[1] - w[0] == distance);
    let fits = distance % 4 == 0 && distance < 1 << 20 && offsets.len() as u32 <= LONGEST;
    if !even || !fits {
        return;
    }
    for (at, _) in &loads {
        out.insert(*at, Run::Checked);
    }
    let run = Run::First(offsets[0], offsets.len() as u32, distance as u32);
    out.insert(first, run);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Vec<Stmt> {
        let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n.func f() {{ {text} }}");
        let module = ptx::parse(&text).unwrap();
        let function = module.items.into_iter().find_map(|item| match item {
            ptx::ast::Item::Function(f) => f.body,
            _ => None,
        });
        function.unwrap()
    }

    #[test]
    fn loads_from_one_register_are_one_check() {
        let all = runs(&body(
            "ld.shared.f32 %f1, [%r1+64]; add.f32 %f2, %f1, %f1; ld.shared.f32 %f3, [%r1]; ld.shared.f32 %f3, [%r1+128];",
        ));
        let expected = [
            (0, Run::First(0, 3, 64)),
            (2, Run::Checked),
            (3, Run::Checked),
        ];
        assert_eq!(all, expected.into());
    }

    #[test]
    fn what_may_come_in_between_ends_a_run() {
        for between in [
            "bar.sync 0;",
            "st.shared.f32 [%r9], %f1;",
            "mov.u32 %r1, 4;",
            "@%p1 bra L; L:",
            "fence.acq_rel.gpu;",
            "ld.volatile.shared.f32 %f1, [%r7];",
            "call f, ();",
        ] {
            let text = format!("ld.shared.f32 %f1, [%r1]; {between} ld.shared.f32 %f3, [%r1+4];");
            assert_eq!(runs(&body(&text)), HashMap::new(), "{between}");
        }
    }

    #[test]
    fn other_loads_stay_alone() {
        for text in [
            "@%p1 ld.shared.f32 %f1, [%r1]; ld.shared.f32 %f3, [%r1+4];",
            "ld.shared.f64 %f1, [%r1]; ld.shared.f64 %f3, [%r1+8];",
            "ld.shared.f32 %f1, [%r1]; ld.global.f32 %f3, [%r1+4];",
            "ld.shared.f32 %f1, [%r1]; ld.shared.f32 %f3, [%r1+4]; ld.shared.f32 %f3, [%r1+12];",
        ] {
            assert_eq!(runs(&body(text)), HashMap::new(), "{text}");
        }
    }
}
